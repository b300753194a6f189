/** One tool and two calls: one with a mistake that is repaired without loss, and one of a tool that does not exist. */
import { createRuntime, defineTool, resultText } from "haft";

const inputSchema = { type: "object", properties: { item: { type: "string" }, count: { type: "integer" } } } as const;
const effects = { writes: "stock:{item}" }; // calls for the same item run one after the other, all others in parallel
const take = defineTool({ name: "take", description: "Takes items.", inputSchema, effects, execute: ({ count }) => `${count} taken` });
const runtime = createRuntime({ tools: [take] });
const results = await runtime.execute([{ name: "take", input: { item: "apples", count: "4" } }, { name: "tkae" }]);
for (const result of results) console.log(resultText(result));
await runtime.close();

/* Prints:
4 taken
Error (not_found): No tool "tkae". Did you mean "take"?
*/
