import { expect, test } from "vitest";
import type { ToolResult } from "../../src/core/result.ts";
import { ToolError } from "../../src/core/error.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import { RepeatGuard } from "../../src/compose/repeat-guard.ts";

const BASE = { callId: "c", name: "default::x", origin: "live", attempts: 1, durationMs: 0, repairs: [], warnings: [] } as const;
const ok = (output: JsonValue): ToolResult => ({ ...BASE, status: "ok", output });
const failed = (message: string): ToolResult => ({ ...BASE, status: "error", error: new ToolError("execution_failed", message).toJSON() });
const call = (input: unknown = { a: 1, b: 2 }, name = "x") => ({ name, input });

test("B09 the same tool, input and error gets a hint at 2, is refused from 3 and stops at 5", () => {
  const guard = new RepeatGuard();
  const kinds: unknown[] = [];
  for (let index = 0; index < 3; index++) {
    kinds.push(guard.refusal(call())?.code);
    kinds.push(
      guard.recordResult(call(index % 2 === 0 ? { a: 1, b: 2 } : { b: 2, a: 1 }), failed(`port ${8000 + index} is busy`), false).kind,
    );
  }
  expect(kinds).toEqual([undefined, "none", undefined, "warn", undefined, "none"]);
  expect(guard.refusal(call())?.toJSON()).toEqual({
    code: "limit_exceeded",
    message: "x was not run again: with this input it has had the same result 3 times.",
    retryable: false,
    outcome: "not_started",
    details: ["It said: Error (execution_failed): port 8000 is busy"],
    hint: "Change the input, use another tool, or answer with what you have.",
  });
  expect([guard.recordRefusal(call()).kind, guard.recordRefusal(call())]).toEqual([
    "none",
    { kind: "stop", note: "x was called 5 times with the same input and the same result." },
  ]);
});

test("B09 other calls in between do not hide a repetition, and only the repeated call is refused", () => {
  const guard = new RepeatGuard();
  for (let index = 0; index < 3; index++) {
    guard.recordResult(call(), failed("no"), false);
    for (let other = 0; other < 5; other++) guard.recordResult(call({ index, other }, "read"), ok(other), false);
  }
  expect([guard.refusal(call())?.code, guard.refusal(call({ a: 1 })), guard.refusal(call({ a: 1, b: 2 }, "mend"))]).toEqual([
    "limit_exceeded",
    undefined,
    undefined,
  ]);
});

test("B09 a repetition no longer counts once it leaves the window", () => {
  const guard = new RepeatGuard({ window: 4 });
  for (let index = 0; index < 3; index++) guard.recordResult(call(), failed("no"), false);
  for (let index = 0; index < 3; index++) guard.recordResult(call({ index }, "read"), ok(index), false);
  expect(guard.refusal(call())).toBe(undefined);
});

test("B09 another error or answer restarts the count", () => {
  const guard = new RepeatGuard();
  for (const message of ["a", "a", "b", "b"]) guard.recordResult(call(), failed(message), false);
  expect(guard.refusal(call())).toBe(undefined);
  for (let index = 0; index < 30; index++) expect(guard.recordResult(call(), ok(index), false).kind).toBe("none");
});

test("B09 the same answer gets a hint at 4 and is refused from 8", () => {
  const guard = new RepeatGuard();
  const kinds = Array.from({ length: 8 }, () => guard.recordResult(call(), ok("pending"), false).kind);
  expect([kinds, guard.refusal(call())?.code]).toEqual([
    ["none", "none", "none", "warn", "none", "none", "none", "none"],
    "limit_exceeded",
  ]);
});

test("B09 a new change lets other calls be tried again; the same change once more does not", () => {
  const guard = new RepeatGuard();
  for (let index = 0; index < 3; index++) guard.recordResult(call(), failed("no"), false);
  guard.recordResult(call({ n: 1 }, "edit"), failed("no"), true);
  expect(guard.refusal(call())?.code).toBe("limit_exceeded");
  guard.recordResult(call({ n: 2 }, "edit"), ok("done"), true);
  expect(guard.refusal(call())).toBe(undefined);
  for (let index = 0; index < 3; index++) {
    guard.recordResult(call({ n: 2 }, "edit"), ok("done"), true);
    guard.recordResult(call(), failed("no"), false);
  }
  expect(guard.refusal(call())?.code).toBe("limit_exceeded");
});

test("an input that is not JSON is not tracked, but a large one is", () => {
  const guard = new RepeatGuard();
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  for (let index = 0; index < 9; index++) guard.recordResult(call(cycle), failed("no"), false);
  for (let index = 0; index < 3; index++) guard.recordResult(call({ text: "x".repeat(100_000) }), failed("no"), false);
  expect([
    guard.refusal(call(cycle)),
    guard.recordRefusal(call(cycle)).kind,
    guard.refusal(call({ text: "x".repeat(100_000) }))?.code,
  ]).toEqual([undefined, "none", "limit_exceeded"]);
});

test("a guard with counts out of order throws", () => {
  for (const options of [{ window: 0 }, { failures: { warnAt: 4 } }, { answers: { stopAt: 1.5 } }])
    expect(() => new RepeatGuard(options)).toThrow("The counts of the repeat guard must be integers");
});
