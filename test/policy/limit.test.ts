import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { SlotWaiter } from "../../src/core/resources/slots.ts";
import { Limit } from "../../src/policy/locks/limit.ts";
import { Limits } from "../../src/policy/locks/limits.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { slotsContract } from "../../src/testing/slots-contract.ts";
import { repeated } from "../ci.ts";

test.each(slotsContract)("the in-process slots pass the contract: $title", async ({ run }) => {
  const slots = new Limits();
  await run({ slots, other: slots });
});

function full(slots: number): Limit {
  const limit = new Limit(slots);
  for (let count = 0; count < slots; count++) expect(limit.tryTake()).toBe(true);
  return limit;
}

describe("misuse", () => {
  test.each([0, -1, 1.5, Number.NaN, -Infinity, 2 ** 53])("maxConcurrent %s throws invalid_argument", (maxConcurrent) => {
    expect(() => new Limit(maxConcurrent)).toThrow(ToolError);
    expect(() => new Limit(maxConcurrent)).toThrow(`maxConcurrent is ${maxConcurrent}; it must be an integer of at least 1, or Infinity.`);
  });

  test("releasing a slot that was not taken throws, and the count stays 0", () => {
    const limit = new Limit(1);
    expect(() => limit.release()).toThrow("A slot was released that was not taken");
    expect(limit.running).toBe(0);
  });
});

describe("slots", () => {
  test("tryTake fails when all slots are taken, and works again after a release", () => {
    const limit = full(2);
    expect(limit.tryTake()).toBe(false);
    limit.release();
    expect(limit.tryTake()).toBe(true);
    expect([limit.running, limit.waiting]).toEqual([2, 0]);
  });

  test("tryTake does not overtake: a freed slot goes to the waiter first", () => {
    const limit = full(1);
    const waiter = limit.wait("session");
    limit.release();
    expect(waiter.taken).toBe(true);
    expect(limit.tryTake()).toBe(false);
  });

  test("wait takes a free slot at once", async () => {
    const limit = new Limit(1);
    const waiter = limit.wait("session");
    expect([waiter.taken, limit.running, limit.waiting]).toEqual([true, 1, 0]);
    await waiter.whenTaken();
  });

  test("Infinity never makes a caller wait", () => {
    const limit = new Limit(Infinity);
    for (let count = 0; count < 1_000; count++) expect(limit.tryTake()).toBe(true);
    expect(limit.wait("session").taken).toBe(true);
  });
});

describe("cancel", () => {
  test("leaves the queue: the slot goes to the next waiter", async () => {
    const limit = full(1);
    const order: string[] = [];
    const [first, second] = [limit.wait("session"), limit.wait("session")];
    void first.whenTaken().then(() => order.push("first"));
    void second.whenTaken().then(() => order.push("second"));
    first.cancel();
    expect(limit.waiting).toBe(1);
    limit.release();
    await settle();
    expect([first.taken, second.taken, order]).toEqual([false, true, ["second"]]);
  });

  test("passes a taken slot on to the next waiter, once", () => {
    const limit = full(1);
    const waiters = [limit.wait("a"), limit.wait("b"), limit.wait("c")];
    limit.release();
    waiters[0]?.cancel();
    waiters[0]?.cancel();
    expect(waiters.map((waiter) => waiter.taken)).toEqual([true, true, false]);
    expect([limit.running, limit.waiting]).toEqual([1, 1]);
  });

  test("of the only waiter of a lane does not change the turns of other lanes", () => {
    const limit = full(1);
    const [a, b, c] = [limit.wait("a"), limit.wait("b"), limit.wait("c")];
    a.cancel();
    limit.release();
    expect([b.taken, c.taken]).toEqual([true, false]);
    c.cancel();
    limit.release();
    expect([limit.running, limit.waiting]).toEqual([0, 0]);
    expect(limit.tryTake()).toBe(true);
  });
});

