/** Serves a runtime over HTTP, and calls it from a client. */
import { createRuntime, defineTool } from "haft";
import { createClient } from "haft/client";
import { createServer, staticToken } from "haft/server";

const notes: string[] = [];
const add = defineTool({
  name: "add",
  description: "Adds a note.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  effects: { writes: ["notes"] },
  execute: ({ text }) => ({ notes: notes.push(text) }),
});

const runtime = createRuntime({ toolsets: [{ name: "notes", tools: [add] }] });
await runtime.open();
const token = "a-secret-of-16-characters-or-more";
const server = createServer(runtime, { auth: staticToken({ token }), mcp: false });
const { url } = await server.listen({ port: 0 });

const client = createClient({ url, token });
const body = { calls: [{ name: "notes::add", input: { text: "Buy milk" } }] };
for (const attempt of ["first", "again"]) {
  const { results } = await client.call("execute", { body, idempotencyKey: "milk-2026-11-26" });
  console.log(`${attempt}: ${JSON.stringify(results[0]?.output)}`);
}
console.log(notes);

await server.close();
await runtime.close();

/* Prints:
first: {"notes":1}
again: {"notes":1}
[ 'Buy milk' ]
*/
