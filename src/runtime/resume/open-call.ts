/** A call that had begun and not ended, according to the log of its session, and the end it gets if no process runs it. */
import { pushAll } from "../../core/collections/push-all.ts";
import type { AnswerSource } from "../../core/answers/answer-source.ts";
import type { ToolCall } from "../../core/call.ts";
import type { ToolError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { readEvent } from "../../core/recording/read-event.ts";
import type { ResultWithError } from "../../core/result.ts";
import type { EarlierJob } from "../../call/jobs/job.ts";
import type { CallSample } from "../../policy/faults/fault-tally.ts";

/** The call as it may have been dispatched. */
interface Intent {
  readonly idempotencyKey: string;
  /** The tool and the input after hooks. */
  readonly call: { readonly name: string; readonly input: JsonObject };
}

/** A call that had begun and not ended. */
export interface OpenCall {
  readonly callId: string;
  readonly turnId: string;
  /** The nearest call around it that has not ended; if there is none, its direct caller. */
  parentCallId: string | undefined;
  readonly call: ToolCall;
  /** The model's message that it belongs to did not end, or was voided. */
  hasIncompleteMessage: boolean;
  /** Set if it may have been dispatched. */
  intent: Intent | undefined;
  readonly answerFrom: readonly AnswerSource[] | undefined;
  /** Its caller was to rewrite its input. */
  readonly isRewritten: boolean;
  /** Whether its caller sent it to the background; undefined = its tool decides. */
  readonly background: boolean | undefined;
  /** The principal for which it was made. */
  readonly principal: string | undefined;
  /** The rules for the tools that it may use. */
  readonly allow: (SessionEvent & { readonly type: "call-start" })["allow"];
  /** The span in which it was made, if it was traced. */
  readonly traceparent: string | undefined;
  /** Identifies the call for seeds, if calls are counted. */
  readonly sample: CallSample | undefined;
  /** A model made it, in a message, and may have been offered `run_in_background`. */
  readonly takesFlag: boolean;
  /** Set if it continued in the background. */
  job: EarlierJob | undefined;
  /** The engine's id of the work that continues elsewhere. */
  remoteId: string | undefined;
  readonly isStrict: boolean;
  /** Approval was asked, or a rule allowed it; so its strict batch had passed its checks. */
  reachedApproval: boolean;
  /** Why a session's own rule asked for approval, which was not given: the rule is gone, like the loop that had set it. */
  askedReason: string | undefined;
  /** The digest of the call that an answer allowed. */
  approvedDigest: string | undefined;
  /** When an approver was asked, if the answer was not recorded. */
  askedAt: number | undefined;
  /** The latest question was asked after a crash, before which it may have been run. */
  hadBegun: boolean;
  /** Whether all open calls of the session that its handler had begun wait for approval. */
  awaitsWithin: boolean;
  /** The handler of a composite tool has made calls in it, so it was allowed to run before. Its nested calls still need approval. */
  hasMadeCalls: boolean;
  /** A call that its handler made may have been dispatched, and may not be repeated. */
  hasNestedIntent: boolean;
  /** The ids of calls that have ended, made by its handler and theirs: they may have begun sessions, which have intents of their own. */
  readonly endedWithin: string[];
}

/**
 * Notes that a call, and those around it, must not be run again because of what a call nested in them may have done. Stops at a call that was noted
 * already: a damaged log may say that calls were made in one another.
 */
export function noteNestedIntent(call: OpenCall | undefined, byId: ReadonlyMap<string, OpenCall>): void {
  let outer = call;
  for (; outer?.hasNestedIntent === false; outer = byId.get(outer.parentCallId ?? "")) outer.hasNestedIntent = true;
}

/** Maximum number of ended calls remembered for one that has not ended; with more, it counts as one that must not be run again. */
const MAX_ENDED_WITHIN = 10_000;

/** Notes that a call, which was made by the handler of another, has ended. */
export function noteEndedWithin(outer: OpenCall, { callId, endedWithin }: OpenCall): void {
  if (outer.endedWithin.length + endedWithin.length >= MAX_ENDED_WITHIN) outer.hasNestedIntent = true;
  else pushAll(outer.endedWithin, [callId, ...endedWithin]);
}

/** Returns the call as it was when it began. */
export function toOpenCall(
  event: SessionEvent & { readonly type: "call-start" },
  { hasIncompleteMessage, sample }: Pick<OpenCall, "hasIncompleteMessage" | "sample">,
): OpenCall {
  const { callId, turnId, call, parentCallId, inRound, keepsFlag, strict, answerFrom, rewritten, background } = event;
  const { principal, allow, asks, traceparent } = event;
  return {
    callId,
    turnId,
    parentCallId,
    call,
    hasIncompleteMessage,
    intent: undefined,
    answerFrom,
    isRewritten: rewritten === true,
    background,
    principal,
    allow,
    traceparent,
    sample,
    takesFlag: inRound === true && keepsFlag !== true,
    job: undefined,
    remoteId: undefined,
    isStrict: strict === true,
    reachedApproval: false,
    askedReason: asks,
    approvedDigest: undefined,
    askedAt: undefined,
    hadBegun: false,
    awaitsWithin: false,
    hasMadeCalls: false,
    hasNestedIntent: false,
    endedWithin: [],
  };
}

/** The events that end a call: its result, and the end of its background job. Append them together. */
export function createCallEndEvents(
  { callId, turnId, call, job }: OpenCall,
  error: ToolError,
  { sessionId, at }: { readonly sessionId: string; readonly at: number },
): readonly SessionEvent[] {
  const result = interruptedResult({ callId, id: call.id, name: job?.toolName ?? call.name }, error);
  const { status } = result;
  const base = { callId, turnId, sessionId, at };
  const end = readEvent({ ...base, type: "call-end", result }, "The result of an interrupted call");
  if (job === undefined) return [end];
  const { toolName, notify } = job;
  return [end, readEvent({ ...base, type: "job-end", toolName, status, notify }, "The end of an interrupted job")];
}

interface InterruptedCall {
  readonly callId: string;
  readonly id: string | undefined;
  readonly name: string;
}

/** The result of a call that no process runs. */
export function interruptedResult({ callId, id, name }: InterruptedCall, error: ToolError): ResultWithError {
  return {
    callId,
    ...(id === undefined ? {} : { id }),
    name,
    status: error.code === "cancelled" ? "cancelled" : "error",
    error: error.toJSON(),
    origin: "live",
    attempts: 0,
    durationMs: 0,
    repairs: [],
    warnings: [],
  };
}
