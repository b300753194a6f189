/** Conversations that took place: what they are made of, and how they may be changed. */
import { ToolError } from "../../../core/error.ts";
import type { SessionEvent } from "../../../core/event.ts";
import type { FaultPlan } from "../../../core/fault.ts";
import { checkKnownKeys, type OptionNames } from "../../../core/known-keys.ts";
import { COUNT, checkNumber } from "../../../core/base/number-bounds.ts";
import type { Clock } from "../../../core/ports.ts";
import type { RetrySettings } from "../../../policy/attempts/retry.ts";
import type { CheckedPlan } from "../checked-plan.ts";
import type { ConversationWriter } from "../conversation-writer.ts";
import { checkRedaction, type Redaction } from "./redaction.ts";

/** A session that was recorded. */
export interface RecordedSource {
  /** For messages, such as the name of the file. */
  readonly name: string;
  /**
   * Its events, from the first on, as `readRecording` and a session's log give them. Called when the generation begins, and again when its
   * conversation is written, so that not all of them are in memory at a time.
   */
  readonly events: () => Iterable<SessionEvent> | AsyncIterable<SessionEvent>;
}

/**
 * Conversations of recordings and of stored sessions. No tool is called; `runtime` gives the definitions of tools that it knows, those
 * of others are derived from their calls.
 */
export interface RecordedPlan extends CheckedPlan {
  readonly kind: "recorded";
  readonly recordings: readonly RecordedSource[];
  /**
   * The kinds of values that are replaced, each value by the same one in all of a conversation. Recordings in which something looks like a secret are refused
   * unless `secrets` are replaced or it is "none"; without it those with e-mail addresses or telephone numbers are refused as well.
   */
  readonly redact?: Redaction;
  /** How many conversations at most, the first of them. Integer ≥ 1. @default all */
  readonly count?: number;
  /** Answers the last turn of conversations that were cut off after their results. @default those are left out */
  readonly writer?: ConversationWriter;
  /** Failures that calls meet which had succeeded; such a call is made again in the next message, as models do. @default none */
  readonly faults?: FaultPlan;
  /** The pauses before a call that met a fault is tried again; how often it is tried is a setting of its tool. @default those of a runtime */
  readonly retry?: RetrySettings;
  /** Of calls that meet faults: `virtualClock()`, so that pauses take no time. @default the real one */
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

/** @throws ToolError `invalid_argument` for a plan that cannot be */
export function checkRecordedPlan(plan: RecordedPlan, owner: string): void {
  checkKnownKeys(plan, RECORDED, owner);
  const { recordings, redact, count } = plan;
  if (!Array.isArray(recordings) || recordings.length === 0 || recordings.some((one) => typeof one?.events !== "function"))
    throw new ToolError("invalid_argument", `The recordings of ${owner} are missing.`, {
      hint: "Each is { name, events }, events a function that returns the events of a session.",
    });
  checkNumber(count, `count of ${owner}`, COUNT);
  checkRedaction(redact, owner);
}
