/** What operations answer. */
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import { only, openApi } from "./imported.ts";

const TEXT: JsonObject = { content: { "text/plain": { schema: { type: "string" } } } };
const EMPTY: JsonObject = { description: "nothing" };

function json(schema: JsonValue, type: string = "application/json"): JsonObject {
  return { content: { [type]: { schema } } };
}

const CASES: readonly (readonly [what: string, responses: JsonObject, output: unknown, accepts: readonly string[]])[] = [
  ["one answer", { "200": json({ type: "integer" }), "404": json({ type: "string" }) }, { type: "integer" }, ["application/json"]],
  ["default, where no success is named", { default: json({ type: "integer" }), "400": EMPTY }, { type: "integer" }, ["application/json"]],
  [
    "no default beside a success",
    { "200": json({ type: "integer" }), default: json({ type: "string" }) },
    { type: "integer" },
    ["application/json"],
  ],
  [
    "several answers, the lowest first",
    { "202": json({ type: "null" }), "200": json({ type: "integer" }) },
    { anyOf: [{ type: "integer" }, { type: "null" }] },
    ["application/json"],
  ],
  [
    "a range after the others",
    { "2XX": json({ type: "string" }), "201": json({ type: "integer" }) },
    { anyOf: [{ type: "integer" }, { type: "string" }] },
    ["application/json"],
  ],
  [
    "or nothing, which is null",
    { "200": json({ type: "integer" }), "204": EMPTY },
    { anyOf: [{ type: "integer" }, { type: "null" }] },
    ["application/json"],
  ],
  ["or text, which no schema describes", { "200": json({ type: "integer" }), "203": TEXT }, undefined, ["application/json", "text/plain"]],
  ["nothing at all, which is null", { "204": EMPTY }, { type: "null" }, []],
  ["nothing that is described, which may be anything", { "200": EMPTY }, undefined, []],
  ["nothing that is described, beside nothing at all", { "200": EMPTY, "204": EMPTY }, undefined, []],
  ["no answer of success", {}, undefined, []],
  ["text only", { "200": TEXT }, undefined, ["text/plain"]],
  ["JSON of no known shape", { "200": json({}) }, undefined, ["application/json"]],
  ["JSON without a schema", { "200": { content: { "application/json": {} } } }, undefined, ["application/json"]],
  [
    "another JSON type",
    { "200": json({ type: "integer" }, "application/hal+json; charset=utf-8") },
    { type: "integer" },
    ["application/hal+json; charset=utf-8"],
  ],
  [
    "JSON is asked for first",
    { "200": { content: { ...Object(TEXT["content"]), "application/json": { schema: { type: "integer" } } } } },
    { type: "integer" },
    ["application/json", "text/plain"],
  ],
];

test.each(CASES)("F0.20 the response becomes the output schema: %s", (_, responses, output, accepts) => {
  const { tool, operation } = only(openApi("3.1", { "/a": { get: { responses } } }));
  expect([tool.outputSchema, operation.accepts]).toEqual([output, accepts]);
});

test("F0.20 a HEAD operation has no output schema", () => {
  expect(only(openApi("3.1", { "/a": { head: { responses: { "200": json({ type: "integer" }) } } } })).tool.outputSchema).toBeUndefined();
});

test("F0.20 output schemas allow more fields, other strings and numbers, and null for optional fields, so right answers are not partial", () => {
  const inner = { type: "object", properties: { n: { type: "integer", minimum: 1 } }, required: ["n"], additionalProperties: false };
  const schema = {
    type: "object",
    properties: {
      a: { type: "string", enum: ["x"], pattern: "^x$", maxLength: 1 },
      b: inner,
      c: { oneOf: [{ type: "string" }] },
      d: {},
      e: true,
    },
    required: ["b"],
    additionalProperties: false,
  };
  expect(only(openApi("3.1", { "/a": { get: { responses: { "200": json(schema) } } } })).tool.outputSchema).toEqual({
    type: "object",
    properties: {
      a: { type: ["string", "null"], enum: ["x", null] },
      b: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
      c: { anyOf: [{ type: "string" }, { type: "null" }] },
      d: {},
      e: true,
    },
    required: ["b"],
  });
});
