/** Calls whose inputs refer to the results of earlier calls; all are checked before any of them runs. */
import assert from "node:assert/strict";
import { createRuntime, defineTool, readOnly, resultText } from "haft";
import { checkSequence, runSequence } from "haft/sequence";

const text = { type: "string" } as const;
const find = defineTool({
  name: "find",
  description: "Finds guests by their town.",
  inputSchema: { type: "object", properties: { town: text }, required: ["town"] },
  effects: readOnly("guests"),
  execute: ({ town }) => ({ guests: town === "London" ? [{ id: 7, name: "Ada" }] : [] }),
});
const invite = defineTool({
  name: "invite",
  description: "Invites a guest.",
  inputSchema: { type: "object", properties: { guest: { type: "integer" }, words: text }, required: ["guest"] },
  effects: { writes: ["outbox"] },
  execute: ({ guest, words }) => `guest ${guest} is invited: ${words ?? ""}`,
});
const runtime = createRuntime({ tools: [find, invite] });

const party = [
  { id: "london", name: "find", arguments: { town: "London" } },
  { id: "paris", name: "find", arguments: { town: "Paris" } },
  { name: "invite", arguments: { guest: "$london.guests[0].id", words: "$$5 at the door" } },
  { name: "invite", arguments: { guest: "$paris.guests[0].id" } },
];
const run = await runSequence(runtime, party);
assert.ok(run.valid);
console.log("side by side:", JSON.stringify(run.layers));
for (const result of run.results) console.log(resultText(result).split("\n")[0]);

const wrong = checkSequence(
  [
    { id: "1", name: "invite", arguments: { guest: "$2.guests[0].id" } },
    { id: "2", name: "find", arguments: { town: "near $1" } },
    { name: "invit", arguments: {} },
    { name: "invite", arguments: { gest: 7 } },
  ],
  { tools: runtime.registry, declaredOnly: true },
);
assert.ok(!wrong.valid);
for (const { index, reason, message } of wrong.problems) console.log(`call ${index}, ${reason}: ${message}`);
await runtime.close();

/* Prints:
side by side: [[0,1],[2,3]]
{"guests":[{"id":7,"name":"Ada"}]}
{"guests":[]}
guest 7 is invited: $5 at the door
Error (invalid_input): The reference "$paris.guests[0].id" cannot be resolved: [0] is not in an array of 0 items.
call 0, future_reference: Call 0 uses "$2.guests[0].id" to refer to call 1, which comes later.
call 1, indirect_reference: Call 1 has the reference "$1" inside a longer text, where it is not replaced.
call 2, unknown_tool: No tool "invit". Did you mean "invite"?
call 3, unknown_argument: invite: $.gest: the tool has no such argument
call 3, schema_violation: invite: $.guest: required field missing
*/
