import { expect, test } from "vitest";
import type { ToolResult } from "../../src/core/result.ts";
import { Summary } from "../../src/cli/print/summary.ts";

const RESULT = {
  callId: "c",
  name: "files::read",
  status: "ok",
  origin: "live",
  attempts: 1,
  durationMs: 1,
  repairs: [],
  warnings: [],
  output: 1,
} as const satisfies ToolResult;

function summaryOf(results: readonly ToolResult[]): readonly string[] {
  const summary = new Summary();
  for (const result of results)
    summary.countEvent({ type: "call-end", sessionId: "s", turnId: "t", at: 0, callId: result.callId, input: {}, result });
  return summary.lines();
}

test("the counts of a summary stay in one column, however many calls there are", () => {
  expect(summaryOf(Array.from({ length: 12_345 }, () => RESULT))).toEqual([
    "calls      12345  12345 ok",
    "attempts   12345",
    "repairs        0",
    "approvals      0",
    "orphans        0",
    "origins    12345  12345 live (12345 files)",
  ]);
});

test("calls that were never run, failed or were not answered live are counted separately", () => {
  const error = { code: "not_found", message: "None.", retryable: false, outcome: "not_started" } as const;
  const { output: _output, ...base } = RESULT;
  const results: readonly ToolResult[] = [
    RESULT,
    { ...RESULT, origin: "replay", fidelity: "observed", answeredBy: "replay" },
    { ...RESULT, name: "shop::order", origin: "simulated", fidelity: "schema-valid", answeredBy: "example" },
    { ...base, name: "nope", status: "error", attempts: 0, error },
  ];
  expect(summaryOf(results)).toEqual([
    "calls        4  3 ok, 1 error (1 not_found)",
    "attempts     3",
    "repairs      0",
    "approvals    0",
    "orphans      0",
    "origins      4  1 live, 1 replayed, 1 simulated (2 files, 1 shop), 1 never run",
    "not live     2  1 observed by replay, 1 schema-valid by example; made up, never observed",
  ]);
});
