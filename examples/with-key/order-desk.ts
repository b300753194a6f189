/** Two tools that call a service, a streamed answer that has a schema, and a session that survives a restart. Needs an API key and the service. */
import { ToolError, createRuntime, defineTool } from "haft";
import { sqliteStore } from "haft/sqlite";
import { z } from "zod";

async function warehouse(path: string, init?: RequestInit): Promise<unknown> {
  const response = await fetch(`https://warehouse.example/${path}`, init);
  if (!response.ok) throw new ToolError("network_error", `The warehouse answered ${response.status}.`);
  return response.json();
}
const stock = defineTool({
  name: "stock",
  description: "Counts an article in the warehouse.",
  inputSchema: z.object({ item: z.string() }),
  effects: { reads: "stock:{item}" },
  execute: ({ item }) => warehouse(`stock/${item}`),
});
const order = defineTool({
  name: "order",
  description: "Orders an article.",
  inputSchema: z.object({ item: z.string(), count: z.number().int() }),
  effects: { writes: "stock:{item}", external: true },
  execute: (input) => warehouse("orders", { method: "POST", body: JSON.stringify(input) }),
});

const runtime = createRuntime({ tools: [stock, order], store: sqliteStore({ path: "desk.db" }) });
const session = await runtime.resume("ada", { create: true });
const loop = runtime.loop({ session, model: "anthropic/claude-sonnet-5", system: "You take orders." });
const output = z.object({ reply: z.string(), ordered: z.array(z.string()) });
for await (const event of loop.stream(process.argv[2] ?? "Is there tea?", { output })) {
  if (event.type === "text-delta") process.stdout.write(event.text);
  if (event.type === "call-seal") console.log("call:", event.call.name, JSON.stringify(event.call.input));
  if (event.type === "stop") console.log("ordered:", event.result.output?.ordered);
}
await runtime.close();
