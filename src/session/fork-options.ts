/** The options of a branch. */
import { quoteValue } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";

/** Options for forking a session. */
export interface ForkOptions {
  /** @default a new id */
  readonly id?: string;
  /** Whether the branch is a simulation: its calls have no side effects. A branch of a simulation always is one. @default false */
  readonly simulated?: boolean;
  /** For a simulation: the tools whose calls really run, as patterns for qualified names; `true` = all. @default none */
  readonly allowSideEffects?: boolean | readonly string[];
}

/**
 * Refuses options that look like those of a simulation but would create a live branch.
 *
 * @param isSimulation whether the branch is a simulation in any case
 * @throws ToolError `invalid_argument`
 */
export function checkForkOptions(options: ForkOptions, isSimulation: boolean): void {
  checkKnownKeys(options, { id: true, simulated: true, allowSideEffects: ["array", "boolean"] }, "fork()");
  const { simulated, allowSideEffects } = options;
  if (simulated !== undefined && typeof simulated !== "boolean")
    throw new ToolError("invalid_argument", `The option "simulated" of fork() must be a boolean, not ${quoteValue(simulated)}.`);
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
