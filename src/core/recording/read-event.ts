/** Reads and validates a session event from an untrusted source, such as a stored row or a line of a recording. */
import {
  allOf,
  anyJson,
  anyText,
  count,
  describeProblem,
  anyObject,
  arrayOf,
  numberBetween,
  oneOf,
  optional,
  shapeProblem,
  shape,
  textMatching,
  textOfLength,
  anyBoolean,
  variantOf,
  type ShapeCheck,
} from "../base/check-shape.ts";
import { APPROVAL_SCOPES } from "../store/approval-store.ts";
import { ERROR_CODES } from "../error-codes.ts";
import { MAX_MESSAGE_LENGTH, ToolError } from "../error.ts";
import type { SessionEvent } from "../event.ts";
import { FIDELITIES } from "../answers/fidelity.ts";
import type { JsonLimits } from "../base/json-limits.ts";
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { FINISH_REASONS } from "../model.ts";
import { ANSWER_SOURCES } from "../answers/answer-source.ts";

/** Maximum length of an id, key or name in an event, in UTF-16 units. A longer one is refused when it is created. */
export const MAX_ID_LENGTH = 1_024;

/** Limits that leave room for the largest possible result: its output, its content and the input that led to it. */
export const EVENT_LIMITS = { maxDepth: 128, maxNodes: 8_000_000, maxChars: 128 * 1024 * 1024 } as const satisfies JsonLimits;

/**
 * Reads a parsed JSON value as an event of a session's log, deeply frozen.
 *
 * Every field is checked for its type, every enumerated word against its list. Fields of the event itself that this version does not know are
 * dropped; inside results, inputs and messages they are kept. Keys named `__proto__` are always dropped, and the result is plain data only.
 *
 * @param where the place that the value was read from, such as `line 12`: the error's message begins with it
 * @throws ToolError `corrupt_record` naming the path and what was expected there
 */
export function readEvent(value: unknown, where: string): SessionEvent {
  const event = copyEvent(value, where);
  const found = EVENT(event);
  if (found !== undefined) throw new ToolError("corrupt_record", `${where}: ${describeProblem(found)}.`);
  return dropUnknownFields(event) as unknown as SessionEvent; // every field was just checked
}

/** Whether this version has events of this type. */
export function isKnownType(type: unknown): boolean {
  return typeof type === "string" && FIELD_NAMES.has(type);
}

function copyEvent(value: unknown, where: string): JsonValue {
  try {
    return copyJson(value, EVENT_LIMITS).value;
  } catch (error: unknown) {
    throw new ToolError("corrupt_record", `${where}: ${ToolError.fromUnknown(error).message}.`, { cause: error });
  }
}

const id = textOfLength(1, MAX_ID_LENGTH);
/** The name is empty for a call that could not be read. */
const name = textOfLength(0, MAX_ID_LENGTH);
/** The same limit as in `ErrorInfo`. */
const MAX_DETAILS = 20;
/** The range of a `Date`. */
const at = numberBetween(-8.64e15, 8.64e15);
const duration = numberBetween(0, Number.MAX_VALUE);
const ids = arrayOf(id);

const text = shape({ text: anyText });
const media = shape({ mediaType: anyText, data: anyText });
const file = shape({
  uri: anyText,
  mediaType: optional(anyText),
  text: optional(anyText),
  name: optional(anyText),
  description: optional(anyText),
});
const content = arrayOf(variantOf("type", { text, image: media, audio: media, file }));

const call = shape({ id: optional(id), name, input: optional(anyJson), reasoning: optional(anyText) });

const error = shape({
  code: oneOf(Object.keys(ERROR_CODES)),
  message: textOfLength(0, MAX_MESSAGE_LENGTH),
  retryable: anyBoolean,
  outcome: oneOf(["not_started", "failed", "unknown"]),
  hint: optional(anyText),
  operatorHint: optional(anyText),
  toolNames: optional(arrayOf(name, MAX_DETAILS)),
  details: optional(arrayOf(anyText, MAX_DETAILS)),
  retryAfterMs: optional(numberBetween(-Number.MAX_VALUE, Number.MAX_VALUE)),
});

const repair = shape({
  path: anyText,
  kind: oneOf(["parsed-json", "fixed-json", "coerced", "defaulted", "dropped", "renamed"]),
  note: anyText,
});

