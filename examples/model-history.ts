/** Selects what a model is sent of a long session: the newest turns, without results that newer calls supersede. */
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "haft";
import { supersedesAt, type MessagesOptions } from "haft/session";
import { countingIds } from "haft/testing";
import { openAiChat } from "haft/wire";

const shelf = new Map([["bread", 3]]);
const stock = defineTool({
  name: "stock",
  description: "Counts what is on the shelf.",
  inputSchema: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
  effects: { reads: ["shelf"], writes: [] },
  supersedes: supersedesAt(({ input }) => String(input["item"])),
  execute: ({ item }) => ({ item, count: shelf.get(item) ?? 0 }),
});

const runtime = createRuntime({ tools: [stock], ports: { ids: countingIds() } });
const session = runtime.session("shop");
await session.addMessage({ role: "system", content: "You look after a shop." });
for (const count of [3, 2, 1]) {
  shelf.set("bread", count);
  await session.addMessage({ role: "user", content: "Somebody came. How much bread is left?" });
  await session.execute({ id: `c${count}`, name: "stock", input: { item: "bread" } });
  await session.addMessage({ role: "assistant", content: `${count} are left.` });
}

function show(title: string, options?: MessagesOptions): number {
  const { messages } = openAiChat().encodeMessages(session.messages(options));
  console.log(`${title}: ${messages.length} messages`);
  for (const { role, content } of options === undefined ? [] : messages) console.log(`  ${String(role)}: ${String(content ?? "(a call)")}`);
  return messages.length;
}

const whole = show("everything");
const newest = show("the newest turn", { maxTurns: 1 });
const trimmed = show("trimmed", { trim: { budgetBytes: 500, threshold: 0.5 } });
assert.ok(newest < trimmed && trimmed < whole);
await runtime.close();

/* Prints:
everything: 13 messages
the newest turn: 6 messages
  system: You look after a shop.
  system: The 2 oldest turns of this conversation are left out.
  user: Somebody came. How much bread is left?
  assistant: (a call)
  tool: {"item":"bread","count":1}
  assistant: 1 are left.
trimmed: 10 messages
  system: You look after a shop.
  system: Earlier calls whose results newer calls supersede are left out.
  user: Somebody came. How much bread is left?
  assistant: 3 are left.
  user: Somebody came. How much bread is left?
  assistant: 2 are left.
  user: Somebody came. How much bread is left?
  assistant: (a call)
  tool: {"item":"bread","count":1}
  assistant: 1 are left.
*/
