/**
 * Our tools at each framework's own call site, as a program writes it: without a cast. Only compiled, by `tsc` and by
 * `call-sites.test.ts` under other settings.
 */
import { tool as langChainTool, type StructuredToolInterface } from "@langchain/core/tools";
import { Agent, tool as openAiTool } from "@openai/agents";
import { ToolLoopAgent, generateText, streamText, type LanguageModel, type ToolSet } from "ai";
import { toAiSdkTools } from "../../src/adapters/ai-sdk.ts";
import { toLangChainTools } from "../../src/adapters/langchain.ts";
import { toOpenAiAgentsTools } from "../../src/adapters/openai-agents.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { z } from "zod";

export async function aiSdk(runtime: Runtime, model: LanguageModel): Promise<string> {
  const { text } = await generateText({ model, prompt: "go", tools: toAiSdkTools(runtime) });
  const own = toAiSdkTools(runtime, { session: runtime.session(), only: ["math::*"] });
  const streamed = streamText({ model, prompt: "go", tools: { ...own, ...toAiSdkTools(runtime) }, toolChoice: "auto" });
  const agent = new ToolLoopAgent({ model, tools: own });
  const set: ToolSet = own;
  return `${text} ${await streamed.text} ${(await agent.generate({ prompt: "go" })).text} ${Object.keys(set).length}`;
}

const forecast = defineTool({
  name: "forecast",
  description: "Forecasts the weather.",
  inputSchema: z.object({ city: z.string(), days: z.number().default(1) }),
  outputSchema: z.object({ sky: z.string(), degrees: z.string().transform(Number).pipe(z.number()) }),
  effects: { destructive: true },
  execute: () => ({ sky: "clear", degrees: "7" }),
});
const locate = defineTool({
  name: "locate",
  description: "Locates a city.",
  inputSchema: { type: "object", properties: { place: { enum: ["home", "work"] } }, required: ["place"] },
  outputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  execute: ({ place }) => ({ city: place }),
});

/** The calls and results of AI SDK have the types of our schemas, one line for each. */
export async function typedAiSdk(model: LanguageModel): Promise<readonly string[]> {
  const runtime = createRuntime({ tools: [forecast, locate] });
  const tools = toAiSdkTools(runtime, { tools: { forecast, locate }, session: runtime.session() });
  const set: ToolSet = tools;
  const { toolCalls, toolResults } = await generateText({ model, prompt: "go", tools });
  const calls = toolCalls.map((call) => {
    if (call.dynamic === true) return call.toolName;
    if (call.toolName === "locate") return call.input.place satisfies "home" | "work";
    // @ts-expect-error: it has no such key
    void call.input.town;
    return `${call.input.city satisfies string} ${call.input.days?.toFixed() ?? ""}`;
  });
  const results = toolResults.map((result) => {
    if (result.dynamic === true) return result.toolName;
    if (result.toolName === "forecast") return "sky" in result.output ? result.output.degrees.toFixed() : "content";
    // @ts-expect-error: it may be content that the model is shown
    void result.output.city;
    return "city" in result.output ? (result.output.city satisfies string) : "content";
  });
  return [...Object.keys(set), ...calls, ...results];
}

/** Takes tools as LangGraph's does. */
type ToolNodeClass<Node> = new (tools: StructuredToolInterface[]) => Node;

export function langChain<Node>(runtime: Runtime, ToolNode: ToolNodeClass<Node>): Node[] {
  const session = runtime.session();
  return [
    new ToolNode(toLangChainTools(runtime, (handler, fields) => langChainTool(handler, fields), { session })),
    new ToolNode([...toLangChainTools(runtime, (handler, fields) => langChainTool(handler, fields), { only: ["math::*"] })]),
  ];
}

export function openAiAgents(runtime: Runtime): Agent[] {
  const session = runtime.session();
  return [
    new Agent({ name: "one", tools: toOpenAiAgentsTools(runtime, openAiTool) }),
    new Agent({ name: "two", tools: toOpenAiAgentsTools(runtime, (fields) => openAiTool(fields), { session }) }),
  ];
}
