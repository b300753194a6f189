import fc from "fast-check";
import { expect, test } from "vitest";
import { Fifo } from "../../../src/core/collections/fifo.ts";

type Step = ["push" | "unshift", number] | ["shift", number] | ["take" | "remove", number] | ["takeAll"];

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(fc.constantFrom("push" as const, "push" as const, "unshift" as const), fc.integer({ min: 1, max: 3_000 })),
  },
  { weight: 5, arbitrary: fc.tuple(fc.constant("shift" as const), fc.integer({ min: 1, max: 3_000 })) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom("take" as const, "remove" as const), fc.nat(6_000)) },
  { weight: 1, arbitrary: fc.constant<Step>(["takeAll"]) },
);

test("a Fifo has the same items as an array, whatever is done to it", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const fifo = new Fifo<{ readonly id: number }>();
      const list: { readonly id: number }[] = [];
      let id = 0;
      for (const [what, count = 0] of steps) {
        if (what === "takeAll") expect(fifo.takeAll()).toEqual(list.splice(0));
        else if (what === "take") {
          const at = list.findIndex((item) => item.id >= count);
          expect(fifo.take((item) => item.id >= count)).toBe(at < 0 ? undefined : list.splice(at, 1)[0]);
        } else if (what === "remove") {
          const item = list[count] ?? { id: -1 };
          expect(fifo.remove(item)).toBe(count < list.length);
          if (count < list.length) list.splice(count, 1);
        } else
          for (let n = 0; n < count; n++) {
            if (what === "shift") {
              if (fifo.shift() !== list.shift()) expect.fail("another item");
            } else {
              const item = { id: id++ };
              fifo[what](item);
              list[what](item);
            }
          }
        expect([fifo.length, fifo.first]).toEqual([list.length, list[0]]);
      }
      expect([...fifo]).toEqual(list);
    }),
    { numRuns: 200 },
  );
});

test("a Fifo keeps no item in memory that was taken", () => {
  const fifo = new Fifo<object>();
  for (let n = 0; n < 10_000; n++) fifo.push({ n });
  for (let n = 0; n < 9_999; n++) fifo.shift();
  fifo.unshift({});
  expect(fifo.length).toBe(2);
  fifo.clear();
  expect([fifo.length, fifo.first, fifo.shift()]).toEqual([0, undefined, undefined]);
});

test("a Fifo takes no item twice, and no other one, if the condition takes items itself", () => {
  const fifo = new Fifo<{ readonly n: number }>();
  for (let n = 0; n < 4; n++) fifo.push({ n });
  const both = (item: { readonly n: number }): boolean => {
    if (item.n === 1) fifo.shift();
    return item.n === 1;
  };
  expect([fifo.take(both)?.n, Array.from(fifo, ({ n }) => n)]).toEqual([1, [2, 3]]);
  const own = (item: { readonly n: number }): boolean => fifo.remove(item);
  expect([fifo.take(own), fifo.length]).toEqual([undefined, 0]);
});
