/** Conditions that end a loop, and votes over several of them. */
import { ToolError } from "../core/error.ts";
import { COUNT, MILLISECONDS, checkNumber } from "../core/base/number-bounds.ts";
import { checkArgument, checkString } from "../core/check-argument.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { TokenUsage } from "../core/model.ts";
import type { ToolResult } from "../core/result.ts";
import { plural, quoteValue } from "../core/base/wording.ts";

/** The state of a run after a round. */
export interface LoopState {
  /** Number of rounds so far, this one included. */
  readonly rounds: number;
  /** Milliseconds since the run began. */
  readonly elapsedMs: number;
  /** The model's text in this round. */
  readonly text: string;
  /** The results of this round, in call order. */
  readonly results: readonly ToolResult[];
  /** The usage of all rounds of the run. */
  readonly usage: TokenUsage;
}

/**
 * Returns why the loop is to end, a non-empty string, or undefined if it may continue. Called after each round; if it throws, or returns another value,
 * the run ends with the error. It is not waited for once the run is cancelled or its time is over.
 */
export type StopCondition = (state: LoopState) => string | undefined | Promise<string | undefined>;

/** @throws ToolError `invalid_argument` unless every condition is a function */
export function checkStopConditions(conditions: readonly StopCondition[] = [], owner: string): void {
  const fits = Array.isArray(conditions) && conditions.every((condition) => typeof condition === "function");
  checkArgument(fits, owner, "an array of conditions", conditions, 'For example [stopAfterRounds(5), stopAtKeyword("DONE")].');
}

/** Ends the run after this many rounds. */
export function stopAfterRounds(rounds: number): StopCondition {
  checkArgument(typeof rounds === "number", "stopAfterRounds()", "a number of rounds", rounds);
  checkNumber(rounds, "The number of stopAfterRounds()", COUNT);
  return (state) =>
    state.rounds >= rounds
      ? `${plural(state.rounds, "round was", "rounds were")} made; ${plural(rounds, "is", "are")} allowed.`
      : undefined;
}

/** Ends the run after the first round that finishes later than this; `LoopLimits.maxDurationMs` does not wait for a round to finish. */
export function stopAfterMs(milliseconds: number): StopCondition {
  checkArgument(typeof milliseconds === "number", "stopAfterMs()", "a number of milliseconds", milliseconds);
  checkNumber(milliseconds, "The milliseconds of stopAfterMs()", MILLISECONDS);
  return ({ elapsedMs }) =>
    elapsedMs >= milliseconds ? `The run took ${Math.round(elapsedMs)} ms; ${milliseconds} are allowed.` : undefined;
}

/** Ends the run when the model's text contains one of the keywords, case-sensitively. */
export function stopAtKeyword(...keywords: readonly string[]): StopCondition {
  for (const keyword of keywords) checkString(keyword, "stopAtKeyword()", "each word");
  if (keywords.length === 0 || keywords.some((keyword) => keyword === ""))
    throw new ToolError("invalid_argument", "stopAtKeyword takes words that are not empty.");
  return ({ text }) => {
    const found = keywords.find((keyword) => text.includes(keyword));
    return found === undefined ? undefined : `The model said ${JSON.stringify(found)}.`;
  };
}

/** Ends the run when at least `atLeast` of the conditions are met; the reason joins theirs. @default 1 */
export function stopByVote(conditions: readonly StopCondition[], options: { readonly atLeast?: number } = {}): StopCondition {
  checkStopConditions(conditions, "stopByVote()");
  checkKnownKeys(options, { atLeast: true }, "stopByVote()");
  const { atLeast = 1 } = options;
  checkNumber(atLeast, "atLeast of stopByVote()", COUNT);
  return async (state) => {
    const votes = await Promise.all(conditions.map(async (condition) => checkReason(await condition(state))));
    const reasons = votes.filter((vote) => vote !== undefined);
    return reasons.length >= atLeast && reasons.length > 0 ? reasons.join(" ") : undefined;
  };
}

/** Returns the reason of the first condition that is met. @throws ToolError `invalid_argument` for one that returns no reason; what they throw */
export async function findMetCondition(conditions: readonly StopCondition[], state: LoopState): Promise<string | undefined> {
  for (const condition of conditions) {
    const reason = checkReason(await condition(state));
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** Rejects booleans, which conditions of other libraries return: `false` would end the run. */
function checkReason(reason: unknown): string | undefined {
  if (reason === undefined || (typeof reason === "string" && reason !== "")) return reason;
  throw new ToolError("invalid_argument", `A condition of stopWhen returned ${quoteValue(reason)}.`, {
    hint: "It returns why the loop is to end, a non-empty string, or undefined if it may continue.",
  });
}
