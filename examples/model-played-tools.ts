/** A model simulates the tools: it writes the texts, and a reducer keeps the numbers. */
import assert from "node:assert/strict";
import { createRuntime, resultText, ToolError, type Tool } from "haft";
import type { Reducer } from "haft/tools";
import { scriptedModel } from "haft/model";
import { lmEngine } from "haft/simulation";

const pay: Reducer = (state, { amount }) => {
  const { balance } = (state ?? { balance: 100 }) as { readonly balance: number };
  const left = balance - Number(amount);
  if (left < 0) throw new ToolError("execution_failed", `There are ${balance} euros, and not ${String(amount)}.`);
  return { state: { balance: left }, facts: { balance: left } };
};
const transfer: Tool = {
  name: "transfer",
  description: "Transfers money to somebody.",
  inputSchema: {
    type: "object",
    properties: { to: { type: "string" }, amount: { type: "number" } },
    required: ["to", "amount"],
  },
  outputSchema: {
    type: "object",
    properties: { message: { type: "string" }, balance: { type: "number" } },
    required: ["message", "balance"],
  },
  reducer: pay,
};

// In a real program: modelFrom("anthropic/claude-sonnet-5")
const model = scriptedModel([
  { text: '{"message": "30 euros are on their way to Ada.", "balance": 7000}' },
  { text: "Sorry, I cannot do that." },
  { text: '{"message": "10 euros for Grace."}' },
]);

const runtime = createRuntime({ toolsets: [{ name: "bank", tools: [transfer], engine: lmEngine({ model }) }] });
const session = runtime.session();
for (const payment of ["Ada 30", "Grace 10", "Edsger 500", "Grace 10"]) {
  const [to, amount] = payment.split(" ");
  const result = await session.execute({ name: "transfer", input: { to, amount: Number(amount) } });
  console.log(`${result.origin}, ${result.fidelity} by ${result.answeredBy}: ${resultText(result).split("\n")[0]}`);
}

assert.equal(model.requests.length, 3, "the model is not asked about calls that the reducer refuses");
console.log(model.requests.map(({ messages }) => `asked with ${(messages.length - 1) / 2} earlier calls`).join(", "));
await runtime.close();

/* Prints:
simulated, schema-valid by lm: {"message":"30 euros are on their way to Ada.","balance":70}
simulated, unchecked by lm: Error (invalid_output): failed to generate valid tool result
simulated, unchecked by lm: Error (execution_failed): There are 70 euros, and not 500.
simulated, schema-valid by lm: {"message":"10 euros for Grace.","balance":60}
asked with 0 earlier calls, asked with 1 earlier calls, asked with 3 earlier calls
*/
