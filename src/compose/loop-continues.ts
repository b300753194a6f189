/** Whether a loop continues after a round: one pure decision. */
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import { typeInWords } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";
import { FINISH_REASONS, type FinishReason, endedWell } from "../core/model.ts";
import type { ErrorCode } from "../core/error-codes.ts";
import type { ToolCategory } from "../core/tool.ts";
import type { BudgetLevel } from "./loop-budget.ts";
import { LIMIT_DEFAULTS, LIMIT_NAMES, type LoopLimits } from "./loop-limits.ts";
import type { StopReason } from "./stop-reason.ts";

/** A call of the round, as far as the decision looks at it. */
export interface RoundCall {
  /** As `RegisteredTool.category` has it. */
  readonly category: ToolCategory;
  /** It passed the gates (name, input, permission, the rules of the turn), whatever came of it then. @default true */
  readonly admitted?: boolean;
  /** Of its error. */
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
  /** This was the round to answer in, after the budget was used up. @default false */
  readonly lastRound?: boolean;
  /** @default "ok" */
  readonly budget?: BudgetLevel;
  /** There is a message that the model has not received. @default false */
  readonly steered?: boolean;
  /** @default false */
  readonly aborted?: boolean;
  /** Too many calls in a row have failed. @default false */
  readonly emergency?: boolean;
  /** The same call has had the same result too often. @default false */
  readonly repeated?: boolean;
  /** A condition of the program is met. @default false */
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

/** The limits that the decision looks at, with the defaults of a loop. */
export type RoundLimits = Pick<LoopLimits, "maxRounds" | "maxPauses" | "multiAction">;

/**
 * Why a loop ends after a round; undefined where it continues.
 *
 * Decides in this order: what must stop at once, what the message's end says, what the program wants, what the calls say by category,
 * and last the limits.
 *
 * By category: after `SAFE_CHAIN` and `ASYNC_REQUIRED` the loop continues, and after `DANGEROUS` as well, whose second call
 * in a turn is answered `limit_exceeded`; a `TERMINAL` call that was admitted ends it, with any result.
 *
 * @throws ToolError `invalid_argument` for facts that are incomplete, and for unknown names
 */
export function reasonToStop(facts: RoundFacts, limits: RoundLimits = {}): StopReason | undefined {
  checkFacts(facts);
  checkKnownKeys<LoopLimits>(limits, LIMIT_NAMES, "reasonToStop()"); // the other limits of a loop may be given with these
  const { calls, finish } = facts;
  if (facts.aborted === true) return "cancelled";
  if (facts.emergency === true) return "emergency-stop";
  const unwell = stopOfFinish(finish);
  if (unwell !== undefined) return unwell;
  if (facts.conditionMet === true) return "stop-condition";
  if (calls.some(({ code }) => code === "approval_required")) return "approval";
  if (calls.some(endsTurn)) return "tool-ended-turn";
  if (facts.repeated === true) return "repeated-calls";
  return stopOfLimits(facts, limits);
}

function checkFacts(facts: RoundFacts): void {
  checkKnownKeys(facts, FACTS, "reasonToStop()");
  const { finish, calls, rounds } = facts;
  const wrong = (fact: keyof RoundFacts, value: unknown, expected: string): ToolError =>
    new ToolError("invalid_argument", `${fact} of reasonToStop() is ${shown(value)}; it is ${expected}.`);
  if (!FINISH_REASONS.includes(finish)) throw wrong("finish", finish, `one of ${FINISH_REASONS.join(", ")}`);
  if (!Array.isArray(calls)) throw wrong("calls", calls, "an array, the calls of the round");
  if (!Number.isInteger(rounds) || rounds < 0) throw wrong("rounds", rounds, "an integer from 0");
}

function shown(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? JSON.stringify(value) : typeInWords(value);
}

/** A terminal call that was refused before it was admitted has ended nothing: the model may mend it. */
function endsTurn({ category, admitted = true }: RoundCall): boolean {
  return category === "TERMINAL" && admitted;
}

function stopOfFinish(finish: FinishReason): StopReason | undefined {
  if (endedWell(finish) || finish === "pause") return undefined;
  return finish === "length" || finish === "content-filter" || finish === "refusal" ? finish : "model-error";
}

function stopOfLimits(facts: RoundFacts, limits: RoundLimits): StopReason | undefined {
  const { maxRounds, maxPauses, multiAction } = { ...LIMIT_DEFAULTS, ...limits };
  const { calls, finish, steered = false, lastRound = false, pauses = 0, rounds } = facts;
  const wantsMore = calls.length > 0 || steered || finish === "pause";
  if (!wantsMore) return "answered";
  if (facts.budget === "crash" || lastRound) return "budget";
  if (!multiAction && calls.length > 0) return "one-action";
  return rounds >= maxRounds || pauses > maxPauses ? "max-rounds" : undefined;
}
