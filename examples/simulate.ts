/** Simulates calls: a read really runs, a note is written on a branch, and a mail is not sent. */
import assert from "node:assert/strict";
import { createRuntime, defineTool, readOnly, resultText } from "haft";

const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;
const sent: string[] = [];

const find = defineTool({
  name: "find",
  description: "Finds somebody's address.",
  inputSchema: text,
  effects: readOnly("contacts"),
  execute: (input) => `${input.text}@example.com`,
});
const note = defineTool({
  name: "note",
  description: "Notes something for this conversation.",
  inputSchema: text,
  effects: { writes: ["session:notes"] },
  execute: (input, { state }) => state.update("notes", (before) => [...((before ?? []) as string[]), input.text]),
});
const mail = defineTool({
  name: "mail",
  description: "Sends a mail.",
  inputSchema: text,
  effects: { writes: ["outbox"], external: true },
  execute: (input) => sent.push(input.text),
});

const runtime = createRuntime({ tools: [find, note, mail] });
const session = runtime.session();
const calls = ["find", "note", "mail"].map((name) => ({ name, input: { text: "ada" } }));

const tried = await session.simulate(calls);
for (const result of tried.results) console.log(`${result.attempts === 0 ? "not run" : result.origin}: ${resultText(result)}`);
for (const { key, before, after } of tried.diff.state) console.log("would change:", key, "from", before, "to", after);
assert.deepEqual([sent, session.history, session.state("default", "notes")], [[], [], undefined]);

const allowed = await session.simulate(calls, { allowSideEffects: ["default::mail"] });
console.log("sent:", sent.length, allowed.results.at(-1)?.status);

await tried.commit();
console.log("kept:", session.state("default", "notes"), session.history.map(({ result }) => result?.error?.code ?? "ok").join(" "));
await runtime.close();

/* Prints:
live: ada@example.com
live: null
not run: Error (not_simulatable): default::mail was not run: it would write outbox, and this is a simulation.
would change: notes from undefined to [ 'ada' ]
sent: 1 ok
kept: [ 'ada' ] ok ok not_simulatable
*/
