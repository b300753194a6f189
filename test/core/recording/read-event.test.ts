import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { ToolError } from "../../../src/core/error.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import { readEvent } from "../../../src/core/recording/read-event.ts";
import { arbitraryEvent } from "./arbitrary-event.ts";

const FACT = { sessionId: "s", at: 1_767_225_600_000 };
const OF_CALL = { ...FACT, callId: "c", turnId: "t" };
const OK = { callId: "c", name: "a::b", status: "ok", origin: "live", attempts: 1, durationMs: 2.5, repairs: [], warnings: [] };
const ERROR = { code: "timeout", message: "too slow", retryable: true, outcome: "unknown" };

function refusal(value: unknown): Pick<ToolError, "code" | "message"> {
  try {
    readEvent(value, "line 7");
  } catch (error: unknown) {
    if (error instanceof ToolError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error(`accepted ${JSON.stringify(value).slice(0, 80)}`);
}

function end(changes: object): object {
  return { type: "call-end", ...OF_CALL, result: { ...OK, ...changes } };
}

describe("C09 an invalid event is rejected with its place and what was expected", () => {
  test.each<readonly [unknown, string]>([
    [null, "$ is null; expected an object"],
    [[], "$ is an array of 0 items; expected an object"],
    [{}, `$.type is missing; expected one of ${TYPES()}`],
    [{ type: "call-attempt", ...OF_CALL }, `$.type is "call-attempt"; expected one of ${TYPES()}`],
    [{ type: "constructor", ...OF_CALL }, `$.type is "constructor"; expected one of ${TYPES()}`],
    [{ type: "session-start", at: 0 }, "$.sessionId is missing; expected a string of 1 to 1024 characters"],
    [{ type: "session-start", sessionId: "", at: 0 }, '$.sessionId is ""; expected a string of 1 to 1024 characters'],
    [
      { type: "session-start", sessionId: "x".repeat(1025), at: 0 },
      `$.sessionId is "${"x".repeat(60)}"… (1025 characters); expected a string of 1 to 1024 characters`,
    ],
    [{ type: "session-start", sessionId: "s", at: "now" }, '$.at is "now"; expected a number from -8640000000000000 to 8640000000000000'],
    [
      { type: "session-start", sessionId: "s", at: 9e15 },
      "$.at is 9000000000000000; expected a number from -8640000000000000 to 8640000000000000",
    ],
    [
      { type: "session-start", ...FACT, parent: { sessionId: "p", length: -1 } },
      "$.parent.length is -1; expected an integer of at least 0",
    ],
    [
      { type: "session-start", ...FACT, parent: { sessionId: "p", length: 1.5 } },
      "$.parent.length is 1.5; expected an integer of at least 0",
    ],
    [
      { type: "message-add", ...FACT, message: { role: "tool", content: "x" } },
      '$.message.role is "tool"; expected one of user, assistant, system, document',
    ],
    [{ type: "message-add", ...FACT, message: { role: "user", content: 5 } }, "$.message.content is 5; expected an array"],
    [
      { type: "message-add", ...FACT, message: { role: "user", content: [{ type: "text", text: "a" }, { type: "video" }] } },
      '$.message.content[1].type is "video"; expected one of text, image, audio, file',
    ],
    [
      { type: "message-add", ...FACT, message: { role: "user", content: [{ type: "image", data: "AA==" }] } },
      "$.message.content[0].mediaType is missing; expected a string",
    ],
    [
      { type: "batch-start", ...FACT, turnId: "t", callIds: ["a", 5], idempotencyKey: "k", digest: "d" },
      "$.callIds[1] is 5; expected a string of 1 to 1024 characters",
    ],
    [{ type: "call-start", ...OF_CALL, call: { input: {} } }, "$.call.name is missing; expected a string of 0 to 1024 characters"],
    [
      { type: "call-intent", ...OF_CALL, toolName: "a", input: [], idempotencyKey: "k" },
      "$.input is an array of 0 items; expected an object",
    ],
    [
      { type: "state-change", ...OF_CALL, toolset: "a", key: "k", patch: [{ op: "move", path: "", from: "/a" }] },
      '$.patch[0].op is "move"; expected one of add, replace, remove',
    ],
    [
      { type: "state-change", ...OF_CALL, toolset: "a", key: "k", patch: [{ op: "add", path: "a", value: 1 }] },
      '$.patch[0].path is "a"; expected a JSON Pointer',
    ],
    [
      { type: "state-change", ...OF_CALL, toolset: "a", key: "k", patch: [{ op: "remove", path: "/~2" }] },
      '$.patch[0].path is "/~2"; expected a JSON Pointer',
    ],
    [
      { type: "state-change", ...OF_CALL, toolset: "a", key: "k", patch: [{ op: "add", path: "" }] },
      "$.patch[0].value is missing; expected a JSON value",
    ],
    [end({ status: "pending" }), '$.result.status is "pending"; expected one of ok, partial, error, cancelled, skipped'],
    [end({ origin: "guess" }), '$.result.origin is "guess"; expected one of live, cache, replay, simulated, stub'],
    [end({ attempts: 0.5 }), "$.result.attempts is 0.5; expected an integer of at least 0"],
    [end({ durationMs: -1 }), "$.result.durationMs is -1; expected a number of at least 0"],
    [end({ repairs: [{ path: "$.a", kind: "guessed", note: "" }] }), KINDS()],
    [end({ warnings: "none" }), '$.result.warnings is "none"; expected an array'],
    [end({ truncation: { handle: 5, totalBytes: 1, shownBytes: 1 } }), "$.result.truncation.handle is 5; expected a string"],
    [end({ metadata: [] }), "$.result.metadata is an array of 0 items; expected an object"],
    [end({ status: "error" }), "$.result.error is missing; expected the error of a result that is error"],
    [end({ error: ERROR }), "$.result.error is an object; expected no error, because the result is ok"],
    [end({ error: { ...ERROR, code: "ENOENT" } }), '$.result.error.code is "ENOENT"; expected one of the known values'],
    [end({ error: { ...ERROR, code: "toString" } }), '$.result.error.code is "toString"; expected one of the known values'],
    [end({ error: { ...ERROR, outcome: "maybe" } }), '$.result.error.outcome is "maybe"; expected one of not_started, failed, unknown'],
    [end({ error: { ...ERROR, retryable: 1 } }), "$.result.error.retryable is 1; expected a boolean"],
    [
      end({ error: { ...ERROR, details: Array(21).fill("x") } }),
      "$.result.error.details is an array of 21 items; expected an array of at most 20 items",
    ],
    [end({ callId: "other" }), '$.result.callId is "other"; expected the event\'s own callId, "c"'],
    [{ type: "outcome-resolve", ...OF_CALL, toolName: "a", outcome: "unknown" }, '$.outcome is "unknown"; expected one of applied'],
    [{ type: "branch-commit", ...FACT, branchId: "b", events: null }, "$.events is null; expected an integer of at least 0"],
  ])("%j", (value, problem) => {
    expect(refusal(value)).toEqual({ code: "corrupt_record", message: `line 7: ${problem}.` });
  });

  test("nested deeper than can be recorded", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 200; level++) deep = [deep];
    expect(refusal({ type: "call-end", ...OF_CALL, result: { ...OK, output: deep } })).toEqual({
      code: "corrupt_record",
      message: expect.stringMatching(/^line 7: \$\.result\.output(?:\[0\])+\[?0?…: nesting deeper than 128 levels\.$/u),
    });
  });

  function TYPES(): string {
    return "session-start, message-add, inbox-add, trigger-add, trigger-pause, trigger-resume, trigger-remove, batch-start, call-start, call-intent, call-remote, approval-ask, approval-answer, state-change, call-end, job-start, job-run, job-output, job-input, job-end, output-keep, outcome-resolve, round-end, batch-rollback, branch-commit";
  }
  function KINDS(): string {
    return '$.result.repairs[0].kind is "guessed"; expected one of parsed-json, fixed-json, coerced, defaulted, dropped, renamed';
  }
});

describe("a valid event", () => {
  test("F3.38 A08 round-trips, text with NUL and lone surrogates included", () => {
    fc.assert(
      fc.property(arbitraryEvent, (event) => {
        expect(readEvent(parseJson(JSON.stringify(event)), "line 1")).toEqual(event);
      }),
    );
  });

  test("is deeply frozen and shares nothing with its source", () => {
    const given = { type: "call-start", ...OF_CALL, call: { name: "a", input: { list: [{ deep: 1 }] } } };

    const event = readEvent(given, "line 1");

    expect(everyObject(event).every((value) => Object.isFrozen(value))).toBe(true);
    expect(everyObject(event).filter((value) => everyObject(given).includes(value))).toEqual([]);
  });

  test("loses fields that this version does not know; the data it carries keeps them", () => {
    expect(readEvent({ later: 1, type: "call-start", ...OF_CALL, call: { name: "a", mood: "good" }, also: {} }, "line 1")).toEqual({
      type: "call-start",
      ...OF_CALL,
      call: { name: "a", mood: "good" },
    });
  });

  test.each(['{"__proto__":{"admin":true}}', '{"a":[{"b":{"__proto__":{"admin":true}}}]}', '{"constructor":{"prototype":{"admin":true}}}'])(
    "A01 with %s changes no prototype",
    (input) => {
      const event = readEvent(
        parseJson(
          `{"type":"call-start","sessionId":"s","at":0,"callId":"c","turnId":"t","__proto__":{"admin":true},"call":{"name":"a","input":${input}}}`,
        ),
        "line 1",
      );
      expect(everyObject(event).map((value) => [Reflect.get(value, "admin"), Object.hasOwn(value, "__proto__")])).toEqual(
        everyObject(event).map((value) => [Object.hasOwn(value, "admin") ? true : undefined, false]),
      );
      expect(Reflect.get({}, "admin")).toBe(undefined);
    },
  );

  test("C09 with data that looks like a serialized class keeps it as plain data", () => {
    const output = {
      lc: 1,
      type: "constructor",
      $type: "Date",
      __class__: "os.system",
      buffer: { type: "Buffer", data: [1] },
      toJSON: "x",
    };
    expect(readEvent(end({ output }), "line 1")).toEqual(end({ output }));
  });
});

test("any value is either rejected as corrupt or read as an event", () => {
  const field = fc.constantFrom(
    "type",
    "sessionId",
    "at",
    "callId",
    "turnId",
    "result",
    "call",
    "message",
    "patch",
    "callIds",
    "input",
    "parent",
  );
  fc.assert(
    fc.property(arbitraryEvent, field, fc.jsonValue(), (event, key, value) => {
      let read: unknown;
      try {
        read = readEvent({ ...event, [key]: value }, "line 1");
      } catch (error: unknown) {
        expect(error).toMatchObject({ name: "ToolError", code: "corrupt_record" });
        return;
      }
      expect(readEvent(read, "line 1")).toEqual(read);
    }),
  );
});

function everyObject(value: unknown): readonly object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(everyObject)];
}
