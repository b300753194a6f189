/** One document of each version, read as a whole: names, schemas, addresses, effects. */
import { importOpenApiInSlices } from "../../../src/engine/openapi/import-openapi.ts";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { imported, only, openApi } from "./imported.ts";

const PET: JsonObject = {
  type: "object",
  required: ["name"],
  properties: { id: { type: "integer", readOnly: true }, name: { type: "string" }, tag: { type: "string", nullable: true } },
};

const PETS: JsonObject = {
  openapi: "3.0.3",
  info: { title: "Pet store", version: "1" },
  servers: [{ url: "https://pets.example/v1/" }],
  tags: [{ name: "pets" }],
  security: [{ key: [] }],
  paths: {
    "/pets": {
      get: {
        summary: "List pets",
        tags: ["pets"],
        operationId: "listPets",
        parameters: [{ name: "limit", in: "query", description: "How many.", schema: { type: "integer", maximum: 100, default: 20 } }],
        responses: {
          "200": {
            description: "ok",
            content: { "application/json": { schema: { type: "array", items: { $ref: "#/components/schemas/Pet" } } } },
          },
        },
      },
      post: {
        description: "Adds a pet.",
        operationId: "pets/add",
        requestBody: { required: true, content: { "application/json": { schema: { $ref: "#/components/schemas/Pet" } } } },
        responses: { "201": { description: "made" } },
      },
    },
    "/pets/{petId}": {
      parameters: [{ name: "petId", in: "path", required: true, schema: { type: "string" } }],
      delete: { responses: { "204": { description: "gone" } } },
    },
  },
  components: { schemas: { Pet: PET }, securitySchemes: { key: { type: "apiKey", in: "header", name: "X-Key" } } },
};

const SECURITY = [[{ name: "key", scopes: [], scheme: { type: "apiKey", in: "header", name: "X-Key" } }]];

test("F0.19 every operation becomes a tool with name, description, schemas, server and effects", () => {
  const { title, operations, warnings } = imported(PETS);
  expect({ title, warnings }).toEqual({ title: "Pet store", warnings: [] });
  expect(operations.map(({ tool }) => tool.name)).toEqual(["listPets", "pets_add", "delete_pets_by_petId"]);
  expect(operations[0]).toEqual({
    tool: {
      name: "listPets",
      title: "List pets",
      description: "List pets",
      inputSchema: {
        type: "object",
        properties: { limit: { type: "integer", maximum: 100, description: "How many." } },
        additionalProperties: false,
      },
      outputSchema: {
        type: "array",
        items: { $ref: "#/$defs/Pet" },
        $defs: {
          Pet: {
            type: "object",
            properties: { id: { type: ["integer", "null"] }, name: { type: "string" }, tag: { type: ["string", "null"] } },
            required: ["name"],
          },
        },
      },
      effects: { reads: ["https://pets.example/v1"], writes: [], idempotent: true },
      tags: ["pets"],
      metadata: { http: { method: "GET", path: "/pets", operationId: "listPets", server: "https://pets.example/v1", tags: ["pets"] } },
    },
    operation: {
      method: "GET",
      path: "/pets",
      server: "https://pets.example/v1",
      parameters: [{ name: "limit", in: "query", key: "limit", required: false, style: "form", explode: true }],
      security: SECURITY,
      accepts: ["application/json"],
    },
  });
});

test("F0.19 a POST is a write, and its body fields are listed beside the parameters", () => {
  const { tool, operation } = imported(PETS).operations[1] ?? {};
  expect(tool).toEqual({
    name: "pets_add",
    description: "Adds a pet.",
    inputSchema: {
      type: "object",
      properties: { name: { type: "string" }, tag: { type: ["string", "null"] } },
      required: ["name"],
      additionalProperties: false,
    },
    effects: { writes: ["https://pets.example/v1"], external: true },
    metadata: { http: { method: "POST", path: "/pets", operationId: "pets/add", server: "https://pets.example/v1", tags: [] } },
  });
  expect(operation).toEqual({
    method: "POST",
    path: "/pets",
    server: "https://pets.example/v1",
    parameters: [],
    body: {
      required: true,
      mediaType: "application/json",
      mediaTypes: ["application/json"],
      fields: [
        { name: "name", key: "name", required: true },
        { name: "tag", key: "tag", required: false },
      ],
    },
    security: SECURITY,
    accepts: [],
  });
});

