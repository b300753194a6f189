/** A process is killed during three calls. When its session is resumed, calls that are safe to repeat run again; others are reconciled or left. */
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool, resultText } from "haft";
import { sqliteStore } from "haft/sqlite";

const isDoomed = process.argv[2] !== undefined;
const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), "haft-"));
const deeds = join(folder, "deeds.txt"); // stands for the outside world: it outlives the process
let begun = 0;

async function act(deed: string): Promise<string> {
  appendFileSync(deeds, `${deed}\n`);
  if (isDoomed && ++begun === 3) process.kill(process.pid, "SIGKILL"); // the answers are lost
  return isDoomed ? new Promise(() => {}) : "done";
}

const pay = defineTool({ name: "pay", description: "Pays Ada.", effects: { writes: ["ada"] }, execute: () => act("pay") });
const label = defineTool({
  name: "label",
  description: "Sets the label of a parcel.",
  effects: { writes: ["parcel"], idempotent: true },
  execute: () => act("label"),
});
const transfer = defineTool({
  name: "transfer",
  description: "Pays Grace, at a bank that can be asked.",
  effects: {
    writes: ["grace"],
    reconcile({ idempotencyKey }) {
      const isDone = readFileSync(deeds, "utf8").includes(idempotencyKey);
      return isDone ? { happened: true, output: "done, says the bank" } : { happened: false };
    },
  },
  execute: (_, { idempotencyKey }) => act(`transfer ${idempotencyKey}`),
});

const store = sqliteStore({ path: join(folder, "sessions.db") });
const runtime = createRuntime({ tools: [pay, transfer, label], store });
if (isDoomed) await runtime.session("monday").execute([{ name: "pay" }, { name: "transfer" }, { name: "label" }]);
spawnSync(process.execPath, [...process.execArgv, import.meta.filename, folder]);
const session = await runtime.resume("monday");
for (const { call, result } of session.history) console.log(`${call.name}: ${result === undefined ? "" : resultText(result)}`);
await runtime.close();

const done = readFileSync(deeds, "utf8").replaceAll(/ .*/gu, "").trim().split("\n");
console.log("what happened:", done.toSorted().join(", "));
rmSync(folder, { recursive: true });

/* Prints:
pay: Error (outcome_unknown): The process ended while default::pay ran; it is not known whether it took effect.
Hint: Check before calling it again.
transfer: done, says the bank
label: done
what happened: label, label, pay, transfer
*/
