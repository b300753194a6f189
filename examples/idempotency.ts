/** The same calls, submitted twice, run once: a client that lost the answer retries with the same key. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool } from "haft";
import { sqliteStore } from "haft/sqlite";

const folder = mkdtempSync(join(tmpdir(), "haft-"));
const path = join(folder, "sessions.db");
let orders = 0;

const order = defineTool({
  name: "order",
  description: "Orders something.",
  inputSchema: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
  effects: { writes: ["orders"] },
  execute: ({ item }) => `order ${++orders}: ${item}`,
});

const calls = [
  { name: "order", input: { item: "bread" } },
  { name: "order", input: { item: "cheese" } },
];
const idempotencyKey = "message 42";

const runtime = createRuntime({ tools: [order], store: sqliteStore({ path }) });
const session = runtime.session("shop");
const first = await session.execute(calls, { idempotencyKey });
const second = await session.execute(calls, { idempotencyKey });
for (const results of [first, second]) console.log(results.map(({ output }) => output));
await runtime.close();

const later = createRuntime({ tools: [order], store: sqliteStore({ path }) });
const resumed = await later.resume("shop");
const third = await resumed.execute(calls, { idempotencyKey });
console.log(
  third.map(({ output }) => output),
  "orders:",
  orders,
);

const others = resumed.execute(calls.slice(1), { idempotencyKey });
console.log(await others.catch((error: Error) => error.message));
await later.close();
rmSync(folder, { recursive: true });

/* Prints:
[ 'order 1: bread', 'order 2: cheese' ]
[ 'order 1: bread', 'order 2: cheese' ]
[ 'order 1: bread', 'order 2: cheese' ] orders: 2
The idempotency key "message 42" was used for other calls of this session.
*/
