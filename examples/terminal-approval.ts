/** An approver that asks in the terminal, one question after the other. Here a stream answers in place of a person. */
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { createRuntime, defineTool, resultText, type Approver } from "haft";

const cancelOrder = defineTool({
  name: "cancel_order",
  description: "Cancels an order.",
  inputSchema: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
  effects: { writes: "order:{id}", destructive: true },
  execute: ({ id }) => `order ${id} is cancelled`,
});

const input = Readable.from(["y\n", "n\n"]); // process.stdin in your program
const lines = createInterface({ input })[Symbol.asyncIterator]();

let lastAnswer: Promise<unknown> = Promise.resolve();
const approve: Approver = ({ toolName, input: asked, signal }) => {
  const answer = lastAnswer.then(async () => {
    if (signal.aborted) return "deny"; // cancelled, or answered elsewhere
    process.stdout.write(`May ${toolName} run with ${JSON.stringify(asked)}? [y/n]\n`);
    const { value } = await lines.next(); // undefined at the end of the input
    return value === "y" ? "allow-once" : "deny";
  });
  lastAnswer = answer;
  return answer;
};

const runtime = createRuntime({ tools: [cancelOrder], approval: { approve } });
const results = await runtime.execute([
  { name: "cancel_order", input: { id: 7 } },
  { name: "cancel_order", input: { id: 8 } },
]);
for (const result of results) console.log(resultText(result));
await runtime.close();

/* Prints:
May default::cancel_order run with {"id":7}? [y/n]
May default::cancel_order run with {"id":8}? [y/n]
order 7 is cancelled
Error (approval_denied): default::cancel_order was not approved: the answer was no.
Hint: Do not call it again with this input unless the user asks for it; continue without it, or ask the user what to do.
*/
