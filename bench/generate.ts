/** A thousand generated conversations of ten calls, beside the same calls made one after the other by hand, and what they take of memory. */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exampleEngine } from "../src/engine/example.ts";
import { generateConversations } from "../src/generate/generate.ts";
import { createRuntime, type Tool } from "../src/index.ts";
import { spell } from "./measure.ts";

const CONVERSATIONS = 1_000;
const CALLS = 10;

const order = {
  type: "object",
  properties: {
    id: { type: "string" },
    article: { type: "string" },
    count: { type: "integer", minimum: 1 },
    state: { enum: ["new", "sent"] },
  },
  required: ["id", "article", "count", "state"],
} as const;
const text = { type: "string" } as const;
const takes = (properties: object) => ({ type: "object", properties, required: Object.keys(properties) });
const TOOLS: readonly Tool[] = [
  {
    name: "create_order",
    description: "Order an article.",
    inputSchema: takes({ article: text, count: { type: "integer" } }),
    outputSchema: order,
  },
  { name: "get_order", description: "Look an order up.", inputSchema: takes({ order_id: text }), outputSchema: order },
  { name: "list_orders", description: "List all orders.", inputSchema: takes({}), outputSchema: { type: "array", items: order } },
  {
    name: "find_article",
    description: "Find an article.",
    inputSchema: takes({ query: text }),
    outputSchema: { type: "array", items: text },
  },
];

export async function printGenerate(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "haft-bench-"));
  try {
    console.log(`\n${spell(CONVERSATIONS)} conversations of ${CALLS} calls, answers made up, one line of a file each`);
    await generateInto(join(folder, "warm-up.jsonl"), 100);
    for (const concurrency of [1, 8, 64]) {
      const path = join(folder, `${concurrency}.jsonl`);
      const { calls, durationMs } = await generateInto(path, CONVERSATIONS, concurrency);
      printRow(`generated, ${concurrency} at a time`, { calls, durationMs, note: `${(statSync(path).size / 1e6).toFixed(1)} MB written` });
    }
    printRow("the same number of calls by hand", await callByHand());
    console.log(`  At most ${Math.ceil((process.resourceUsage().maxRSS * 1_024) / 1e6)} MB of memory in this process.`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function generateInto(out: string, count: number, concurrency = 8) {
  const runtime = shop();
  const summary = await generateConversations({ runtime, plan: { kind: "sampled", count, calls: CALLS }, out, concurrency });
  await runtime.close();
  return summary;
}

/** In sessions of as many calls, without a conversation around them. */
async function callByHand() {
  const runtime = shop();
  const startedAt = performance.now();
  for (let number = 0; number < CONVERSATIONS; number++) {
    const session = runtime.session();
    for (let call = 0; call < CALLS; call++) await session.execute({ name: "create_order", input: { article: `a${call}`, count: call } });
    await session.close();
  }
  const durationMs = performance.now() - startedAt;
  await runtime.close();
  return { calls: CONVERSATIONS * CALLS, durationMs, note: "no conversation, no file" };
}

function shop() {
  const answers = { engines: { example: exampleEngine() }, rules: [{ tools: "*", from: "example" as const }] };
  return createRuntime({ toolsets: [{ name: "shop", tools: TOOLS }], answers });
}

interface Row {
  readonly calls: number;
  readonly durationMs: number;
  readonly note: string;
}

function printRow(name: string, { calls, durationMs, note }: Row): void {
  const rate = spell(Math.round((calls * 1_000) / durationMs));
  console.log(`  ${name.padEnd(34)} ${(durationMs / 1_000).toFixed(2).padStart(6)} s ${rate.padStart(8)} calls/s  ${note}`);
}
