import { expect, test } from "vitest";
import { z } from "zod";
import { modelTools } from "../../../src/compose/prompt/model-tools.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { visibilityOf } from "../../../src/policy/visibility.ts";
import { Registry } from "../../../src/registry/registry.ts";
import { encodeEachTool } from "../../../src/wire/encode-tools.ts";
import { openAiChat } from "../../../src/wire/openai-chat.ts";

const ECHO: Tool = { name: "echo", description: "Echoes.", inputSchema: { type: "object", properties: { text: { type: "string" } } } };
const SEARCH: Tool = {
  name: "web_search",
  description: "Searches.",
  inputSchema: { type: "object", properties: { query: {} } },
  providerExecuted: true,
  providers: { "openai-responses": { type: "web_search" } },
};

function registryOf(...tools: readonly Tool[]): Registry {
  const registry = new Registry();
  for (const tool of tools) registry.register(tool, "default", { overload: true });
  return registry;
}

test("F1.43 every tool has its schemas, except one that the provider runs", () => {
  const outputSchema = { type: "string" };
  expect(modelTools(registryOf(SEARCH, { ...ECHO, outputSchema }))).toEqual([
    { name: "default::echo", description: "Echoes.", inputSchema: ECHO.inputSchema, outputSchema },
    { name: "default::web_search", description: "Searches.", inputSchema: {}, providerExecuted: true, providers: SEARCH.providers },
  ]);
});

test("F1.17 F1.43 a request has the schema of a local tool and the provider's own format of a provider tool", () => {
  const tools = modelTools(registryOf(SEARCH, ECHO));
  const { tools: written, notes } = encodeEachTool(tools, { format: "openai-responses", subset: "json-schema" }, ({ name, schema }) => ({
    name,
    schema,
  }));
  expect([written, notes]).toEqual([[{ name: "echo", schema: ECHO.inputSchema }, { type: "web_search" }], []]);
});

test("F1.18 a tool that another provider runs is dropped and reported to onDrop", () => {
  const lines: string[] = [];
  const tools = modelTools(registryOf(SEARCH, ECHO), { format: "gemini", onDrop: (line) => lines.push(line) });
  expect([tools.map(({ name }) => name), lines]).toEqual([
    ["default::echo"],
    ["default::web_search is not offered: gemini does not run it."],
  ]);
});

test("F3.37 hidden and unusable tools are left out", () => {
  const registry = registryOf(
    ECHO,
    { ...ECHO, name: "broken", unusable: "its description could not be read" },
    { ...ECHO, name: "secret" },
  );
  expect(modelTools(registry, { allow: { deny: ["*::secret"] } }).map(({ name }) => name)).toEqual(["default::echo"]);
});

test("F1.43 overloads are distinguished by their fingerprints, and one without a fingerprint is left out", () => {
  const other = { ...ECHO, inputSchema: { type: "object", properties: { count: { type: "integer" } } } };
  const registry = registryOf(ECHO, other);
  const fingerprints = registry.list().map(({ fingerprint }) => fingerprint);
  expect(modelTools(registry).map(({ fingerprint }) => fingerprint)).toEqual(fingerprints);
  expect(new Set(fingerprints).size).toBe(2);
  const endless: { [key: string]: unknown } = { type: "object" };
  endless["properties"] = { self: endless };
  const broken = new Registry();
  broken.addToolset({ name: "files", overloads: true, tools: [ECHO] });
  expect(broken.addTools("files", [{ ...ECHO, inputSchema: endless }])).toBe(1);
  expect(modelTools(broken).map(({ name, inputSchema }) => [name, inputSchema])).toEqual([["files::echo", ECHO.inputSchema]]);
});

test("F1.43 F3.37 the list is built once for each version of the registry, also for parsed allow rules", () => {
  const registry = registryOf(ECHO, SEARCH);
  const allow = visibilityOf({ allow: ["*::echo"] });
  const before = [modelTools(registry), modelTools(registry, { allow }), modelTools(registry, { format: "gemini" })];
  const after = [modelTools(registry), modelTools(registry, { allow }), modelTools(registry, { format: "gemini" })];
  expect(after.map((list, index) => list === before[index])).toEqual([true, true, true]);
  registry.unregister("echo");
  expect([modelTools(registry).length, modelTools(registry, { allow })]).toEqual([1, []]);
});

/** What OpenAI's reference says of a function tool: https://platform.openai.com/docs/api-reference/chat/create#chat-create-tools */
const OPENAI_TOOL = z.strictObject({
  type: z.literal("function"),
  function: z.strictObject({
    name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/u),
    description: z.string(),
    parameters: z.looseObject({ type: z.literal("object"), properties: z.record(z.string(), z.unknown()) }),
    strict: z.boolean().optional(),
  }),
});

test("F3.28 the tools of a registry are valid OpenAI function tools, also with odd names and empty schemas", () => {
  const registry = registryOf(ECHO, { ...ECHO, inputSchema: { type: "object", properties: { text: { type: "integer" } } } });
  registry.register({ ...ECHO, name: "größe: 1.5", inputSchema: {} }, "a namespace of some length, with more in it than fits into a name");
  for (const strict of [false, true]) {
    const { tools, notes } = openAiChat().encodeTools(modelTools(registry), { strict });
    expect(z.array(OPENAI_TOOL).length(3).safeParse(tools).error).toBe(undefined);
    expect(notes.filter(({ kind }) => kind === "quarantined")).toEqual([]);
  }
});
