/** Runs calls while a provider's reply still streams: reads start at once, writes start when the message is complete. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { createLoop, createRuntime, defineTool } from "haft";
import { modelFrom } from "haft/model";

const item = { type: "object", properties: { item: { type: "string" } }, required: ["item"] } as const;
const key = (input: Readonly<Record<string, unknown>>) => [`shelf:${String(input["item"])}`];
const shelf = new Map([["bread", 3]]);
const tool = (name: string, writes: boolean, run: (item: string) => unknown) =>
  defineTool({
    name,
    description: `Tool ${name}.`,
    inputSchema: item,
    effects: writes ? { writes: key } : { reads: key, writes: [] },
    execute: (input) => {
      console.log(`  ${name} ${input.item} starts`);
      return run(input.item);
    },
  });
const order = tool("order", true, (name) => shelf.set(name, 10) && "ordered");
const count = tool("count", false, (name) => shelf.get(name) ?? 0);

/** A fake network. Leave `fetch` out to send real requests. */
const replies = [["order salt", "count bread", "count salt"], []];
const fetch = async () => {
  const pieces = stream(replies.shift() ?? []);
  const pull = (body: ReadableStreamDefaultController) =>
    pieces.next().then(({ done, value }) => (done === true ? body.close() : body.enqueue(new TextEncoder().encode(value))));
  return new Response(new ReadableStream({ pull }));
};
async function* stream(calls: readonly string[]): AsyncGenerator<string> {
  const frame = (type: string, more: object) => `data: ${JSON.stringify({ type, ...more })}\n\n`;
  if (calls.length === 0)
    yield frame("content_block_delta", { index: 0, delta: { type: "text_delta", text: "3 loaves, and salt is coming." } });
  for (const [index, call] of calls.entries()) {
    const [name, what] = call.split(" ");
    yield frame("content_block_start", { index, content_block: { type: "tool_use", id: `toolu_${index}`, name, input: { item: what } } });
    console.log(`the model has written: ${call}`);
    yield frame("content_block_stop", { index });
    await pause(20);
  }
  if (calls.length > 0) console.log("the message has ended");
  yield frame("message_delta", { delta: { stop_reason: calls.length === 0 ? "end_turn" : "tool_use" } }) + frame("message_stop", {});
}

const runtime = createRuntime({ tools: [order, count] });
const model = modelFrom("anthropic/claude-sonnet-5", { environment: { ANTHROPIC_API_KEY: "sk-of-yours" }, fetch });
const loop = createLoop({ model, session: runtime.session() });
const { text, reason } = await loop.run("How much bread is there? And order salt.");
console.log(`${reason}: ${text}`);
assert.equal(shelf.get("salt"), 10);
await runtime.close();

/* Prints:
the model has written: order salt
the model has written: count bread
  count bread starts
the model has written: count salt
the message has ended
  order salt starts
  count salt starts
answered: 3 loaves, and salt is coming.
*/
