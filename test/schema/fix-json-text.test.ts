import { describe, expect, test } from "vitest";
import { fixJsonText, readJsonText } from "../../src/schema/fix-json-text.ts";
import { MAX_DAMAGED_CHARS } from "../../src/schema/json-text/damaged-text.ts";

describe("strict text", () => {
  test.each(["", "5", '"a"', "null", "true", "[1", "{'a':1}", "[1}", '{"a":1,"a":2}', "[1915883588174806058]"])(
    "%j is read as nothing",
    (text) => {
      expect(readJsonText(text)).toBeUndefined();
    },
  );

  test("objects and arrays are read, white space around them aside, and frozen", () => {
    expect(readJsonText(' {"a":[1]}\n')).toEqual({ a: [1] });
    expect(Object.isFrozen(readJsonText("[]"))).toBe(true);
  });
});

describe("broken text", () => {
  test.each<[string, string]>([
    ["", "the text ends too early"],
    ["hello", "expected a value"],
    ['{"a": "cut of', "a string is not closed"],
    ['{"a": 12', "the text ends too early"],
    ['{"a": 1,', "the text ends too early"],
    ["[1, 2", "the text ends too early"],
    ['["a', "a string is not closed"],
    ["(1)", "expected a value"],
    ['{"a":1,"a":2,}', 'the key "a" is given twice'],
    ["[1915883588174806058,]", "would lose digits"],
    ["[1e999,]", "is too large"],
    ["{'a': 1}\n{'b': 2}", "expected a key"],
  ])("%j is not mended, and the reason is given", (text, reason) => {
    const read = fixJsonText(text);
    expect("value" in read ? read : read.message).toContain(reason);
  });

  test.each(["{", '{"a": [1]', '{"a": {"b": 1}', "[1}"])("%j lacks its own end: a guess", (text) => {
    const read = fixJsonText(text);
    expect("value" in read && read.unsure !== undefined).toBe(true);
  });

  test.each<[string, unknown]>([
    ["{'a': 'b'}", { a: "b" }],
    ["{a: True, b: None,}", { a: true, b: null }],
    ["[1, 2, /* three */ 3,]", [1, 2, 3]],
  ])("%j is mended", (text, value) => {
    expect(fixJsonText(text)).toMatchObject({ value, unsure: undefined });
  });

  test("A01 a __proto__ key is left out of mended text", () => {
    expect(fixJsonText("{'a': 1, '__proto__': {'admin': true}}")).toMatchObject({
      value: { a: 1 },
      note: 'other quotes read as double quotes (3 times), key "__proto__" left out',
    });
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  });

  test.each(["[", "{'a':", '["a', "['a',b'", '["a" b ', "[/*", "[http://", '["a" + "b', "[```"])(
    "A06 %j over and over ends in time, whatever comes of it",
    (part) => {
      const times = Math.floor((MAX_DAMAGED_CHARS - 2) / part.length);
      const begun = performance.now();
      fixJsonText(`[${part.repeat(times)}]`);
      fixJsonText(`[${part.repeat(times * 50)}]`);
      expect(performance.now() - begun).toBeLessThan(1000);
    },
  );
});
