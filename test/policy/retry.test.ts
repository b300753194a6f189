import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { mayRetry, retryDelay } from "../../src/policy/attempts/retry.ts";
import { seededRandom } from "../../src/testing/fake-ports.ts";

const lowest = { next: () => 0 };
const highest = { next: () => 1 - Number.EPSILON };
const failure = new ToolError("network_error", "reset");

test("F3.13 an error that is not retryable is not retried", () => {
  const error = new ToolError("execution_failed", "bad value");
  expect(mayRetry({ error, attempt: 1, maxAttempts: 4, repeatable: true })).toBe(false);
});

test("F3.12 no attempt follows the last one of maxAttempts", () => {
  const allowed = [1, 2, 3, 4].map((attempt) => mayRetry({ error: failure, attempt, maxAttempts: 4, repeatable: true }));
  expect(allowed).toEqual([true, true, true, false]);
});

test("B07 a call that may not be repeated is retried only when it never started", () => {
  const outcomes = (["not_started", "failed", "unknown"] as const).map((outcome) =>
    mayRetry({ error: new ToolError("timeout", "late", { outcome }), attempt: 1, maxAttempts: 4, repeatable: false }),
  );
  expect(outcomes).toEqual([true, false, false]);
});

test("F3.12 without jitter the waits are 1, 2 and 4 s, and never more than 10 s", () => {
  const waits = [1, 2, 3, 4, 5, 2_000].map((attempt) => retryDelay(failure, attempt, { jitter: false }, lowest));
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
});

test("F3.12 jitter changes each wait by up to a quarter either way, and never exceeds the maximum", () => {
  const earliest = [1, 2, 3, 9].map((attempt) => retryDelay(failure, attempt, {}, lowest));
  const latest = [1, 2, 3, 9].map((attempt) => Math.round(retryDelay(failure, attempt, {}, highest)));
  expect(earliest).toEqual([750, 1_500, 3_000, 7_500]);
  expect(latest).toEqual([1_250, 2_500, 5_000, 10_000]);
});

test("F3.12 jitter depends on the seed only", () => {
  const first = retryDelay(failure, 1, {}, seededRandom(1));
  expect(retryDelay(failure, 1, {}, seededRandom(1))).toBe(first);
  expect(retryDelay(failure, 1, {}, seededRandom(2))).not.toBe(first);
});

test("B08 a longer Retry-After is honoured up to 60 s, and an invalid one is ignored", () => {
  const waits = [5_000, 100, 3_600_000, Infinity, -1, Number.NaN].map((retryAfterMs) =>
    retryDelay(new ToolError("rate_limited", "slow down", { retryAfterMs }), 1, { jitter: false }, lowest),
  );
  expect(waits).toEqual([5_000, 1_000, 60_000, 60_000, 1_000, 1_000]);
});

test("a Retry-After does not shorten a configured wait of more than 60 s", () => {
  const error = new ToolError("rate_limited", "slow down", { retryAfterMs: 100_000 });
  expect(retryDelay(error, 1, { delayMs: 90_000, maxDelayMs: 90_000, jitter: false }, lowest)).toBe(90_000);
});

test("a first wait of 0 stays 0 after any number of attempts", () => {
  expect(retryDelay(failure, 5_000, { delayMs: 0 }, highest)).toBe(0);
});
