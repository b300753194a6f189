import { expect, test } from "vitest";
import { pageOf } from "../../src/server/mcp/page.ts";

const key = (item: string): string => item;

test("pages hold every entry once, and the last has no cursor", () => {
  const list = ["a", "b", "c", "d", "e"];
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = pageOf(list, { cursor, size: 2, key });
    seen.push(...(page?.items ?? []));
    cursor = page?.nextCursor;
  } while (cursor !== undefined);
  expect(seen).toEqual(list);
  expect(pageOf(["a", "b"], { cursor: undefined, size: 2, key })).toEqual({ items: ["a", "b"] });
  expect(pageOf([], { cursor: undefined, size: 2, key })).toEqual({ items: [] });
});

test("a cursor keeps its place when entries before it change, and is rejected if its own entry is gone or it is forged", () => {
  const cursor = pageOf(["b", "c", "d"], { cursor: undefined, size: 2, key })?.nextCursor;
  expect(pageOf(["a", "c", "d"], { cursor, size: 2, key })).toEqual({ items: ["d"] });
  expect(pageOf(["b", "d"], { cursor, size: 2, key })).toBeUndefined();
  for (const forged of ["", "x", "YWZ0ZXIg", "\u0000", "🙂"]) expect(pageOf(["b", "c"], { cursor: forged, size: 2, key })).toBeUndefined();
});
