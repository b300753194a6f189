/** An agent with data of the program, a sub-agent as a tool, and a call that needs approval; migrated from another library. */
import { createRuntime, defineTool } from "haft";
import { delegateTool } from "haft/delegate";
import { scriptedModel } from "haft/model";
import { memoryStore } from "haft/store";
import { z } from "zod";

// A provider's model goes here, in both places: model: "openai/gpt-5".
const model = scriptedModel([
  { calls: [{ name: "orders" }, { name: "law", input: { task: "May a broken kettle be sent back after a month?" } }] },
  { calls: [{ name: "refund", input: { order: 7 } }] },
  { text: "You have your money back." },
]);
const lawyer = scriptedModel([{ text: "Yes, within two years." }]);

const orders = defineTool({
  name: "orders",
  description: "Lists the orders of the customer.",
  effects: { reads: "orders" },
  execute: (_input, { data }) => `${String(data["customer"])}: order 7, a kettle`,
});
const refund = defineTool({
  name: "refund",
  description: "Pays an order back.",
  inputSchema: z.object({ order: z.number().int() }),
  effects: { writes: "orders", external: true, destructive: true },
  execute: async ({ order }) => `order ${order} is paid back`,
});
const law = delegateTool({
  name: "law",
  description: "Answers a question about the law of sales.",
  model: lawyer,
  system: "You know the law of sales. Answer in one sentence.",
  allow: { allow: [] },
});

const data = { customer: "Ada" };
const runtime = createRuntime({ tools: [orders, refund, law], data, store: memoryStore() });
const loop = runtime.loop({
  model,
  session: runtime.session("ada"),
  system: () => `You look after the orders of ${data.customer}.`,
  limits: { maxRounds: 20 },
});
let result = await loop.run("My kettle is broken.");
while (result.reason === "approval") {
  const decisions: Record<string, "allow-once" | "deny"> = {};
  for (const { digest, name, input } of loop.pending()) {
    console.log("?", name, JSON.stringify(input));
    decisions[digest] = "allow-once";
  }
  result = await loop.resume({ decisions });
}
console.log(`${result.reason}: ${result.text}`);
await runtime.close();

/* Prints:
? default::refund {"order":7}
answered: You have your money back.
*/
