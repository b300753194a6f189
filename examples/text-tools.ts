/** A model without native tool calls writes them as text: the prompt explains how, calls are parsed as they stream, and the rest stays text. */
import { createLoop, createRuntime, defineTool, readOnly } from "haft";
import { scriptedModel, textToolsModel } from "haft/model";

const stock = defineTool({
  name: "stock",
  description: "Counts what is on the shelf.",
  inputSchema: { type: "object", properties: { item: { type: "string" }, least: { type: "integer" } }, required: ["item"] },
  effects: readOnly("shelf"),
  execute: ({ item, least = 0 }) => ({ item, enough: least <= 3 }),
});
const runtime = createRuntime({ tools: [stock] });

const writer = scriptedModel([
  { text: "I write `[/stock]` to count.\n[/stock]\n@@least=2\nbread\n[stock/]\n", pieceChars: 5 },
  { text: "There is enough bread." },
]);
const model = textToolsModel(writer, { format: "bracket" });
const loop = createLoop({
  model,
  session: runtime.session(),
  allow: { allow: ["default::stock"] },
  onEvent: (event) => event.type === "call-seal" && console.log("call:", event.call.name, event.call.input),
});
const { text } = await loop.run("Is there bread for two?");
const [first, second] = writer.requests;
console.log(first?.system);
for (const message of second?.messages ?? []) if ("content" in message) console.log(`${message.role}:`, message.content);
console.log("answer:", text);
await runtime.close();

/* Prints:
call: default::stock { least: 2, item: 'bread' }
# Tools

You can call these tools. Each line is one tool: its name, what it does, and the JSON Schema of its arguments.

{"name": "stock", "description": "Counts what is on the shelf.", "parameters": {"type": "object", "properties": {"item": {"type": "string"}, "least": {"type": "integer"}}, "required": ["item"]}}

To call a tool, write the call in your message exactly in this form:

[/stock]
@@item=value
[stock/]

Then end your message; the results come in the next one. Write calls only to have them run. Several calls may follow one another.
user: Is there bread for two?
assistant: I write `[/stock]` to count.
[/stock]
@@least=2
@@item=bread
[stock/]
user: [TOOL RESULT: stock]
{"item": "bread", "enough": true}
answer: There is enough bread.
*/