test("F0.19 a DELETE without id, title or description is named after method and path, and is destructive and idempotent", () => {
  expect(imported(PETS).operations[2]?.tool).toEqual({
    name: "delete_pets_by_petId",
    description: "DELETE /pets/{petId}",
    inputSchema: { type: "object", properties: { petId: { type: "string" } }, required: ["petId"], additionalProperties: false },
    outputSchema: { type: "null" },
    effects: { writes: ["https://pets.example/v1"], idempotent: true, destructive: true, external: true },
    metadata: { http: { method: "DELETE", path: "/pets/{petId}", server: "https://pets.example/v1", tags: [] } },
  });
});

test("F0.19 F0.20 Swagger 2.0: host and basePath, consumes and produces, form fields, files, arrays and body parameters", () => {
  const document = openApi(
    "2.0",
    {
      "/pets/{id}/photo": {
        parameters: [{ name: "id", in: "path", required: true, type: "integer", format: "int64" }],
        post: {
          operationId: "addPhoto",
          consumes: ["multipart/form-data"],
          produces: ["application/json"],
          parameters: [
            { name: "file", in: "formData", type: "file", required: true, description: "The picture" },
            { name: "tags", in: "formData", type: "array", items: { type: "string" }, collectionFormat: "pipes" },
            { name: "sizes", in: "query", type: "array", items: { type: "integer" }, collectionFormat: "ssv" },
          ],
          responses: { "200": { description: "ok", schema: { $ref: "#/definitions/Photo" } } },
        },
        put: {
          operationId: "setPhoto",
          parameters: [{ name: "photo", in: "body", required: true, schema: { type: "array", items: { $ref: "#/definitions/Photo" } } }],
          responses: {},
        },
      },
    },
    {
      host: "pets.example",
      basePath: "/v2",
      schemes: ["http", "https"],
      definitions: { Photo: { type: "object", properties: { url: { type: "string" } }, required: ["url"] } },
    },
  );
  const [post, put] = imported(document).operations;
  expect(post?.tool.inputSchema).toEqual({
    type: "object",
    properties: {
      id: { type: "integer", format: "int64" },
      file: { type: "string", description: "The picture. The bytes in Base64.", contentEncoding: "base64" },
      tags: { type: "array", items: { type: "string" } },
      sizes: { type: "array", items: { type: "integer" } },
    },
    required: ["id", "file"],
    additionalProperties: false,
  });
  expect(post?.tool.outputSchema).toEqual({
    $ref: "#/$defs/Photo",
    $defs: { Photo: { type: "object", properties: { url: { type: "string" } }, required: ["url"] } },
  });
  expect(post?.operation).toEqual({
    method: "POST",
    path: "/pets/{id}/photo",
    server: "https://pets.example/v2",
    parameters: [
      { name: "sizes", in: "query", key: "sizes", required: false, style: "spaceDelimited", explode: false },
      { name: "id", in: "path", key: "id", required: true, style: "simple", explode: false },
    ],
    body: {
      required: false,
      mediaType: "multipart/form-data",
      mediaTypes: ["multipart/form-data"],
      fields: [
        { name: "file", key: "file", required: true },
        { name: "tags", key: "tags", required: false },
      ],
      encoding: { file: { binary: true }, tags: { style: "pipeDelimited", explode: false } },
    },
    accepts: ["application/json"],
  });
  expect(put?.tool.inputSchema).toEqual({
    type: "object",
    properties: { id: { type: "integer", format: "int64" }, body: { type: "array", items: { $ref: "#/$defs/Photo" } } },
    required: ["id", "body"],
    additionalProperties: false,
    $defs: { Photo: { type: "object", properties: { url: { type: "string" } }, required: ["url"] } },
  });
  expect(put?.operation.body).toEqual({
    required: true,
    mediaType: "application/json",
    mediaTypes: ["application/json"],
    fields: { key: "body" },
  });
});

