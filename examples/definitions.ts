/** Returns what a provider needs to know about a tool, as data: its name, description and schema. */
import { createRuntime, defineTool, readOnly, toolDefinition } from "haft";

const weather = defineTool({
  name: "weather",
  description: "Says what the weather of a city is.",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  effects: readOnly("weather"),
  execute: ({ city }) => `${city}: snow`,
});

const runtime = createRuntime({ tools: [weather] });
console.log(JSON.stringify(runtime.registry.list("default").map(toolDefinition)));
await runtime.close();

/* Prints:
[{"name":"default::weather","description":"Says what the weather of a city is.","inputSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}]
*/
