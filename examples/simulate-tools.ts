/** Simulates tools that do not exist yet: their answers are generated from their schemas, and agree with each other. */
import assert from "node:assert/strict";
import { createRuntime, resultText, type Toolset } from "haft";
import { exampleEngine } from "haft/simulation";

const order = {
  type: "object",
  properties: {
    id: { type: "string", format: "uuid" },
    article: { type: "string" },
    quantity: { type: "integer", minimum: 1, maximum: 20 },
    status: { enum: ["placed", "shipped"] },
  },
  required: ["id", "article", "quantity", "status"],
} as const;
const takes = (...names: readonly string[]) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  required: names,
});

const shop: Toolset = {
  name: "shop",
  engine: exampleEngine({ seed: 7 }),
  tools: [
    { name: "create_order", description: "Orders an article.", inputSchema: takes("article"), outputSchema: order },
    { name: "get_order", description: "Looks an order up.", inputSchema: takes("order_id"), outputSchema: order },
    { name: "cancel_order", description: "Cancels an order.", inputSchema: takes("order_id") },
  ],
};

const runtime = createRuntime({ toolsets: [shop] });
const session = runtime.session();
const made = await session.execute({ name: "create_order", input: { article: "tea" } });
const { id } = made.output as { readonly id: string };
const read = await session.execute({ name: "get_order", input: { order_id: id } });
assert.deepEqual(read.output, made.output);
await session.execute({ name: "cancel_order", input: { order_id: id } });
const gone = await session.execute({ name: "get_order", input: { order_id: id } });
for (const result of [made, read, gone]) console.log(`${result.name}: ${resultText(result)}`);
console.log(`${made.origin}, ${made.fidelity}, by ${made.answeredBy}`);

const again = await runtime.execute({ name: "create_order", input: { article: "tea" } });
assert.deepEqual(again.output, made.output);
await runtime.close();

/* Prints:
shop::create_order: {"id":"23c84e05-5fb7-4a85-84e7-940caa8969e9","article":"tea","quantity":2,"status":"placed"}
shop::get_order: {"id":"23c84e05-5fb7-4a85-84e7-940caa8969e9","article":"tea","quantity":2,"status":"placed"}
shop::get_order: Error (not_found): There is no order "23c84e05-5fb7-4a85-84e7-940caa8969e9": it was removed earlier in this session.
Hint: Give the id of one that is still there.
simulated, schema-valid, by example
*/
