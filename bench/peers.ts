/** How each peer makes one validated call of the workload, by its own public API. */
import { Agent, MemorySession, RunContext, Runner, Usage, setTracingDisabled, tool as openAiTool } from "@openai/agents";
import type { AgentOutputItem } from "@openai/agents";
import { tool as langChainTool } from "@langchain/core/tools";
import { END, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { AIMessage } from "@langchain/core/messages";
import { createTool } from "@mastra/core/tools";
import { Ajv2020 } from "ajv/dist/2020.js";
import { asSchema, generateText, isStepCount, tool as aiTool } from "ai";
import { z } from "zod";
import type { Contestant } from "./measure.ts";
import { INPUT, SCHEMA, handle, type Order } from "./workload.ts";

const zodSchema = z.strictObject({
  id: z.string(),
  amount: z.number(),
  express: z.boolean(),
  note: z.string(),
  lines: z.array(z.strictObject({ sku: z.string(), count: z.number().int() })),
});

export function bareLimit(): Contestant {
  const validate = new Ajv2020().compile<Order>(SCHEMA);
  return {
    name: "bare limit",
    note: "plain function + compiled Ajv validator",
    run: async () => (validate(INPUT) ? handle(INPUT) : undefined),
  };
}

export function aiSdk(): Contestant {
  const tool = aiTool({ description: "d", inputSchema: zodSchema, execute: async (order) => handle(order) });
  const schema = asSchema(zodSchema);
  return {
    name: "AI SDK 7",
    note: "schema validate + execute, zod",
    async run() {
      const checked = await schema.validate?.(INPUT);
      if (checked?.success !== true) throw new Error("AI SDK refused the input");
      return tool.execute?.(checked.value, { toolCallId: "c", messages: [], context: {} } as never);
    },
  };
}

export function mastra(): Contestant {
  const tool = createTool({ id: "order", description: "d", inputSchema: zodSchema, execute: async (order) => handle(order) });
  return { name: "Mastra", note: "createTool().execute, zod", run: () => tool.execute?.(INPUT, {} as never) };
}

export function openAiAgents(): Contestant {
  const tool = openAiTool({ name: "order", description: "d", parameters: zodSchema, execute: async (order) => handle(order) });
  const context = new RunContext();
  const text = JSON.stringify(INPUT);
  void Agent;
  return { name: "OpenAI Agents", note: "tool().invoke, zod, input as text", run: () => tool.invoke(context, text) };
}

export function langChain(): Contestant {
  const tool = langChainTool(async (order: Order) => handle(order), { name: "order", description: "d", schema: zodSchema });
  return { name: "LangChain", note: "tool().invoke, zod", run: () => tool.invoke(INPUT) };
}

export function langGraph(): Contestant {
  const tool = langChainTool(async (order: Order) => handle(order), { name: "order", description: "d", schema: zodSchema });
  const node = new ToolNode([tool]);
  const message = new AIMessage({ content: "", tool_calls: [{ id: "c", name: "order", args: INPUT, type: "tool_call" }] });
  return { name: "LangGraph ToolNode", note: "one message, one call", run: () => node.invoke([message]) };
}

/** 64 or more calls of one message, through generateText with a model that answers from memory. */
export function aiSdkBatch(count: number, delayMs: number): Contestant {
  const tool = aiTool({
    description: "d",
    inputSchema: z.object({ n: z.number() }),
    execute: ({ n }) => new Promise((resolve) => setTimeout(resolve, delayMs, n)),
  });
  const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  const model = {
    specificationVersion: "v4",
    provider: "memory",
    modelId: "memory",
    supportedUrls: {},
    doGenerate: async () => ({
      content: Array.from({ length: count }, (_, n) => ({
        type: "tool-call",
        toolCallId: `c${n}`,
        toolName: "wait",
        input: JSON.stringify({ n }),
      })),
      finishReason: { unified: "tool-calls", raw: "tool_calls" },
      usage,
      warnings: [],
    }),
  };
  return {
    name: "AI SDK 7",
    note: "generateText, one step",
    run: () => generateText({ model: model as never, prompt: "go", tools: { wait: tool }, stopWhen: isStepCount(1) }),
  };
}

export function langGraphBatch(count: number, delayMs: number): Contestant {
  const tool = langChainTool(({ n }: { n: number }) => new Promise((resolve) => setTimeout(resolve, delayMs, n)), {
    name: "wait",
    description: "d",
    schema: z.object({ n: z.number() }),
  });
  const node = new ToolNode([tool]);
  const message = new AIMessage({
    content: "",
    tool_calls: Array.from({ length: count }, (_, n) => ({ id: `c${n}`, name: "wait", args: { n }, type: "tool_call" as const })),
  });
  return { name: "LangGraph ToolNode", run: () => node.invoke([message]) };
}

/** Begins one conversation and makes one call of the waiting tool in it. */
type BeginSession = (n: number) => Promise<unknown>;

/** It has no sessions of its own: a conversation is the messages that the caller keeps and hands in again. */
export function aiSdkSession(wait: (n: number) => Promise<number>): BeginSession {
  const tool = aiTool({ description: "d", inputSchema: z.object({ n: z.number() }), execute: ({ n }) => wait(n) });
  const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  const modelFor = (n: number) => ({
    specificationVersion: "v4",
    provider: "memory",
    modelId: "memory",
    supportedUrls: {},
    doGenerate: async () => ({
      content: [{ type: "tool-call", toolCallId: "c", toolName: "wait", input: JSON.stringify({ n }) }],
      finishReason: { unified: "tool-calls", raw: "tool_calls" },
      usage,
      warnings: [],
    }),
  });
  return async (n) => {
    const messages = [{ role: "user" as const, content: "go" }];
    const result = await generateText({ model: modelFor(n) as never, messages, tools: { wait: tool }, stopWhen: isStepCount(1) });
    return [...messages, ...result.response.messages];
  };
}

/** A thread of a graph with one tool node, kept by the checkpointer in memory. */
export async function langGraphSession(wait: (n: number) => Promise<number>): Promise<BeginSession> {
  const tool = langChainTool(({ n }: { n: number }) => wait(n), { name: "wait", description: "d", schema: z.object({ n: z.number() }) });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("tools", new ToolNode([tool]))
    .addEdge(START, "tools")
    .addEdge("tools", END)
    .compile({ checkpointer: new MemorySaver() });
  let threads = 0;
  return (n) => {
    const call = { id: "c", name: "wait", args: { n }, type: "tool_call" as const };
    const message = new AIMessage({ content: "", tool_calls: [call] });
    return graph.invoke({ messages: [message] }, { configurable: { thread_id: `t${++threads}` } });
  };
}

/** A run of an agent with a session in memory; the model asks for the call, then says that it is done. */
export function openAiSession(wait: (n: number) => Promise<number>): BeginSession {
  setTracingDisabled(true);
  const tool = openAiTool({ name: "wait", description: "d", parameters: z.object({ n: z.number() }), execute: ({ n }) => wait(n) });
  const respond = (output: AgentOutputItem[]) => ({ usage: new Usage(), output });
  const done: AgentOutputItem = {
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "done" }],
  };
  const modelFor = (n: number) => {
    let turns = 0;
    const call: AgentOutputItem = {
      type: "function_call",
      callId: "c",
      name: "wait",
      arguments: JSON.stringify({ n }),
      status: "completed",
    };
    return { getResponse: async () => respond([turns++ === 0 ? call : done]) };
  };
  const runner = new Runner({ tracingDisabled: true });
  return (n) => {
    const agent = new Agent({ name: "a", instructions: "d", tools: [tool], model: modelFor(n) as never });
    return runner.run(agent, "go", { session: new MemorySession() });
  };
}
