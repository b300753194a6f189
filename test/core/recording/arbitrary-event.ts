/** Random events of a session, of every type, with all the odd text that JSON can hold. */
import fc from "fast-check";
import { ERROR_CODES, type ErrorCode } from "../../../src/core/error-codes.ts";
import { FINISH_REASONS } from "../../../src/core/model.ts";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";

const CODES = Object.keys(ERROR_CODES).filter((code): code is ErrorCode => Object.hasOwn(ERROR_CODES, code));

/** Lone surrogates, NUL, quotes, and now and then more than a recording keeps in its place. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom("", "\ud800", "a\udc00b", "a\u0000b", "\u2028", "\ufeff", "$body", '{"$body":"x"}', "é".repeat(511), "é".repeat(512)),
  fc
    .record({ piece: fc.string({ unit: "binary", minLength: 1, maxLength: 3 }), times: fc.integer({ min: 300, max: 2_000 }) })
    .map(({ piece, times }) => piece.repeat(times)),
);
const id = fc.oneof(fc.string({ minLength: 1, maxLength: 20 }), fc.constantFrom("\ud800", "a\u0000b", "constructor"));
const key = fc
  .oneof(
    fc.string({ unit: "binary", maxLength: 6 }),
    fc.constantFrom("$body", "$$body", "$$$body", "$", "body", "lc", "$type", "__class__", "constructor", "toJSON", "1", "0"),
  )
  .filter((name) => name !== "__proto__");
const number = fc
  .oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger(), fc.constantFrom(1e21, 5e-324, 1.7976931348623157e308))
  .map((value) => (Object.is(value, -0) ? 0 : value));

const { json } = fc.letrec<{ json: JsonValue; list: JsonValue[]; object: JsonObject }>((tie) => ({
  json: fc.oneof({ maxDepth: 3, depthSize: "small" }, text, number, fc.boolean(), fc.constant(null), tie("list"), tie("object")),
  list: fc.array(tie("json"), { maxLength: 3 }),
  object: fc.dictionary(key, tie("json"), { maxKeys: 4 }).map((fields) => Object.fromEntries(Object.entries(fields))),
}));
const object = fc.dictionary(key, json, { maxKeys: 3 }).map((fields) => Object.fromEntries(Object.entries(fields)));

const part = fc.oneof(
  fc.record({ type: fc.constant("text" as const), text }),
  fc.record({ type: fc.constantFrom("image" as const, "audio" as const), mediaType: fc.constant("image/png"), data: fc.base64String() }),
  fc.record({ type: fc.constant("file" as const), uri: text, mediaType: text, text, name: text }, { requiredKeys: ["type", "uri"] }),
);
const call = fc.record({ id, name: text.map((name) => name.slice(0, 40)), input: json, reasoning: text }, { requiredKeys: ["name"] });
const error = fc.record(
  {
    code: fc.constantFrom(...CODES),
    message: text.map((message) => message.slice(0, 4_096)),
    retryable: fc.boolean(),
    outcome: fc.constantFrom("not_started" as const, "failed" as const, "unknown" as const),
    hint: text,
    operatorHint: text,
    toolNames: fc.array(
      text.map((name) => name.slice(0, 40)),
      { maxLength: 3 },
    ),
    details: fc.array(text, { maxLength: 2 }),
    retryAfterMs: fc.nat(),
  },
  { requiredKeys: ["code", "message", "retryable", "outcome"] },
);
const repair = fc.record({ path: text, kind: fc.constantFrom("coerced" as const, "renamed" as const), note: text });

const result = fc
  .record(
    {
      callId: id,
      id,
      name: id,
      status: fc.constantFrom("ok" as const, "partial" as const, "error" as const, "cancelled" as const, "skipped" as const),
      output: json,
      content: fc.array(part, { maxLength: 2 }),
      exitCode: fc.integer(),
      error,
      origin: fc.constantFrom("live" as const, "cache" as const, "replay" as const, "simulated" as const, "stub" as const),
      attempts: fc.nat(4),
      durationMs: fc.nat(),
      repairs: fc.array(repair, { maxLength: 1 }),
      warnings: fc.array(text, { maxLength: 1 }),
      truncation: fc.record({ handle: text, totalBytes: fc.nat(), shownBytes: fc.nat() }),
      sameAs: id,
      metadata: object,
    },
    { requiredKeys: ["callId", "name", "status", "error", "origin", "attempts", "durationMs", "repairs", "warnings"] },
  )
  .map(({ error, status, ...rest }) => (status === "ok" ? { ...rest, status } : { ...rest, status, error }));

const fact = { sessionId: id, at: fc.integer({ min: 0, max: 8.64e15 }) };
const ofCall = { ...fact, callId: id, turnId: id };
const step = fc.oneof(
  fc.record({ op: fc.constantFrom("add" as const, "replace" as const), path: fc.constantFrom("", "/a", "/a~1b/0", "/~0"), value: json }),
  fc.record({ op: fc.constant("remove" as const), path: fc.constantFrom("/a", "/a/-") }),
);

const span = { atMs: fc.nat(), ms: fc.nat() };
const phase = fc.oneof(
  fc.record({ phase: fc.constantFrom("approval" as const, "slot" as const, "backoff" as const), ...span }),
  fc.record({ phase: fc.constant("lock" as const), ...span, holders: fc.array(id, { maxLength: 3 }) }),
  fc.record(
    {
      phase: fc.constant("attempt" as const),
      ...span,
      error: fc.constantFrom(...CODES),
      abandoned: fc.constant(true as const),
      lateMs: fc.nat(),
    },
    { requiredKeys: ["phase", "atMs", "ms"] },
  ),
);

/** Every type of event, each field that may be left out now there and now not. */
export const arbitraryEvent: fc.Arbitrary<SessionEvent> = fc.oneof(
  fc.record(
    {
      type: fc.constant("session-start" as const),
      ...fact,
      parent: fc.record({ sessionId: id, length: fc.nat() }),
      parentCall: fc.record({ sessionId: id, callId: id }),
    },
    { requiredKeys: ["type", "sessionId", "at"] },
  ),
  fc.record(
    {
      type: fc.constant("message-add" as const),
      ...fact,
      message: fc.record(
        {
          role: fc.constantFrom("user" as const, "assistant" as const, "system" as const, "document" as const),
          content: fc.oneof(text, fc.array(part, { maxLength: 2 })),
          title: text,
        },
        { requiredKeys: ["role", "content"] },
      ),
      parentCallId: id,
      principal: id,
    },
    { requiredKeys: ["type", "sessionId", "at", "message"] },
  ),
  fc.record(
    {
      type: fc.constant("inbox-add" as const),
      ...fact,
      id,
      message: fc.record({ role: fc.constant("user" as const), content: text, inboxId: id }, { requiredKeys: ["role", "content"] }),
      sender: text,
      triggerId: id,
      tick: fact.at,
      principal: id,
      traceparent: id,
    },
    { requiredKeys: ["type", "sessionId", "at", "id", "message"] },
  ),
  fc.record(
    {
      type: fc.constant("trigger-add" as const),
      ...fact,
      id,
      kind: id,
      settings: object,
      declared: fc.constant(true as const),
      tick: fc.integer(),
    },
    { requiredKeys: ["type", "sessionId", "at", "id", "kind", "settings"] },
  ),
  fc.record({ type: fc.constantFrom("trigger-pause" as const, "trigger-resume" as const, "trigger-remove" as const), ...fact, id }),
  fc.record({
    type: fc.constant("batch-start" as const),
    ...fact,
    turnId: id,
    callIds: fc.array(id, { maxLength: 2 }),
    idempotencyKey: id,
    digest: id,
  }),
  fc.record(
    {
      type: fc.constant("call-start" as const),
      ...ofCall,
      call,
      parentCallId: id,
      ofComposite: fc.constant(true as const),
      strict: fc.constant(true as const),
      background: fc.boolean(),
      keepsFlag: fc.constant(true as const),
      principal: id,
      overload: id,
      traceparent: id,
    },
    { requiredKeys: ["type", "sessionId", "at", "callId", "turnId", "call"] },
  ),
  fc.record({ type: fc.constant("call-intent" as const), ...ofCall, toolName: id, input: object, idempotencyKey: id }),
  fc.record(
    {
      type: fc.constant("approval-ask" as const),
      ...ofCall,
      toolName: id,
      approvalId: id,
      digest: id,
      input: object,
      reason: text,
      warned: fc.constant(true as const),
      begun: fc.constant(true as const),
      expiresAt: fc.nat(),
    },
    { requiredKeys: ["type", "sessionId", "at", "callId", "turnId", "toolName", "approvalId", "digest", "input", "reason"] },
  ),
  fc.record(
    {
      type: fc.constant("approval-answer" as const),
      ...ofCall,
      toolName: id,
      approvalId: id,
      digest: id,
      status: fc.constantFrom("allowed" as const, "denied" as const, "withdrawn" as const, "expired" as const),
      scope: fc.constantFrom("once" as const, "input" as const, "tool" as const, "rule" as const),
      ruleId: id,
      by: text,
    },
    { requiredKeys: ["type", "sessionId", "at", "callId", "turnId", "toolName", "approvalId", "digest", "status"] },
  ),
  fc.record({
    type: fc.constant("state-change" as const),
    ...ofCall,
    toolset: id,
    key: text,
    patch: fc.array(step, { maxLength: 2 }),
  }),
  fc
    .record(
      { type: fc.constant("call-end" as const), ...ofCall, result, input: object, timing: fc.array(phase, { maxLength: 4 }) },
      { requiredKeys: ["type", "sessionId", "at", "callId", "turnId", "result"] },
    )
    .map((event) => ({ ...event, result: { ...event.result, callId: event.callId } })),
  fc.record({
    type: fc.constant("outcome-resolve" as const),
    ...ofCall,
    toolName: id,
    outcome: fc.constant("applied" as const),
  }),
  fc.record(
    {
      type: fc.constant("round-end" as const),
      ...fact,
      turnId: id,
      callIds: fc.array(id, { maxLength: 2 }),
      message: fc.record({
        role: fc.constant("assistant" as const),
        content: text,
        native: fc.record(
          { format: id, blocks: fc.array(object, { maxLength: 2 }), container: id },
          { requiredKeys: ["format", "blocks"] },
        ),
      }),
      finish: fc.constantFrom(...FINISH_REASONS),
      usage: fc.record({ inputTokens: fc.nat(), outputTokens: fc.nat() }),
      model: text,
      providerTools: fc.array(text, { maxLength: 2 }),
      voided: text,
      parentCallId: id,
    },
    { requiredKeys: ["type", "sessionId", "at", "turnId", "callIds", "message", "finish", "usage"] },
  ),
  fc.record(
    {
      type: fc.constant("job-start" as const),
      ...ofCall,
      toolName: id,
      mode: fc.constantFrom("background" as const, "stateful" as const),
      notify: fc.boolean(),
      queued: fc.constant(true as const),
      traceparent: id,
    },
    { requiredKeys: ["type", "sessionId", "at", "callId", "turnId", "toolName", "mode", "notify"] },
  ),
  fc.record(
    {
      type: fc.constant("job-run" as const),
      ...ofCall,
      toolName: id,
      starts: fc.nat(),
      queued: fc.constant(true as const),
      handedOver: fc.constant(true as const),
      awaited: fc.constant(true as const),
      traceparent: id,
    },
    { requiredKeys: ["type", "sessionId", "at", "callId", "turnId", "toolName", "starts"] },
  ),
  fc.record({ type: fc.constant("call-remote" as const), ...ofCall, toolName: id, remoteId: id }),
  fc.record(
    { type: fc.constant("job-output" as const), ...ofCall, toolName: id, position: fc.nat(), text, asks: fc.constant(true as const) },
    { requiredKeys: ["type", "sessionId", "at", "callId", "turnId", "toolName", "position", "text"] },
  ),
  fc.record(
    { type: fc.constant("job-input" as const), ...ofCall, input: json, principal: id },
    { requiredKeys: ["type", "sessionId", "at", "callId", "turnId", "input"] },
  ),
  fc.record({
    type: fc.constant("job-end" as const),
    ...ofCall,
    toolName: id,
    status: fc.constantFrom("ok" as const, "partial" as const, "error" as const, "cancelled" as const),
    notify: fc.boolean(),
  }),
  fc.record({ type: fc.constant("batch-rollback" as const), ...fact, turnId: id, callIds: fc.array(id, { maxLength: 2 }) }),
  fc.record({ type: fc.constant("branch-commit" as const), ...fact, branchId: id, events: fc.nat() }),
);
