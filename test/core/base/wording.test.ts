import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { isOptionsObject, describeValueKind, plural, quoteValue, describeValueType, withArticle } from "../../../src/core/base/wording.ts";

describe("the grammar of messages", () => {
  test("a count of one is singular, zero and several are plural", () => {
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
  ])("%s gets the article for its sound", (words, expected) => {
    expect(withArticle(words)).toBe(expected);
  });

  test("a type is named in JSON's words", () => {
    expect([null, [], {}, "", 1, true, undefined].map(describeValueType)).toEqual([
      "null",
      "an array",
      "an object",
      "a string",
      "a number",
      "a boolean",
      "undefined",
    ]);
  });

  test("a value is shown shortened, and one that throws when read is shown by its kind", () => {
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    const named = (name: () => string) => Object.defineProperty({}, Symbol.toStringTag, { get: name });
    const throwing = named(() => {
      throw new Error("secret");
    });
    expect([throwing, revoked.proxy].map(quoteValue)).toEqual(Array(2).fill("an object that cannot be read"));
    expect([throwing, revoked.proxy].map(describeValueKind)).toEqual(Array(2).fill("an object that cannot be read"));
    const long = ["x".repeat(1_000_000), 10n ** 100_000n, named(() => "X".repeat(1_000_000))];
    for (const value of long) expect(quoteValue(value).length).toBeLessThan(210);
    expect([5n, -(2n ** 70n), "x".repeat(200), Symbol("x")].map(quoteValue)).toEqual([
      "5n",
      "-1180591620717411303424n",
      `"${"x".repeat(200)}"`,
      "a symbol",
    ]);
  });

  test("an instance of a program's class counts as options whatever its toStringTag, and a platform object does not", () => {
    class Named {
      readonly limit = 1;
      get [Symbol.toStringTag](): string {
        return "Settings";
      }
    }
    function* generate(): Generator<number> {
      yield 1;
    }
    const taken = [{}, Object.create({}), Object.create(null), new Proxy({}, {}), new Named(), runInNewContext("({})")];
    const platform = [
      new Map(),
      new URL("https://a.example"),
      Promise.resolve(),
      new Error("a"),
      new Date(),
      generate(),
      new Map().keys(),
      new Intl.NumberFormat(),
      runInNewContext("new Set()"),
    ];
    expect([...taken, ...platform, [], null, "a"].map(isOptionsObject)).toEqual([
      ...taken.map(() => true),
      ...platform.map(() => false),
      false,
      false,
      false,
    ]);
    expect(quoteValue(new Named())).toBe("a Settings");
  });
});
