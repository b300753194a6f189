/** Conditions that end a loop: ready ones, and votes over any number of them. */
import { ToolError } from "../core/error.ts";
import { COUNT, MILLISECONDS, checkNumber } from "../core/base/number-bounds.ts";
import { checkArgument, checkText } from "../core/check-argument.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { TokenUsage } from "../core/model.ts";
import type { ToolResult } from "../core/result.ts";
import { plural } from "../core/base/wording.ts";

/** Where a run is, after a round. */
export interface LoopState {
  /** Rounds so far, this one included. */
  readonly rounds: number;
  /** Milliseconds since the run began. */
  readonly elapsedMs: number;
  /** The model's text in this round. */
  readonly text: string;
  /** The results of this round, in call order. */
  readonly results: readonly ToolResult[];
  /** Of all rounds of the run. */
  readonly usage: TokenUsage;
}

/** Returns why the loop is to end, or nothing when it may continue. Asked after each round; throwing ends the run with the error. */
export type StopCondition = (state: LoopState) => string | undefined | Promise<string | undefined>;

/** Ends after so many rounds. */
export function stopAfterRounds(rounds: number): StopCondition {
  checkArgument(typeof rounds === "number", "stopAfterRounds()", "a number of rounds", rounds);
  checkNumber(rounds, "The number of stopAfterRounds()", COUNT);
  return (state) =>
    state.rounds >= rounds
      ? `${plural(state.rounds, "round was", "rounds were")} made; ${plural(rounds, "is", "are")} allowed.`
      : undefined;
}

/** Ends after the first round that is over later than this; `LoopLimits.maxDurationMs` does not wait for that. */
export function stopAfterMs(milliseconds: number): StopCondition {
  checkArgument(typeof milliseconds === "number", "stopAfterMs()", "a number of milliseconds", milliseconds);
  checkNumber(milliseconds, "The milliseconds of stopAfterMs()", MILLISECONDS);
  return ({ elapsedMs }) =>
    elapsedMs >= milliseconds ? `The run took ${Math.round(elapsedMs)} ms; ${milliseconds} are allowed.` : undefined;
}

/** Ends when the model says one of these, letter for letter. */
export function stopAtKeyword(...keywords: readonly string[]): StopCondition {
  for (const keyword of keywords) checkText(keyword, "stopAtKeyword()", "each word");
  if (keywords.length === 0 || keywords.some((keyword) => keyword === ""))
    throw new ToolError("invalid_argument", "stopAtKeyword takes words that are not empty.");
  return ({ text }) => {
    const found = keywords.find((keyword) => text.includes(keyword));
    return found === undefined ? undefined : `The model said ${JSON.stringify(found)}.`;
  };
}

/** Ends when at least `atLeast` of the conditions are met, with all of their reasons. @default 1 */
export function stopByVote(conditions: readonly StopCondition[], options: { readonly atLeast?: number } = {}): StopCondition {
  const fits = Array.isArray(conditions) && conditions.every((condition) => typeof condition === "function");
  checkArgument(fits, "stopByVote()", "an array of conditions", conditions, 'For example [stopAfterRounds(5), stopAtKeyword("DONE")].');
  checkKnownKeys(options, { atLeast: true }, "stopByVote()");
  const { atLeast = 1 } = options;
  checkNumber(atLeast, "atLeast of stopByVote()", COUNT);
  return async (state) => {
    const votes = await Promise.all(conditions.map(async (condition) => condition(state)));
    const reasons = votes.filter((vote) => vote !== undefined);
    return reasons.length >= atLeast && reasons.length > 0 ? reasons.join(" ") : undefined;
  };
}
