import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readToolFile } from "../../src/config/tools/tool-file.ts";
import { recognizeForeignDocument } from "../../src/documents/foreign-document.ts";
import { importOpenApi } from "../../src/engine/openapi/import-openapi.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import { configError, configFolder } from "../config/config-folder.ts";

const TOOL = { description: "d", inputSchema: { type: "object" } } as const;

test.each([
  [
    "next to its array has words of other formats",
    { asyncapi: "3.0.0", discoveryVersion: "v1", agentsJson: "1", tools: [{ name: "a", ...TOOL }] },
  ],
  ["has a tool called skills", [{ name: "skills", ...TOOL }]],
  ["has a tool called startCommand", { startCommand: TOOL, stopCommand: TOOL }],
] as const)("a tool file that %s is accepted", async (_what, value) => {
  const file = join(configFolder({ "tools.json": JSON.stringify(value) }), "tools.json");
  expect((await readToolFile(file, { otherwise: "tools" })).problems).toEqual([]);
});

/** As such files begin. */
const DOCUMENTS: readonly (readonly [what: string, document: JsonObject, instead: RegExp])[] = [
  [
    "a Postman collection",
    {
      info: { name: "c", schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
      item: [{ name: "get", request: { method: "GET", url: "https://example.com" } }],
    },
    /Convert it to an OpenAPI document/u,
  ],
  [
    "an Arazzo document of workflows",
    { arazzo: "1.0.1", info: {}, sourceDescriptions: [], workflows: [] },
    /type = "openapi".*type = "chains"/u,
  ],
  ["an AsyncAPI document of messages", { asyncapi: "3.0.0", info: {}, channels: {} }, /as an OpenAPI document/u],
  [
    "a Google discovery document",
    { kind: "discovery#restDescription", discoveryVersion: "v1", id: "drive:v3" },
    /google-discovery-to-swagger/u,
  ],
  ["an agents.json", { agentsJson: "0.1.0", info: { title: "t", description: "d" }, sources: [], flows: [] }, /of its sources/u],
  [
    "an agent card of A2A",
    {
      protocolVersion: "0.3.0",
      name: "a",
      url: "https://example.com",
      skills: [{ id: "a", name: "a", description: "d" }],
      capabilities: {},
    },
    /type = "mcp"/u,
  ],
  ["a serialized LangChain object", { lc: 1, type: "constructor", id: ["langchain", "tools"], kwargs: {} }, /convert_to_openai_tool/u],
  ["a GraphQL schema", { __schema: { types: [] } }, /type = "http"/u],
];

describe("a document of another format", () => {
  test.each(DOCUMENTS)("%s is refused as an OpenAPI document and as a tool file, with a hint", async (what, document, instead) => {
    const file = join(configFolder({ "a.json": JSON.stringify(document) }), "a.json");
    const asTools = await configError(readToolFile(file, { otherwise: "a" }));
    expect(asTools.message).toBe(`${file} is not a tool file: it is ${what}.`);
    expect(asTools.operatorHint).toMatch(instead);
    const asOpenApi = await configError((async () => importOpenApi(document, { origin: "a.json" }))());
    expect(asOpenApi.message).toBe(`"a.json" is not an OpenAPI document: it is ${what}.`);
    expect(asOpenApi.operatorHint).toMatch(instead);
  });

  test("an OpenAPI document is refused as a tool file, with a hint to the toolset that reads it", async () => {
    for (const document of [
      { openapi: "3.1.0", info: {}, paths: {} },
      { swagger: "2.0", info: {}, paths: {} },
    ]) {
      const file = join(configFolder({ "a.json": JSON.stringify(document) }), "a.json");
      const error = await configError(readToolFile(file, { otherwise: "a" }));
      expect([error.message, error.operatorHint]).toEqual([
        `${file} is not a tool file: it is an OpenAPI document.`,
        'Use it as the document of a toolset of type = "openapi".',
      ]);
    }
  });

  test.each([
    [null],
    [[]],
    [{ info: { description: "d", parameters: {} }, item: { description: "d" } }],
    [{ tools: [], name: "a" }],
    [{ openapi: { description: "a tool", parameters: {} } }],
  ])("no other document is taken for one: %j", (value) => {
    expect(recognizeForeignDocument(value)).toBe(undefined);
  });
});
