/** Iterates over the events of a run: the model's text, its calls, their results and the end. */
import { createRuntime, defineTool, readOnly, resultText } from "haft";
import { scriptedModel } from "haft/model";

const stock = defineTool({
  name: "stock",
  description: "Counts an article.",
  inputSchema: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
  effects: readOnly("stock"),
  execute: ({ item }) => `${item}: 3`,
});
const runtime = createRuntime({ tools: [stock] });
const model = scriptedModel([{ text: "I look.", calls: [{ name: "stock", input: { item: "bread" } }] }, { text: "3 loaves." }]);

for await (const event of runtime.loop({ model }).stream("How much bread is there?")) {
  if (event.type === "text-delta") console.log("model:", event.text);
  if (event.type === "call-seal") console.log("call:", event.call.name, JSON.stringify(event.call.input));
  if (event.type === "round-end") for (const result of event.results) console.log("result:", resultText(result));
  if (event.type === "stop") console.log("end:", event.result.reason);
}
await runtime.close();

/* Prints:
model: I look.
call: stock {"item":"bread"}
result: bread: 3
model: 3 loaves.
end: answered
*/
