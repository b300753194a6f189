/** Tests an agent with a scripted model: the tests check which tools run, which calls need approval and what the model was sent. */
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "haft";
import { scriptedModel, type ScriptedModel } from "haft/model";
import { fakePorts } from "haft/testing";

/** The agent under test. Your program passes a real model and a real bank. */
function refundAgent(model: ScriptedModel, bank: { refund(order: number): string }, answer: "allow-once" | "deny") {
  const refund = defineTool({
    name: "refund",
    description: "Pays an order back.",
    inputSchema: { type: "object", properties: { order: { type: "integer" } }, required: ["order"] },
    effects: { writes: "order:{order}", external: true, destructive: true },
    execute: ({ order }) => bank.refund(order),
  });
  const runtime = createRuntime({ tools: [refund], ports: fakePorts(), approval: { approve: () => answer } });
  return runtime.loop({ model, system: "Pay back what is broken." });
}

async function test(title: string, run: () => Promise<void>): Promise<void> {
  await run(); // in a test file, use test() of node:test or Vitest instead
  console.log("ok:", title);
}

const script = [{ calls: [{ name: "refund", input: { order: "7" } }] }, { text: "Done." }];

await test("an order is paid back once, and the model is told so", async () => {
  const refunded: number[] = [];
  const model = scriptedModel(script);
  const result = await refundAgent(model, { refund: (order) => `refund ${refunded.push(order)} made` }, "allow-once").run(
    "My lamp is broken.",
  );
  assert.deepEqual(refunded, [7]); // the model wrote "7"
  assert.deepEqual([result.reason, result.text, result.rounds], ["answered", "Done.", 2]);
  const shown = model.requests[1]?.messages.at(-1);
  assert.ok(shown?.role === "result" && shown.result.output === "refund 1 made");
});

await test("without a yes nothing is paid back", async () => {
  const refunded: number[] = [];
  const loop = refundAgent(scriptedModel(script), { refund: (order) => `refund ${refunded.push(order)} made` }, "deny");
  const { results } = await loop.run("My lamp is broken.");
  assert.deepEqual([refunded, results[0]?.error?.code], [[], "approval_denied"]);
});

await test("a bank that fails ends in a text, not in an exception", async () => {
  const broken = { refund: (): string => assert.fail("the bank is closed") };
  const { reason, results } = await refundAgent(scriptedModel(script), broken, "allow-once").run("My lamp is broken.");
  assert.deepEqual([reason, results[0]?.status, results[0]?.error?.code], ["answered", "error", "execution_failed"]);
});

/* Prints:
ok: an order is paid back once, and the model is told so
ok: without a yes nothing is paid back
ok: a bank that fails ends in a text, not in an exception
*/
