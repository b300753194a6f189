import { expect, test } from "vitest";
import { LoopBudget, crashAfterMs, type BudgetAxis, type LoopBudgetLimits } from "../../src/compose/loop-budget.ts";
import { FakeClock } from "../../src/testing/fake-ports.ts";

const budget = (limits: LoopBudgetLimits, clock = new FakeClock()): LoopBudget => new LoopBudget(limits, clock);

test.each(["rounds", "calls", "tokens", "cost"] as const)(
  "F1.51 %s go from ok to soft and hard, and to crash at 1.5 times the hard limit",
  (axis) => {
    const account = budget({ [axis]: { soft: 2, hard: 4 } });
    const levels: unknown[] = [];
    for (let index = 0; index < 7; index++) {
      levels.push([account.level, account.newLevelNote() !== undefined, account.refusal()?.code]);
      account.spend(axis, 1);
    }
    expect(levels).toEqual([
      ["ok", false, undefined],
      ["ok", false, undefined],
      ["soft", true, undefined],
      ["soft", false, undefined],
      ["hard", true, "limit_exceeded"],
      ["hard", false, "limit_exceeded"],
      ["crash", true, "limit_exceeded"],
    ]);
  },
);

test("F1.51 time is measured by the clock", async () => {
  const clock = new FakeClock();
  const account = budget({ wallMs: { soft: 100, hard: 200 } }, clock);
  const levels = [account.level];
  for (const step of [100, 100, 100]) {
    await clock.advance(step);
    levels.push(account.level);
  }
  expect([levels, account.describeExceeded(), crashAfterMs({ wallMs: { hard: 200 } }), crashAfterMs({})]).toEqual([
    ["ok", "soft", "hard", "crash"],
    "300 of 200 milliseconds",
    300,
    undefined,
  ]);
});

test("F1.51 the axis with the worst level counts, and every axis beyond a limit is named", () => {
  const account = budget({ calls: { soft: 1 }, tokens: { hard: 100 } });
  account.spend("calls", 5);
  expect(account.newLevelNote()).toBe(
    "The budget of this task is running out (5 of 1 tool calls). Finish soon: make only the calls that the answer needs.",
  );
  account.spend("tokens", 120);
  expect(account.refusal()?.message).toBe(
    "The call was not made: the budget of this task is used up (5 of 1 tool calls, 120 of 100 tokens).",
  );
});

test("without limits no call is refused", () => {
  const account = budget({});
  for (const axis of ["rounds", "calls", "tokens", "cost"] as const) account.spend(axis, 1e12);
  expect([account.level, account.newLevelNote(), account.refusal()]).toEqual(["ok", undefined, undefined]);
});

test("invalid limits throw", () => {
  for (const limit of [{ soft: 3, hard: 2 }, { hard: 0 }, { soft: -1 }, { hard: Number.NaN }])
    expect(() => budget({ calls: limit })).toThrow("The budget calls takes soft ≥ 0 and hard > 0");
  const unknown: string = "turns";
  expect(() => budget({ [unknown as BudgetAxis]: { hard: 1 } })).toThrow('createLoop({ limits: { budget } }) has no option "turns".');
});
