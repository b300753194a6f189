/** One tool and a loop: the model calls it, reads its result and answers. */
import { createRuntime, defineTool, readOnly } from "haft";
import { scriptedModel } from "haft/model";
import { z } from "zod";

const weather = defineTool({
  name: "weather",
  description: "Says what the weather of a city is.",
  inputSchema: z.object({ city: z.string() }),
  effects: readOnly("weather"),
  execute: async ({ city }) => `${city}: -3 °C, snow`,
});

// A provider's model goes here: model: "anthropic/claude-sonnet-5".
const model = scriptedModel([{ calls: [{ name: "weather", input: { city: "Oslo" } }] }, { text: "Yes: it snows." }]);

const runtime = createRuntime({ tools: [weather] });
const { text, reason } = await runtime.loop({ model }).run("Do I need gloves in Oslo today?");
console.log(`${reason}: ${text}`);
await runtime.close();

/* Prints:
answered: Yes: it snows.
*/
