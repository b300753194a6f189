import { expect, test } from "vitest";
import { NO_PROBLEMS } from "../../src/generate/conversations/check-conversation.ts";
import { UsageMeter } from "../../src/model/usage-meter.ts";
import { progressText, summaryLines } from "../../src/cli/commands/generate/generation-text.ts";

const TOTALS = new UsageMeter().total;
const SUMMARY = {
  conversations: 1_000,
  existing: 0,
  written: 1_000,
  failed: 0,
  calls: 10_000,
  parallelMessages: 0,
  statuses: { ok: 9_990, error: 10 },
  answers: [
    { origin: "simulated", answeredBy: "example", fidelity: "schema-valid", calls: 9_980 },
    { origin: "live", calls: 10 },
  ],
  errors: { network_error: 10 },
  faults: { network_error: 10 },
  stops: {},
  checks: NO_PROBLEMS,
  remade: 0,
  dataset: {
    seed: "0",
    plan: "f",
    conversations: 1_000,
    failed: 0,
    calls: 10_000,
    parallelMessages: 0,
    tools: {},
    statuses: {},
    answers: {},
    checks: NO_PROBLEMS,
  },
  notes: [],
  durationMs: 2_000,
} as const;

test("issue 6.7 the summary shows counts by kind, the origin of answers, speed and memory", () => {
  expect(summaryLines(SUMMARY, { where: "in train.jsonl", peakBytes: 180 * 1_048_576 })).toEqual([
    "conversations  1,000  in train.jsonl",
    "calls         10,000  9,990 ok, 10 error (10 network_error)",
    "answers        9,990  9,980 simulated by example (schema-valid), 10 live",
    "faults            10  10 network_error",
    "checked               0 dangling ids, 0 unresolved references, 0 duplicates",
    "time                  2 s, 5,000 calls/s, at most 180 MB of memory",
  ]);
  const played = { ...SUMMARY, existing: 12, failed: 1, stops: { answered: 999, "model-error": 1 } };
  expect(summaryLines(played, { where: "in train.jsonl", peakBytes: 1 })).toEqual(
    expect.arrayContaining([
      "conversations  1,000  in train.jsonl, after 12 that were there, 1 of them failed",
      "ended          1,000  999 answered, 1 model-error",
    ]),
  );
  const usage = { ...TOTALS, requests: 2_100, inputTokens: 1_234_567, outputTokens: 4_000, cost: 0.5 };
  const written = {
    ...SUMMARY,
    checks: { ...NO_PROBLEMS, danglingIds: 1, openEnds: 2, duplicates: 1 },
    remade: 3,
    writing: { written: 2_000, retried: 100, byCode: 3 },
    notes: ["Left out: a::b."],
  };
  expect(summaryLines(written, { where: "in train.jsonl", peakBytes: 1, usage }).slice(-5)).toEqual([
    "texts          2,000  by the model, 100 asked for again, 3 by code in the end",
    "model          2,100  requests, 1,234,567 tokens in, 4,000 out, cost 0.5000",
    "checked               1 dangling id, 0 unresolved references, 1 duplicate (3 generated again), 2 conversations without a last answer",
    "time                  2 s, 5,000 calls/s, at most 1 MB of memory",
    "Left out: a::b.",
  ]);
});

test("issue 6.7 the progress line shows conversations done, speed and remaining time", () => {
  const state = { done: 412, total: 1_000, calls: 3_200, failed: 0 };
  expect(progressText(state, { madeBefore: 12, elapsedMs: 2_000 })).toBe("412 of 1,000 conversations, 1,600 calls/s, about 2.9 s left");
  const usage = { ...TOTALS, inputTokens: 3_400, outputTokens: 900 };
  expect(progressText({ ...state, failed: 2 }, { madeBefore: 412, elapsedMs: 2_000, usage })).toBe(
    "412 of 1,000 conversations, 1,600 calls/s, 2 failed, 3,400 tokens in, 900 out",
  );
  expect(progressText({ done: 1, total: 1, calls: 5, failed: 1 }, { madeBefore: 0, elapsedMs: 0 })).toBe(
    "1 of 1 conversation, 5,000 calls/s, 1 failed",
  );
});
