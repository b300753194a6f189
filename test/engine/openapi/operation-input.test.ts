/** Parameters and bodies: what the model is asked, and where it goes. */
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import { requestBody as requestBodyOf } from "../../../src/engine/rest/request-body.ts";
import { compileSchema } from "../../../src/schema/compile-schema.ts";
import { validateInput } from "../../../src/schema/validation-result.ts";
import { imported, only, openApi, property, withBody } from "./imported.ts";

/** Of `POST /x` with one body of several media types. */
function bodyOf(content: JsonObject, required: boolean = true): ReturnType<typeof only> {
  return only(openApi("3.1", { "/x": { post: { requestBody: { required, content }, responses: {} } } }));
}

test("F0.19 parameters of the path are merged with those of the operation, which override them by name and location", () => {
  const document = openApi("3.0", {
    "/a/{id}": {
      parameters: [
        { name: "id", in: "path", required: true, schema: { type: "integer" } },
        { name: "page", in: "query", required: true, schema: { type: "integer" } },
        { name: "X-Trace", in: "header", required: true, schema: { type: "string" } },
      ],
      get: {
        parameters: [
          { name: "page", in: "query", description: "Which page.", schema: { type: "string" } },
          { name: "x-trace", in: "header", schema: { type: "boolean" } },
        ],
        responses: {},
      },
    },
  });
  const { tool, operation } = only(document);
  expect(tool.inputSchema).toEqual({
    type: "object",
    properties: { id: { type: "integer" }, page: { type: "string", description: "Which page." }, "x-trace": { type: "boolean" } },
    required: ["id"],
    additionalProperties: false,
  });
  expect(operation.parameters.map(({ name, in: place, required }) => [name, place, required])).toEqual([
    ["page", "query", false],
    ["x-trace", "header", false],
    ["id", "path", true],
  ]);
});

test("F0.20 parameters, bodies and responses behind a $ref are resolved", () => {
  const document = openApi(
    "3.0",
    {
      "/a": {
        put: {
          parameters: [{ $ref: "#/components/parameters/Page" }],
          requestBody: { $ref: "#/components/requestBodies/Thing" },
          responses: { "200": { $ref: "#/components/responses/Thing" } },
        },
      },
      "/b": { $ref: "#/components/x-items/b" },
    },
    {
      components: {
        parameters: { Page: { name: "page", in: "query", schema: { $ref: "#/components/schemas/Page" } } },
        requestBodies: { Thing: { required: true, content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } } } },
        responses: { Thing: { description: "ok", content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } } } },
        schemas: {
          Page: { type: "integer", minimum: 1 },
          Thing: { type: "object", properties: { size: { type: "number" } }, required: ["size"] },
        },
        "x-items": { b: { get: { operationId: "b", responses: {} } } },
      },
    },
  );
  const [a, b] = imported(document).operations;
  expect(a?.tool.inputSchema).toEqual({
    type: "object",
    properties: { page: { $ref: "#/$defs/Page" }, size: { type: "number" } },
    required: ["size"],
    additionalProperties: false,
    $defs: { Page: { type: "integer", minimum: 1 } },
  });
  expect(a?.tool.outputSchema).toEqual({
    $ref: "#/$defs/Thing",
    $defs: { Thing: { type: "object", properties: { size: { type: "number" } }, required: ["size"] } },
  });
  expect([b?.tool.name, b?.operation.path]).toEqual(["b", "/b"]);
});

test("F0.20 an operation without parameters has an empty closed schema; undeclared placeholders are required strings", () => {
  const document = openApi("3.0", { "/a": { get: { responses: {} } }, "/b/{id}/{+rest}": { get: { responses: {} } } });
  expect(imported(document).operations.map(({ tool }) => tool.inputSchema)).toEqual([
    { type: "object", properties: {}, additionalProperties: false },
    {
      type: "object",
      properties: { id: { type: "string" }, rest: { type: "string" } },
      required: ["id", "rest"],
      additionalProperties: false,
    },
  ]);
});

