/** One tool and a loop with a provider's model. Needs an API key. */
import { createRuntime, defineTool } from "haft";
import { z } from "zod";

const weather = defineTool({
  name: "weather",
  description: "Says what the weather of a city is.",
  inputSchema: z.object({ city: z.string() }),
  effects: { reads: "weather:{city}" },
  execute: ({ city }) => `${city}: -3 °C, snow`,
});

const loop = createRuntime({ tools: [weather] }).loop({ model: "anthropic/claude-sonnet-5" });
const { text, reason } = await loop.run("Do I need gloves in Oslo today?");
console.log(`${reason}: ${text}`);
