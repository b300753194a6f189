/** Writes the tool section of a system prompt: one line per tool, hints in a fixed order, and a manual on demand. */
import assert from "node:assert/strict";
import { type ToolResult, createRuntime, defineTool, readOnly, resultText } from "haft";
import { buildPrompt } from "haft/prompt";
import { infoToolset } from "haft/info";

const item = { type: "object", properties: { item: { type: "string" } }, required: ["item"] } as const;
const stock = defineTool({
  name: "stock",
  description: "Counts what is on the shelf.",
  inputSchema: item,
  effects: readOnly("shelf"),
  promptContribution: { text: "Count before you promise anything." },
  execute: () => 3,
});
const order = defineTool({
  name: "order",
  description: "Orders from the wholesaler.",
  inputSchema: item,
  documentation: "Orders one box. A box of bread holds 12 loaves and cannot be given back.",
  requiresReading: true,
  execute: (input) => `a box of ${input.item} is ordered`,
});
const runtime = createRuntime({ tools: [stock, order] });
runtime.registry.addToolset(infoToolset());

const contributions = [{ name: "house", bucket: "first", text: "The shop closes at six." }];
console.log(buildPrompt(runtime.registry, { introduction: "You look after a shop.", contributions }));

const session = runtime.session();
const results: ToolResult[] = [];
for (const [name, input] of [
  ["order", { item: "bread" }],
  ["info", { name: "order" }],
  ["order", { item: "bread" }],
] as const)
  results.push(await session.execute({ name, input }));
for (const result of results) console.log("→", resultText(result));
assert.equal(results.at(-1)?.status, "ok");
await runtime.close();

/* Prints:
You look after a shop.

## Tools

- `order`: Orders from the wholesaler.
- `stock`: Counts what is on the shelf.
- `haft::read_result`: Reads more of a tool result that was too large to show. Give its handle; narrow it by a path, a text to find, or lines.
- `manual::info`: Shows the full documentation of a tool. Some tools can be called only after it was read.

## Tool guidance

The shop closes at six.

Count before you promise anything.
→ Error (permission_denied): default::order may be called only after its documentation has been read in this session: call manual::info with {"name":"default::order"} first.
Hint: Then call it again with what the documentation says.
→ Orders one box. A box of bread holds 12 loaves and cannot be given back.
→ a box of bread is ordered
*/