test("F0.20 a path parameter without a placeholder is kept for the request but left out of the input, with a warning", () => {
  const parameters = [{ name: "id", in: "path", required: true, schema: { type: "string" } }];
  const { operations, warnings } = imported(openApi("3.0", { "/a": { get: { parameters, responses: {} } } }));
  expect(operations[0]?.tool.inputSchema).toEqual({ type: "object", properties: {}, additionalProperties: false });
  expect(operations[0]?.operation.parameters).toEqual([
    { name: "id", in: "path", key: "id", required: true, style: "simple", explode: false, supplied: true },
  ]);
  expect(warnings).toEqual([
    '#/paths/~1a/get/parameters/0: the path "/a" has no placeholder for the parameter "id"; it is left out of the input.',
  ]);
});

test("F0.20 headers, cookies, content parameters and styles are kept for the request", () => {
  const schema = { type: "array", items: { type: "string" } };
  const parameters: JsonValue = [
    { name: "a", in: "query", style: "pipeDelimited", allowReserved: true, schema },
    { name: "b", in: "query", style: "deepObject", explode: true, schema: { type: "object" } },
    { name: "c", in: "header", explode: true, schema },
    { name: "d", in: "cookie", schema },
    { name: "e", in: "query", content: { "application/json": { schema: { type: "object" } } } },
    { name: "p", in: "path", style: "matrix", explode: true, schema },
    { name: "f", in: "query", style: "odd", explode: false, schema },
    { name: "g", in: "body", schema },
    { in: "query" },
  ];
  const { operations, warnings } = imported(openApi("3.0", { "/x/{p}": { get: { parameters, responses: {} } } }));
  expect(operations[0]?.operation.parameters).toEqual([
    { name: "a", in: "query", key: "a", required: false, style: "pipeDelimited", explode: false, allowReserved: true },
    { name: "b", in: "query", key: "b", required: false, style: "deepObject", explode: true },
    { name: "c", in: "header", key: "c", required: false, style: "simple", explode: true },
    { name: "d", in: "cookie", key: "d", required: false, style: "form", explode: true },
    { name: "e", in: "query", key: "e", required: false, style: "form", explode: false, mediaType: "application/json" },
    { name: "p", in: "path", key: "p", required: true, style: "matrix", explode: true },
    { name: "f", in: "query", key: "f", required: false, style: "form", explode: false },
  ]);
  expect(warnings).toEqual([
    '#/paths/~1x~1{p}/get/parameters/7: a parameter needs a name and a place; one with the name "g" and the in "body" is left out.',
    '#/paths/~1x~1{p}/get/parameters/8: a parameter needs a name and a place; one with no string as name and the in "query" is left out.',
    '#/paths/~1x~1{p}/get/parameters/6: the style "odd" is not one of form, spaceDelimited, pipeDelimited, deepObject; form is used.',
  ]);
});

test("F12 a name in several locations becomes several properties: the path parameter keeps the plain name", () => {
  const named = (where: string): JsonObject => ({ name: "id", in: where, required: true, schema: { type: "string", description: where } });
  const schema = { type: "object", properties: { id: { type: "integer" }, name: { type: "string" } }, required: ["id"] };
  const document = openApi("3.0", {
    "/a/{id}": {
      put: {
        parameters: [named("cookie"), named("header"), named("query"), named("path")],
        requestBody: { required: true, content: { "application/json": { schema } } },
        responses: {},
      },
    },
  });
  const { tool, operation } = only(document);
  expect(tool.inputSchema).toEqual({
    type: "object",
    properties: {
      id__cookie: { type: "string", description: 'cookie. Sent as the cookie "id".' },
      id__header: { type: "string", description: 'header. Sent as the header "id".' },
      id__query: { type: "string", description: 'query. Sent as the query parameter "id".' },
      id: { type: "string", description: "path" },
      id__body: { type: "integer", description: 'Sent as the field "id" of the body.' },
      name: { type: "string" },
    },
    required: ["id__cookie", "id__header", "id__query", "id", "id__body"],
    additionalProperties: false,
  });
  expect(operation.parameters.map(({ in: place, key }) => [place, key])).toEqual([
    ["cookie", "id__cookie"],
    ["header", "id__header"],
    ["query", "id__query"],
    ["path", "id"],
  ]);
  expect(operation.body?.fields).toEqual([
    { name: "id", key: "id__body", required: true },
    { name: "name", key: "name", required: false },
  ]);
});

