/** One task in three ways: 50 items are read, those that run low are found, and three orders are written. Tokens that the model reads and writes, and time. */
import { createLoop, createRuntime, defineTool, type ToolCall } from "../src/index.ts";
import { programToolset } from "../src/compose/program/program-toolset.ts";
import type { ModelRequest } from "../src/core/model.ts";
import { scriptedModel, type ScriptedReply } from "../src/model/scripted-model.ts";
import { openAiChat } from "../src/wire/openai-chat.ts";
import { median } from "./measure.ts";

const ITEMS = 50;
const RUNS = 9;
/** What a token is counted as: English and JSON come to about four characters. */
const CHARS_PER_TOKEN = 4;

const itemOf = (id: number) => ({
  id,
  name: `Article ${id}`,
  shelf: `${"ABCDE"[id % 5]}-${id % 12}`,
  supplier: { name: `Supplier ${id % 7}`, city: "Porto", leadDays: 3 + (id % 9) },
  left: id % 16 === 0 ? 2 : 20 + (id % 30),
  description: "Kept dry and cool; sold by the piece, in boxes of twelve.",
});
const lowIds = Array.from({ length: ITEMS }, (_, index) => index + 1).filter((id) => itemOf(id).left < 5);

const id = { type: "integer", description: "The number of the article." } as const;
const get = defineTool({
  name: "get",
  description: "Reads one article of the stock.",
  inputSchema: { type: "object", properties: { id }, required: ["id"], additionalProperties: false },
  outputSchema: {
    type: "object",
    properties: { id, name: { type: "string" }, left: { type: "integer", description: "How many are left." } },
    required: ["id", "name", "left"],
  },
  effects: { reads: "stock:{id}" },
  execute: ({ id: number }) => itemOf(number),
});
const order = defineTool({
  name: "order",
  description: "Orders an article from its supplier.",
  inputSchema: {
    type: "object",
    properties: { id, count: { type: "integer", minimum: 1 } },
    required: ["id", "count"],
    additionalProperties: false,
  },
  effects: { writes: "order:{id}", external: true },
  execute: ({ id: number, count }) => ({ ordered: number, count }),
});

const CODE = `const items = await Promise.all(Array.from({ length: ${ITEMS} }, (_, index) => tools.stock.get({ id: index + 1 })));
const low = items.filter(({ left }) => left < 5);
return Promise.all(low.map(({ id }) => tools.stock.order({ id, count: 24 })));`;

const reads: readonly ToolCall[] = Array.from({ length: ITEMS }, (_, index) => ({ name: "stock::get", input: { id: index + 1 } }));
const writes: readonly ToolCall[] = lowIds.map((number) => ({ name: "stock::order", input: { id: number, count: 24 } }));
const answer: ScriptedReply = { text: `I ordered 24 of each of the articles ${lowIds.join(", ")}.` };

const WAYS: readonly { readonly name: string; readonly mode?: "only"; readonly script: readonly ScriptedReply[] }[] = [
  { name: "one call a message", script: [...[...reads, ...writes].map((call) => ({ calls: [call] })), answer] },
  { name: "all calls of a kind in one message", script: [{ calls: reads }, { calls: writes }, answer] },
  { name: "a program", mode: "only", script: [{ calls: [{ name: "program::run_program", input: { code: CODE } }] }, answer] },
];

interface Cost {
  readonly requests: number;
  readonly read: number;
  readonly written: number;
  readonly ms: number;
}

export async function printProgram(): Promise<void> {
  console.log(
    `\nOne task: ${ITEMS} articles read, ${lowIds.length} orders written; a token is ${CHARS_PER_TOKEN} characters of the OpenAI format`,
  );
  console.log(`  ${"".padEnd(36)} requests  tokens read  tokens written  time without the model`);
  for (const way of WAYS) {
    const costs: Cost[] = [];
    for (let run = 0; run < RUNS; run++) costs.push(await costOf(way));
    const [{ requests, read, written } = { requests: 0, read: 0, written: 0 }] = costs;
    const ms = median(costs.map((cost) => cost.ms)).toFixed(0);
    console.log(
      `  ${way.name.padEnd(36)} ${String(requests).padStart(8)}  ${String(read).padStart(11)}  ${String(written).padStart(14)}  ${ms.padStart(19)} ms`,
    );
  }
}

async function costOf({ mode, script }: (typeof WAYS)[number]): Promise<Cost> {
  const programs = mode === undefined ? [] : [programToolset({ mode })];
  const runtime = createRuntime({ toolsets: [{ name: "stock", tools: [get, order] }, ...programs] });
  let read = 0;
  const model = scriptedModel((request, index) => {
    read += tokens(bodyOf(request));
    return script[index] ?? answer;
  });
  const session = runtime.session();
  const from = performance.now();
  const result = await createLoop({ model, session, limits: { maxRounds: 100 } }).run(
    "Order 24 of each article of which fewer than 5 are left.",
  );
  const ms = performance.now() - from;
  const ended = session.history.filter(({ call, result: one }) => call.name === "stock::order" && one?.status === "ok");
  if (result.reason !== "answered" || ended.length !== lowIds.length) throw new Error(`The task was not done: ${result.reason}.`);
  await runtime.close();
  return {
    requests: script.length,
    read,
    written: script.reduce((sum, { text = "", calls = [] }) => sum + tokens(text) + tokens(JSON.stringify(calls)), 0),
    ms,
  };
}

function bodyOf(request: ModelRequest): string {
  return JSON.stringify(openAiChat().encodeRequest(request, { model: "model", stream: false }).body);
}

function tokens(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}
