/** Converts to and from a provider's JSON without a request: encodes tools and messages, decodes a streamed reply, encodes results. */
import assert from "node:assert/strict";
import { createRuntime, defineTool, type ModelMessage } from "haft";
import type { ModelCall, ModelTool } from "haft/model";
import { frameReader, gemini, openAiChat } from "haft/wire";

const properties = { item: { type: "string" } };
const tools: readonly ModelTool[] = [
  { name: "shop::stock", description: "Counts.", inputSchema: { type: "object", properties, propertyNames: { maxLength: 8 } } },
  { name: "shop::close", description: "Closes the shop.", inputSchema: { type: "array" } },
];
const { notes } = gemini().encodeTools(tools);
for (const { kind, tool, path = "$", note } of notes) console.log(`${kind} ${tool} ${path}: ${note}`);

const format = openAiChat("openai");
const messages: readonly ModelMessage[] = [{ role: "user", at: 0, content: "How much bread and salt is left?" }];
const { body, toolNames } = format.encodeRequest({ system: "You look after a shop.", messages, tools }, { model: "gpt-5-mini" });
console.log(JSON.stringify(body["messages"]));

/** The provider's stream, which the network may split at any byte. */
const delta = (index: number, more: object) => ({ choices: [{ index: 0, delta: { tool_calls: [{ index, ...more }] } }] });
const chunks = [
  delta(0, { id: "call_1", function: { name: "shop__stock", arguments: '{"item":"br' } }),
  delta(0, { function: { arguments: 'ead"}' } }),
  delta(1, { id: "call_2", function: { name: "shop__stock", arguments: '{"item":"salt"}' } }),
  { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
];
const bytes = new TextEncoder().encode(`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`);

const frames = frameReader(format.framing);
const decoder = format.decodeStream({ toolNames });
const calls: ModelCall[] = [];
for (let at = 0; at < bytes.length; at += 7) {
  const events = frames.push(bytes.subarray(at, at + 7)).flatMap((frame) => decoder.push(frame));
  for (const event of events) {
    if (event.type !== "call-seal") continue;
    calls.push(event.call);
    console.log(`sealed after ${at + 7} of ${bytes.length} bytes:`, JSON.stringify(event.call));
  }
}
decoder.end();

const stock = defineTool({ name: "stock", description: "Counts.", execute: ({ item }) => ({ item, count: 3 }) });
const runtime = createRuntime({ toolsets: [{ name: "shop", tools: [stock] }] });
const results = await runtime.execute(calls);
for (const message of format.encodeResults(results.map((result) => ({ id: result.id ?? "", name: result.name, result }))))
  console.log(JSON.stringify(message));
assert.equal(results.length, 2);
await runtime.close();

/* Prints:
schema-loss shop::stock $.propertyNames: The description names it; the provider does not enforce it.
quarantined shop::close $: The root of an input schema is an object, not "array".
[{"role":"system","content":"You look after a shop."},{"role":"user","content":"How much bread and salt is left?"}]
sealed after 406 of 490 bytes: {"id":"call_1","name":"shop::stock","input":{"item":"bread"}}
sealed after 476 of 490 bytes: {"id":"call_2","name":"shop::stock","input":{"item":"salt"}}
{"role":"tool","tool_call_id":"call_1","content":"{\"item\":\"bread\",\"count\":3}"}
{"role":"tool","tool_call_id":"call_2","content":"{\"item\":\"salt\",\"count\":3}"}
*/
