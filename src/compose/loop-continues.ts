/** Whether a loop goes on after a round: one pure decision. */
import { type FinishReason, endedWell } from "../core/model.ts";
import type { ErrorCode } from "../core/error-codes.ts";
import type { ToolCategory } from "../core/tool.ts";
import type { BudgetLevel } from "./loop-budget.ts";
import type { CheckedLimits } from "./loop-limits.ts";
import type { StopReason } from "./stop-reason.ts";

/** A call of the round, as far as the decision looks at it. */
export interface RoundCall {
  readonly category: ToolCategory;
  /** It passed the gates (name, input, permission, the rules of the turn), whatever came of it then. */
  readonly admitted: boolean;
  /** Of its error. */
  readonly code?: ErrorCode | undefined;
}

/** What is known when a round is over. */
export interface RoundFacts {
  readonly finish: FinishReason;
  readonly calls: readonly RoundCall[];
  /** How many rounds the run has had, this one included. */
  readonly rounds: number;
  /** How many messages in a row were pauses, this one included. */
  readonly pauses: number;
  /** This was the round to answer in, after the budget was used up. */
  readonly lastRound: boolean;
  readonly budget: BudgetLevel;
  /** Somebody has said something that the model has not heard. */
  readonly steered: boolean;
  readonly aborted: boolean;
  readonly emergency: boolean;
  readonly repeated: boolean;
  readonly conditionMet: boolean;
}

export type RoundLimits = Pick<CheckedLimits, "maxRounds" | "maxPauses" | "multiAction">;

/** The reason to stop; undefined to go on. */
export type LoopDecision = StopReason | undefined;

/**
 * Decides in this order: what must stop at once, what the message's end says, what the program wants, what the calls say by category,
 * and last the limits.
 *
 * By category: after `SAFE_CHAIN` and `ASYNC_REQUIRED` the loop goes on, and after `DANGEROUS` as well, whose second call
 * in a turn is answered `limit_exceeded`; a `TERMINAL` call that was admitted ends it, whatever it came to.
 */
export function loopContinues(facts: RoundFacts, limits: RoundLimits): LoopDecision {
  const { calls, finish } = facts;
  if (facts.aborted) return "cancelled";
  if (facts.emergency) return "emergency-stop";
  const unwell = stopOfFinish(finish);
  if (unwell !== undefined) return unwell;
  if (facts.conditionMet) return "stop-condition";
  if (calls.some(({ code }) => code === "approval_required")) return "approval";
  if (calls.some(endsTurn)) return "tool-ended-turn";
  if (facts.repeated) return "repeated-calls";
  return stopOfLimits(facts, limits);
}

/** A terminal call that was refused before it was admitted has ended nothing: the model may mend it. */
function endsTurn({ category, admitted }: RoundCall): boolean {
  return category === "TERMINAL" && admitted;
}

function stopOfFinish(finish: FinishReason): LoopDecision {
  if (endedWell(finish) || finish === "pause") return undefined;
  return finish === "length" || finish === "content-filter" || finish === "refusal" ? finish : "model-error";
}

function stopOfLimits(facts: RoundFacts, { maxRounds, maxPauses, multiAction }: RoundLimits): LoopDecision {
  const { calls, finish, steered, rounds } = facts;
  const wantsMore = calls.length > 0 || steered || finish === "pause";
  if (!wantsMore) return "answered";
  if (facts.budget === "crash" || facts.lastRound) return "budget";
  if (!multiAction && calls.length > 0) return "one-action";
  return rounds >= maxRounds || facts.pauses > maxPauses ? "max-rounds" : undefined;
}
