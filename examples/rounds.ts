/** Runs calls of a message that is still streaming: reads start at once, writes start when the message is complete. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { createRuntime, defineTool } from "haft";

const notes = new Map([["today", "buy milk"]]);
const page = { type: "object", properties: { page: { type: "string" }, text: { type: "string" } }, required: ["page"] } as const;

const read = defineTool({
  name: "read",
  description: "Reads a page.",
  inputSchema: page,
  effects: { reads: "page:{page}", writes: [] },
  execute: (input) => {
    console.log(`  read ${input.page} begins`);
    return notes.get(input.page) ?? "";
  },
});
const write = defineTool({
  name: "write",
  description: "Writes a page.",
  inputSchema: page,
  effects: { writes: "page:{page}" },
  execute: ({ page: name, text = "" }) => {
    console.log(`  write ${name} begins`);
    notes.set(name, text);
  },
});
const runtime = createRuntime({ tools: [read, write] });
await runtime.session().turn(async (turn) => {
  const round = turn.round();
  for (const call of [
    { name: "write", input: { page: "tomorrow", text: "buy milk" } },
    { name: "read", input: { page: "tomorrow" } }, // reads what the previous call writes, so it waits for it
    { name: "read", input: { page: "today" } },
  ]) {
    console.log(`the model has written: ${call.name} ${call.input.page}`);
    round.add(call);
    await pause(20);
  }
  console.log("the message has ended");
  const results = await round.end({ content: "I move it.", finish: "calls", usage: { inputTokens: 90, outputTokens: 30 } });
  assert.equal(results[1]?.output, "buy milk");
  const cut = turn.round();
  cut.add({ name: "write", input: { page: "today", text: "" } });
  const [cancelled] = await cut.end({ content: "I empty", finish: "length", usage: { inputTokens: 90, outputTokens: 30 } });
  assert.equal(cancelled?.status, "cancelled");
});
await runtime.close();

/* Prints:
the model has written: write tomorrow
the model has written: read tomorrow
the model has written: read today
  read today begins
the message has ended
  write tomorrow begins
  read tomorrow begins
*/
