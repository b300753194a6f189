/** The options of a branch. */
import { quoted } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";

/** The name of a branch of a session, and what its calls may do. */
export interface ForkOptions {
  /** @default a new id */
  readonly id?: string;
  /** Its calls leave no trace in the world. A branch of a simulation is always one. @default false */
  readonly simulated?: boolean;
  /** Of a simulation: the tools whose calls happen for real all the same, as patterns over qualified names; `true` = all. @default none */
  readonly allowSideEffects?: boolean | readonly string[];
}

/**
 * Refuses what might be meant for a simulation and would make a live branch.
 *
 * @param isSimulation whether the branch is one in any case
 * @throws ToolError `invalid_argument`
 */
export function checkForkOptions(options: ForkOptions, isSimulation: boolean): void {
  checkKnownKeys(options, { id: true, simulated: true, allowSideEffects: ["array", "boolean"] }, "fork()");
  const { simulated, allowSideEffects } = options;
  if (simulated !== undefined && typeof simulated !== "boolean")
    throw new ToolError("invalid_argument", `The option "simulated" of fork() is a boolean, not ${quoted(simulated)}.`);
  if (allowSideEffects !== undefined && simulated !== true && !isSimulation) {
    throw new ToolError(
      "invalid_argument",
      'The option "allowSideEffects" of fork() belongs to a simulation; this branch would be live anyway.',
      {
        hint: "Give simulated: true as well, or leave it out.",
      },
    );
  }
}
