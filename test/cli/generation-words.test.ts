import { expect, test } from "vitest";
import { progressText, summaryLines } from "../../src/cli/generate/generation-words.ts";

const SUMMARY = {
  conversations: 1_000,
  existing: 0,
  written: 1_000,
  failed: 0,
  calls: 10_000,
  statuses: { ok: 9_990, error: 10 },
  answers: [
    { origin: "simulated", answeredBy: "example", fidelity: "schema-valid", calls: 9_980 },
    { origin: "live", calls: 10 },
  ],
  errors: { network_error: 10 },
  faults: { network_error: 10 },
  stops: {},
  durationMs: 2_000,
} as const;

test("issue 6.7 the summary says how many there are of what, where it came from, how fast and how large", () => {
  expect(summaryLines(SUMMARY, { where: "in train.jsonl", peakBytes: 180 * 1_048_576 })).toEqual([
    "conversations  1,000  in train.jsonl",
    "calls         10,000  9,990 ok, 10 error (10 network_error)",
    "answers        9,990  9,980 simulated by example (schema-valid), 10 live",
    "faults            10  10 network_error",
    "time                  2 s, 5,000 calls/s, at most 180 MB of memory",
  ]);
  const played = { ...SUMMARY, existing: 12, failed: 1, stops: { answered: 999, "model-error": 1 } };
  expect(summaryLines(played, { where: "in train.jsonl", peakBytes: 1 })).toEqual(
    expect.arrayContaining([
      "conversations  1,000  in train.jsonl, after 12 that were there, 1 of them failed",
      "ended          1,000  999 answered, 1 model-error",
    ]),
  );
});

test("issue 6.7 the progress says how far it is, how fast, and how long it will take", () => {
  const state = { done: 412, total: 1_000, calls: 3_200, failed: 0 };
  expect(progressText(state, { madeBefore: 12, elapsedMs: 2_000 })).toBe("412 of 1,000 conversations, 1,600 calls/s, about 2.9 s left");
  expect(progressText({ done: 1, total: 1, calls: 5, failed: 1 }, { madeBefore: 0, elapsedMs: 0 })).toBe(
    "1 of 1 conversation, 5,000 calls/s, 1 failed",
  );
});
