/** An agent in a few lines: one tool, a model, an answer as text, as events and as a typed value. */
import assert from "node:assert/strict";
import { createRuntime, defineTool, readOnly } from "haft";
import { scriptedModel } from "haft/model";
import { z } from "zod";

const weather = defineTool({
  name: "weather",
  description: "Gets the weather in a city.",
  inputSchema: z.object({ city: z.string().describe("The city to get the weather for") }),
  effects: readOnly("weather"),
  execute: ({ city }) => ({ city, celsius: city === "Oslo" ? 4 : 21 }),
});
const runtime = createRuntime({ tools: [weather] });

// With a provider, give its name: runtime.loop({ model: "anthropic/claude-sonnet-4-5" })
const calls = [{ name: "weather", input: { city: "Oslo" } }];
const script = [{ calls }, { text: "It is 4 °C in Oslo." }];
const { text } = await runtime.loop({ model: scriptedModel(script) }).run("How warm is Oslo?");
console.log(text);

for await (const event of runtime.loop({ model: scriptedModel(script) }).stream("And now?")) {
  if (event.type === "call-add") console.log("call:", event.call.name, JSON.stringify(event.call.input));
  if (event.type === "round-end") for (const { output } of event.results) console.log("result:", JSON.stringify(output));
  if (event.type === "text-delta") console.log("text:", event.text);
  if (event.type === "stop") console.log("end:", event.result.reason);
}

const answer = z.object({ city: z.string(), celsius: z.number(), coat: z.boolean() });
const model = scriptedModel([
  { calls },
  { text: "Four degrees." },
  { text: '```json\n{"city": "Oslo", "celsius": "4", "coat": true}\n```' },
]);
const { output, rounds } = await runtime.loop({ model }).run("Do I need a coat in Oslo?", { output: answer });
console.log(output?.celsius, output?.coat, `after ${rounds} rounds`);
assert.deepEqual(output, { city: "Oslo", celsius: 4, coat: true });
await runtime.close();

/* Prints:
It is 4 °C in Oslo.
call: weather {"city":"Oslo"}
result: {"city":"Oslo","celsius":4}
text: It is 4 °C in Oslo.
end: answered
4 true after 3 rounds
*/
