import { describe, expect, test } from "vitest";
import { fixJsonText, readJsonText } from "../../src/schema/repair/fix-json-text.ts";
import { MAX_DAMAGED_CHARS } from "../../src/schema/json-text/damaged-text.ts";
import { inProcessorTime } from "../processor-time.ts";

describe("readJsonText", () => {
  test.each(["", "5", '"a"', "null", "true", "[1", "{'a':1}", "[1}", '{"a":1,"a":2}', "[1915883588174806058]"])(
    "returns undefined for %j",
    (text) => {
      expect(readJsonText(text)).toBeUndefined();
    },
  );

  test("parses objects and arrays, with white space around them, and freezes them", () => {
    expect(readJsonText(' {"a":[1]}\n')).toEqual({ a: [1] });
    expect(Object.isFrozen(readJsonText("[]"))).toBe(true);
  });
});

describe("fixJsonText", () => {
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
  ])("does not repair %j, and gives the reason", (text, reason) => {
    const read = fixJsonText(text);
    expect("value" in read ? read : read.message).toContain(reason);
  });

  test.each(["{", '{"a": [1]', '{"a": {"b": 1}', "[1}"])("repairs %j, which lacks its own end, as a guess", (text) => {
    const read = fixJsonText(text);
    expect("value" in read && read.ambiguity !== undefined).toBe(true);
  });

  test.each<[string, string]>([
    ["a comma inside the quotes before it", '{"path": "src/a.ts," "content": "x"}'],
    ["a colon inside the quotes of its key", '{"id": 5, "dry_run:" true}'],
    ["a quote of two kinds, which another string could end", '{"a": “x", "force": true, "b": “y”}'],
    ["a quote of two kinds, single", '{"a": ‘x\', "b": ‘y’}'],
    ["words with a hash sign, on lines of their own", '{"channels": [\n  #general,\n  #random\n]}'],
    ["a comment in the place of a comma", '{"n": 5 // 2,\n "m": 1}'],
    ["digits with a space between them", "[1 500, 2 300]"],
    ["a difference", "[10 -5]"],
    ["a number that touches a key", '{"amount": 12"unit": "kg"}'],
    ["a number that touches an array", "[1[2]]"],
    ["a word that is null in Python alone", "{'display': none}"],
    ["the same in capitals", '{"mode": NONE, "x": 1}'],
    ["a hexadecimal escape of Python", String.raw`{'text': '12\xa0EUR'}`],
    ["a long escape of Python", String.raw`{"text": "\U0001F600"}`],
    ["a name of Python", String.raw`{"text": "\N{BULLET}"}`],
    ["a code point of JavaScript", String.raw`{"text": "\u{1F600}"}`],
    ["a null character of JavaScript", String.raw`{"text": "a\0"}`],
  ])("%s: repaired as a guess, so that no tool that writes runs", (_, text) => {
    const read = fixJsonText(text);
    expect("value" in read ? (read.ambiguity === undefined ? read : "a guess") : "refused").toBe("a guess");
  });

  test.each<[string, string]>([
    ["two fences", '```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```'],
    ["a fence, and another value behind it", '```json\n{"a": 1}\n```\nor {"a": 2}'],
    ["another value, and a fence behind it", 'Not {"a": 2} but\n```json\n{"a": 1}\n```'],
  ])("%s: not repaired, so that none of the values is used", (_, text) => {
    expect("value" in fixJsonText(text)).toBe(false);
  });

  test.each<[string, unknown]>([
    ["{'a': 'b'}", { a: "b" }],
    ["{a: True, b: None,}", { a: true, b: null }],
    ["[1, 2, /* three */ 3,]", [1, 2, 3]],
    ["[1\n2]", [1, 2]],
    ['{"a": 1 "b": "x" "c": [true false]}', { a: 1, b: "x", c: [true, false] }],
    ["{“a”: “x, y”, ‘b’: ‘it's’}", { a: "x, y", b: "it's" }],
    ['Here it is:\n```json\n{"a": 1}\n```\nThat is all.', { a: 1 }],
  ])("repairs %j", (text, value) => {
    expect(fixJsonText(text)).toMatchObject({ value, ambiguity: undefined });
  });

  test("A01 drops a __proto__ key from the repaired value", () => {
    expect(fixJsonText("{'a': 1, '__proto__': {'admin': true}}")).toMatchObject({
      value: { a: 1 },
      note: 'other quotes read as double quotes (3 times), key "__proto__" left out',
    });
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  });

  test.each(["[", "{'a':", '["a', "['a',b'", '["a" b ', "[/*", "[http://", '["a" + "b', "[```", "None ", "True ", "a b ", '{"a": None '])(
    "A06 terminates within its time limit for many repetitions of %j",
    (part) => {
      const times = Math.floor((MAX_DAMAGED_CHARS - 2) / part.length);
      inProcessorTime(6_000, () => {
        fixJsonText(`[${part.repeat(times)}]`);
        fixJsonText(`{"x": ${part.repeat(times)}}`);
        fixJsonText(`[${part.repeat(times * 50)}]`);
      });
    },
  );
});
