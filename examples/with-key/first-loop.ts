/** A model of a provider and one tool: it asks for real, so it needs a key. */
import { createRuntime, defineTool } from "haft";

const weather = defineTool({
  name: "weather",
  description: "Says what the weather of a city is.",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  effects: { reads: "weather:{city}" },
  execute: ({ city }) => `${city}: -3 °C, snow`,
});

const runtime = createRuntime({ tools: [weather] });
const loop = runtime.loop({ model: "anthropic/claude-sonnet-4-5" }); // the key is in ANTHROPIC_API_KEY
const { text } = await loop.run("Do I need gloves in Oslo today?");
console.log(text);
await runtime.close();
