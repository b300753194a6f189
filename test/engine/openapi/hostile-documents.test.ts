/** Documents of strangers: whatever they hold, they are read or refused, and one broken operation takes no other with it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "../../../src/core/base/json.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import { importOpenApi } from "../../../src/engine/openapi/import-openapi.ts";
import { compileSchema } from "../../../src/schema/compile-schema.ts";
import { imported, only, openApi, property, withBody } from "./imported.ts";
import { testInCI } from "../../test-in-ci.ts";

function parsed(text: string): JsonObject {
  const value = parseJson(text);
  if (!isJsonObject(value)) throw new Error("the fixture is not an object");
  return value;
}

function refusal(document: JsonObject): unknown {
  try {
    return importOpenApi(document, { origin: "odd.json" });
  } catch (error: unknown) {
    return error instanceof ToolError ? [error.code, error.message, error.operatorHint] : error;
  }
}

const HINT = 'Give a document with "openapi": "3.0.x" or "3.1.x", or "swagger": "2.0", and its operations under "paths".';

test("F0.19 a document that is not OpenAPI is rejected with what was found and what is expected", () => {
  const cases: readonly (readonly [JsonObject, string])[] = [
    [{}, "it is empty"],
    [{ tools: [], name: "x" }, 'its keys are "tools", "name"'],
    [{ openapi: "2.0", paths: {} }, 'its "openapi" is "2.0"'],
    [{ openapi: {}, paths: {} }, 'its "openapi" is an object'],
    [{ swagger: "1.2", paths: {} }, 'its "swagger" is "1.2"'],
    [{ openapi: "3.0.0", paths: [] }, 'its "paths" is an array'],
    [{ openapi: "3.0.0", paths: "x" }, 'its "paths" is "x"'],
  ];
  for (const [document, problem] of cases) {
    expect(refusal(document)).toEqual(["invalid_config", `"odd.json" is not an OpenAPI document: ${problem}.`, HINT]);
  }
});

test("F0.19 versions parsed by YAML as numbers and later versions are accepted; a document without paths has no operations", () => {
  const paths: JsonValue = { "/a": { get: { responses: {} } } };
  for (const head of [{ swagger: 2 }, { swagger: "2.0" }, { openapi: 3.1 }, { openapi: "3.2.0" }, { openapi: 3 }]) {
    expect(imported({ ...head, paths })).toMatchObject({ title: "untitled", operations: [{ tool: { name: "get_a" } }], warnings: [] });
  }
  expect(imported({ openapi: "3.1.0", webhooks: {} })).toEqual({
    title: "untitled",
    operations: [],
    warnings: ["#: there are no paths, so there are no operations."],
  });
});

test("F0.20 a broken operation is left out with a warning that names its place, and the others work", () => {
  const { operations, warnings } = imported(
    openApi("3.0", {
      "/a": { get: 3, put: { operationId: "put", responses: {} } },
      "/b": null,
      "/c": { get: { operationId: "c", parameters: {}, responses: [], requestBody: "x", tags: "t" } },
    }),
  );
  expect(operations.map(({ tool }) => tool.name)).toEqual(["put", "c"]);
  expect(warnings).toEqual([
    "#/paths/~1a/get: an operation must be an object, not 3; it is left out.",
    "#/paths/~1b: a path must be an object, not null; it is left out.",
    "#/paths/~1c/get/parameters: parameters must be an array, not an object; it is left out.",
    '#/paths/~1c/get/requestBody: the request body must be an object, not "x"; it is left out.',
    "#/paths/~1c/get/responses: responses must be an object, not an array; it is left out.",
  ]);
});

test("F11 prototype names are handled like other names or left out", () => {
  const document = parsed(
    `{"openapi":"3.0.0","paths":{"/x":{"post":{"operationId":"constructor","requestBody":{"required":true,"content":{"application/json":{"schema":
      {"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"},"toString":{"$ref":"#/components/schemas/__proto__"}},"required":["__proto__","constructor"],
      "patternProperties":{"__proto__":{"type":"string"}}}}}},"responses":{}}}},"components":{"schemas":{"__proto__":{"type":"integer"}}}}`,
  );
  const { tool } = only(document);
  expect(tool.name).toBe("constructor");
  const { properties, $defs }: { readonly properties: JsonObject; readonly $defs: JsonObject } = Object(tool.inputSchema);
  expect([Object.getPrototypeOf(properties), Object.keys($defs)]).toEqual([
    Object.prototype,
    [expect.stringMatching(/^__proto___[0-9a-f]{16}$/u)],
  ]);
  expect(properties["body"]).toMatchObject({ required: ["constructor"], patternProperties: {} });
  expect(compileSchema(tool.inputSchema).check({ body: { constructor: "x", toString: 3 } })).toBe(true);
});

test("F11 text of the document is never run, and warnings contain no control characters", () => {
  const text = '";process.exit()//${process.exit()}<IMPORTANT>\u001b[8m\u202e';
  const { operations, warnings } = imported(
    openApi("3.0", {
      [`/${text}`]: {
        get: {
          operationId: text,
          summary: text,
          parameters: [{ name: text, in: "query", description: text, schema: { type: text, enum: [text] } }],
          responses: {},
        },
      },
    }),
  );
  const [operation] = operations;
  expect([operation?.tool.title, operation?.operation.path, operation?.operation.parameters[0]?.name]).toEqual([text, `/${text}`, text]);
  expect(operation?.tool.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/u);
  expect(warnings).toHaveLength(1);
  expect(warnings.join()).not.toMatch(/\p{C}/u);
});

test("F13 deep, wide and exponentially growing schemas stay within bounds", () => {
  let deep: JsonValue = { type: "string" };
  for (let depth = 0; depth < 5_000; depth++) deep = { type: "array", items: deep };
  const deepOne = withBody(deep);
  expect(compileSchema(deepOne.tool.inputSchema).check({ body: [[]] })).toBe(true);

  const chain = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, index) => [`S${index}`, { allOf: [{ $ref: `#/components/schemas/S${index + 1}` }] }]),
  );
  const chained = withBody(
    { type: "array", items: { $ref: "#/components/schemas/S0" } },
    { components: { schemas: { ...chain, S3000: {} } } },
  );
  expect(compileSchema(chained.tool.inputSchema).check({ body: [1] })).toBe(true);

  const wide = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, index) => [
      `W${index}`,
      { properties: { next: { $ref: `#/components/schemas/W${(index + 1) % 20_000}` } } },
    ]),
  );
  const { tool } = withBody({ type: "array", items: { $ref: "#/components/schemas/W0" } }, { components: { schemas: wide } });
  expect(compileSchema(tool.inputSchema).check({ body: [{ next: { next: {} } }] })).toBe(true);
  expect(JSON.stringify(tool.inputSchema).length).toBeLessThan(1_000_000);

  let shared: JsonValue = { type: "string" };
  for (let level = 0; level < 40; level++) shared = { type: "object", properties: { a: shared, b: shared } };
  const doubled = imported(openApi("3.1", { "/x": { get: { parameters: [{ name: "p", in: "query", schema: shared }], responses: {} } } }));
  expect(doubled.warnings).toEqual([expect.stringMatching(/: the schema is too large; any value will do from here on\.$/u)]);
  expect(compileSchema(doubled.operations[0]?.tool.inputSchema).check({ p: { a: {} } })).toBe(true);
});

test("F13 an operation with more parameters than the validator accepts is kept, without their schemas", () => {
  const schema = {
    type: "object",
    properties: Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`f${index}`, { type: "string" }])),
  };
  const parameters = Array.from({ length: 60 }, (_, index) => ({
    name: `p${index}`,
    in: "query",
    schema: index === 0 ? { type: "integer" } : schema,
  }));
  const operation = only(openApi("3.0", { "/a": { get: { parameters, responses: {} } } }));
  expect([property(operation, "p0"), property(operation, "p59")]).toEqual([{ type: "integer" }, {}]);
  expect(compileSchema(operation.tool.inputSchema).check({ p59: 1 })).toBe(true);
});

test("F13 reading circular readOnly parts terminates", () => {
  const part = (other: string): JsonObject => ({
    allOf: [{ $ref: `#/components/schemas/${other}` }, { $ref: `#/components/schemas/${other}` }],
    properties: { id: { readOnly: true } },
    required: ["id"],
  });
  const { tool } = withBody({ allOf: [{ $ref: "#/components/schemas/A" }] }, { components: { schemas: { A: part("B"), B: part("A") } } });
  expect(compileSchema(tool.inputSchema).check({})).toBe(true);
});

test("F13 parts of a body that are shared on every level are read once, not once for each way to them", () => {
  const levels = Array.from({ length: 9 }, (_, level): [string, JsonValue] => [
    `L${level}`,
    { allOf: Array.from({ length: 20 }, () => ({ $ref: `#/components/schemas/L${level + 1}` })) },
  ]);
  const schemas = { ...Object.fromEntries(levels), L9: { type: "object", required: ["f"], properties: { f: { type: "string" } } } };
  const operation = withBody({ $ref: "#/components/schemas/L0" }, { components: { schemas } });
  expect(operation.operation.body?.fields).toEqual([{ name: "f", key: "f", required: true }]);
  expect(property(operation, "f")).toEqual({ type: "string" });
});

test("F13 a body with thousands of parts for one field is usable", () => {
  const allOf = Array.from({ length: 4_000 }, (_, index) => ({ properties: { f: { type: "string", minLength: index % 10 } } }));
  const operation = withBody({ allOf });
  const lengths = Array.from({ length: 10 }, (_, minLength) => ({ type: "string", minLength }));
  expect(property(operation, "f")).toEqual({ allOf: lengths });
  expect(compileSchema(operation.tool.inputSchema).check({ f: "123456789" })).toBe(true);
});

testInCI("F13 a large part that very many paths reference is read up to the limit; earlier operations work", () => {
  const paths = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`/p${index}`, { $ref: "#/x-item" }]));
  const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`a/b${index}`, {}]));
  const item = { get: { responses: { 200: { description: "ok", content: wide } } } };
  const { operations, warnings } = imported(openApi("3.0", paths, { "x-item": item }));
  expect([operations[0]?.operation.path, operations.length > 50 && operations.length < 100]).toEqual(["/p0", true]);
  expect(warnings).toEqual([
    "#/x-item/get: the operation cannot be read and is left out: the operations of the document have more than 2000000 parts in all; those from here on are left out.",
  ]);
});

testInCI("F11 very long texts and arrays are truncated", () => {
  const huge = "x".repeat(20_000_000);
  const parameters = [
    {
      name: "p",
      in: "query",
      description: huge,
      schema: { type: "string", pattern: huge, title: huge, format: huge, example: huge, enum: [huge, "a"] },
    },
  ];
  const operation = only(
    openApi(
      "3.0",
      { [`/${huge}`]: { get: { operationId: huge, summary: huge, description: huge, parameters, tags: [huge, "t"], responses: {} } } },
      { servers: [{ url: `https://x/${huge}` }] },
    ),
  );
  const { name, title, description, documentation, tags } = operation.tool;
  expect([name.length, title?.length, description.length, documentation?.length, tags]).toEqual([64, 200, 4_000, 100_000, ["t"]]);
  expect(property(operation, "p")).toEqual({ type: "string", title: expect.any(String), description: expect.any(String) });
  expect(JSON.stringify(operation.tool.inputSchema).length).toBeLessThan(2_000);
});

test("F0.20 any broken document causes only warnings, and the schemas of all its tools compile", () => {
  const keys = [
    "parameters",
    "requestBody",
    "responses",
    "200",
    "content",
    "application/json",
    "schema",
    "$ref",
    "properties",
    "items",
    "allOf",
    "anyOf",
    "type",
    "enum",
    "required",
    "nullable",
    "in",
    "name",
    "x-haft",
    "effects",
    "security",
    "servers",
    "url",
    "a",
  ];
  const leaf = fc.constantFrom<JsonValue>(
    "path",
    "query",
    "string",
    "object",
    "#/components/schemas/A",
    "#/paths",
    "http://x",
    true,
    false,
    null,
    3,
    -1,
    "",
    "/^a$/",
    [],
    {},
  );
  const { node } = fc.letrec<{ node: JsonValue }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 6, depthSize: "large" },
      leaf,
      fc.dictionary(fc.constantFrom(...keys), tie("node"), { maxKeys: 5 }),
      fc.array(tie("node"), { maxLength: 3 }),
    ),
  }));
  fc.assert(
    fc.property(fc.constantFrom("2.0", "3.0", "3.1"), node, node, node, (version, item, operation, schema) => {
      const post = isJsonObject(operation) ? operation : {};
      const path = isJsonObject(item) ? { ...item, get: item, post } : item;
      const document = openApi(
        version === "2.0" ? "2.0" : version === "3.0" ? "3.0" : "3.1",
        { "/a": path, "/b": { put: { operationId: "sound", responses: {} } } },
        { components: { schemas: { A: schema } }, definitions: { A: schema } },
      );
      const { operations } = imported(document);
      expect(operations.map(({ tool }) => tool.name)).toContain("sound");
      for (const { tool } of operations) {
        compileSchema(tool.inputSchema);
        if (tool.outputSchema !== undefined) compileSchema(tool.outputSchema);
      }
    }),
    { numRuns: 1_000 },
  );
});
