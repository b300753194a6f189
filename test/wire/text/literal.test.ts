import { expect, test } from "vitest";
import { readKeywordArguments, readLiteral } from "../../../src/wire/text/literal.ts";
import { fixJsonText } from "../../../src/schema/repair/fix-json-text.ts";
import { guessValue, toTypedValue } from "../../../src/wire/text/typed-value.ts";

test("A20 text that is not a literal gives undefined", () => {
  for (const text of [
    "f()",
    "a",
    "1 + 1",
    "[1",
    '{"a": b}',
    "{'a': 'open}",
    "1..2",
    "[1,,2]",
    '{"a": "a" "b"}',
    "{'a': 1..2}",
    "",
    "lambda: 1",
    "{1: 2}",
  ])
    expect(readLiteral(text)).toBeUndefined();
  expect(readLiteral("[".repeat(65) + "]".repeat(65))).toBeUndefined();
});

test("F1.37 Python and JSON literals are parsed", () => {
  const text = `{'a': [1, -2.5e3, .5, True, false, None, null], "b": ('x', "y",), 'c': {}, 'd': '''it's "q"'''}`;
  expect(readLiteral(text)).toEqual({ a: [1, -2500, 0.5, true, false, null, null], b: ["x", "y"], c: {}, d: 'it\'s "q"' });
  expect(readLiteral(String.raw`{'a': '\n\t\x41\u00e9\U0001F600\d\''}`)).toEqual({ a: "\n\tAé😀\\d'" });
});

test("F1.37 an integer that would lose digits, or a duplicate key, gives JSON text with everything kept", () => {
  expect(readLiteral("{'a': [12345678901234567890, None], 'b': {'c': -007, 'd': +0012345678901234567890}}")).toBe(
    '{"a": [12345678901234567890, null], "b": {"c": -7, "d": 12345678901234567890}}',
  );
  expect(readLiteral("{'a': 1, 'a': 'x'}")).toBe('{"a": 1, "a": "x"}');
  expect(readKeywordArguments("(id=12345678901234567890)")).toBe('{"id": 12345678901234567890}');
  expect(readLiteral("{'a': 9007199254740993.0, 'b': -9.007199254740993e15, 'c': 9007199254740992.0}")).toBe(
    '{"a": 9007199254740993.0, "b": -9.007199254740993e15, "c": 9007199254740992}',
  );
  expect(fixJsonText(String(readLiteral("{'a': +9007199254740993.}")))).toMatchObject({
    message: expect.stringContaining("would lose digits"),
  });
});

test("F1.37 custom string delimiters need no escapes, and with bare, text needs no quotes", () => {
  expect(readLiteral('{a:<q>x "y" \\n<q>,unit:kilo meter,n:[1,<q><q>]}', { marks: ["<q>"], bare: true })).toEqual({
    a: 'x "y" \\n',
    unit: "kilo meter",
    n: [1, ""],
  });
});

test("F1.37 keyword arguments need names; duplicate ones give JSON text with both", () => {
  expect(readKeywordArguments(`(a=1, b="x", )`)).toEqual({ a: 1, b: "x" });
  expect(readKeywordArguments("(a=1, b={'c': 1, 'c': None}, a=[2])")).toBe('{"a": 1, "b": {"c": 1, "c": null}, "a": [2]}');
  for (const text of ["(1)", "(a=f())", "(a)", "(**a)"]) expect(readKeywordArguments(text)).toBeUndefined();
});

test("F1.39 text is converted to the type in the schema", () => {
  const root = { $defs: { Day: { type: "integer" } } };
  const typed = (text: string, schema: Parameters<typeof toTypedValue>[1]): unknown => toTypedValue(text, schema, root);
  expect(typed("5", { type: "integer" })).toBe(5);
  expect(typed("5", { type: "string" })).toBe("5");
  expect(typed("5", { $ref: "#/$defs/Day" })).toBe(5);
  expect(typed("5", { $ref: "#/$defs/__proto__/x" })).toBe("5");
  expect(typed("TRUE", { type: "boolean" })).toBe(true);
  expect(typed("null", { type: ["integer", "null"] })).toBe(null);
  expect(typed('{"a":1}', { anyOf: [{ type: "string" }, { type: "object" }] })).toEqual({ a: 1 });
  expect(typed("plain", { anyOf: [{ type: "string" }, { type: "object" }] })).toBe("plain");
  expect(typed(String.raw`[{\"a\": \"b\"}]`, { type: "array" })).toEqual([{ a: "b" }]);
  expect(typed("b", { enum: ["a", "b"] })).toBe("b");
  expect(typed("2", { enum: [1, 2] })).toBe(2);
  expect(typed("five", { type: "integer" })).toBe("five");
  expect(typed("5", {})).toBe("5");
});

test("F1.39 without a schema, text is converted to the type that it looks like", () => {
  expect(["5", "true", '{"a":1}', "[1]", "null", "05-01", "Paris", '"x"'].map(guessValue)).toEqual([
    5,
    true,
    { a: 1 },
    [1],
    null,
    "05-01",
    "Paris",
    '"x"',
  ]);
});
