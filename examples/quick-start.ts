/** Runs the calls of one message: two write the same resource, one passes a number as a string, and one misspells a tool's name. */
import { createRuntime, defineTool, resultText } from "haft";

const stock = new Map([["apples", 10]]);

const take = defineTool({
  name: "take",
  description: "Takes items out of the stock.",
  inputSchema: {
    type: "object",
    properties: { item: { type: "string" }, count: { type: "integer", minimum: 1 } },
    required: ["item", "count"],
  },
  effects: { writes: "stock:{item}" },
  async execute({ item, count }) {
    const before = stock.get(item) ?? 0;
    await new Promise(setImmediate); // other calls may run here, but none that writes stock:apples
    stock.set(item, before - count);
    return { item, left: before - count };
  },
});

const runtime = createRuntime({ tools: [take] });
const results = await runtime.execute([
  { id: "a", name: "take", input: { item: "apples", count: 3 } },
  { id: "b", name: "take", input: { item: "apples", count: "4" } },
  { id: "c", name: "tkae", input: { item: "apples", count: 1 } },
]);
for (const result of results) console.log(result.id, resultText(result), ...result.repairs);

await runtime.close();

/* Prints:
a {"item":"apples","left":7}
b {"item":"apples","left":3} { path: '$.count', kind: 'coerced', note: '"4" → 4' }
c Error (not_found): No tool "tkae". Did you mean "take"?
*/
