/** Several tools share one name and are chosen by their input; the registry finds tools by text, tags and parts of names. */
import { createRuntime, defineTool, pure, toolDefinition, type Toolset } from "haft";

const byId = defineTool({
  name: "find",
  description: "Finds a customer by number.",
  inputSchema: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
  effects: pure,
  tags: ["crm"],
  execute: ({ id }) => `customer ${id}`,
});
const byName = defineTool({
  name: "find",
  description: "Finds customers by name.",
  inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  effects: pure,
  tags: ["crm"],
  execute: ({ name }) => `everybody called ${name}`,
});
const customers: Toolset = { name: "customers", tools: [byId, byName], overloads: true };
const invoice = defineTool({ name: "invoice", description: "Writes an invoice to a customer.", tags: ["money"], execute: () => "sent" });

const runtime = createRuntime({ tools: [invoice], toolsets: [customers] });
const results = await runtime.execute([
  { name: "customers::find", input: { name: "Ada" } },
  { name: "customers::find", input: { id: "7" } },
]);
for (const result of results) console.log(result.output);

const show = (found: readonly { readonly qualifiedName: string }[]) => found.map((tool) => tool.qualifiedName).join(", ");
console.log("text:", show(runtime.registry.search({ text: "customer invoice", limit: 1 })));
console.log("tags:", show(runtime.registry.search({ tags: ["crm", "money"] })));
console.log("name:", show(runtime.registry.search({ nameContains: "FIN" })));
console.log("for a model:", JSON.stringify(runtime.registry.list("default").map(toolDefinition)));

await runtime.close();

/* Prints:
everybody called Ada
customer 7
text: default::invoice
tags: customers::find, customers::find, default::invoice
name: customers::find, customers::find
for a model: [{"name":"default::invoice","description":"Writes an invoice to a customer.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true},"tags":["money"]}]
*/
