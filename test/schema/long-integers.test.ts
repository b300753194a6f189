import { expect, test } from "vitest";
import { compileSchema } from "../../src/schema/compile-schema.ts";
import { isValidOutput } from "../../src/schema/long-integers.ts";

const LONG = "1915883588174806058";
const id = { type: "integer", format: "int64" };
const list = { type: "array", items: id };

test.each<readonly [string, object, unknown]>([
  ["the whole output", id, LONG],
  ["a field, beside a string of the same digits", { properties: { id, id_str: { type: "string" } } }, { id: LONG, id_str: LONG }],
  ["items", list, [1, LONG, `-${LONG}`]],
  ["a field of any name", { additionalProperties: { additionalProperties: list } }, JSON.parse(`{"a/b~":{"__proto__":["${LONG}"]}}`)],
  ["one of several types", { properties: { id: { anyOf: [id, { type: "null" }] } } }, { id: LONG }],
  ["a number within bounds", { ...id, minimum: 0, maximum: 9_223_372_036_854_776_000 }, LONG],
])("C02 a long integer that was read as a string matches as %s", (_, schema, output) => {
  const before = JSON.stringify(output);
  expect(isValidOutput(compileSchema(schema), output)).toBe(true);
  expect(JSON.stringify(output)).toBe(before);
});

test.each<readonly [string, object, unknown]>([
  ["an integer that is not long", id, "12"],
  ["text that is not written as an integer", id, `0${LONG}`],
  ["a long integer that breaks a bound", { ...id, maximum: 5 }, LONG],
  ["a long integer beside another problem", { properties: { id, name: { type: "string" } } }, { id: LONG, name: 1 }],
  ["a long integer in place of an object", { type: "object" }, LONG],
  ["a missing field", { required: ["id"] }, {}],
  ["more of them than are checked", list, Array.from({ length: 1_001 }, () => LONG)],
])("C02 %s does not match", (_, schema, output) => {
  expect(isValidOutput(compileSchema(schema), output)).toBe(false);
});

test("the problem of an input says that an integer is too long", () => {
  expect(compileSchema({ properties: { id } }).problems({ id: LONG })).toMatchObject([
    { path: "$.id", message: "expected type integer, got a string with an integer beyond ±9007199254740991, which is not supported" },
  ]);
});
