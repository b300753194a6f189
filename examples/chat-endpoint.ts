/** Answers a web page over HTTP: each request is a message of a conversation, and its answer is a stream of server-sent events. */
import { createServer, type ServerResponse } from "node:http";
import { createRuntime, defineTool, readOnly, type RuntimeSession } from "haft";
import { scriptedModel } from "haft/model";
import { memoryStore } from "haft/store";

const stock = defineTool({
  name: "stock",
  description: "Counts an article.",
  inputSchema: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
  effects: readOnly("stock"),
  execute: ({ item }) => `${item}: 3`,
});
const runtime = createRuntime({ tools: [stock], store: memoryStore() }); // sqliteStore({ path }) keeps them over a restart
const model = scriptedModel(({ messages }) => {
  const last = messages.at(-1);
  if (last?.role === "user" && last.content === "How much bread?") return { calls: [{ name: "stock", input: { item: "bread" } }] };
  return { text: `Answer ${messages.filter(({ role }) => role === "user").length}.` };
});

const sessions = new Map<string, Promise<RuntimeSession>>();

/** The one open session of a conversation, begun or continued with its first request. */
function sessionOf(id: string): Promise<RuntimeSession> {
  const open = sessions.get(id) ?? runtime.resume(id, { create: true });
  sessions.set(id, open);
  open.catch(() => sessions.delete(id)); // so that the next request tries it again
  return open;
}

async function chat(id: string, message: string, response: ServerResponse): Promise<void> {
  const session = await sessionOf(id);
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
  for await (const event of runtime.loop({ model, session }).stream(message, { signal: gone.signal })) {
    if (event.type === "text-delta") response.write(`data: ${JSON.stringify({ text: event.text })}\n\n`);
    if (event.type === "call-seal") response.write(`data: ${JSON.stringify({ call: event.call.name })}\n\n`);
    if (event.type === "stop") response.end(`data: ${JSON.stringify({ end: event.result.reason })}\n\n`);
  }
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
  chat(pathname.slice("/chat/".length), searchParams.get("message") ?? "", response).catch((error: Error) => response.destroy(error));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = server.address();
const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/chat/ada`;

const send = (message: string) => fetch(`${url}?message=${encodeURIComponent(message)}`, { method: "POST" });
const answers = [await send("How much bread?"), await send("And cheese?")]; // the second one waits for the end of the first
for (const answer of answers) console.log((await answer.text()).trim().replaceAll("\n\n", "\n"));
server.close();
await runtime.close();

/* Prints:
data: {"call":"stock"}
data: {"text":"Answer 1."}
data: {"end":"answered"}
data: {"text":"Answer 2."}
data: {"end":"answered"}
*/
