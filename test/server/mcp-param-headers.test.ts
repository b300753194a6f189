import { expect, test } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import { findHeaderMismatch } from "../../src/server/mcp/param-headers.ts";

const schema = {
  type: "object",
  properties: {
    region: { type: "string", "x-mcp-header": "Region" },
    count: { type: "integer", "x-mcp-header": "Count" },
    deep: { type: "object", properties: { flag: { type: "boolean", "x-mcp-header": "Flag" } } },
    list: { type: "array", items: { type: "string", "x-mcp-header": "Item" } },
    bad: { type: "string", "x-mcp-header": "a b" },
  },
};

function problem(args: unknown, headers: Readonly<Record<string, string>> = {}): string | undefined {
  return findHeaderMismatch(schema, args, new Headers(headers));
}

test("D19 arguments and their headers must match, plain or encoded", () => {
  expect(problem({ region: "eu" }, { "mcp-param-region": "eu" })).toBeUndefined();
  expect(problem({ region: "größe" }, { "mcp-param-region": "=?base64?Z3LDtsOfZQ==?=" })).toBeUndefined();
  expect(problem({ count: 5, deep: { flag: true } }, { "mcp-param-count": "5", "mcp-param-flag": "true" })).toBeUndefined();
  expect(problem({ region: "=?base64?eu" }, { "mcp-param-region": "=?base64?eu" })).toBeUndefined();
  expect(problem({ region: "eu" }, { "mcp-param-region": "us" })).toBe("the header Mcp-Param-Region and the argument region differ");
  expect(problem({ deep: { flag: true } }, { "mcp-param-flag": "false" })).toBe(
    "the header Mcp-Param-Flag and the argument deep.flag differ",
  );
  expect(problem({ region: "eu" })).toBe("the header Mcp-Param-Region is missing");
  for (const sent of ["=?base64?ZXU?=", "=?base64?Z!U=?=", "=?base64?ZXU=\u00a0?="])
    expect(problem({ region: "eu" }, { "mcp-param-region": sent })).toBe(
      "the header Mcp-Param-Region is not in the encoding that it declares",
    );
});

test("D19 arguments that are absent, null or annotated in the wrong place need no header", () => {
  for (const args of [{}, { region: null }, { list: ["x"] }, { bad: "x" }, { deep: "x" }, undefined, null, 7])
    expect(problem(args)).toBeUndefined();
  expect(findHeaderMismatch(true, { region: "eu" }, new Headers())).toBeUndefined();
});

test("D19 a header is checked however deep its argument is", () => {
  let nested: object = { type: "string", "x-mcp-header": "Deep" };
  let args: unknown = "eu";
  for (let depth = 0; depth < 20; depth++) {
    nested = { type: "object", properties: { inner: nested } };
    args = { inner: args };
  }
  expect(findHeaderMismatch(nested as JsonObject, args, new Headers({ "mcp-param-deep": "us" }))).toMatch(
    /^the header Mcp-Param-Deep and /u,
  );
});
