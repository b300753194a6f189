/** Destructive calls need the approval of a person, or of a rule in their place. */
import { createRuntime, defineTool, resultText, type Approver } from "haft";

const deleted: number[] = [];
const deleteReport = defineTool({
  name: "delete_report",
  description: "Deletes the report of a year for good.",
  inputSchema: { type: "object", properties: { year: { type: "integer" } }, required: ["year"] },
  effects: { writes: ["reports"], destructive: true },
  execute: ({ year }) => {
    deleted.push(year);
    return `deleted ${year}`;
  },
});

const approve: Approver = ({ toolName, input, reason }) => {
  console.log(`? ${toolName} ${JSON.stringify(input)}: ${reason}`);
  return Number(input["year"]) < 2020 ? "allow-once" : "deny";
};

const runtime = createRuntime({ tools: [deleteReport], approval: { approve, timeoutMs: 60_000 } });
const results = await runtime.execute([
  { name: "delete_report", input: { year: "2019" } },
  { name: "delete_report", input: { year: 2026 } },
]);
for (const result of results) console.log(resultText(result));
await runtime.close();

const nobody = createRuntime({ tools: [deleteReport] });
const refused = await nobody.execute({ name: "delete_report", input: { year: 2019 } });
console.log(refused.error?.code);
await nobody.close();

/* Prints:
? default::delete_report {"year":2019}: default::delete_report may destroy something.
? default::delete_report {"year":2026}: default::delete_report may destroy something.
deleted 2019
Error (approval_denied): default::delete_report was not approved: the answer was no.
Hint: Do not call it again with this input unless the user asks for it; continue without it, or ask the user what to do.
approval_required
*/
