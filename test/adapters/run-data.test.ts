/** What the program of a framework gives to its run becomes the data of our handlers, by the option `data`. With the real packages; Mastra's where the benchmark's are installed. */
import { existsSync } from "node:fs";
import { tool as langChainTool } from "@langchain/core/tools";
import { RunContext, tool as agentsTool } from "@openai/agents";
import type { ToolSet } from "ai";
import { expect, test } from "vitest";
import { toAiSdkTools } from "../../src/adapters/ai-sdk.ts";
import type { AdapterOptions } from "../../src/adapters/bridge.ts";
import { toLangChainTools, type LangChainConfig } from "../../src/adapters/langchain.ts";
import { toMastraTools } from "../../src/adapters/mastra.ts";
import { toOpenAiAgentsTools } from "../../src/adapters/openai-agents.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { tool } from "../runtime/bench-runtime.ts";

interface Customer {
  readonly customer: string;
}
const whose = tool("whose", (_, { data }) => String(data["customer"]));
const runtime = createRuntime({ tools: [whose], data: { customer: "nobody", principal: "owner" } });
const MASTRA = new URL("../../bench/node_modules/@mastra/core/dist/tools/index.js", import.meta.url);

/** How each framework runs the tool with a context of its run, if any. */
type Framework = (options: AdapterOptions, context?: Customer) => Promise<unknown>;

const FRAMEWORKS: Readonly<Record<string, Framework>> = {
  "AI SDK": async (options, context) => {
    const { whose: made } = toAiSdkTools(runtime, options) as ToolSet;
    return await made?.execute?.({}, { toolCallId: "c", messages: [], context });
  },
  "AI SDK, with types": async (options, context) => {
    const { whose: made } = toAiSdkTools(runtime, { ...options, tools: { whose } });
    return await made.execute({}, { toolCallId: "c", context });
  },
  "AI SDK 6": async (options, context) => await toAiSdkTools(runtime, options)["whose"]?.execute({}, { experimental_context: context }),
  "OpenAI Agents": async (options, context) => {
    const [made] = toOpenAiAgentsTools(runtime, (fields) => agentsTool(fields), options);
    return await made?.invoke(new RunContext<unknown>(context), "{}");
  },
};

test.each(Object.entries(FRAMEWORKS))("%s: a call's data is computed from the run context", async (_name, run) => {
  const session = runtime.session();
  for (const options of [{}, { session }]) {
    const data = (context: Customer | undefined) => ({ customer: context?.customer ?? "no context" });
    expect(await run({ ...options, data }, { customer: "Ada" })).toBe("Ada");
    expect(await run(options, { customer: "Ada" })).toBe("nobody");
    expect(await run({ ...options, data: () => undefined }, { customer: "Ada" })).toBe("nobody");
  }
});

test("LangChain: a call's data is computed from its configuration", async () => {
  const data = ({ configurable, context }: LangChainConfig): Readonly<Record<string, unknown>> => ({
    customer: configurable?.["customer"] ?? (context as Customer | undefined)?.customer,
  });
  const [made] = toLangChainTools(runtime, (handler, fields) => langChainTool(handler, fields), { data });
  expect(await made?.invoke({}, { configurable: { customer: "Ada" } })).toBe("Ada");
  expect(await made?.invoke({ type: "tool_call", id: "c", name: "whose", args: {} }, { configurable: { customer: "Bea" } })).toMatchObject({
    content: "Bea",
  });
  expect(await made?.invoke({}, { context: { customer: "Cleo" } })).toBe("Cleo");
});

test.skipIf(!existsSync(MASTRA))("Mastra: a call's data is computed from the request context", async () => {
  interface Made {
    execute(input: unknown, context: object): Promise<unknown>;
  }
  const { createTool } = (await import(MASTRA.href)) as { readonly createTool: (fields: object) => Made };
  const data = (context: ReadonlyMap<string, unknown> | undefined) => ({ customer: String(context?.get("customer")) });
  const { whose: made } = toMastraTools<Made>(runtime, (fields) => createTool(fields), { data });
  expect(await made?.execute({}, { requestContext: new Map([["customer", "Ada"]]) })).toBe("Ada");
});

test("no data is taken from a context by default, so that a client cannot set the principal", async () => {
  const seen: unknown[] = [];
  const own = createRuntime({ tools: [tool("who", (_, { data }) => (seen.push(data), "seen"))], data: { principal: "owner" } });
  const [made] = toLangChainTools(own, (handler, fields) => langChainTool(handler, fields));
  await made?.invoke({}, { configurable: { principal: "someone else" } });
  expect(seen).toEqual([{ principal: "owner" }]);
});

test("if the function throws, the call fails in the framework, and the tool does not run", async () => {
  const data = (): never => {
    throw new Error("there is no customer");
  };
  const [made] = toLangChainTools(runtime, (handler, fields) => langChainTool(handler, fields), { data });
  await expect(made?.invoke({})).rejects.toThrow("there is no customer");
});

test.each([
  ["a promise", () => Promise.resolve({ customer: "Ada" })],
  ["a promise", () => Promise.reject(new Error("no such customer"))],
  ["a Map", () => new Map([["customer", "Ada"]])],
  ["an array", () => ["Ada"]],
  ["a string", () => "Ada"],
])("a function that returns %s, which has no keys for a handler, fails the call", async (words, data) => {
  const options = { data } as unknown as AdapterOptions;
  for (const run of Object.values(FRAMEWORKS).slice(0, 3))
    await expect(run(options, { customer: "Ada" })).rejects.toThrow(`The function data of an adapter must return an object, not ${words}.`);
});

test("data that is not a function is refused", () => {
  const wrong = { data: { customer: "Ada" } } as unknown as AdapterOptions;
  expect(() => toAiSdkTools(runtime, wrong)).toThrow("data");
});
