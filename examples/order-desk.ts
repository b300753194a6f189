/** A realistic agent: two tools, a service that sometimes fails, a streamed answer that matches a schema, and a session that survives a restart. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolError, createRuntime, defineTool } from "haft";
import { scriptedModel, type ScriptedReply } from "haft/model";
import { sqliteStore } from "haft/sqlite";
import { z } from "zod";

let requests = 0;
/** A fake HTTP service, which fails the first time. */
async function warehouse(request: string): Promise<string> {
  if (++requests === 1) throw new ToolError("network_error", "The warehouse does not answer.");
  return `${request}: ok`;
}

const stock = defineTool({
  name: "stock",
  description: "Counts an article in the warehouse.",
  inputSchema: z.object({ item: z.string() }),
  effects: { reads: "stock:{item}" },
  execute: ({ item }) => warehouse(`count ${item}`),
});
const order = defineTool({
  name: "order",
  description: "Orders an article.",
  inputSchema: z.object({ item: z.string(), count: z.number().int() }),
  effects: { writes: "stock:{item}", external: true },
  execute: ({ item, count }) => warehouse(`order ${count} ${item}`),
});
const answer = z.object({ reply: z.string(), ordered: z.array(z.string()) });
const path = join(mkdtempSync(join(tmpdir(), "haft-")), "desk.db");

/** One run of the program, which continues the conversation in the file. */
async function visit(said: string, ...replies: readonly ScriptedReply[]): Promise<void> {
  const runtime = createRuntime({ tools: [stock, order], store: sqliteStore({ path }), retry: { delayMs: 1 } });
  const session = await runtime.resume("ada", { create: true });
  const loop = runtime.loop({ session, model: scriptedModel(replies), system: "You take orders." });
  for await (const event of loop.stream(said, { output: answer })) {
    if (event.type === "text-delta") console.log("model:", event.text);
    if (event.type === "round-end") for (const { name, output, attempts } of event.results) console.log(name, attempts, output);
    if (event.type === "stop") console.log("ordered:", event.result.output?.ordered);
  }
  console.log("messages so far:", session.messages().length);
  await runtime.close();
}

const look = { calls: [{ name: "stock", input: { item: "tea" } }] };
await visit("Is there tea?", look, { text: '{"reply": "There is tea.", "ordered": []}' });
const buy = { calls: [{ name: "order", input: { item: "tea", count: 2 } }] };
await visit("Then order two.", buy, { text: '{"reply": "Two are ordered.", "ordered": ["tea"]}' });
rmSync(join(path, ".."), { recursive: true });

/* Prints:
default::stock 2 count tea: ok
model: {"reply": "There is tea.", "ordered": []}
ordered: []
messages so far: 4
default::order 1 order 2 tea: ok
model: {"reply": "Two are ordered.", "ordered": ["tea"]}
ordered: [ 'tea' ]
messages so far: 8
*/