test("F12 keys that providers reject are made valid without taking the key of another property", () => {
  const parameters = ["expand[]", "expand", "a b", "__proto__", "a_b", "y".repeat(80), "id__query"].map((name) => ({
    name,
    in: "query",
    schema: {},
  }));
  const both = [
    ...parameters,
    { name: "id", in: "query", schema: {} },
    { name: "id", in: "header", schema: {} },
    { name: "body", in: "query", schema: {} },
  ];
  const requestBody = { content: { "text/plain": { schema: { type: "string" } } } };
  const { operation } = only(openApi("3.0", { "/a": { post: { parameters: both, requestBody, responses: {} } } }));
  const keys = operation.parameters.map(({ key }) => key);
  expect(keys).toEqual([
    "expand__query",
    "expand",
    "a_b__query",
    "__proto_",
    "a_b",
    `${"y".repeat(56)}__query`,
    "id__query",
    "id",
    "id__header",
    "body",
  ]);
  expect(operation.body?.fields).toEqual({ key: "body__body" });
});

test("F0.20 a body that is not a plain object becomes one property", () => {
  const list = withBody({ type: "array", items: { type: "integer" } });
  expect([property(list, "body"), list.operation.body?.fields]).toEqual([{ type: "array", items: { type: "integer" } }, { key: "body" }]);
  const schemas: readonly JsonValue[] = [
    { type: "object" },
    { type: "object", additionalProperties: { type: "string" } },
    { type: "object", properties: { a: {} }, additionalProperties: true },
    { oneOf: [{ type: "object", properties: { a: {} } }, { type: "string" }] },
    { type: "object", properties: { a: {} }, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    { allOf: [{ type: "object", properties: { a: {} } }, { oneOf: [{ type: "object" }] }] },
    { type: "string" },
    true,
  ];
  for (const schema of schemas) expect(withBody(schema).operation.body?.fields).toEqual({ key: "body" });
  expect(withBody({ type: "object", properties: {}, additionalProperties: false }).operation.body?.fields).toEqual([]);
});

test("F0.20 a value that matches several alternatives of a oneOf is accepted, one that matches none is rejected", () => {
  const id = { oneOf: [{ type: "integer" }, { type: "string", format: "uuid" }, { type: "string", minLength: 4 }] };
  const email = { type: "object", properties: { email: { type: "string" } } };
  const confirmed = { type: "object", properties: { email: { type: "string" }, code: { type: "string" } }, required: ["email"] };
  const schema = { type: "object", properties: { id, change: { oneOf: [email, confirmed] } }, additionalProperties: false };
  const validator = compileSchema(withBody(schema).tool.inputSchema);
  expect([7, "0b9d2a2c-8a39-4bb0-9a57-a1c1bb9f8a3a", "abcd"].map((value) => validator.check({ id: value }))).toEqual([true, true, true]);
  expect([true, 1.5, {}].map((value) => validator.check({ id: value }))).toEqual([false, false, false]);
  expect([{ email: "a@b.c" }, { email: "a@b.c", code: "1" }, { email: 1 }].map((change) => validator.check({ change }))).toEqual([
    true,
    true,
    false,
  ]);
});

test("F0.20 an object composed with allOf becomes one list of fields", () => {
  const schemas = {
    Base: { type: "object", properties: { id: { type: "string", readOnly: true }, kind: { type: "string" } }, required: ["id", "kind"] },
  };
  const schema = {
    allOf: [
      { $ref: "#/components/schemas/Base" },
      { properties: { kind: { enum: ["cat"] }, lives: { type: "integer" } }, required: ["lives", "id", "name"] },
    ],
  };
  const { tool, operation } = withBody(schema, { components: { schemas } });
  expect(tool.inputSchema).toEqual({
    type: "object",
    properties: { kind: { allOf: [{ type: "string" }, { enum: ["cat"] }] }, lives: { type: "integer" }, name: {} },
    required: ["kind", "lives", "name"],
    additionalProperties: false,
  });
  expect(operation.body?.fields).toEqual([
    { name: "kind", key: "kind", required: true },
    { name: "lives", key: "lives", required: true },
    { name: "name", key: "name", required: true },
  ]);
});

test("F0.20 the fields of an optional body are not required, and their descriptions say when they are", () => {
  const { tool, operation } = withBody(
    { type: "object", properties: { a: { type: "string", description: "The a" } }, required: ["a"] },
    {},
    false,
  );
  expect(tool.inputSchema).toEqual({
    type: "object",
    properties: { a: { type: "string", description: "The a. Required when a body is sent." } },
    additionalProperties: false,
  });
  expect(operation.body).toEqual({
    required: false,
    mediaType: "application/json",
    mediaTypes: ["application/json"],
    fields: [{ name: "a", key: "a", required: true }],
  });
});

test("F0.20 of several media types the easiest to write is sent, and all are recorded", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  const orders: readonly (readonly [readonly string[], string])[] = [
    [["application/xml", "application/vnd.x+json", "application/json"], "application/json"],
    [
      ["application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json"],
      "application/merge-patch+json",
    ],
    [["text/plain", "multipart/form-data", "application/x-www-form-urlencoded"], "application/x-www-form-urlencoded"],
    [["text/plain", "application/octet-stream", "multipart/form-data"], "multipart/form-data"],
    [["image/png", "text/plain", "application/octet-stream"], "application/octet-stream"],
    [["*/*"], "application/json"],
    [["image/png", "application/pdf"], "image/png"],
  ];
  for (const [types, chosen] of orders) {
    const { body } = bodyOf(Object.fromEntries(types.map((type) => [type, { schema }]))).operation;
    expect([body?.mediaType, body?.mediaTypes]).toEqual([chosen, types]);
  }
});