describe("fairness", () => {
  test("B18 behind 100,000 calls of one session, the one call of another session gets the second slot that is freed", () => {
    const limit = full(1);
    const many = Array.from({ length: 100_000 }, () => limit.wait("greedy"));
    const one = limit.wait("modest");
    limit.release();
    expect([many[0]?.taken, one.taken]).toEqual([true, false]);
    limit.release();
    expect(one.taken).toBe(true);
    for (let count = 1; count < 100_000; count++) limit.release();
    expect(many.every((waiter) => waiter.taken)).toBe(true);
    expect([limit.running, limit.waiting]).toEqual([1, 0]);
    limit.release();
    expect(limit.running).toBe(0);
  });

  test("lanes take turns, and each lane is first come, first served", () => {
    const limit = full(1);
    const waiters = ["a1", "a2", "a3", "b1", "b2", "c1"].map((name) => ({ name, waiter: limit.wait(name.slice(0, 1)) }));
    const served: string[] = [];
    for (let count = 0; count < 6; count++) {
      limit.release();
      for (const { name, waiter } of waiters) if (waiter.taken && !served.includes(name)) served.push(name);
    }
    expect(served).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
  });

  test("a session that waits again after its turn is behind the sessions that already wait", () => {
    const limit = full(1);
    const first = limit.wait("a");
    const other = limit.wait("b");
    limit.release();
    const again = limit.wait("a");
    limit.release();
    expect([first.taken, other.taken, again.taken]).toEqual([true, true, false]);
  });

  test("a session named __proto__ is like any other", () => {
    const limit = full(1);
    const waiters = [limit.wait("__proto__"), limit.wait("constructor")];
    limit.release();
    limit.release();
    expect(waiters.map((waiter) => waiter.taken)).toEqual([true, true]);
  });
});

/** The rule written out plainly: lanes in an array, each an array of waiters. */
class PlainLimit {
  running = 0;
  lanes: { readonly name: string; readonly line: number[] }[] = [];
  readonly taken = new Set<number>();

  wait(id: number, name: string, slots: number): void {
    if (this.running < slots) {
      this.running++;
      this.taken.add(id);
      return;
    }
    const lane = this.lanes.find((other) => other.name === name);
    if (lane === undefined) this.lanes.push({ name, line: [id] });
    else lane.line.push(id);
  }

  release(): void {
    const lane = this.lanes.shift();
    const next = lane?.line.shift();
    if (lane === undefined || next === undefined) {
      this.running--;
      return;
    }
    this.taken.add(next);
    if (lane.line.length > 0) this.lanes.push(lane);
  }

  leave(id: number): void {
    this.lanes = this.lanes
      .map(({ name, line }) => ({ name, line: line.filter((other) => other !== id) }))
      .filter(({ line }) => line.length > 0);
  }
}

test("any history of waits, releases and cancels serves the same waiters as the plain implementation", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("wait" as const), lane: fc.constantFrom("a", "b", "c", "d") }),
    fc.record({ kind: fc.constant("release" as const) }),
    fc.record({ kind: fc.constant("cancel" as const), back: fc.nat({ max: 8 }) }),
  );
  const history = fc.array(step, { maxLength: 60, size: "max" });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), history, (slots, steps) => {
      const limit = new Limit(slots);
      const plain = new PlainLimit();
      const waiters: SlotWaiter[] = [];
      const ended = new Set<number>();
      for (const one of steps) {
        if (one.kind === "wait") {
          plain.wait(waiters.length, one.lane, slots);
          waiters.push(limit.wait(one.lane));
        } else {
          const held = [...plain.taken].find((id) => !ended.has(id));
          const id = one.kind === "cancel" ? waiters.length - 1 - one.back : held;
          if (id === undefined || id < 0 || ended.has(id)) continue;
          ended.add(id);
          if (one.kind === "cancel") waiters[id]?.cancel();
          else limit.release();
          if (plain.taken.has(id)) plain.release();
          else plain.leave(id);
        }
        expect(waiters.map((waiter) => waiter.taken)).toEqual(waiters.map((_, id) => plain.taken.has(id)));
        expect([limit.running, limit.waiting]).toEqual([plain.running, plain.lanes.reduce((sum, { line }) => sum + line.length, 0)]);
      }
    }),
    { seed: 5, numRuns: repeated(1_000) },
  );
});
