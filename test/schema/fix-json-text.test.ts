import { describe, expect, test } from "vitest";
import { fixJsonText, MAX_FIXABLE_CHARS, readJsonText } from "../../src/schema/fix-json-text.ts";

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
  test.each(["", "hello", "{", '{"a": "cut of', "[1, 2", '["a', "[1}", "(1)", '{"a":1,"a":2,}', "[1915883588174806058,]", "[1e999,]"])(
    "%j is not mended",
    (text) => {
      expect(fixJsonText(text)).toBeUndefined();
    },
  );

  test.each<[string, unknown]>([
    ["{'a': 'b'}", { a: "b" }],
    ["{a: True, b: None,}", { a: true, b: null }],
    ["[1, 2, /* three */ 3,]", [1, 2, 3]],
  ])("%j is mended", (text, value) => {
    expect(fixJsonText(text)).toEqual(value);
  });

  test("A01 a __proto__ key is left out of mended text", () => {
    expect(fixJsonText("{'a': 1, '__proto__': {'admin': true}}")).toEqual({ a: 1 });
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  });

  test.each(["[", "{'a':", '["a', "['a',b'", '["a" b ', "[/*", "[http://", '["a" + "b', "[```"])(
    "A06 %j over and over ends in time, whatever comes of it",
    (part) => {
      const times = Math.floor((MAX_FIXABLE_CHARS - 2) / part.length);
      const begun = performance.now();
      fixJsonText(`[${part.repeat(times)}]`);
      fixJsonText(`[${part.repeat(times * 50)}]`);
      expect(performance.now() - begun).toBeLessThan(1000);
    },
  );
});
