/** Imports a file of payments, is killed in the middle, and is run again: each invoice is paid once. */
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolError, createRuntime, defineTool } from "haft";
import { sqliteStore } from "haft/sqlite";

const isDoomed = process.argv[2] !== undefined;
const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), "haft-"));
const ledger = join(folder, "ledger.txt"); // stands for the bank: a line for each payment
const csv = Array.from({ length: 500 }, (_, row) => `invoice-${row + 1},${row + 100}`).join("\n");
let requests = 0;

/** A bank that is sometimes busy, and sometimes loses its answer. */
async function bank(line: string): Promise<void> {
  if (++requests % 9 === 0) throw new ToolError("rate_limited", "The bank is busy.", { outcome: "not_started" });
  appendFileSync(ledger, `${line}\n`);
  if (isDoomed && requests > 200) process.kill(process.pid, "SIGKILL");
  if (requests % 50 === 1) throw new Error("The connection was reset.");
}
const wasPaid = (key: string) => readFileSync(ledger, "utf8").includes(key);

const pay = defineTool({
  name: "pay",
  description: "Pays an invoice.",
  inputSchema: { type: "object", properties: { invoice: { type: "string" }, cents: { type: "integer" } }, required: ["invoice", "cents"] },
  effects: {
    writes: "invoice:{invoice}",
    external: true,
    reconcile: ({ idempotencyKey }) => (wasPaid(idempotencyKey) ? { happened: true, output: "paid" } : { happened: false }),
  },
  async execute({ invoice, cents }, { idempotencyKey }) {
    await bank(`${invoice} ${cents} ${idempotencyKey}`).catch((error: unknown) => {
      if (error instanceof ToolError || !wasPaid(idempotencyKey)) throw error;
    }); // after a lost answer, asks the bank
    return "paid";
  },
});

if (!isDoomed) spawnSync(process.execPath, [...process.execArgv, import.meta.filename, folder]); // is killed in the middle
const runtime = createRuntime({ tools: [pay], store: sqliteStore({ path: join(folder, "import.db") }), retry: { delayMs: 10 } });
const session = await runtime.resume("payments of 30 November", { create: true });
const rows = csv.split("\n").map((line) => line.split(","));
const calls = rows.map(([invoice, cents]) => ({ name: "pay", input: { invoice, cents: Number(cents) } }));

/** The calls that have not begun: those that are not in the session, and those that ended as `not_started`. */
async function findLeft() {
  const begun = new Map<string, string>();
  for await (const event of session.events()) {
    if (event.type === "call-start") begun.set(event.callId, JSON.stringify(event.call.input));
    if (event.type === "call-end" && event.result.error?.outcome === "not_started") begun.delete(event.callId);
  }
  const inputs = new Set(begun.values());
  return calls.filter(({ input }) => !inputs.has(JSON.stringify(input)));
}
let left = await findLeft();
for (let pass = 1; pass <= 5 && left.length > 0; pass++) {
  await session.execute(left);
  left = await findLeft();
}

const inputs = new Map<string, unknown>();
for await (const event of session.events()) {
  if (event.type === "call-start") inputs.set(event.callId, event.call.input);
  if (event.type === "call-end" && event.result.error?.outcome === "unknown")
    console.log("may have been paid:", inputs.get(event.callId), event.result.error.message);
}
const lines = readFileSync(ledger, "utf8").trim().split("\n");
console.log(`${new Set(lines.map((line) => line.split(" ")[0])).size} invoices, ${lines.length} payments, ${left.length} left`);
await runtime.close();
rmSync(folder, { recursive: true });

/* Prints:
500 invoices, 500 payments, 0 left
*/