test("F0.20 text bodies are given as text and binary bodies in Base64, whatever their schema is", () => {
  expect(property(bodyOf({ "application/xml": { schema: { type: "object" } } }), "body")).toEqual({
    type: "string",
    description: "The body, as text of the type application/xml.",
  });
  const bytes = { type: "string", contentEncoding: "base64", description: "The body: the bytes of the type image/png, in Base64." };
  expect(property(bodyOf({ "image/png": { schema: { type: "string", format: "binary" } } }), "body")).toEqual(bytes);
  expect(property(bodyOf({ "image/png": {} }), "body")).toEqual(bytes);
  const file = bodyOf({ "text/csv": { schema: { type: "string", format: "binary" } } });
  expect(property(file, "body")).toEqual({ ...bytes, description: "The body: the bytes of the type text/csv, in Base64." });
  expect(file.operation.body?.binary).toBe(true);
});

test("F0.20 examples and defaults of binary fields are file names and are not passed on", () => {
  const logo = { type: "string", format: "binary", example: "logo.png", examples: ["path/to/logo.png"], default: "none.png" };
  const form = bodyOf({ "multipart/form-data": { schema: { type: "object", properties: { logo } } } });
  expect(property(form, "logo")).toEqual({ type: "string", contentEncoding: "base64", description: "The bytes in Base64." });
});

test.each<[string, JsonObject]>([
  ["a list", { type: "array", items: { type: "string", format: "binary" } }],
  ["a list of a $ref", { type: "array", items: { $ref: "#/components/schemas/File" } }],
  ["a choice", { anyOf: [{ type: "string", format: "binary" }, { type: "null" }] }],
  ["a $ref", { $ref: "#/components/schemas/File" }],
  ["of a media type", { type: "string", contentMediaType: "image/png" }],
])("F0.20 examples of binary fields are not passed on for %s", (_form, schema) => {
  const content = { "multipart/form-data": { schema: { type: "object", properties: { logo: { ...schema, example: "logo.png" } } } } };
  const components = { schemas: { File: { type: "string", format: "binary", example: "file.png" } } };
  const form = only(openApi("3.1", { "/x": { post: { requestBody: { content }, responses: {} } } }, { components }));
  expect(JSON.stringify(form.tool.inputSchema)).not.toContain(".png");
  expect(form.operation.body?.encoding).toEqual({ logo: { binary: true } });
});

