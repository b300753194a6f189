/** Answers the requests of AI SDK's `useChat` with UI message streams. */
import { createRuntime, defineTool, readOnly } from "haft";
import { uiChatHandler } from "haft/adapters";
import { scriptedModel } from "haft/model";
import { memoryStore } from "haft/store";

const stock = defineTool({
  name: "stock",
  description: "Counts an article.",
  inputSchema: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
  effects: readOnly("stock"),
  execute: ({ item }) => `${item}: 3`,
});
const runtime = createRuntime({ tools: [stock], store: memoryStore() });
const model = scriptedModel([{ calls: [{ name: "stock", input: { item: "bread" } }] }, { text: "3 loaves." }]);

const session = await runtime.resume("ada", { create: true });
const handler = uiChatHandler(runtime, {
  session: (id) => (id === "ada" ? session : Promise.reject(new Error("There is no such conversation."))),
  run(session, { messages }) {
    const texts = messages.at(-1)?.parts.map((part) => (part["type"] === "text" ? String(part["text"]) : "")) ?? [];
    return runtime.loop({ model, session }).run(texts.join(""));
  },
});

/** The request that `useChat` sends. Pass those of your server to the handler instead. */
const message = { id: "1", role: "user", parts: [{ type: "text", text: "How much bread is there?" }] };
const body = JSON.stringify({ id: "ada", messages: [message], trigger: "submit-message" });
const response = await handler(new Request("http://localhost/api/chat", { method: "POST", body }));
for (const line of (await response.text()).split("\n\n")) {
  const { type, delta, toolName, output } = line.startsWith("data: {") ? JSON.parse(line.slice("data: ".length)) : {};
  const shown = delta ?? toolName ?? output;
  if (shown !== undefined) console.log(`${type}: ${shown}`);
}
await runtime.close();

/* Prints:
tool-input-available: stock
tool-output-available: bread: 3
text-delta: 3 loaves.
*/
