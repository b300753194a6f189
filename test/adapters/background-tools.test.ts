/** Tools that would run in the background are waited for: a framework has no message for the end of a job. */
import { RunContext, tool as agentsTool } from "@openai/agents";
import { expect, test } from "vitest";
import { toAiSdkTools } from "../../src/adapters/ai-sdk.ts";
import { toOpenAiAgentsTools } from "../../src/adapters/openai-agents.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { gate, tool } from "../runtime/bench-runtime.ts";

test.each([{ mode: "background" as const }, { promoteAfterMs: 1 }])(
  "a background tool with %j returns its result like any other",
  async (settings) => {
    const waits = gate();
    const report = tool("report", async () => (await waits.promise, "written"), settings);
    const runtime = createRuntime({ tools: [report] });
    const session = runtime.session();
    const { report: forAiSdk } = toAiSdkTools(runtime, { session });
    const [forAgents] = toOpenAiAgentsTools(runtime, (fields) => agentsTool(fields), { session });
    const answers = Promise.all([forAiSdk?.execute({}, { toolCallId: "c1" }), forAgents?.invoke(new RunContext(), "{}")]);
    setTimeout(() => waits.open(), 20);
    expect(await answers).toEqual(["written", "written"]);
  },
);

test("a stateful tool answers that it continues, which is not a failure", async () => {
  const watch = tool(
    "watch",
    async (_input, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("end"))),
    {
      mode: "stateful",
    },
  );
  const runtime = createRuntime({ tools: [watch] });
  const { watch: given } = toAiSdkTools(runtime, { session: runtime.session() });
  expect(JSON.stringify(await given?.execute({}, { toolCallId: "c1" }))).toContain("background");
  await runtime.close();
});
