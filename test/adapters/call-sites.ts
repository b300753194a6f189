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
import type { Runtime } from "../../src/runtime/runtime.ts";

export async function aiSdk(runtime: Runtime, model: LanguageModel): Promise<string> {
  const { text } = await generateText({ model, prompt: "go", tools: toAiSdkTools(runtime) });
  const own = toAiSdkTools(runtime, { session: runtime.session(), only: ["math::*"] });
  const streamed = streamText({ model, prompt: "go", tools: { ...own, ...toAiSdkTools(runtime) }, toolChoice: "auto" });
  const agent = new ToolLoopAgent({ model, tools: own });
  const set: ToolSet = own;
  return `${text} ${await streamed.text} ${(await agent.generate({ prompt: "go" })).text} ${Object.keys(set).length}`;
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
