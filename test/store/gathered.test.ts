import { expect, test } from "vitest";
import { Batcher } from "../../src/store/records/batcher.ts";
import { gate } from "../runtime/bench-runtime.ts";

test("issue 21 simultaneous callers share one request, and callers that arrive meanwhile share the next", async () => {
  const groups: (readonly number[])[] = [];
  const open = gate();
  const gathered = new Batcher<number, number>(async (items) => {
    groups.push(items);
    if (groups.length === 1) await open.promise;
    return items.length;
  });
  const first = [gathered.add([1]), gathered.add([2])];
  await Promise.resolve();
  const later = [gathered.add([3]), gathered.add([4, 5])];
  open.open();
  expect(await Promise.all([...first, ...later])).toEqual([2, 2, 3, 3]);
  await gathered.whenSettled();
  expect(groups).toEqual([
    [1, 2],
    [3, 4, 5],
  ]);
});

test("issue 21 a failed request rejects its own callers only, and the next request runs", async () => {
  let runs = 0;
  const gathered = new Batcher<number, number>(async () => {
    if (++runs === 1) throw new Error("lost");
    return runs;
  });
  const first = gathered.add([1]);
  await expect(first).rejects.toThrow("lost");
  expect(await gathered.add([2])).toBe(2);
});
