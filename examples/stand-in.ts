/** A simulation in which a stand-in engine answers for tools that may not run: the answers are plausible, and nothing is changed. */
import assert from "node:assert/strict";
import { createRuntime, defineTool, type Engine } from "haft";

const orders = new Map([[7, "paid"]]);
const order = { type: "object", properties: { id: { type: "integer" } }, required: ["id"] } as const;

const status = defineTool({
  name: "status",
  description: "Says how far an order is.",
  inputSchema: order,
  effects: { reads: "order:{id}", writes: [] },
  execute: ({ id }) => orders.get(id) ?? "unknown",
});
const cancel = defineTool({
  name: "cancel",
  description: "Cancels an order.",
  inputSchema: order,
  effects: { writes: "order:{id}", external: true },
  execute: ({ id }) => {
    orders.set(id, "cancelled");
    return "cancelled";
  },
});

/** This engine could also ask a model for a plausible answer. */
const standIn: Engine = {
  kind: "pretend",
  call: ({ tool, input }, { history }) => `${tool.name} of order ${Number(input["id"])}, as if, after ${history.length} calls`,
};

const runtime = createRuntime({ tools: [status, cancel], standIn });
const session = runtime.session();
const tried = session.fork({ simulated: true });
for (const name of ["status", "cancel", "status"]) {
  const { origin, output } = await tried.execute({ name, input: { id: 7 } });
  console.log(`${name} (${origin}): ${JSON.stringify(output)}`);
}
console.log("pretended to write:", tried.diff().pretended[0]);
assert.equal(orders.get(7), "paid");

await tried.commit();
for (const { call, result } of session.history) console.log("kept:", call.name, result?.origin);
const after = await session.execute({ name: "status", input: { id: 7 } });
console.log(`status (${after.origin}): ${JSON.stringify(after.output)}`);
await runtime.close();

/* Prints:
status (live): "paid"
cancel (simulated): "cancel of order 7, as if, after 1 calls"
status (simulated): "status of order 7, as if, after 2 calls"
pretended to write: order:7
kept: status live
kept: cancel simulated
kept: status simulated
status (live): "paid"
*/
