/** Decides whether a loop continues after a round, as a pure function. */
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import { describeValueType } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";
import { FINISH_REASONS, type FinishReason, endedWell } from "../core/model.ts";
import type { ErrorCode } from "../core/error-codes.ts";
import type { ToolCategory } from "../core/tool.ts";
import type { BudgetLevel } from "./loop-budget.ts";
import { LIMIT_DEFAULTS, LIMIT_NAMES, type LoopLimits } from "./loop-limits.ts";
import type { StopReason } from "./stop-reason.ts";

/** The facts about one call of the round that the decision uses. */
export interface RoundCall {
  /** The value of `RegisteredTool.category`. */
  readonly category: ToolCategory;
  /** Whether the call passed the gates (name, input, permission, the rules of the turn), whatever its result. @default true */
  readonly admitted?: boolean;
  /** The code of the call's error. */
  readonly code?: ErrorCode | undefined;
}

/** The facts when a round is over. */
export interface RoundFacts {
  readonly finish: FinishReason;
  readonly calls: readonly RoundCall[];
  /** How many rounds the run has had, this one included. */
  readonly rounds: number;
  /** How many messages in a row were pauses, this one included. @default 0 */
  readonly pauses?: number;
  /** Whether this round was the last one, granted for the answer after the budget was used up. @default false */
  readonly lastRound?: boolean;
  /** @default "ok" */
  readonly budget?: BudgetLevel;
  /** Whether there is a message that the model has not received. @default false */
  readonly steered?: boolean;
  /** Whether the run was cancelled. @default false */
  readonly aborted?: boolean;
  /** Whether too many calls in a row have failed. @default false */
  readonly emergency?: boolean;
  /** Whether the same call has had the same result too often. @default false */
  readonly repeated?: boolean;
  /** Whether a stop condition of the program is met. @default false */
  readonly conditionMet?: boolean;
}

const FACTS: OptionNames<RoundFacts> = {
  finish: true,
  calls: true,
  rounds: true,
  pauses: true,
  lastRound: true,
  budget: true,
  steered: true,
  aborted: true,
  emergency: true,
  repeated: true,
  conditionMet: true,
};

/** The limits that the decision uses, with the defaults of a loop. */
export type RoundLimits = Pick<LoopLimits, "maxRounds" | "maxPauses" | "multiAction">;

/**
 * Returns why a loop ends after a round; undefined if it continues.
 *
 * Checks in this order: immediate stops, the finish reason of the message, the program's stop condition, the calls by category, the limits.
 *
 * By category: the loop continues after `SAFE_CHAIN`, `ASYNC_REQUIRED` and `DANGEROUS`, whose second call in a turn is answered `limit_exceeded`; a
 * `TERMINAL` call that was admitted ends the loop, whatever its result.
 *
 * @throws ToolError `invalid_argument` for facts that are incomplete, and for unknown names
 */
export function reasonToStop(facts: RoundFacts, limits: RoundLimits = {}): StopReason | undefined {
  checkFacts(facts);
  checkKnownKeys<LoopLimits>(limits, LIMIT_NAMES, "reasonToStop()"); // the other limits of a loop are accepted and ignored
  const { calls, finish } = facts;
  if (facts.aborted === true) return "cancelled";
  if (facts.emergency === true) return "emergency-stop";
  const unwell = reasonFromFinish(finish);
  if (unwell !== undefined) return unwell;
  if (facts.conditionMet === true) return "stop-condition";
  if (calls.some(({ code }) => code === "approval_required")) return "approval";
  if (calls.some(endsTurn)) return "tool-ended-turn";
  if (facts.repeated === true) return "repeated-calls";
  return reasonFromLimits(facts, limits);
}

function checkFacts(facts: RoundFacts): void {
  checkKnownKeys(facts, FACTS, "reasonToStop()");
  const { finish, calls, rounds } = facts;
  const factError = (fact: keyof RoundFacts, value: unknown, expected: string): ToolError =>
    new ToolError("invalid_argument", `${fact} of reasonToStop() is ${formatFact(value)}; it must be ${expected}.`);
  if (!FINISH_REASONS.includes(finish)) throw factError("finish", finish, `one of ${FINISH_REASONS.join(", ")}`);
  if (!Array.isArray(calls)) throw factError("calls", calls, "an array, the calls of the round");
  if (!Number.isInteger(rounds) || rounds < 0) throw factError("rounds", rounds, "an integer from 0");
}

function formatFact(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? JSON.stringify(value) : describeValueType(value);
}

/** Whether the call ends the turn. A terminal call that was refused before it was admitted does not: the model may correct it. */
function endsTurn({ category, admitted = true }: RoundCall): boolean {
  return category === "TERMINAL" && admitted;
}

function reasonFromFinish(finish: FinishReason): StopReason | undefined {
  if (endedWell(finish) || finish === "pause") return undefined;
  return finish === "length" || finish === "content-filter" || finish === "refusal" ? finish : "model-error";
}

function reasonFromLimits(facts: RoundFacts, limits: RoundLimits): StopReason | undefined {
  const { maxRounds, maxPauses, multiAction } = { ...LIMIT_DEFAULTS, ...omitUndefined(limits) };
  const { calls, finish, steered = false, lastRound = false, pauses = 0, rounds } = facts;
  const wantsMore = calls.length > 0 || steered || finish === "pause";
  if (!wantsMore) return "answered";
  if (facts.budget === "crash" || lastRound) return "budget";
  if (!multiAction && calls.length > 0) return "one-action";
  return rounds >= maxRounds || pauses > maxPauses ? "max-rounds" : undefined;
}
