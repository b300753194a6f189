import { describe, expect, test } from "vitest";
import { plural, typeInWords, withArticle } from "../../../src/core/base/wording.ts";

describe("the grammar of messages", () => {
  test("one of a thing is singular, none and several are plural", () => {
    expect([plural(0, "call"), plural(1, "call"), plural(2, "call"), plural(2, "retry", "retries")]).toEqual([
      "0 calls",
      "1 call",
      "2 calls",
      "2 retries",
    ]);
  });

  test.each([
    ["array", "an array"],
    ["integer", "an integer"],
    ["object", "an object"],
    ["string", "a string"],
    ["User", "a User"],
    ["Unit", "a Unit"],
    ["Order", "an Order"],
    ["A", "an A"],
    ["B", "a B"],
    ["MCP server", "an MCP server"],
    ["URL", "a URL"],
  ])("%s gets the article of its sound", (words, expected) => {
    expect(withArticle(words)).toBe(expected);
  });

  test("a type is said in JSON's words", () => {
    expect([null, [], {}, "", 1, true, undefined].map(typeInWords)).toEqual([
      "null",
      "an array",
      "an object",
      "a string",
      "a number",
      "a boolean",
      "undefined",
    ]);
  });
});
