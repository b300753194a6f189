/** A call that had begun and not ended, as the log of its session shows it, and the end that it is given where no process runs it. */
import type { AnswerSource } from "../core/answer-source.ts";
import type { ToolCall } from "../core/call.ts";
import type { ToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import type { JsonObject } from "../core/base/json.ts";
import { readEvent } from "../core/recording/read-event.ts";
import type { ToolResult } from "../core/result.ts";
import type { EarlierJob } from "../call/jobs/job.ts";
import type { CallSample } from "../policy/faults/fault-tally.ts";

/** The call as it may have been dispatched. */
interface Intent {
  readonly idempotencyKey: string;
  /** The tool and the input as hooks left them. */
  readonly call: { readonly name: string; readonly input: JsonObject };
}

/** A call that had begun and not ended. */
export interface OpenCall {
  readonly callId: string;
  readonly turnId: string;
  /** The nearest call around it that has not ended; once none is left, the one that it was made in. */
  parentCallId: string | undefined;
  readonly call: ToolCall;
  /** The model's message that it belongs to did not end, or was voided. */
  wasNeverWhole: boolean;
  /** Set where it may have been dispatched. */
  intent: Intent | undefined;
  readonly answerFrom: readonly AnswerSource[] | undefined;
  /** Its input was to be made by its caller. */
  readonly isRewritten: boolean;
  /** Whether its caller sent it to the background; undefined = its tool decides that. */
  readonly background: boolean | undefined;
  /** The principal that it was made for. */
  readonly principal: string | undefined;
  /** The rules over the tools that it may use. */
  readonly allow: (SessionEvent & { readonly type: "call-start" })["allow"];
  /** The name of the call for a seed, where calls are counted. */
  readonly sample: CallSample | undefined;
  /** A model made it, in a message. */
  readonly isOfModel: boolean;
  /** Set when it continued in the background. */
  job: EarlierJob | undefined;
  /** The name under which its engine continues its work elsewhere. */
  remoteId: string | undefined;
  /** Its batch is strict. */
  readonly isStrict: boolean;
  /** It was put to an approver, or answered by a rule: its batch had been found sound. */
  wasCleared: boolean;
  /** The reason of a session's own rule for which it is, or was, put to an approver who has not allowed it: that rule is gone, as the loop that had made it. */
  askedFor: string | undefined;
  /** The digest of the call that an answer allowed. */
  allowed: string | undefined;
  /** It was put to an approver, whose answer was not recorded. */
  isAsked: boolean;
  /** The handler of a composite tool made calls in it: it was allowed to run before. Those that it makes are asked about as ever. */
  hasMadeCalls: boolean;
}

/** The call as it was when it began. */
export function openCall(
  event: SessionEvent & { readonly type: "call-start" },
  { wasNeverWhole, sample }: Pick<OpenCall, "wasNeverWhole" | "sample">,
): OpenCall {
  const { callId, turnId, call, parentCallId, inRound, strict, answerFrom, rewritten, background, principal, allow, asks } = event;
  return {
    callId,
    turnId,
    parentCallId,
    call,
    wasNeverWhole,
    intent: undefined,
    answerFrom,
    isRewritten: rewritten === true,
    background,
    principal,
    allow,
    sample,
    isOfModel: inRound === true,
    job: undefined,
    remoteId: undefined,
    isStrict: strict === true,
    wasCleared: false,
    askedFor: asks,
    allowed: undefined,
    isAsked: false,
    hasMadeCalls: false,
  };
}

/** The result of a call that had begun, and the end of its background job: to be appended together. */
export function endOpenCall(
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
export function interruptedResult({ callId, id, name }: InterruptedCall, error: ToolError): ToolResult {
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
