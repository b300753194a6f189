/** Generates conversations as data: from sampled calls, from a script, and with a model. No real tool runs. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createRuntime } from "haft";
import { generateConversations, readTemplates } from "haft/generate";
import { scriptedModel } from "haft/model";
import { exampleEngine } from "haft/simulation";

const order = { type: "object", properties: { id: { type: "string" }, article: { type: "string" } }, required: ["id", "article"] } as const;
const takes = (name: string) => ({ type: "object", properties: { [name]: { type: "string" } }, required: [name] }) as const;
const tools = [
  { name: "create_order", description: "Order an article.", inputSchema: takes("article"), outputSchema: order },
  { name: "get_order", description: "Look an order up.", inputSchema: takes("order_id"), outputSchema: order },
];
const runtime = createRuntime({
  toolsets: [{ name: "shop", tools }],
  answers: { engines: { example: exampleEngine({ seed: 7 }) }, rules: [{ tools: "*", from: "example" }] },
});
const out = join(mkdtempSync(join(tmpdir(), "haft-")), "train.jsonl");
const made = { runtime, plan: { kind: "sampled", count: 100, calls: 2 }, out, seed: 7 } as const;
const { written, calls, answers } = await generateConversations(made);
console.log(`${written} conversations, ${calls} calls: ${answers.map((one) => `${one.calls} ${one.origin} by ${one.answeredBy}`).join()}`);
const before = readFileSync(out, "utf8");
const { messages: said } = JSON.parse(before.slice(0, before.indexOf("\n")));
for (const { role, content } of said) if (role !== "tool" && content !== undefined) console.log(`  ${role}: ${content}`);
truncateSync(out, Math.floor(before.length / 2)); // as a killed process may leave the file
const { existing } = await generateConversations(made);
assert.equal(readFileSync(out, "utf8"), before);
console.log(`gone on with after ${existing} conversations: the same file`);
rmSync(dirname(out), { recursive: true });
const script = `{"messages": [
  {"role": "user", "content": "Tea, please."},
  {"role": "assistant", "calls": [{"name": "shop::create_order", "input": {"article": "tea"}}]},
  {"role": "assistant", "content": "Ordered. Let me check.", "calls": [{"name": "shop::get_order", "input": {"order_id": "$1.id"}}]}
]}`.replaceAll("\n", "");
const show = {
  write: async (line: string) => {
    const { messages } = JSON.parse(line);
    for (const { role, output, content } of messages)
      if (role !== "user" && (output ?? content)) console.log(`  ${role}:`, output ?? content);
  },
};
await generateConversations({ runtime, plan: { kind: "scripted", templates: readTemplates(script, "script") }, out: show });
const model = scriptedModel([{ calls: [{ name: "shop::get_order", input: { order_id: "A-1" } }] }, { text: "It is tea." }]);
const templates = readTemplates('{"messages": [{"role": "user", "content": "What did I order as A-1?"}]}', "questions");
await generateConversations({ runtime, plan: { kind: "played", templates, model }, out: show });
await runtime.close();

/* Prints:
100 conversations, 200 calls: 200 simulated by example
  user: Could you order water bottle, please? Then look that order up.
  assistant: The order ID is 67dd664742fd. The article is water bottle.
gone on with after 50 conversations: the same file
  tool: { id: '4ecd75828999', article: 'tea' }
  assistant: Ordered. Let me check.
  tool: { id: '4ecd75828999', article: 'tea' }
  assistant: The order ID is 4ecd75828999 and the article is tea.
  tool: { id: 'A-1', article: 'baby stroller' }
  assistant: It is tea.
*/
