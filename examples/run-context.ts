import { RunContext, tool } from "@openai/agents";
import { createRuntime, defineTool, readOnly } from "haft";
import { toOpenAiAgentsTools } from "haft/adapters";

const orders = defineTool({
  name: "orders",
  description: "Lists the orders of the customer.",
  effects: readOnly("orders"),
  execute: (_input, { data }) => `${String(data["customer"])}: order 7`,
});
const runtime = createRuntime({ tools: [orders] });
const [forAgents] = toOpenAiAgentsTools(runtime, (fields) => tool(fields), {
  data: ({ customer }: { readonly customer: string }) => ({ customer }),
});

// With an agent: run(agent, input, { context: { customer: "Ada" } }).
console.log(await forAgents?.invoke(new RunContext({ customer: "Ada" }), "{}"));
await runtime.close();

/* Prints:
Ada: order 7
*/
