/** Results whose outputs are typed by the output schemas of their tools. */
import { createRuntime, defineTool, outputOf } from "haft";

const take = defineTool({
  name: "take",
  description: "Takes an item from the stock.",
  inputSchema: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
  outputSchema: { type: "object", properties: { left: { type: "integer" } }, required: ["left"] },
  effects: { writes: "stock:{item}" },
  execute: ({ item }) => ({ left: 20 - item.length }),
});

const runtime = createRuntime({ tools: [take] });
const results = await runtime.execute([
  { name: "take", input: { item: "apples" } },
  { name: "take", input: { items: "pears" } },
]);
for (const result of results) {
  const taken = outputOf(take, result); // { readonly left: number } | undefined
  if (taken !== undefined) console.log(taken.left + 1);
  else if (result.status === "error") console.log(`no output: ${result.error.code}`);
}
await runtime.close();

/* Prints:
15
no output: invalid_input
*/
