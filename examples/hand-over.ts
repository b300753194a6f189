/** Two agents in one conversation: the first hands over to the second, which has another system prompt and other tools. */
import { createRuntime, defineTool, readOnly } from "haft";
import type { LoopRound } from "haft/loop";
import { scriptedModel } from "haft/model";

const agents: Readonly<Record<string, { readonly system: string; readonly tools: readonly string[] }>> = {
  reception: { system: "You find out what a customer needs, and hand over.", tools: ["default::hand_over"] },
  billing: { system: "You answer questions about bills.", tools: ["default::bills"] },
};

const handOver = defineTool({
  name: "hand_over",
  description: "Hands the customer over to another agent.",
  inputSchema: { type: "object", properties: { agent: { enum: ["billing"] } }, required: ["agent"] },
  effects: { writes: "session:agent" },
  execute: ({ agent }, { state }) => {
    state.update("agent", () => agent);
    return `${agent} has taken over.`;
  },
});
const bills = defineTool({ name: "bills", description: "Lists the bills.", effects: readOnly("bills"), execute: () => "one of 20 euros" });

const runtime = createRuntime({ tools: [handOver, bills] });
const model = scriptedModel([
  { calls: [{ name: "hand_over", input: { agent: "billing" } }] },
  { calls: [{ name: "bills" }] },
  { text: "You have a bill of 20 euros." },
]);
const agentOf = ({ session }: LoopRound) => agents[String(session.state("default", "agent") ?? "reception")];
const loop = runtime.loop({
  model,
  system: (round) => agentOf(round)?.system ?? "",
  allow: (round) => ({ allow: agentOf(round)?.tools ?? [] }),
});
console.log((await loop.run("What do I owe you?")).text);
for (const { system, tools } of model.requests) console.log(system, tools?.map(({ name }) => name).join());
await runtime.close();

/* Prints:
You have a bill of 20 euros.
You find out what a customer needs, and hand over. default::hand_over
You answer questions about bills. default::bills
You answer questions about bills. default::bills
*/
