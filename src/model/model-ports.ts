/** The clock and the dice of a model that is given none. */
import type { Ports } from "../core/ports.ts";
import { systemPorts } from "../core/system-ports.ts";

/** The outside dependencies of a model. */
export type ModelPorts = Pick<Ports, "clock" | "random">;

/** The given ports, and real ones for the rest. */
export function modelPorts(given: Partial<ModelPorts> = {}): ModelPorts {
  return { clock: given.clock ?? systemPorts.clock, random: given.random ?? systemPorts.random };
}
