/** Stores sessions in a file: one runtime closes them and another continues them, with all messages, calls and state. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool } from "haft";
import { sqliteStore } from "haft/sqlite";

const note = defineTool({
  name: "note",
  description: "Notes something, for this conversation only.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  effects: { writes: ["session:notes"] },
  execute({ text }, { state }) {
    state.update("count", (before) => Number(before ?? 0) + 1);
    return `note ${Number(state.get("count"))}: ${text}`;
  },
});

const folder = mkdtempSync(join(tmpdir(), "haft-"));
const path = join(folder, "sessions.db");

const first = createRuntime({ tools: [note], store: sqliteStore({ path }) });
const monday = await first.resume("monday", { create: true });
await monday.addMessage({ role: "user", content: "Remember the milk." });
await monday.execute({ name: "note", input: { text: "milk" } });
await first.close();

const store = sqliteStore({ path });
const second = createRuntime({ tools: [note], store });
const again = await second.resume("monday", { create: true });
await again.execute({ name: "note", input: { text: "bread" } });
console.log(
  "said:",
  again
    .messages()
    .map((message) => message.role)
    .join(", "),
);
for (const { result } of again.history) console.log(result?.output);
for (const { sessionId, length } of await store.list()) console.log(`${sessionId}: ${length} events`);
await second.close();
rmSync(folder, { recursive: true });

/* Prints:
said: user, call, result, call, result
note 1: milk
note 2: bread
monday: 10 events
*/
