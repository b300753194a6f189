/** The plan for recorded conversations: their sources, and how they may be changed. */
import { ToolError } from "../../../core/error.ts";
import type { SessionEvent } from "../../../core/event.ts";
import type { FaultPlan } from "../../../core/answers/fault.ts";
import { checkKnownKeys, type OptionNames } from "../../../core/known-keys.ts";
import { COUNT, checkNumber } from "../../../core/base/number-bounds.ts";
import type { Clock } from "../../../core/ports.ts";
import type { RetrySettings } from "../../../policy/attempts/retry.ts";
import type { CheckedPlan } from "../checked-plan.ts";
import type { ConversationWriter } from "../conversation-writer.ts";
import { checkRedaction, type Redaction } from "./redaction.ts";

/** A session that was recorded. */
export interface RecordedSource {
  /** The name in error messages, such as that of the file. */
  readonly name: string;
  /**
   * Returns the session's events, from the first on, as `readRecording` or a session's log returns them. Called when the generation begins, and again
   * when the conversation is written, so that not all recordings are in memory at once.
   */
  readonly events: () => Iterable<SessionEvent> | AsyncIterable<SessionEvent>;
}

/**
 * Uses conversations of recordings and of stored sessions. No tool is called; `runtime` provides the definitions of tools that it has, and those of
 * others are derived from their calls.
 */
export interface RecordedPlan extends CheckedPlan {
  readonly kind: "recorded";
  readonly recordings: readonly RecordedSource[];
  /**
   * The kinds of values that are replaced; each value has the same replacement in a whole conversation. Recordings with something that looks like a
   * secret are refused unless `secrets` are replaced or this is "none"; if it is left out, recordings with e-mail addresses or telephone numbers are
   * refused as well.
   */
  readonly redact?: Redaction;
  /** Maximum number of conversations; the first ones are used. Integer ≥ 1. @default all */
  readonly count?: number;
  /** Writes the answer to the last turn of conversations that end with results. @default those are left out */
  readonly writer?: ConversationWriter;
  /** Faults that are injected into successful calls; a call that fails is made again in the next message, as models do. @default none */
  readonly faults?: FaultPlan;
  /** The backoff of calls that met a fault; how many attempts they get is a setting of the tool. @default that of a runtime */
  readonly retry?: RetrySettings;
  /** The clock of calls that meet faults; with `virtualClock()`, backoff takes no time. @default the system clock */
  readonly clock?: Clock;
}

const RECORDED: OptionNames<RecordedPlan> = {
  kind: true,
  onProblems: true,
  recordings: true,
  redact: true,
  count: true,
  writer: true,
  faults: true,
  retry: true,
  clock: true,
};

/** @throws ToolError `invalid_argument` for an invalid plan */
export function checkRecordedPlan(plan: RecordedPlan, owner: string): void {
  checkKnownKeys(plan, RECORDED, owner);
  const { recordings, redact, count } = plan;
  if (!Array.isArray(recordings) || recordings.length === 0 || recordings.some((one) => typeof one?.events !== "function"))
    throw new ToolError("invalid_argument", `The recordings of ${owner} are missing.`, {
      hint: "Each is { name, events }, where events is a function that returns the events of a session.",
    });
  checkNumber(count, `count of ${owner}`, COUNT);
  checkRedaction(redact, owner);
}
