/** Saves a session as one JSON value, and continues it elsewhere. */
import assert from "node:assert/strict";
import { createRuntime, defineTool, ToolError } from "haft";
import type { SessionSnapshot } from "haft/session";

const count = defineTool({
  name: "count",
  description: "Counts up.",
  effects: { writes: ["session:count"] },
  execute(_, { state }) {
    state.update("count", (before) => Number(before ?? 0) + 1);
    return state.get("count");
  },
});

const here = createRuntime({ tools: [count] });
const session = here.session("monday");
await session.addMessage({ role: "user", content: "Count to two." });
await session.execute({ name: "count" });
const text = JSON.stringify(await session.snapshot());
await here.close();

const there = createRuntime({ tools: [count] });
const from = JSON.parse(text) as SessionSnapshot; // restoring it validates everything in it
const copy = there.session("tuesday", { from });
const { output } = await copy.execute({ name: "count" });
console.log("counted to", output, "in", copy.history.length, "calls");
for (const message of copy.messages()) console.log(message.role);

const events = from.events.map((event) => (event.type === "state-change" ? { ...event, key: "counts" } : event));
try {
  there.session("forged", { from: { ...from, events } });
} catch (error: unknown) {
  if (error instanceof ToolError) console.log(`${error.code}: ${error.message}`);
}
assert.equal(output, 2);
await there.close();

/* Prints:
counted to 2 in 2 calls
user
call
result
call
result
corrupt_record: The snapshot cannot be used. Its state does not match its events: they differ at "/default/counts".
*/