test("F0.19 every HTTP method of OpenAPI is read, and other keys are ignored", () => {
  const responses = {};
  const item = Object.fromEntries(
    ["get", "put", "post", "delete", "options", "head", "patch", "trace", "connect", "x-get"].map((method) => [method, { responses }]),
  );
  const { operations } = imported(openApi("3.1", { "/a": item, "x-internal": { get: { responses } } }));
  expect(operations.map(({ tool, operation }) => [operation.method, tool.name, tool.effects])).toEqual(
    ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"].map((method) => [
      method,
      `${method.toLowerCase()}_a`,
      {
        ...(["GET", "HEAD", "OPTIONS", "TRACE"].includes(method)
          ? { reads: ["http:pets.json"], writes: [], idempotent: true }
          : { writes: ["http:pets.json"], external: true }),
        ...(method === "PUT" || method === "DELETE" ? { idempotent: true } : {}),
        ...(method === "DELETE" ? { destructive: true } : {}),
      },
    ]),
  );
});

test("F0.19 server URLs: the nearest server, variables by their defaults, relative URLs resolved against the document's URL", () => {
  const responses = {};
  const document = openApi(
    "3.0",
    {
      "/a": { get: { operationId: "a", responses } },
      "/b": {
        servers: [{ url: "https://b.example" }],
        get: { operationId: "b", responses },
        put: { operationId: "c", servers: [{ url: "/c/" }], responses },
      },
    },
    { servers: [{ url: "https://{region}.example/{base}", variables: { region: { default: "eu" }, base: { enum: ["v2", "v1"] } } }] },
  );
  const servers = (origin: string): unknown => imported(document, { origin }).operations.map(({ operation }) => operation.server);
  expect(servers("pets.yaml")).toEqual(["https://eu.example/v2", "https://b.example", undefined]);
  expect(servers("http://docs.example/api/pets.yaml")).toEqual(["https://eu.example/v2", "https://b.example", "http://docs.example/c"]);
  const bare = openApi("3.0", { "/a": { get: { responses } } });
  expect(only(bare, { origin: "https://docs.example/api/pets.yaml" }).operation.server).toBe("https://docs.example");
  expect(
    only(openApi("2.0", { "/a": { get: { responses } } }, { basePath: "v1" }), { origin: "http://docs.example:8080/pets" }).operation
      .server,
  ).toBe("http://docs.example:8080/v1");
});

