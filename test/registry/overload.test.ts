import { expect, test } from "vitest";
import type { JsonSchema } from "../../src/core/tool.ts";
import { chooseOverload } from "../../src/registry/overload.ts";
import type { RegisteredTool } from "../../src/registry/registered-tool.ts";
import { Registry } from "../../src/registry/registry.ts";

function overloads(...schemas: readonly JsonSchema[]): readonly RegisteredTool[] {
  const registry = new Registry({ overloads: true });
  schemas.forEach((inputSchema, at) => registry.register({ name: "find", title: `${at}`, description: "", inputSchema }));
  return registry.overloads("find");
}

function chosen(candidates: readonly RegisteredTool[], input: Parameters<typeof chooseOverload>[1]): string | undefined {
  return chooseOverload(candidates, input).tool.title;
}

const BY_CITY = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
const BY_POINT = {
  type: "object",
  properties: { lat: { type: "number" }, lon: { type: "number" } },
  required: ["lat", "lon"],
  additionalProperties: false,
};

test("F0.8 an empty list of candidates throws", () => {
  expect(() => chooseOverload([], {})).toThrow("no candidate");
});

test("F0.8 a single candidate is chosen without looking at its schema", () => {
  const candidates = overloads({ type: "nonsense" });
  expect(chosen(candidates, { any: 1 })).toBe("0");
});

test("F0.8 of several candidates, the one whose schema accepts the input is chosen", () => {
  const candidates = overloads(BY_CITY, BY_POINT);
  expect([chosen(candidates, { city: "Oslo" }), chosen(candidates, { lat: 1, lon: 2 })]).toEqual(["0", "1"]);
});

test("F0.8 of two that accept it, the one that declares more of its keys is chosen, and on a tie the first", () => {
  const narrow = { type: "object", properties: { city: {} } };
  const wide = { type: "object", properties: { city: {}, day: {} } };
  expect(chosen(overloads(narrow, wide), { city: "Oslo", day: "today" })).toBe("1");
  expect(chosen(overloads(narrow, wide), { city: "Oslo" })).toBe("0");
  expect(chosen(overloads(wide, narrow), { city: "Oslo" })).toBe("0");
});

test("F0.8 when none accepts it, the one that declares most of its keys is chosen", () => {
  const candidates = overloads(BY_CITY, BY_POINT);
  expect(chosen(candidates, { lat: "x", lon: 2 })).toBe("1");
  expect(chosen(candidates, { other: 1 })).toBe("0");
  expect(chosen(candidates, "not an object")).toBe("0");
});

test("F0.8 A16 a quarantined candidate is skipped unless there is no other", () => {
  const bad = { type: "nonsense", properties: { city: {} } };
  expect(chosen(overloads(bad, BY_POINT), { city: "Oslo" })).toBe("1");
  expect(chosen(overloads(bad, { type: "more nonsense" }), { city: "Oslo" })).toBe("0");
});

test("A02 inherited names do not count as declared properties", () => {
  const candidates = overloads({ type: "object" }, { type: "object", properties: { a: {} } });
  expect(chosen(candidates, { toString: 1, constructor: 2 })).toBe("0");
  expect(chosen(candidates, { toString: 1, a: 2 })).toBe("1");
});
