/** A result that is cut names a tool that the framework was given, or none. */
import { RunContext, tool as agentsTool } from "@openai/agents";
import { tool as langChainTool } from "@langchain/core/tools";
import { expect, test } from "vitest";
import { toAiSdkTools } from "../../src/adapters/ai-sdk.ts";
import { toLangChainTools } from "../../src/adapters/langchain.ts";
import { toOpenAiAgentsTools } from "../../src/adapters/openai-agents.ts";
import type { AdapterOptions } from "../../src/adapters/bridge.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { tool } from "../runtime/bench-runtime.ts";

type Given = ReadonlyMap<string, (input: object) => Promise<unknown>>;

const FRAMEWORKS: Readonly<Record<string, (runtime: Runtime, options: AdapterOptions) => Given>> = {
  "AI SDK": (runtime, options) =>
    new Map(
      Object.entries(toAiSdkTools(runtime, options)).map(([name, { execute }]) => [name, (input) => execute(input, { toolCallId: name })]),
    ),
  "OpenAI Agents": (runtime, options) =>
    new Map(
      toOpenAiAgentsTools(runtime, (fields) => agentsTool(fields), options).map((made) => [
        made.name,
        (input) => made.invoke(new RunContext(), JSON.stringify(input)),
      ]),
    ),
  LangChain: (runtime, options) =>
    new Map(
      toLangChainTools(runtime, (handler, fields) => langChainTool(handler, fields), options).map((made) => [
        made.name,
        (input) => made.invoke(input),
      ]),
    ),
};
const MUCH = tool("much", () => "line\n".repeat(50_000));

test.each(Object.entries(FRAMEWORKS))("%s: the tool named in the note on a truncated result reads the rest", async (_name, give) => {
  const runtime = createRuntime({ tools: [MUCH] });
  const given = give(runtime, { session: runtime.session() });
  const note = /Read the rest with (?<name>\S+) (?<input>\{.*?\})/u.exec(String(await given.get("much")?.({})))?.groups;
  expect(Array.from(given.keys())).toContain(note?.["name"]);
  const rest = await given.get(String(note?.["name"]))?.(JSON.parse(note?.["input"] ?? "") as object);
  expect(JSON.stringify(rest)).toContain("line");
});

test.each(Object.entries(FRAMEWORKS))("%s: the note names no tool if none was passed that reads the rest", async (_name, give) => {
  const runtime = createRuntime({ tools: [MUCH] });
  const given = give(runtime, { session: runtime.session(), only: ["default::*"] });
  expect(String(await given.get("much")?.({}))).toMatch(/left out\W+ask for less at a time/u);
});

test("tools with their types are passed alone, and the note names no other", async () => {
  const runtime = createRuntime({ tools: [MUCH] });
  const { much } = toAiSdkTools(runtime, { session: runtime.session(), tools: { much: MUCH } });
  expect(JSON.stringify(await much.execute({}, { toolCallId: "c1" }))).toMatch(/left out\W+ask for less at a time/u);
});
