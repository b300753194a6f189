/** Makes one tool of several that are called one after the other: it is run, offered to a model, and simulated. */
import assert from "node:assert/strict";
import { createRuntime, defineTool, readOnly, resultText } from "haft";
import { createChain } from "haft/chain";

const text = { type: "string" } as const;
const find = defineTool({
  name: "find",
  description: "Finds trains to a town.",
  inputSchema: { type: "object", properties: { town: text }, required: ["town"] },
  effects: readOnly("trains"),
  execute: ({ town }) => ({ trains: town === "Oslo" ? [{ id: 7, price: 49 }] : [] }),
});
const book = defineTool({
  name: "book",
  description: "Books a seat in a train.",
  inputSchema: { type: "object", properties: { train: { type: "integer" }, seats: { type: "integer" } }, required: ["train"] },
  effects: { writes: ["bookings"] },
  execute: ({ train, seats }) => ({ ticket: `train ${train}, ${seats ?? 1} seats` }),
});

const trip = createChain()
  .addStep({ tool: "find", inputMapping: { town: "to" }, outputKey: "found" })
  .addStep({ tool: "book", inputMapping: { train: "found.trains[0].id", seats: { path: "people", default: 1 } } });

const tools = [find, book, trip.toTool({ name: "travel", description: "Books a seat in the first train to a town.", answerKey: "ticket" })];
const runtime = createRuntime({ tools });

const result = await trip.run(runtime, { to: "Oslo", people: 2 });
assert.ok(result.success);
console.log(JSON.stringify(result.context));

const failed = await trip.run(runtime, { to: "Bergen" });
for (const error of failed.errors) console.log(error);

const check = createChain([{ tool: "find" }, { tool: "bok" }]).validate(runtime);
for (const { message } of check.valid ? [] : check.problems) console.log(message);

const session = runtime.session();
console.log(resultText(await session.execute({ name: "travel", input: { to: "Oslo" } })));
await runtime.close();

/* Prints:
{"to":"Oslo","people":2,"found":{"trains":[{"id":7,"price":49}]},"ticket":"train 7, 2 seats"}
Step 1 (book) failed: the argument "train" comes from "found.trains[0].id", which does not exist: [0] is not in an array of 0 items.
Step 1 of the chain: No tool "bok". Did you mean "book"?
train 7, 1 seats
*/
