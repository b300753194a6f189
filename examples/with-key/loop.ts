/** One tool and a loop, of a model that is asked for real, so it needs a key. */
import { createRuntime, defineTool, readOnly } from "haft";
import { z } from "zod";

const weather = defineTool({
  name: "weather",
  description: "Says what the weather of a city is.",
  inputSchema: z.object({ city: z.string() }),
  effects: readOnly("weather"),
  execute: async ({ city }) => `${city}: -3 °C, snow`,
});

const runtime = createRuntime({ tools: [weather] });
const { text, reason } = await runtime.loop({ model: "anthropic/claude-sonnet-4-5" }).run("Do I need gloves in Oslo today?");
console.log(`${reason}: ${text}`);
await runtime.close();
