import { expect, test } from "vitest";
import { parameterHeaders, writeParameterHeaders } from "../../../src/engine/mcp/parameter-headers.ts";

const annotated = { type: "string", "x-mcp-header": "Region" };

test("D19 an x-mcp-header is found on any value that properties alone lead to", () => {
  const schema = { type: "object", properties: { place: { type: "object", properties: { region: annotated } } } };

  expect(parameterHeaders(schema)).toEqual([{ name: "Region", path: ["place", "region"] }]);
});

test.each([
  [
    "in a list",
    { properties: { a: { type: "array", items: annotated } } },
    '"a.items": x-mcp-header is allowed only on a value that properties alone lead to',
  ],
  [
    "in a choice",
    { anyOf: [{ properties: { a: annotated } }] },
    '"anyOf.a": x-mcp-header is allowed only on a value that properties alone lead to',
  ],
  ["behind a definition", { $defs: { a: annotated } }, '"$defs.a": x-mcp-header is allowed only on a value that properties alone lead to'],
  ["at the root", annotated, "its schema: x-mcp-header is allowed only on a value that properties alone lead to"],
  [
    "on a number",
    { properties: { a: { type: "number", "x-mcp-header": "A" } } },
    '"a": x-mcp-header is allowed only on a string, an integer or a boolean',
  ],
  [
    "with a line break",
    { properties: { a: { type: "string", "x-mcp-header": "A\r\nB: c" } } },
    '"a": x-mcp-header "A\\r\\nB: c" is not a name for a header',
  ],
  [
    "twice",
    { properties: { a: annotated, b: { type: "string", "x-mcp-header": "REGION" } } },
    '"b": x-mcp-header "REGION" is declared twice',
  ],
])("D19 an x-mcp-header %s is invalid", (_where, schema, problem) => {
  expect(parameterHeaders(schema)).toBe(problem);
});

test("D19 an x-mcp-header inside of a default or an enum value is ignored", () => {
  expect(parameterHeaders({ properties: { a: { type: "object", default: annotated, enum: [annotated] } } })).toEqual([]);
});

test.each([
  ["us west", "us west"],
  ["", "=?base64??="],
  [" padded ", "=?base64?IHBhZGRlZCA=?="],
  ["Zürich", "=?base64?WsO8cmljaA==?="],
  ["a\r\nEvil: 1", "=?base64?YQ0KRXZpbDogMQ==?="],
  ["=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="],
  [true, "true"],
  [42, "42"],
])("D19 the argument %j is written as %s", (value, written) => {
  expect(writeParameterHeaders([{ name: "Region", path: ["region"] }], { region: value })).toEqual({ "Mcp-Param-Region": written });
});

test.each([[{}], [{ region: null }], [{ region: 1.5 }], [{ region: { deep: 1 } }]])("D19 no header is written for %j", (input) => {
  expect(writeParameterHeaders([{ name: "Region", path: ["region"] }], input)).toEqual({});
});
