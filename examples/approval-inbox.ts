/** Keeps approval requests in an inbox until they are answered by id, from a page, a chat or another process. */
import { createRuntime, defineTool, resultText } from "haft";

const deleteReport = defineTool({
  name: "delete_report",
  description: "Deletes the report of a year for good.",
  inputSchema: { type: "object", properties: { year: { type: "integer" } }, required: ["year"] },
  effects: { writes: ["reports"], destructive: true },
  execute: ({ year }) => `deleted ${year}`,
});

const asked = Promise.withResolvers<void>();
const runtime = createRuntime({
  tools: [deleteReport],
  approval: {
    approve() {
      asked.resolve();
      return new Promise(() => {}); // answered by id, below
    },
  },
});
const answered = runtime.execute({ name: "delete_report", input: { year: 2019 } });
await asked.promise;

for (const { callId, digest, toolName, input } of await runtime.approvals.pending()) {
  console.log(`? ${toolName} ${JSON.stringify(input)}`);
  await runtime.approvals.answer({ callId, digest, answer: "allow-once" });
}

console.log(resultText(await answered));
await runtime.close();

/* Prints:
? default::delete_report {"year":2019}
deleted 2019
*/
