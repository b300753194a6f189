import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "../../../src/core/base/canonical-json.ts";
import type { JsonValue } from "../../../src/core/base/json.ts";
import { repeated } from "../../ci.ts";

/** The same text, written piece by piece. */
function written(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(written).join(",")}]`;
  const members = Object.entries(value).map(([key, member]) => [key, `${JSON.stringify(key)}:${written(member)}`] as const);
  return `{${members
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, text]) => text)
    .join(",")}}`;
}

const key = fc.oneof(fc.constantFrom("__proto__", "10", "9", "b", "a", "constructor", "toJSON", "-1", "4294967295", "\ud800"), fc.string());
const { value: anyJson } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "medium" },
    fc.constantFrom(null, true, -0, 1e21, 0.1),
    fc.string(),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 5 }).map((members): JsonValue => Object.fromEntries(members)),
  ),
}));

test("keys are sorted at every depth, whatever they are", () => {
  const value = JSON.parse('{"b":1,"a":{"10":1,"9":2,"":[{"z":-0,"__proto__":{"y":null,"x":"é"}}]}}') as JsonValue;
  const text = '{"a":{"":[{"__proto__":{"x":"é","y":null},"z":0}],"10":1,"9":2},"b":1}';
  expect(canonicalJson(value)).toBe(text);
  fc.assert(
    fc.property(anyJson, (some) => canonicalJson(some) === written(some)),
    { numRuns: repeated(2_000) },
  );
});
