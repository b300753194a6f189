/** One tool, three calls of one message: a good one, one with a mistake that loses nothing, and one of a tool that is not there. */
import { createRuntime, defineTool, resultText } from "haft";

const stock = new Map([["apples", 10]]);
const take = defineTool({
  name: "take",
  description: "Takes items out of the stock.",
  inputSchema: { type: "object", properties: { item: { type: "string" }, count: { type: "integer" } }, required: ["item", "count"] },
  effects: { writes: "stock:{item}" }, // calls that name the same item wait for each other, others run side by side
  execute: ({ item, count }) => `${item}: ${stock.set(item, (stock.get(item) ?? 0) - count).get(item)} left`,
});

const runtime = createRuntime({ tools: [take] });
const results = await runtime.execute([
  { name: "take", input: { item: "apples", count: 3 } },
  { name: "take", input: { item: "apples", count: "4" } },
  { name: "tkae", input: { item: "apples", count: 1 } },
]);
for (const result of results) console.log(resultText(result));
await runtime.close();

/* Prints:
apples: 7 left
apples: 3 left
Error (not_found): No tool "tkae". Did you mean "take"?
*/
