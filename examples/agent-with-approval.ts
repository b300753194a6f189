/** An agent with a tool that runs only when a person has approved the call. */
import { createRuntime, defineTool } from "haft";
import { scriptedModel } from "haft/model";

const cancelOrder = defineTool({
  name: "cancel_order",
  description: "Cancels an order.",
  inputSchema: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
  effects: { writes: "order:{id}", destructive: true },
  execute: ({ id }) => `order ${id} is cancelled`,
});

const runtime = createRuntime({
  tools: [cancelOrder],
  approval: {
    approve({ toolName, input }) {
      console.log(`May ${toolName} run with ${JSON.stringify(input)}?`);
      return "allow-once"; // or "deny": ask a person here
    },
  },
});

const model = scriptedModel([{ calls: [{ name: "cancel_order", input: { id: 7 } }] }, { text: "I have cancelled order 7." }]);
const { text } = await runtime.loop({ model }).run("Cancel order 7, please.");
console.log(text);
await runtime.close();

/* Prints:
May default::cancel_order run with {"id":7}?
I have cancelled order 7.
*/
