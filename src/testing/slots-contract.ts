/** The contract of every implementation of slots, as cases for any test runner. */
import { deepEqual, equal } from "node:assert/strict";
import type { SlotLimit, SlotWaiter, Slots } from "../core/resources/slots.ts";
import { assertThrows } from "./store-case.ts";
import { PATIENCE_MS, assertSettlesWithin } from "./settles-within.ts";

/** The subject of a case: the same slots as seen by two processes. For slots of a single process both are one object. */
export interface SlotsSubject {
  readonly slots: Slots;
  readonly other: Slots;
}

/** One case of the contract that every `Slots` keeps. */
export interface SlotsCase {
  /** The promise that is checked: `a freed slot goes to the waiter`. */
  readonly title: string;
  /** Rejects if the promise is broken; the error says how. */
  run(subject: SlotsSubject): Promise<void>;
}

/** The cases. Each needs slots of its own. */
export const slotsContract: readonly SlotsCase[] = [
  {
    title: "a limit is an integer from 1, or none",
    async run({ slots }) {
      for (const wrong of [0, -1, 1.5, Number.NaN, -Infinity]) assertThrows(() => slots.limit("wrong", wrong), "invalid_argument");
      const none = slots.limit("none", Infinity);
      for (let count = 0; count < 100; count++) await take(none);
      for (let count = 0; count < 100; count++) none.release();
    },
  },
  {
    title: "limits with different names or numbers are counted separately",
    async run({ slots, other }) {
      const limits = [slots.limit("a", 1), other.limit("b", 1), slots.limit("a", 2)];
      for (const limit of limits) await take(limit);
      for (const limit of limits) limit.release();
    },
  },
  caseOf("all slots of a name are shared, and a freed one goes to the waiter", 2, async (one, other, assertWaiting) => {
    await take(one);
    await take(other);
    const [waiter, behind] = [other.wait("a"), one.wait("a")];
    deepEqual([one.tryTake(), other.tryTake()], [false, false]);
    await assertWaiting(waiter, behind);
    behind.cancel();
    one.release();
    await taken(waiter);
    deepEqual([one.tryTake(), other.tryTake()], [false, false]);
    other.release();
    other.release();
    await take(one);
    one.release();
  }),
  caseOf("lanes take turns, and within a lane the first come is first served", 1, async (limit, _, assertWaiting) => {
    await take(limit);
    const [a1, a2, b1, b2] = ["a", "a", "b", "b"].map((lane) => limit.wait(lane)) as [SlotWaiter, SlotWaiter, SlotWaiter, SlotWaiter];
    for (const next of [a1, b1, a2, b2]) {
      await assertWaiting(next);
      limit.release();
      await taken(next);
    }
    limit.release();
  }),
  caseOf("lanes may have any name", 1, async (limit) => {
    await take(limit);
    const waiters = ["__proto__", "constructor", ""].map((lane) => limit.wait(lane));
    for (const waiter of waiters) {
      limit.release();
      await taken(waiter);
    }
    limit.release();
  }),
  caseOf("a waiter that leaves lets the one behind it go, and never has a slot", 1, async (one, other) => {
    await take(one);
    const [leaving, behind] = [other.wait("a"), other.wait("a")];
    leaving.cancel();
    one.release();
    await taken(behind);
    equal(leaving.taken, false);
    other.release();
  }),
  caseOf("a waiter that leaves with its slot passes it on once", 1, async (one, other, assertWaiting) => {
    await take(one);
    const [first, second, third] = [other.wait("a"), other.wait("a"), other.wait("a")];
    one.release();
    await taken(first);
    first.cancel();
    first.cancel();
    await taken(second);
    await assertWaiting(third);
    third.cancel();
    second.cancel();
    await take(one);
    one.release();
  }),
  caseOf("two slots are free again when one waiter leaves and one slot is released, in either order", 2, async (one, other) => {
    for (const leavesFirst of [true, false]) {
      const [leaving, staying] = [one.wait("a"), one.wait("a")];
      await taken(leaving);
      await taken(staying);
      if (leavesFirst) leaving.cancel();
      one.release();
      if (!leavesFirst) leaving.cancel();
      await take(other);
      await take(other);
      other.release();
      other.release();
    }
  }),
  caseOf("a slot that was not taken cannot be released", 1, async (limit) => {
    assertThrows(() => limit.release(), "invalid_argument");
    await take(limit);
    limit.release();
    assertThrows(() => limit.release(), "invalid_argument");
  }),
];

type AssertWaiting = (...waiters: readonly SlotWaiter[]) => Promise<void>;

function caseOf(
  title: string,
  maxConcurrent: number,
  run: (one: SlotLimit, other: SlotLimit, assertWaiting: AssertWaiting) => Promise<void>,
): SlotsCase {
  return {
    title,
    run: ({ slots, other }) =>
      run(slots.limit("name", maxConcurrent), other.limit("name", maxConcurrent), (...waiters) => assertWaiting([slots, other], waiters)),
  };
}

/** Asserts that waiters have no slot. First takes a later slot in each process, by when these would have theirs too. */
async function assertWaiting(subjects: readonly Slots[], waiters: readonly SlotWaiter[]): Promise<void> {
  for (const slots of subjects) {
    const marker = slots.limit("marker", 1);
    await take(marker);
    marker.release();
  }
  deepEqual(
    waiters.map((waiter) => waiter.taken),
    waiters.map(() => false),
  );
}

/** Takes a free slot. Waits if the slots of several processes need a round trip to grant it. */
async function take(limit: SlotLimit): Promise<void> {
  if (!limit.tryTake()) await taken(limit.wait("taking"));
}

async function taken(waiter: SlotWaiter): Promise<void> {
  await assertSettlesWithin(waiter.whenTaken(), PATIENCE_MS, "A free slot is taken");
  equal(waiter.taken, true);
}
