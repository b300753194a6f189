/** Streams the events of a loop with a provider's model. Needs an API key. */
import { createRuntime, defineTool, readOnly, resultText } from "haft";
import { z } from "zod";

const stock = defineTool({
  name: "stock",
  description: "Counts an article.",
  inputSchema: z.object({ item: z.string() }),
  effects: readOnly("stock"),
  execute: async ({ item }) => `${item}: 3`,
});
const runtime = createRuntime({ tools: [stock] });
const loop = runtime.loop({ model: "anthropic/claude-sonnet-5" });

for await (const event of loop.stream("How much bread is there?")) {
  if (event.type === "text-delta") console.log("model:", event.text);
  if (event.type === "call-seal") console.log("call:", event.call.name, JSON.stringify(event.call.input));
  if (event.type === "round-end") for (const result of event.results) console.log("result:", resultText(result));
  if (event.type === "stop") console.log("end:", event.result.reason);
}
await runtime.close();
