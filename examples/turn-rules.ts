/** Rules for tools that may run once per turn, and for tools that end the turn. Each `execute` of a session is one turn. */
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "haft";

const launch = defineTool({ name: "launch", description: "Launches.", oncePerTurn: true, execute: () => "launched" });
const done = defineTool({ name: "done", description: "Ends the turn.", endsTurn: true, execute: () => "bye" });
const note = defineTool({ name: "note", description: "Takes a note.", execute: () => "noted" });

const runtime = createRuntime({ tools: [launch, done, note] });
const turn = ["launch", "launch", "done", "note"].map((name) => ({ name }));
const results = await runtime.execute(turn);
for (const { name, status, error } of results) console.log(`${name}: ${error?.message ?? status}`);

assert.deepEqual(
  results.map((result) => result.status),
  ["ok", "error", "ok", "skipped"],
);
await runtime.close();

/* Prints:
default::launch: ok
default::launch: default::launch may run once a turn, and has run in this one.
default::done: ok
note: note was skipped: default::done had ended the turn.
*/