const result = allOf(
  shape({
    callId: id,
    id: optional(id),
    name,
    status: oneOf(["ok", "partial", "error", "cancelled", "skipped"]),
    output: optional(anyJson),
    content: optional(content),
    exitCode: optional(numberBetween(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)),
    error: optional(error),
    origin: oneOf(["live", "cache", "replay", "simulated", "stub"]),
    fidelity: optional(oneOf(FIDELITIES)),
    answeredBy: optional(anyText),
    fault: optional(anyText),
    attempts: count,
    durationMs: duration,
    repairs: arrayOf(repair),
    warnings: arrayOf(anyText),
    truncation: optional(shape({ handle: optional(anyText), totalBytes: count, shownBytes: count })),
    sameAs: optional(id),
    metadata: optional(anyObject),
  }),
  (value) => (isJsonObject(value) ? checkErrorFits(value) : undefined),
);

/** A result has an error unless it is `ok`, as in the type `ToolResult`. */
function checkErrorFits({ status, error }: JsonObject): ReturnType<ShapeCheck> {
  if (status === "ok") return error === undefined ? undefined : shapeProblem("no error, because the result is ok", error, ".error");
  return error === undefined ? shapeProblem(`the error of a result that is ${String(status)}`, error, ".error") : undefined;
}

const spokenContent: ShapeCheck = (value) => (typeof value === "string" ? undefined : content(value));
const message = shape({
  role: oneOf(["user", "assistant", "system", "document"]),
  content: spokenContent,
  title: optional(anyText),
  inboxId: optional(id),
  native: optional(shape({ format: textOfLength(1, MAX_ID_LENGTH), blocks: arrayOf(anyJson), container: optional(id) })),
});
const usage = shape({
  inputTokens: count,
  outputTokens: count,
  cachedInputTokens: optional(count),
  cacheWriteTokens: optional(count),
  reasoningTokens: optional(count),
});
const branchPoint = shape({ sessionId: id, length: count });

const pointer = textMatching(/^(?:$|\/)/u, "a JSON Pointer", /~(?![01])/u);
const setting = shape({ path: pointer, value: anyJson });
const patch = arrayOf(variantOf("op", { add: setting, replace: setting, remove: shape({ path: pointer }) }));

const span = { atMs: duration, ms: duration };
const timing = arrayOf(
  variantOf("phase", {
    approval: shape(span),
    slot: shape(span),
    backoff: shape(span),
    lock: shape({ ...span, holders: ids }),
    attempt: shape({
      ...span,
      error: optional(oneOf(Object.keys(ERROR_CODES))),
      abandoned: optional(anyBoolean),
      lateMs: optional(duration),
    }),
  }),
);

type Fields = Readonly<Record<string, ShapeCheck>>;

const COMMON_FIELDS: Fields = { type: anyText, sessionId: id, at };
const CALL_FIELDS: Fields = { ...COMMON_FIELDS, callId: id, turnId: id };

