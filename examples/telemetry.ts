/** OpenTelemetry spans of a loop, its requests to the model and its calls. */
import assert from "node:assert/strict";
import { createLoop, createRuntime, defineTool, pure } from "haft";
import { scriptedModel } from "haft/model";
import { telemetry } from "haft/telemetry";
import { startNodeSdk } from "@opentelemetry/sdk-node";

// A fake collector. Without these options, spans are sent to OTEL_EXPORTER_OTLP_ENDPOINT.
const spans: { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[] = [];
const collect = {
  onStart() {},
  onEnd: (span: (typeof spans)[number]) => void spans.push(span),
  async forceFlush() {},
  async shutdown() {},
};
const sdk = startNodeSdk({ spanProcessors: [collect], metricReaders: [], logRecordProcessors: [] });

const weather = defineTool({
  name: "weather",
  description: "The weather of a city.",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  effects: pure,
  execute: ({ city }) => `clear in ${city}`,
});
const runtime = createRuntime({ tools: [weather], agentName: "guide" });
telemetry(runtime, { recordInputs: true });

const model = scriptedModel([{ calls: [{ name: "weather", input: { city: "Oslo" } }] }, { text: "It is clear." }], {
  name: "openai/gpt-5",
});
await createLoop({ model, session: runtime.session("trip") }).run("How is the weather in Oslo?");
await runtime.close();
await sdk.shutdown();

for (const { name, attributes } of spans) console.log(`${name} ${String(attributes["gen_ai.tool.call.arguments"] ?? "")}`.trim());
assert.deepEqual(new Set(spans.map(({ attributes }) => attributes["gen_ai.conversation.id"])), new Set(["trip"]));

/* Prints:
execute_tool weather {"city":"Oslo"}
chat gpt-5
chat gpt-5
invoke_agent guide
*/
