/** Follows the events of a session from a given position, across two runtimes that share a file. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool } from "haft";
import { sqliteStore } from "haft/sqlite";

const greet = defineTool({
  name: "greet",
  description: "Greets somebody.",
  inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  execute: ({ name }) => `Hello ${name}`,
});
const folder = mkdtempSync(join(tmpdir(), "haft-"));
const open = () => createRuntime({ tools: [greet], store: sqliteStore({ path: join(folder, "sessions.db") }) });

const first = open();
const session = first.session("monday");
await session.execute({ name: "greet", input: { name: "Ada" } });
let cursor = "0";
for await (const item of first.events({ session: "monday" })) {
  if (!("event" in item) || item.cursor === undefined) continue;
  cursor = item.cursor;
  console.log(cursor, item.event.type);
  if (item.event.type === "call-end") break;
}
await first.close();

const second = open();
const again = await second.resume("monday");
await again.execute({ name: "greet", input: { name: "Grace" } });
for await (const item of second.events({ session: "monday", after: cursor })) {
  if (!("event" in item) || item.cursor === undefined) continue;
  console.log(item.cursor, item.event.type);
  if (item.event.type === "call-end") break;
}
await assert.rejects(second.events({ session: "monday", after: "99" }).begin(), { code: "gone" });
await second.close();
rmSync(folder, { recursive: true });

/* Prints:
1 session-start
2 call-start
3 call-intent
4 call-end
5 call-start
6 call-intent
7 call-end
*/
