/** A tool that ignores its abort signal: its call still fails on time, and its late answer is dropped. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { createRuntime, defineTool, resultText } from "haft";

const deaf = defineTool({
  name: "deaf",
  description: "Writes the report, slowly, and never looks at its signal.",
  effects: { writes: ["report"] },
  timeoutMs: 50,
  execute: () => pause(500, "too late"),
});

const quick = defineTool({
  name: "quick",
  description: "Adds a line to the report.",
  effects: { writes: ["report"] },
  deadlineMs: 100,
  execute: () => "added",
});

const late = Promise.withResolvers<void>();
const runtime = createRuntime({
  tools: [deaf, quick],
  onEvent(event) {
    if (event.type === "call-orphan") console.log(`${event.toolName} was abandoned and still runs; orphans: ${event.orphans}`);
    if (event.type === "call-late") console.log(`${event.toolName} ${event.outcome} after all; nobody hears what`);
    if (event.type === "call-late") late.resolve();
  },
});
const session = runtime.session();

console.log(resultText(await session.execute({ name: "deaf" })));
const busy = await session.execute({ name: "quick" }); // what an abandoned call writes stays locked while it still runs
console.log(busy.error?.code);
await late.promise;
console.log(resultText(await session.execute({ name: "quick" })));

assert.match(busy.error?.message ?? "", /held by default::deaf \(.*, abandoned but still running\)/u);
assert.deepEqual(
  session.history.map(({ result }) => result?.error?.outcome ?? result?.output),
  ["unknown", "not_started", "added"],
);
assert.deepEqual([runtime.counters.orphans, runtime.counters.abandoned], [0, 1]);
await runtime.close();

/* Prints:
Error (timeout): default::deaf did not answer within 50 ms. Its effect is not known: check before calling it again.
default::deaf was abandoned and still runs; orphans: 1
resource_busy
default::deaf returned after all; nobody hears what
added
*/
