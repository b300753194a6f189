/** What is tried again over PostgreSQL, on a clock of its own. */
import { expect, test } from "vitest";
import { attemptAgain } from "../../../src/store/postgres/postgres-connection.ts";
import { explainPostgres } from "../../../src/store/postgres/postgres-error.ts";
import { checkPostgresSettings } from "../../../src/store/postgres/postgres-settings.ts";
import type { Clock } from "../../../src/core/ports.ts";

/** Waits take no time, and are counted. */
function quickClock(): Clock & { pass(ms: number): void } {
  let now = 0;
  return {
    now: () => now,
    wallTime: () => now,
    timer(fire, delayMs) {
      now += delayMs;
      queueMicrotask(fire);
      return () => {};
    },
    pass: (ms) => void (now += ms),
  };
}

const lost = Object.assign(new Error("the database system is starting up"), { code: "57P03" });
const conflict = Object.assign(new Error("deadlock detected"), { code: "40P01" });

test("issue 21 a statement whose connection shows its end after the patience is over is tried again all the same", async () => {
  const clock = quickClock();
  let tries = 0;
  const work = async (): Promise<string> => {
    if (++tries > 1) return "done";
    clock.pass(60_000); // nothing answered for so long
    throw lost;
  };
  expect(await attemptAgain(work, { retryMs: 10_000, clock })).toBe("done");
});

test("issue 21 a server that is there for a quarter of a second at a time is found within seconds", async () => {
  const clock = quickClock();
  const work = async (): Promise<number> => {
    if (clock.now() % 3_000 < 2_750) throw lost;
    return clock.now();
  };
  expect(await attemptAgain(work, { retryMs: 15_000, clock })).toBeLessThan(3_000);
});

test("issue 21 one that stays away is given up when the patience is over, and at once where there is none", async () => {
  const clock = quickClock();
  const never = async (): Promise<never> => {
    throw lost;
  };
  await expect(attemptAgain(never, { retryMs: 0, clock })).rejects.toBe(lost);
  expect(clock.now()).toBe(0);
  await expect(attemptAgain(never, { retryMs: 5_000, clock })).rejects.toBe(lost);
  expect(clock.now()).toBeGreaterThan(4_500);
  expect(clock.now()).toBeLessThanOrEqual(5_000);
});

test("issue 21 transactions in each other's way are run again at once, and losses after that still wait", async () => {
  const clock = quickClock();
  const failures = [conflict, conflict, lost, lost];
  const work = async (): Promise<string> => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return "done";
  };
  expect(await attemptAgain(work, { retryMs: 5_000, clock })).toBe("done");
  expect(clock.now()).toBe(20 + 40);
});

test.each(["57P05", "25P03", "25P04", "25006"])(
  "a connection that the server ends, or that leads to a server which takes no writes, is replaced and the work is tried again: %s",
  async (code) => {
    const failures = [Object.assign(new Error("as the server says"), { code })];
    const work = async (): Promise<string> => {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      return "done";
    };
    expect(await attemptAgain(work, { retryMs: 5_000, clock: quickClock() })).toBe("done");
  },
);

test.each([
  ["22021", false],
  ["54000", false],
  ["53100", true],
])("an error with %s, which a second try can change or not, says so: %j", (code, retryable) => {
  const error = explainPostgres(Object.assign(new Error("as the server says"), { code }), "The store could not be used");
  expect(error).toMatchObject({ code: "store_failed", retryable });
});

test.each([
  [{}, 15_000],
  [{ leaseMs: 4_000 }, 4_000],
  [{ readOnly: true }, 1_000],
  [{ readOnly: true, retryMs: 5_000 }, 5_000],
])("a server that is not there is waited for, shortly by what only reads: %j", (options, retryMs) => {
  expect(checkPostgresSettings({ url: "postgres://haft@db.example/app", ...options }).retryMs).toBe(retryMs);
});
