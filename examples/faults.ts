/** Injects faults: one seed always fails the same calls, and no payment is made twice because of them. */
import assert from "node:assert/strict";
import { createRuntime, defineTool, readOnly, type ToolResult } from "haft";
import { memoryStore } from "haft/store";
import type { FaultPlan } from "haft/simulation";
import { fakePorts } from "haft/testing";

const paid: string[] = [];
const invoice = { type: "object", properties: { invoice: { type: "string" } }, required: ["invoice"] } as const;
const look = defineTool({
  name: "look",
  description: "Looks an invoice up.",
  inputSchema: invoice,
  effects: readOnly("invoices"),
  execute: (input) => `${input.invoice}: 70 euros`,
});
const pay = defineTool({
  name: "pay",
  description: "Pays an invoice.",
  inputSchema: invoice,
  effects: { writes: ["bank"], external: true },
  execute: (input) => `paid ${paid.push(input.invoice)}`,
});

const show = ({ name, status, error, attempts, fault }: ToolResult): void =>
  console.log(`${name}: ${error?.code ?? status}, outcome ${error?.outcome ?? "known"}, attempts ${attempts}, fault ${fault ?? "none"}`);

const flaky: FaultPlan = {
  seed: 7,
  rules: [
    { type: "network_error", probability: 1, tools: "default::look", attempts: 2 },
    { type: "crash_after_commit", probability: 1, tools: "default::pay" },
  ],
};
const ports = fakePorts();
const runtime = createRuntime({ tools: [look, pay], faults: flaky, store: memoryStore(), ports });
const session = await ports.clock.run(runtime.resume("monday", { create: true }));
for (const name of ["look", "pay"]) show(await ports.clock.run(session.execute({ name, input: { invoice: "A-1" } })));
assert.deepEqual(paid, ["A-1"], "it is paid once, though the answer was lost");
const kept: string[] = [];
for await (const { type } of session.events()) kept.push(type);
console.log(`kept of the payment: ${kept.slice(-3).join(", ")}`);

/** Returns the invoices whose lookup fails. */
async function hits(invoices: readonly string[]): Promise<readonly string[]> {
  const rules = [{ type: "network_error", probability: 0.05, retryable: false }];
  const drill = createRuntime({ tools: [look], faults: { seed: 7, rules }, circuit: false });
  const results = await drill.execute(invoices.map((invoice) => ({ name: "look", input: { invoice } })));
  return invoices.filter((_, index) => results[index]?.fault !== undefined).toSorted();
}
const invoices = Array.from({ length: 1_000 }, (_, index) => `A-${index}`);
const failed = await hits(invoices);
assert.deepEqual(await hits(invoices.toReversed()), failed);
console.log(`${failed.length} of 1000 calls fail, in any order the same ones`);
await runtime.close();

/* Prints:
default::look: ok, outcome known, attempts 3, fault network_error
default::pay: network_error, outcome unknown, attempts 1, fault crash_after_commit
kept of the payment: call-start, call-intent, call-end
44 of 1000 calls fail, in any order the same ones
*/