/** The fields of each type of event. */
const FIELDS = {
  "session-start": {
    ...COMMON_FIELDS,
    parent: optional(branchPoint),
    copied: optional(count),
    parentCall: optional(shape({ sessionId: id, callId: id })),
  },
  "message-add": { ...COMMON_FIELDS, message, parentCallId: optional(id), principal: optional(id) },
  "inbox-add": {
    ...COMMON_FIELDS,
    id,
    message,
    sender: optional(anyText),
    triggerId: optional(id),
    tick: optional(at),
    principal: optional(id),
    traceparent: optional(id),
  },
  "trigger-add": { ...COMMON_FIELDS, id, kind: id, settings: anyObject, declared: optional(anyBoolean), tick: optional(at) },
  "trigger-pause": { ...COMMON_FIELDS, id },
  "trigger-resume": { ...COMMON_FIELDS, id, tick: optional(at) },
  "trigger-remove": { ...COMMON_FIELDS, id },
  "batch-start": { ...COMMON_FIELDS, turnId: id, callIds: ids, idempotencyKey: id, digest: id },
  "call-start": {
    ...CALL_FIELDS,
    call,
    parentCallId: optional(id),
    ofComposite: optional(anyBoolean),
    inRound: optional(anyBoolean),
    strict: optional(anyBoolean),
    answerFrom: optional(arrayOf(oneOf(ANSWER_SOURCES))),
    rewritten: optional(anyBoolean),
    background: optional(anyBoolean),
    keepsFlag: optional(anyBoolean),
    principal: optional(id),
    allow: optional(arrayOf(shape({ allow: optional(arrayOf(id)), deny: optional(arrayOf(id)) }))),
    asks: optional(anyText),
    overload: optional(id),
    traceparent: optional(id),
  },
  "call-intent": { ...CALL_FIELDS, toolName: name, input: anyObject, idempotencyKey: id },
  "call-remote": { ...CALL_FIELDS, toolName: name, remoteId: id },
  "approval-ask": {
    ...CALL_FIELDS,
    toolName: name,
    approvalId: id,
    digest: id,
    input: anyObject,
    reason: anyText,
    warned: optional(anyBoolean),
    begun: optional(anyBoolean),
    expiresAt: optional(at),
  },
  "approval-answer": {
    ...CALL_FIELDS,
    toolName: name,
    approvalId: id,
    digest: id,
    status: oneOf(["allowed", "denied", "withdrawn", "expired"]),
    scope: optional(oneOf(APPROVAL_SCOPES)),
    ruleId: optional(id),
    by: optional(anyText),
  },
  "state-change": { ...CALL_FIELDS, toolset: name, key: anyText, patch },
  "call-end": { ...CALL_FIELDS, result, input: optional(anyObject), timing: optional(timing) },
  "job-start": {
    ...CALL_FIELDS,
    toolName: name,
    mode: oneOf(["background", "stateful"]),
    notify: anyBoolean,
    queued: optional(anyBoolean),
    traceparent: optional(id),
  },
  "job-run": {
    ...CALL_FIELDS,
    toolName: name,
    starts: count,
    queued: optional(anyBoolean),
    handedOver: optional(anyBoolean),
    awaited: optional(anyBoolean),
    traceparent: optional(id),
  },
  "job-output": { ...CALL_FIELDS, toolName: name, position: count, text: anyText, asks: optional(anyBoolean) },
  "job-input": { ...CALL_FIELDS, input: anyJson, principal: optional(id) },
  "job-end": { ...CALL_FIELDS, toolName: name, status: oneOf(["ok", "partial", "error", "cancelled", "skipped"]), notify: anyBoolean },
  "output-keep": { ...CALL_FIELDS, output: optional(anyJson), content: optional(content) },
  "outcome-resolve": { ...CALL_FIELDS, toolName: name, outcome: oneOf(["applied"]) },
  "round-end": {
    ...COMMON_FIELDS,
    turnId: id,
    callIds: ids,
    parentCallId: optional(id),
    message,
    finish: oneOf(FINISH_REASONS),
    usage,
    model: optional(anyText),
    providerTools: optional(arrayOf(anyText)),
    voided: optional(anyText),
  },
  "batch-rollback": { ...COMMON_FIELDS, turnId: id, callIds: ids },
  "branch-commit": { ...COMMON_FIELDS, branchId: id, events: count },
} as const satisfies Record<SessionEvent["type"], Fields>;

const FIELD_NAMES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(FIELDS).map(([type, fields]) => [type, new Set(Object.keys(fields))]),
);

const EVENT = allOf(variantOf("type", Object.fromEntries(Object.entries(FIELDS).map(([type, fields]) => [type, shape(fields)]))), (value) =>
  isJsonObject(value) && value["type"] === "call-end" ? checkSameCallId(value) : undefined,
);

function checkSameCallId({ callId, result }: JsonObject): ReturnType<ShapeCheck> {
  const named = isJsonObject(result) ? result["callId"] : undefined;
  return named === callId ? undefined : shapeProblem(`the event's own callId, ${JSON.stringify(callId)}`, named, ".result.callId");
}

function dropUnknownFields(event: JsonValue): JsonValue {
  if (!isJsonObject(event)) return event;
  const known = FIELD_NAMES.get(String(event["type"]));
  const names = Object.keys(event);
  if (known === undefined || names.every((name) => known.has(name))) return event;
  return Object.freeze(Object.fromEntries(Object.entries(event).filter(([name]) => known.has(name))));
}
