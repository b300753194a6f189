/** The clock and the dice of a model that is given none. */
import type { Ports } from "../core/ports.ts";
import { systemPorts } from "../core/system-ports.ts";

/** What a model takes from outside. */
export type ModelPorts = Pick<Ports, "clock" | "random">;

/** What is given, the rest real. */
export function modelPorts(given: Partial<ModelPorts> = {}): ModelPorts {
  return { clock: given.clock ?? systemPorts.clock, random: given.random ?? systemPorts.random };
}
