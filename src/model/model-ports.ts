import type { Ports } from "../core/ports.ts";
import { systemPorts } from "../core/system/system-ports.ts";

/** The ports that a model uses. */
export type ModelPorts = Pick<Ports, "clock" | "random">;

/** The given ports, and those of the system for the rest. */
export function modelPorts(given: Partial<ModelPorts> = {}): ModelPorts {
  return { clock: given.clock ?? systemPorts.clock, random: given.random ?? systemPorts.random };
}
