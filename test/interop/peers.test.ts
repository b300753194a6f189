/** Other runtimes take our tools as they are: the real packages, no adapter. */
import { RunContext, tool as openAiTool } from "@openai/agents";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { asSchema, generateText, isStepCount, type ToolSet } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { ToolOutput } from "../../src/core/content.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { defineTool } from "../../src/registry/define-tool.ts";

const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  inputSchema: {
    type: "object",
    properties: { a: { type: "integer" }, b: { type: "integer", default: 1 } },
    required: ["a"],
    additionalProperties: false,
  },
  outputSchema: { type: "object", properties: { sum: { type: "integer" } }, required: ["sum"], additionalProperties: false },
  execute: ({ a, b }) => ({ sum: a + b }),
});
const greet = defineTool({
  name: "greet",
  description: "Greets.",
  inputSchema: z.strictObject({ name: z.string().trim() }),
  execute: ({ name }) => `Hello ${name}`,
});

/** At run time they are AI SDK tools; its types want its own context in `execute`. */
const tools = { add, greet } as unknown as ToolSet;

/** The handlers of these tools do not look at their context. */
const noContext = {} as ToolContext;

/** A language model of AI SDK that makes one call and ends. */
function oneCall(toolName: string, input: unknown): Parameters<typeof generateText>[0]["model"] {
  const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  const model = {
    specificationVersion: "v4",
    provider: "memory",
    modelId: "memory",
    supportedUrls: {},
    doGenerate: async () => ({
      content: [{ type: "tool-call", toolCallId: "c1", toolName, input: JSON.stringify(input) }],
      finishReason: { unified: "tool-calls", raw: "tool_calls" },
      usage,
      warnings: [],
    }),
  };
  return model as unknown as Parameters<typeof generateText>[0]["model"]; // the parts of the interface that one step uses
}

test("AI SDK 7 sends Haft's JSON Schema to the model, validates with it, fills defaults and runs the tool", async () => {
  expect(asSchema(add.inputSchema).jsonSchema).toMatchObject({ type: "object", required: ["a"], additionalProperties: false });
  const good = await generateText({ model: oneCall("add", { a: 2 }), prompt: "go", tools, stopWhen: isStepCount(1) });
  expect(good.toolResults.map((result) => result.output)).toEqual([{ sum: 3 }]);
  const bad = await generateText({ model: oneCall("add", { a: [] }), prompt: "go", tools, stopWhen: isStepCount(1) });
  expect(bad.toolResults).toEqual([]);
});

test("AI SDK 7 accepts a tool that was defined with zod", async () => {
  const result = await generateText({ model: oneCall("greet", { name: " Ada " }), prompt: "go", tools, stopWhen: isStepCount(1) });
  expect(result.toolResults.map((one) => one.output)).toEqual(["Hello Ada"]);
});

test("OpenAI Agents accepts Haft's tool in strict mode, and parses with the library that defined it", async () => {
  const theirs = openAiTool({
    name: greet.name,
    description: greet.description,
    parameters: greet.inputSchema,
    execute: (input) => greet.execute?.(input, noContext),
  });
  expect(theirs.parameters).toMatchObject({ type: "object", required: ["name"], additionalProperties: false });
  expect(await theirs.invoke(new RunContext(), '{"name":" Ada "}')).toBe("Hello Ada");
});

test("the MCP SDK v2 registers Haft's tool with its schemas and answers a real client", async () => {
  const server = new McpServer({ name: "ours", version: "1.0.0" });
  server.registerTool(add.name, { description: add.description, inputSchema: add.inputSchema }, async (input) => {
    const output = await add.execute?.(input, noContext);
    return {
      content: [{ type: "text", text: JSON.stringify(output) }],
      structuredContent: { sum: output instanceof ToolOutput ? 0 : output?.sum },
    };
  });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "test", version: "1.0.0" });
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  const { tools } = await client.listTools();
  expect(tools[0]?.inputSchema).toMatchObject({ properties: { a: { type: "integer" }, b: { default: 1 } }, required: ["a"] });
  const good = await client.callTool({ name: "add", arguments: { a: 2 } });
  expect(good.structuredContent).toEqual({ sum: 3 });
  const bad = await client.callTool({ name: "add", arguments: { a: "two" } });
  expect(bad.isError).toBe(true);
  await client.close();
});
