/** Uses the tools of a runtime in LangChain and the OpenAI Agents SDK, and a tool of AI SDK in a runtime. */
import assert from "node:assert/strict";
import { tool as langChainTool } from "@langchain/core/tools";
import { tool as aiSdkTool } from "ai";
import { createRuntime, defineTool, readOnly } from "haft";
import { fromAiSdkTools, toLangChainTools, toOpenAiAgentsTools } from "haft/adapters";
import { RunContext, tool as openAiTool } from "@openai/agents";
import { z } from "zod";

const weather = defineTool({
  name: "weather",
  description: "Tells the weather of a city.",
  inputSchema: z.object({ city: z.string(), days: z.number().int().default(1) }),
  effects: readOnly("weather"),
  execute: ({ city, days }) => ({ city, days, sky: "clear" }),
});
const runtime = createRuntime({ tools: [weather] });
const session = runtime.session();

const [forLangChain] = toLangChainTools(runtime, (handler, fields) => langChainTool(handler, fields), {
  session,
  only: ["default::weather"],
});
console.log("LangChain:", await forLangChain?.invoke({ city: "Oslo", days: "2" }));

const [forAgents] = toOpenAiAgentsTools(runtime, (fields) => openAiTool(fields), { session, only: ["default::weather"] });
console.log("OpenAI Agents:", await forAgents?.invoke(new RunContext(), '{"town": "Oslo"}'));

const theirs = {
  greet: aiSdkTool({ description: "Greets.", inputSchema: z.object({ name: z.string() }), execute: ({ name }) => `Hello ${name}` }),
};
const [greet] = await fromAiSdkTools(theirs);
assert(greet !== undefined);
const other = createRuntime({ tools: [{ ...greet, effects: readOnly("names") }] });
const { output } = await other.execute({ name: "greet", input: { name: "Ada" } });
console.log("AI SDK's tool here:", output);

console.log("in the session:", session.history.map(({ result }) => result?.status).join(", "));
await Promise.all([runtime.close(), other.close()]);

/* Prints:
LangChain: { city: 'Oslo', days: 2, sky: 'clear' }
OpenAI Agents: Error (invalid_input): The input of weather does not fit its schema.
- $.city: required field missing
Hint: Its properties: city (required), days.
AI SDK's tool here: Hello Ada
in the session: ok, error
*/
