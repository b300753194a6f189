import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { ToolError } from "../../../src/core/error.ts";
import type { JsonLimits } from "../../../src/core/base/json-limits.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import { inProcessorTime } from "../../processor-time.ts";

function refusal(text: string, limits?: JsonLimits): Pick<ToolError, "code" | "message"> {
  try {
    parseJson(text, limits);
  } catch (error: unknown) {
    if (error instanceof ToolError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error(`accepted ${text.slice(0, 80)}`);
}

describe("values that JSON.parse would change silently are rejected or kept", () => {
  test.each([
    ['{"path":"/safe","path":"/etc/shadow"}', 'line 1, column 17: the key "path" is given twice in one object'],
    ['{"a":[{"b":1},\n{"c":1,"c":2}]}', 'line 2, column 8: the key "c" is given twice in one object'],
    ['{"a":1,"\\u0061":2}', 'line 1, column 8: the key "a" is given twice in one object'],
    ['{"__proto__":1,"__proto__":2}', 'line 1, column 16: the key "__proto__" is given twice in one object'],
  ])("A03 rejects a duplicate key: %s", (text, problem) => {
    expect(refusal(text)).toEqual({ code: "invalid_input", message: `Not valid JSON at ${problem}.` });
  });

  test("A03 treats keys that differ in case, or in a NUL at the end, as different", () => {
    expect(parseJson('{"method":"ping","Method":"tools/call"}')).toEqual({ method: "ping", Method: "tools/call" });
    expect(parseJson('{"a\\u0000":1,"a":2}')).toEqual({ "a\u0000": 1, a: 2 });
  });

  test.each([
    "1915883588174806058",
    "-1915883588174806058",
    "9007199254740993",
    "18446744073709551615",
    `1${"0".repeat(400)}`,
    "9007199254740993.0",
    "-9007199254740993.00",
    "9.007199254740993e15",
    "0.09007199254740993E+17",
    "90071992547409930e-1",
    "1.234567890123456789e19",
  ])("A04 rejects an integer that would lose digits, also with a point or an exponent: %s", (digits) => {
    expect(refusal(`{"id":${digits}}`)).toMatchObject({
      code: "invalid_input",
      message: expect.stringMatching(/would lose digits|is too large/u),
    });
  });

  test("A04 finds lost digits behind many zeros in linear time", () => {
    const zeros = "0".repeat(2_000_000);
    expect(refusal(`[0.${zeros}9007199254740993e2000016]`).message).toContain("would lose digits");
    expect(parseJson(`[9007199254740994.${zeros}]`)).toEqual([9007199254740994]);
  });

  test("A04 says the place, and to send a string instead", () => {
    expect(() => parseJson('{"id": 1915883588174806058}')).toThrowError(
      expect.objectContaining({
        message: "Not valid JSON at line 1, column 8: the integer 1915883588174806058 would lose digits.",
        hint: 'Send it as a string: "1915883588174806058".',
      }),
    );
  });

  test.each([
    ["9007199254740991", 9007199254740991],
    ["-9007199254740991", -9007199254740991],
    ["9007199254740992", 9007199254740992],
    ["1e21", 1e21],
    ["9007199254740992.0", 9007199254740992],
    ["9.007199254740994e15", 9007199254740994],
    ["3.8280000000000001e26", 3.828e26], // as C's %.17g and PHP print 3.828e26
    ["9.9999999999999992e+22", 1e23],
    ["1.7976931348623157e308", Number.MAX_VALUE],
    ["9007199254740991.00", 9007199254740991],
    ["100000000000000000000000.0", 1e23],
    ["12345678901234567890.5", 12345678901234567890.5],
    ["0.30000000000000004", 0.30000000000000004],
    ["1e-400", 0],
  ])("A04 accepts a number that keeps its digits, or is written as a fraction or with an exponent: %s", (text, value) => {
    expect(parseJson(text)).toBe(value);
  });

  test.each(["1e400", "-1e400", "1E+309", `${"9".repeat(310)}.5`])("A09 rejects a number too large for a double: %s", (text) => {
    expect(refusal(text)).toEqual({ code: "invalid_input", message: expect.stringContaining("is too large") });
  });

  test.each(["1e400", "-1e400", "1E+309", "99e307", `${"9".repeat(310)}.5`, `1${"0".repeat(309)}`])(
    "A09 as an answer of a service, a number too large for a double is read as a string: %s",
    (text) => {
      expect(parseJson(`{"a":1.5,"b":[${text}]}`, { longIntegers: "string" })).toEqual({ a: 1.5, b: [text] });
      expect(() => parseJson(text, { longIntegers: "round" })).toThrow("is too large");
    },
  );

  test.each(["NaN", "Infinity", "-Infinity"])("A09 rejects %s", (text) => {
    expect(refusal(`[${text}]`).code).toBe("invalid_input");
  });

  test("A09 keeps minus zero", () => {
    expect(parseJson("[-0, -0.0]")).toEqual([-0, -0]);
  });

  test("A08 keeps NUL and lone surrogates", () => {
    expect(parseJson('["a\\u0000b","\\ud800","\\udc00x"]')).toEqual(["a\u0000b", "\ud800", "\udc00x"]);
    expect(parseJson('"\ud800"')).toBe("\ud800");
  });

  test("A01 makes __proto__ an own property at any depth, and never a prototype", () => {
    const value = parseJson(
      '{"a":1,"__proto__":{"admin":true},"l":[{"x":{"__proto__":{"admin":true}}}],"constructor":{"prototype":{"admin":true}}}',
    );
    expect(Object.keys(value as object)).toEqual(["a", "__proto__", "l", "constructor"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect((value as { admin?: unknown }).admin).toBeUndefined();
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  });
});

describe("limits apply before any value is built", () => {
  test("A05 a million levels are rejected at the 65th, at once", () => {
    const deep = "[".repeat(1_000_000) + "]".repeat(1_000_000);
    expect(inProcessorTime(1_000, () => refusal(deep))).toEqual({
      code: "too_large",
      message: "The JSON text nests deeper than 64 levels, at line 1, column 65.",
    });
  });

  test("A05 64 levels are accepted, and brackets inside strings do not count", () => {
    const deep = "[".repeat(64) + "]".repeat(64);
    expect(JSON.stringify(parseJson(deep))).toBe(deep);
    expect(parseJson(JSON.stringify("[".repeat(1000)))).toBe("[".repeat(1000));
  });

  test("A06 too many characters, values or levels are reported with the limit", () => {
    expect(refusal("[1,2,3]", { maxChars: 6 })).toEqual({ code: "too_large", message: "The JSON text has 7 characters; 6 is the limit." });
    expect(refusal("[1,2,3,4]", { maxNodes: 3 })).toEqual({
      code: "too_large",
      message: "The JSON text holds more than 3 values, at line 1, column 10.",
    });
    expect(refusal("[[1]]", { maxDepth: 1 }).code).toBe("too_large");
    expect(refusal(`[${"0,".repeat(1_000_001)}0]`).code).toBe("too_large");
    expect(refusal(" ".repeat(16 * 1024 * 1024 + 1)).code).toBe("too_large");
  });

  test("a duplicate among many keys, or an error after much text, is found in linear time", () => {
    const keys = Array.from({ length: 100_000 }, (_, index) => `"k${index}":0`).join(",");
    inProcessorTime(10_000, () => {
      expect(refusal(`{${keys},"k7":1}`).message).toContain('the key "k7" is given twice');
      expect(refusal(`{${keys},}`).message).toContain('a "," before "}"');
      expect(refusal(`["${"\\\\".repeat(1_000_000)}`).message).toContain("a string is not closed");
    });
  });
});

describe("an error has line, column and a hint", () => {
  test.each([
    ["", "line 1, column 1: the text ends too early", "Send the whole JSON text, every string, array and object closed."],
    ['{"a":\n  "b', "line 2, column 5: a string is not closed", "Send the whole JSON text, every string, array and object closed."],
    ['{"a" 1}', 'line 1, column 6: expected ":", found "1"', 'Write members as "key": value.'],
    ["{a: 1}", 'line 1, column 2: expected a key, found "a"', 'Write keys in double quotes: {"key": 1}.'],
    ['{"a":1,}', 'line 1, column 8: a "," before "}"', "Leave out the comma after the last item."],
    ["[1,]", 'line 1, column 4: a "," before "]"', "Leave out the comma after the last item."],
    [
      "[1 2]",
      'line 1, column 4: expected "," or "]", found "2"',
      'Put a comma between items, and write a double quote inside a string as \\".',
    ],
    ["[,1]", 'line 1, column 2: expected a value, found ","', "Give every item a value, and leave out the comma after the last one."],
    ["['a']", 'line 1, column 2: expected a value, found "\'"', "Write strings in double quotes."],
    ["{} {}", 'line 1, column 4: "{" after the end of the value', "Send one JSON value and nothing else, without code fences or comments."],
    [
      "[True]",
      'line 1, column 2: expected a value, found "True"',
      "A value is an object, an array, a string in double quotes, a number, true, false or null.",
    ],
    ['"a\tb"', 'line 1, column 3: "\\t" inside a string', "Write control characters as escapes: \\n, \\t, \\u0000."],
    ['"C:\\dir"', 'line 1, column 4: "\\\\d" is not an escape of JSON', "Write a backslash inside a string as \\\\."],
    ["01", 'line 1, column 2: "1" after the end of the value', "Send one JSON value and nothing else, without code fences or comments."],
  ])("%j", (text, problem, hint) => {
    expect(() => parseJson(text)).toThrowError(
      expect.objectContaining({ code: "invalid_input", message: `Not valid JSON at ${problem}.`, hint }),
    );
  });
});

test("whatever JSON.stringify writes round-trips", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      expect(parseJson(JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test("random text is accepted exactly where JSON.parse accepts it, and rejected with a place otherwise", () => {
  const bits = fc.constantFrom(
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    '"b"',
    '"',
    "\\",
    "1",
    "-",
    "0",
    ".",
    "e",
    "true",
    "null",
    " ",
    "\n",
    "'",
    "a",
  );
  fc.assert(
    fc.property(fc.array(bits, { maxLength: 12 }), (parts) => {
      const text = parts.join("");
      let expected: unknown;
      try {
        expected = JSON.parse(text);
      } catch {
        expect(refusal(text)).toEqual({
          code: "invalid_input",
          message: expect.stringMatching(/^Not valid JSON at line \d+, column \d+: .+\.$/s),
        });
        return;
      }
      try {
        expect(parseJson(text)).toEqual(expected);
      } catch (error: unknown) {
        expect(error).toMatchObject({ message: expect.stringContaining("given twice") });
      }
    }),
    { numRuns: 3000 },
  );
});
