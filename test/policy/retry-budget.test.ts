import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { mayRetry, retryDelay } from "../../src/policy/attempts/retry.ts";
import { RetryBudget } from "../../src/policy/attempts/retry-budget.ts";
import { FakeClock, seededRandom } from "../../src/testing/fake-ports.ts";

const random = seededRandom(7);
const refused = new ToolError("network_error", "refused", { outcome: "not_started" });

/** A caller of a dependency that always fails: returns how often it was tried. */
async function callUntilGivenUp(clock: FakeClock, budget: RetryBudget): Promise<number> {
  budget.requests++;
  let attempt = 1;
  while (mayRetry({ error: refused, attempt, maxAttempts: 4, repeatable: true }) && budget.tryRetry()) {
    const delayMs = retryDelay(refused, attempt, {}, random);
    await new Promise<void>((resolve) => clock.timer(resolve, delayMs));
    attempt++;
  }
  return attempt;
}

async function totalAttempts(clock: FakeClock, callers: readonly Promise<number>[]): Promise<number> {
  await clock.advance(60_000);
  return (await Promise.all(callers)).reduce((sum, attempts) => sum + attempts, 0);
}

test("B08 1,000 callers of 4 attempts each at 100 % failure make at most 1.1 attempts per request", async () => {
  const clock = new FakeClock();
  const budget = new RetryBudget({ clock });
  const callers = Array.from({ length: 1_000 }, () => callUntilGivenUp(clock, budget));
  const total = await totalAttempts(clock, callers);
  expect(total).toBeLessThanOrEqual(1_100);
  expect(total).toBeGreaterThan(1_000);
});

test("B08 1,000 callers spread over a minute at 100 % failure make at most 1.1 attempts per request", async () => {
  const clock = new FakeClock();
  const budget = new RetryBudget({ clock, reserve: 0 });
  const callers: Promise<number>[] = [];
  for (let started = 0; started < 1_000; started++) {
    callers.push(callUntilGivenUp(clock, budget));
    await clock.advance(60);
  }
  expect(await totalAttempts(clock, callers)).toBeLessThanOrEqual(1_100);
});

test("B08 retries inside retries do not multiply when they share one budget", async () => {
  const clock = new FakeClock();
  const budget = new RetryBudget({ clock });
  let reached = 0;
  const outer = Array.from({ length: 1_000 }, async () => {
    budget.requests++;
    for (let attempt = 1; attempt === 1 || (attempt <= 4 && budget.tryRetry()); attempt++) {
      for (let inner = 1; inner === 1 || (inner <= 4 && budget.tryRetry()); inner++) reached++;
    }
  });
  await Promise.all(outer);
  expect(reached).toBeLessThanOrEqual(1_100);
});

test("a single call may use all of its 4 attempts", async () => {
  const clock = new FakeClock();
  const total = await totalAttempts(clock, [callUntilGivenUp(clock, new RetryBudget({ clock }))]);
  expect(total).toBe(4);
});

test("without requests only the reserve is available", () => {
  const budget = new RetryBudget({ clock: new FakeClock(), reserve: 2 });
  expect([budget.tryRetry(), budget.tryRetry(), budget.tryRetry()]).toEqual([true, true, false]);
});

test("requests outside the window earn no retries, and retries outside it cost none", async () => {
  const clock = new FakeClock();
  const budget = new RetryBudget({ clock, reserve: 1, windowMs: 1_000 });
  for (let request = 0; request < 1_000; request++) budget.requests++;
  await clock.advance(60_000);
  expect([budget.tryRetry(), budget.tryRetry()]).toEqual([true, false]);
  await clock.advance(60_000);
  expect(budget.tryRetry()).toBe(true);
});

test.each([
  [{ ratio: -1 }, "A retry budget's ratio must be a number of at least 0, not -1."],
  [{ reserve: Number.NaN }, "A retry budget's reserve must be a number of at least 0, not NaN."],
  [{ windowMs: 0 }, "A retry budget's windowMs must be a number of at least 1, not 0."],
])("the options %o are rejected", (options, message) => {
  expect(() => new RetryBudget({ clock: new FakeClock(), ...options })).toThrow(message);
});

test("L13 a retried call with a thousand nested calls uses up the retries of others for at most the window", async () => {
  const clock = new FakeClock();
  const budget = new RetryBudget({ clock });
  budget.requests += 100;
  for (let call = 0; call < 1_000; call++) budget.countRetry();
  expect(budget.tryRetry()).toBe(false);
  await clock.advance(30_000);
  budget.requests += 100;
  expect(budget.tryRetry()).toBe(true);
});

test("L13 retries inside a retried call use up the budget also when no call was made for a long time before", async () => {
  const clock = new FakeClock();
  const budget = new RetryBudget({ clock });
  await clock.advance(600_000);
  for (let call = 0; call < 20; call++) budget.countRetry();
  expect(budget.tryRetry()).toBe(false);
});
