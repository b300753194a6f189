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
const calls = Array.from({ length: 500 }, (_, row) => ({ name: "pay", input: { invoice: `invoice-${row + 1}`, cents: row + 100 } }));
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
    const error = await bank(`${invoice} ${cents} ${idempotencyKey}`).catch((thrown: unknown) => thrown);
    if (error instanceof Error && (error instanceof ToolError || !wasPaid(idempotencyKey))) throw error; // after a lost answer, the bank is asked
    return "paid";
  },
});
if (!isDoomed) spawnSync(process.execPath, [...process.execArgv, import.meta.filename, folder]); // is killed in the middle
const runtime = createRuntime({ tools: [pay], store: sqliteStore({ path: join(folder, "import.db") }), retry: { delayMs: 10 } });
const session = await runtime.resume("payments of 30 November", { create: true });
/** How the calls of the session have ended, by their inputs. */
async function readOutcomes() {
  const [inputs, outcomes] = [new Map<string, string>(), new Map<string, string>()];
  for await (const event of session.events()) {
    if (event.type === "call-start") inputs.set(event.callId, JSON.stringify(event.call.input));
    if (event.type === "call-end") outcomes.set(inputs.get(event.callId) ?? "", event.result.error?.outcome ?? "done");
  }
  return outcomes;
}
let outcomes = await readOutcomes();
const isLeft = ({ input }: (typeof calls)[number]) => (outcomes.get(JSON.stringify(input)) ?? "not_started") === "not_started";
for (let pass = 1; pass <= 5 && calls.some(isLeft); pass++) {
  await session.execute(calls.filter(isLeft));
  outcomes = await readOutcomes();
}
for (const [input, outcome] of outcomes) if (outcome === "unknown") console.log("may have been paid:", input);
const payments = readFileSync(ledger, "utf8").trim().split("\n");
const invoices = new Set(payments.map((line) => line.split(" ")[0]));
console.log(`${invoices.size} invoices, ${payments.length} payments, ${calls.filter(isLeft).length} left`);
await runtime.close();
rmSync(folder, { recursive: true });

/* Prints:
500 invoices, 500 payments, 0 left
*/
