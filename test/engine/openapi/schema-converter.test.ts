/** Schemas of 2.0, 3.0 and 3.1 in the words of JSON Schema 2020-12. */
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import { compileSchema } from "../../../src/schema/compile-schema.ts";
import { imported, only, openApi } from "./imported.ts";

/** What a schema becomes as the one parameter of an operation. */
function converted(
  schema: JsonValue,
  version: "3.0" | "3.1" = "3.0",
  schemas: JsonObject = {},
): { readonly schema: unknown; readonly warnings: readonly string[] } {
  const document = openApi(
    version,
    { "/x": { get: { parameters: [{ name: "p", in: "query", schema }], responses: {} } } },
    { components: { schemas } },
  );
  const { operations, warnings } = imported(document);
  const input: unknown = operations[0]?.tool.inputSchema;
  compileSchema(input);
  const { properties, $defs }: { readonly properties?: { readonly p?: unknown }; readonly $defs?: unknown } = Object(input);
  return { schema: $defs === undefined ? properties?.p : [properties?.p, $defs], warnings };
}

const BROKEN: readonly (readonly [what: string, raw: JsonValue, mended: unknown])[] = [
  ["nullable", { type: "string", nullable: true }, { type: ["string", "null"] }],
  ["nullable enum", { type: "string", enum: ["a"], nullable: true }, { type: ["string", "null"], enum: ["a", null] }],
  ["nullable anyOf", { anyOf: [{ type: "string" }], nullable: true }, { anyOf: [{ type: "string" }, { type: "null" }] }],
  [
    "nullable oneOf",
    { description: "d", oneOf: [{ type: "string" }], nullable: true },
    { description: "d", anyOf: [{ type: "string" }, { type: "null" }] },
  ],
  [
    "exclusiveMinimum as a flag",
    { minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
    { exclusiveMinimum: 1, maximum: 9 },
  ],
  ["exclusiveMinimum as a number", { exclusiveMinimum: 1 }, { exclusiveMinimum: 1 }],
  ["example", { type: "string", example: "rex" }, { type: "string", examples: ["rex"] }],
  ["discriminator and the like", { type: "string", xml: {}, discriminator: {}, externalDocs: {}, "x-a": 1 }, { type: "string" }],
  ["type file", { type: "file" }, { type: "string", description: "The bytes in Base64.", contentEncoding: "base64" }],
  ["a list under items", { type: "array", items: [{ type: "string" }] }, { type: "array", prefixItems: [{ type: "string" }] }],
  [
    "required as a flag",
    { type: "object", required: true, properties: { a: { required: false } } },
    { type: "object", properties: { a: {} } },
  ],
  ["required twice", { required: ["a", "a", 1] }, { required: ["a"] }],
  ["numbers among strings", { type: "string", enum: [1, true, "a"] }, { type: "string", enum: ["1", "true", "a"] }],
  ["strings among numbers", { type: "integer", enum: ["1", 2] }, { type: "integer", enum: [1, 2] }],
  ["a pattern with slashes", { pattern: "/^[a-z\\-]+$/" }, { pattern: "^[a-z\\-]+$" }],
  ["bounds as text", { minLength: "2", maximum: "9" }, { minLength: 2, maximum: 9 }],
  ["type any", { type: "any" }, {}],
];

test.each(BROKEN)("F0.20 converted without a warning: %s", (_, raw, mended) => {
  expect(converted(raw)).toEqual({ schema: mended, warnings: [] });
});

const UNUSABLE: readonly (readonly [raw: JsonValue, left: unknown, warning: string])[] = [
  [{ type: "strnig" }, {}, 'the type "strnig" is not a JSON Schema type'],
  [{ type: "string", pattern: "(" }, { type: "string" }, "a pattern is left out"],
  [{ type: "string", pattern: "^(a+)+\\1$" }, { type: "string" }, "a pattern is left out"],
  [{ enum: [] }, {}, "enum must be an array of values"],
  [{ enum: "a" }, {}, "enum must be an array of values"],
  [{ multipleOf: 0 }, {}, "multipleOf must be more than 0"],
  [{ maxLength: -1 }, {}, "maxLength must be an integer"],
  [{ minimum: {} }, {}, "minimum must be a number"],
  [{ anyOf: [] }, {}, "anyOf must be an array"],
  [{ properties: [] }, {}, "properties must be an object"],
  [{ items: 3 }, { items: {} }, "a schema must be an object, not 3"],
  ["text", {}, 'a schema must be an object, not "text"'],
  [{ $ref: 3 }, {}, "$ref must be a string"],
];

test.each(UNUSABLE)("F0.20 left out with a warning while the tool is kept: %j", (raw, left, warning) => {
  const { schema, warnings } = converted(raw);
  expect([schema, warnings]).toEqual([left, [expect.stringContaining(warning)]]);
  expect(warnings[0]).toMatch(/^#\/paths\/~1x\/get\/parameters\/0\/schema/u);
});

test("F0.20 next to a $ref, 3.0 keeps only annotations and nullable, and 3.1 keeps everything", () => {
  const schema = { $ref: "#/components/schemas/S", description: "d", minLength: 3, nullable: true };
  const S = { type: "string" };
  expect(converted(schema, "3.0", { S }).schema).toEqual([{ description: "d", anyOf: [{ $ref: "#/$defs/S" }, { type: "null" }] }, { S }]);
  expect(converted({ ...schema, nullable: false }, "3.1", { S }).schema).toEqual([
    { $ref: "#/$defs/S", description: "d", minLength: 3 },
    { S },
  ]);
});

test("F13 only referenced schemas are included, and recursion stays a reference", () => {
  const schemas = {
    Tree: { type: "object", properties: { left: { $ref: "#/components/schemas/Tree" }, leaf: { $ref: "#/components/schemas/Leaf" } } },
    Leaf: { type: "string" },
    Other: { type: "integer" },
  };
  expect(converted({ $ref: "#/components/schemas/Tree" }, "3.0", schemas).schema).toEqual([
    { $ref: "#/$defs/Tree" },
    { Tree: { type: "object", properties: { left: { $ref: "#/$defs/Tree" }, leaf: { $ref: "#/$defs/Leaf" } } }, Leaf: { type: "string" } },
  ]);
});

test("F13 a reference that leads straight back to itself allows any value, with a warning", () => {
  const circles: readonly JsonObject[] = [
    { A: { $ref: "#/components/schemas/A" } },
    { A: { $ref: "#/components/schemas/B" }, B: { $ref: "#/components/schemas/A" } },
    { A: { allOf: [{ anyOf: [{ $ref: "#/components/schemas/A" }] }] } },
  ];
  for (const schemas of circles) {
    const { warnings } = converted({ $ref: "#/components/schemas/A" }, "3.0", schemas);
    expect(warnings).toEqual([expect.stringMatching(/leads back to itself; any value will do here\.$/u)]);
  }
});

test("F13 schemas from unusual places in the document get unique names", () => {
  const schemas = { "a b": { type: "string" }, A: { properties: { b: { type: "integer" } } } };
  const { schema, warnings } = converted(
    {
      anyOf: [
        { $ref: "#/components/schemas/a%20b" },
        { $ref: "#/components/schemas/A/properties/b" },
        { $ref: "#/components/schemas/a b" },
      ],
    },
    "3.0",
    schemas,
  );
  const [{ anyOf }, definitions]: readonly [{ readonly anyOf: readonly { readonly $ref: string }[] }, JsonObject] = Object(schema);
  expect(anyOf.map(({ $ref }) => $ref.replace(/[0-9a-f]{16}$/u, "#"))).toEqual(["#/$defs/a_b_#", "#/$defs/b_#", "#/$defs/a_b_#"]);
  expect([Object.values(definitions), warnings]).toEqual([[{ type: "string" }, { type: "integer" }], []]);
});

test("F09 references out of the document or to nothing are never fetched: any value is allowed there, with a warning", () => {
  const references = [
    "http://127.0.0.1/s.json",
    "file:///etc/passwd",
    "./x.yaml#/A",
    "other.json",
    "#/components/schemas/Missing",
    "#",
    "#anchor",
    "#/toString",
  ];
  for (const $ref of references) {
    const { schema, warnings } = converted({ $ref });
    expect(schema).toEqual({});
    expect(warnings).toEqual([
      `#/paths/~1x/get/parameters/0/schema: ${JSON.stringify($ref)} ${$ref.startsWith("#") ? "refers to nothing" : "lies outside of the document and is not fetched"}; this part is left open.`,
    ]);
  }
});

test("F09 a parameter, body, response or path outside of the document is left out, and the operation is kept", () => {
  const out = { $ref: "https://evil.example/x.json" };
  const { operations, warnings } = imported(
    openApi("3.0", { "/a": { post: { operationId: "a", parameters: [out], requestBody: out, responses: { "200": out } } }, "/b": out }),
  );
  expect(operations.map(({ tool }) => [tool.name, tool.inputSchema])).toEqual([
    ["a", { type: "object", properties: {}, additionalProperties: false }],
  ]);
  expect(warnings.map((line) => line.split(":")[0])).toEqual([
    "#/paths/~1b",
    "#/paths/~1a/post/parameters/0",
    "#/paths/~1a/post/requestBody",
    "#/paths/~1a/post/responses/200",
  ]);
});

test("F0.20 readOnly fields are left out of the input and writeOnly fields out of the output, required or not", () => {
  const Account: JsonObject = {
    type: "object",
    properties: {
      id: { $ref: "#/components/schemas/Id" },
      password: { type: "string", writeOnly: true },
      owner: { type: "object", properties: { since: { type: "string", readOnly: true } }, required: ["since"] },
    },
    required: ["id", "password", "owner"],
    additionalProperties: false,
  };
  const content = { "application/json": { schema: { $ref: "#/components/schemas/Account" } } };
  const { tool } = only(
    openApi(
      "3.0",
      { "/x": { post: { requestBody: { required: true, content }, responses: { "200": { description: "", content } } } } },
      { components: { schemas: { Account, Id: { type: "string", readOnly: true } } } },
    ),
  );
  expect(tool.inputSchema).toEqual({
    type: "object",
    properties: { password: { type: "string" }, owner: { type: "object", properties: {} } },
    required: ["password", "owner"],
    additionalProperties: false,
  });
  expect(tool.outputSchema).toEqual({
    $ref: "#/$defs/Account",
    $defs: {
      Account: {
        type: "object",
        properties: {
          id: { $ref: "#/$defs/Id" },
          owner: { type: "object", properties: { since: { type: "string" } }, required: ["since"] },
        },
        required: ["id", "owner"],
      },
      Id: { type: "string" },
    },
  });
});