test("F0.20 binary parts of a multipart body are detected in either version and behind any $ref", () => {
  const properties: JsonObject = {
    one: { type: "string", format: "binary" },
    many: { type: "array", items: { type: "string", format: "binary" } },
    either: {
      anyOf: [
        { type: "string", format: "binary" },
        { type: "array", items: { type: "string", format: "binary" } },
      ],
    },
    newer: { type: "string", contentMediaType: "image/png" },
    text: { type: "string", contentMediaType: "text/html" },
    named: { $ref: "#/components/schemas/File" },
    note: { type: "string" },
    list: { type: "array", items: { type: "string" } },
  };
  const content = {
    "multipart/form-data": {
      schema: { type: "object", properties },
      encoding: { list: { style: "form", explode: false }, one: { contentType: "image/png" } },
    },
  };
  const document = openApi(
    "3.1",
    { "/x": { post: { requestBody: { content }, responses: {} } } },
    { components: { schemas: { File: { type: "string", format: "binary" } } } },
  );
  const operation = only(document);
  expect(operation.operation.body?.encoding).toEqual({
    one: { contentType: "image/png", binary: true },
    many: { binary: true },
    either: { binary: true },
    newer: { binary: true },
    named: { binary: true },
    list: { style: "form", explode: false },
  });
  expect([property(operation, "one"), property(operation, "newer"), property(operation, "text")]).toEqual([
    { type: "string", description: "The bytes in Base64.", contentEncoding: "base64" },
    { type: "string", contentMediaType: "image/png", contentEncoding: "base64", description: "The bytes in Base64." },
    { type: "string", contentMediaType: "text/html" },
  ]);
});

test("F0.20 a default is described but never filled in, so that a PATCH sets only the given fields", () => {
  const schema = {
    type: "object",
    properties: { wiki: { type: "boolean", description: "Has a wiki", default: true }, told: { description: "By default 3.", default: 3 } },
  };
  const patch = withBody(schema);
  expect([property(patch, "wiki"), property(patch, "told")]).toEqual([
    { type: "boolean", description: "Has a wiki. Default: true." },
    { description: "By default 3." },
  ]);
});

test("F14 a parameter under another key has its original name in the description", () => {
  const time = { type: "string", description: "Inequality." };
  const operation = only(
    openApi("3.0", {
      "/calls": {
        get: {
          parameters: ["StartTime<", "StartTime>", "StartTime", "expand[]"].map((name) => ({ name, in: "query", schema: time })),
          requestBody: {
            required: true,
            content: { "application/json": { schema: { type: "object", properties: { "a b": {}, StartTime: time } } } },
          },
          responses: {},
        },
      },
    }),
  );
  const { parameters, body } = operation.operation;
  const fields = body !== undefined && Array.isArray(body.fields) ? body.fields : [];
  const all = [...parameters, ...fields].map(({ key, name }) => [name, Reflect.get(Object(property(operation, key)), "description")]);
  expect(all).toEqual([
    ["StartTime<", 'Inequality. Sent as the query parameter "StartTime<".'],
    ["StartTime>", 'Inequality. Sent as the query parameter "StartTime>".'],
    ["StartTime", "Inequality."],
    ["expand[]", 'Inequality. Sent as the query parameter "expand[]".'],
    ["a b", 'Sent as the field "a b" of the body.'],
    ["StartTime", 'Inequality. Sent as the field "StartTime" of the body.'],
  ]);
});

test("F13 a form whose schema is not an object takes its fields by name, and can be sent", () => {
  const requestBody = { required: true, content: { "multipart/form-data": { schema: { type: "string", format: "binary" } } } };
  const operation = only(openApi("3.0", { "/x": { post: { requestBody, responses: {} } } }));
  expect(property(operation, "body")).toEqual({ type: "object", description: "The fields of the form, by name." });
  const { body } = operation.operation;
  if (body === undefined) throw new Error("the operation has no body");
  expect(requestBodyOf(body, { body: { file: "hello" } })?.contentType).toMatch(/^multipart\/form-data; boundary=/u);
});

test("F0.19 a body whose schema is extended under its discriminator is one property, because subtypes have other fields", () => {
  const Pet = {
    type: "object",
    required: ["petType"],
    discriminator: { propertyName: "petType" },
    properties: { petType: { type: "string" } },
  };
  const Dog = { allOf: [{ $ref: "#/components/schemas/Pet" }, { type: "object", properties: { bark: { type: "string" } } }] };
  const content = { "application/json": { schema: { $ref: "#/components/schemas/Pet" } } };
  const document = openApi(
    "3.0",
    { "/pets": { post: { requestBody: { required: true, content }, responses: {} } } },
    { components: { schemas: { Pet, Dog } } },
  );
  const { tool } = only(document);
  expect(Object.keys((tool.inputSchema as JsonObject)["properties"] as JsonObject)).toEqual(["body"]);
  const isValid = (input: JsonObject): boolean => validateInput(input, tool.inputSchema).valid;
  expect([isValid({ body: { petType: "dog", bark: "woof" } }), isValid({ body: { bark: "woof" } })]).toEqual([true, false]);
});