test("F10 a server URL that cannot be called is left out with a warning that does not contain its password", () => {
  for (const url of ["file:///etc", "https://me:secret@evil.example/", "https://{tenant}.example/", "javascript:alert(1)"]) {
    const { operations, warnings } = imported(openApi("3.0", { "/a": { get: { responses: {} } } }, { servers: [{ url }] }));
    expect(operations[0]?.operation.server).toBeUndefined();
    expect(warnings).toEqual([expect.stringMatching(/^#\/servers\/0: .*cannot be called/u)]);
    expect(warnings.join()).not.toContain("secret");
  }
});

test("F0.19 long texts are cut in the description and complete in the documentation; deprecated operations say so", () => {
  const description = `${"x".repeat(3_998)}😀 and more`;
  const { tool } = only(openApi("3.0", { "/a": { get: { summary: "Reads", description, deprecated: true, responses: {} } } }));
  expect([
    tool.title,
    tool.description.length,
    tool.description.isWellFormed(),
    tool.description.slice(0, 24),
    tool.description.endsWith("…"),
  ]).toEqual(["Reads", 4_000, true, "Deprecated.\n\nReads\n\nxxxx", true]);
  expect(tool.documentation).toBe(`Deprecated.\n\nReads\n\n${description}`);
  const repeated = only(
    openApi("3.0", { "/a": { get: { summary: "Reads pets.", description: "Reads pets. All of them.", responses: {} } } }),
  );
  expect(repeated.tool.description).toBe("Reads pets. All of them.");
});

test("F0.20 security keeps alternatives and combinations; an empty list differs from an absent one", () => {
  const responses = {};
  const document = openApi(
    "3.0",
    {
      "/a": { get: { operationId: "inherits", responses }, put: { operationId: "open", security: [], responses } },
      "/b": { get: { operationId: "own", security: [{ oauth: ["read"], key: [] }, {}, { basic: [] }, { missing: [] }], responses } },
    },
    {
      security: [{ bearer: [] }],
      components: {
        securitySchemes: {
          bearer: { type: "http", scheme: "Bearer" },
          basic: { type: "http", scheme: "basic" },
          key: { type: "apiKey", in: "query", name: "key" },
          oauth: { type: "oauth2", flows: { clientCredentials: { tokenUrl: "https://id.example/token", scopes: {} } } },
        },
      },
    },
  );
  const [inherits, open, own] = imported(document).operations.map(({ operation }) => operation.security);
  expect(inherits).toEqual([[{ name: "bearer", scopes: [], scheme: { type: "http", scheme: "bearer" } }]]);
  expect(open).toEqual([[]]);
  expect(own).toEqual([
    [
      { name: "oauth", scopes: ["read"], scheme: { type: "oauth2", tokenUrl: "https://id.example/token" } },
      { name: "key", scopes: [], scheme: { type: "apiKey", in: "query", name: "key" } },
    ],
    [],
    [{ name: "basic", scopes: [], scheme: { type: "http", scheme: "basic" } }],
    [{ name: "missing", scopes: [], scheme: { type: "other", described: "a scheme that the document does not declare" } }],
  ]);
  expect(only(openApi("3.0", { "/a": { get: { responses } } })).operation.security).toBeUndefined();
});

test("F0.20 a credential covered by the operation's security stays a parameter but is left out of the input", () => {
  const parameters = [
    { name: "x-api-key", in: "header", required: true, schema: { type: "string" } },
    { name: "key", in: "query", schema: { type: "string" } },
    { name: "Authorization", in: "header", schema: { type: "string" } },
    { name: "token", in: "header", required: true, schema: { type: "string" } },
  ];
  const document = openApi(
    "3.0",
    { "/a": { get: { security: [{ header: [] }, { query: [] }], parameters, responses: {} } } },
    {
      components: {
        securitySchemes: {
          header: { type: "apiKey", in: "header", name: "X-API-Key" },
          query: { type: "apiKey", in: "query", name: "key" },
        },
      },
    },
  );
  const { tool, operation } = only(document);
  expect(tool.inputSchema).toEqual({
    type: "object",
    properties: { token: { type: "string" } },
    required: ["token"],
    additionalProperties: false,
  });
  expect(operation.parameters.map(({ name, required, supplied }) => [name, required, supplied])).toEqual([
    ["x-api-key", true, true],
    ["key", false, true],
    ["Authorization", false, true],
    ["token", true, undefined],
  ]);
});

test("a large document is imported in slices that yield to other work, with the same result", async () => {
  const paths = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, at) => [`/p${at}`, { get: { operationId: `o${at}`, responses: {} } }]),
  );
  const document = openApi("3.1", paths);
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const sliced = await importOpenApiInSlices(document, { origin: "pets.json" });
  isDone = true;
  expect(turns).toBeGreaterThan(10);
  expect(JSON.stringify(sliced)).toBe(JSON.stringify(imported(document)));
});
