import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isSameOrInside } from "../../src/core/resources/effects.ts";
import { ResourceVersions } from "../../src/policy/cache/resource-versions.ts";

function isOutdated(read: string, written: string): boolean {
  const versions = new ResourceVersions();
  versions.recordWrite([read]);
  const since = versions.now;
  versions.recordWrite([written]);
  return !versions.isUnchangedSince(since, [read]);
}

test.each<[read: string, written: string, outdated: boolean]>([
  ["file:/a", "file:/a", true],
  ["file:/a", "file:/a/b/c", true],
  ["file:/a/b/c", "file:/a", true],
  ["file:/a/b", "file:", true],
  ["file:/a", "file:/b", false],
  ["file:/a", "file:/ab", false],
  ["file:/a/b", "file:/a/c", false],
  ["file:/a", "mail:/a", false],
  ["/", "/a", true],
  ["/a", "/", true],
  ["a", "b", false],
])("a read of %s is out of date after a write of %s: %s", (read, written, outdated) => {
  expect(isOutdated(read, written)).toBe(outdated);
});

test("a read of no keys is never out of date; a read of several is as soon as one of its keys is", () => {
  const versions = new ResourceVersions({ maxKeys: 2 });
  versions.recordWrite(["a"]);
  const since = versions.now;
  versions.recordWrite(["b"]);
  expect([
    versions.isUnchangedSince(since, []),
    versions.isUnchangedSince(since, ["a"]),
    versions.isUnchangedSince(since, ["a", "b"]),
    versions.isUnchangedSince(versions.now, ["a", "b"]),
  ]).toEqual([true, true, false, true]);
});

test("random writes outdate exactly the reads inside or around their keys", () => {
  const key = fc.array(fc.constantFrom("a", "b", "ab"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
  fc.assert(
    fc.property(fc.array(fc.array(key, { minLength: 1, maxLength: 3 }), { maxLength: 20 }), key, fc.nat(20), (writes, read, at) => {
      const versions = new ResourceVersions();
      const [before, after] = [writes.slice(0, at), writes.slice(at)];
      for (const keys of before) versions.recordWrite(keys);
      const since = versions.now;
      for (const keys of after) versions.recordWrite(keys);
      const conflicts = after.flat().some((written) => isSameOrInside(written, read) || isSameOrInside(read, written));
      expect(versions.isUnchangedSince(since, [read])).toBe(!conflicts);
    }),
    { numRuns: 2_000 },
  );
});

test("while writes are unfinished, exactly the reads inside or around their keys are out of date, however new", () => {
  const key = fc.array(fc.constantFrom("a", "b", "ab"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
  fc.assert(
    fc.property(fc.array(fc.tuple(key, fc.boolean()), { maxLength: 8 }), key, (writes, read) => {
      const versions = new ResourceVersions();
      const finishers = writes.map(([written]) => versions.recordUnfinishedWrite([written]));
      for (const [index, [, isFinished]] of writes.entries()) if (isFinished) finishers[index]?.();
      const left = writes.filter(([, isFinished]) => !isFinished).map(([written]) => written);
      const conflicts = left.some((written) => isSameOrInside(written, read) || isSameOrInside(read, written));
      expect(versions.isUnchangedSince(versions.now, [read])).toBe(!conflicts);
    }),
    { numRuns: 2_000 },
  );
});

test("the end of an unfinished write is a write", () => {
  const versions = new ResourceVersions();
  const finish = versions.recordUnfinishedWrite(["a/b"]);
  const since = versions.now;
  finish();
  expect([versions.isUnchangedSince(since, ["a"]), versions.isUnchangedSince(versions.now, ["a"])]).toEqual([false, true]);
});

test("with too many keys all earlier reads are out of date and no later one is, and memory stays bounded", () => {
  const versions = new ResourceVersions({ maxKeys: 100 });
  versions.recordWrite(["x"]);
  const before = versions.now;
  let largest = 0;
  for (let index = 0; index < 10_000; index++) {
    versions.recordWrite([`file:/${index}/a/b`]);
    largest = Math.max(largest, versions.size);
  }
  const after = versions.now;
  versions.recordWrite(["y"]);
  expect([
    versions.isUnchangedSince(before, ["x"]),
    versions.isUnchangedSince(after, ["x"]),
    versions.isUnchangedSince(before, []),
  ]).toEqual([false, true, true]);
  expect(largest).toBeLessThanOrEqual(100);
});

test("a key of more than 64 segments counts as its 64th ancestor: reads beside it are outdated too, none is missed", () => {
  const deep = (last: string): string => `${"a/".repeat(70)}${last}`;
  expect([isOutdated(deep("x"), deep("x")), isOutdated(deep("x"), deep("y")), isOutdated("a/b", deep("x"))]).toEqual([true, true, false]);
});
