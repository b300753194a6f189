/** A session keeps its calls, their results and the state of its tools. A batch that fails leaves no state behind. */
import assert from "node:assert/strict";
import { ToolExecutionError, createRuntime, defineTool } from "haft";

const count = defineTool({
  name: "count",
  description: "Counts up.",
  effects: { writes: ["session:count"] },
  execute(_, { state }) {
    state.update("count", (before) => Number(before ?? 0) + 1);
    return state.get("count");
  },
});

const fail = defineTool({
  name: "fail",
  description: "Always fails.",
  effects: { writes: ["session:count"] },
  execute() {
    throw new Error("out of order");
  },
});

const runtime = createRuntime({ tools: [count, fail] });
const session = runtime.session("monday");
await session.execute([{ name: "count" }, { name: "count" }]);

try {
  await session.execute([{ name: "count" }, { name: "fail" }], { onError: "throw" });
} catch (error: unknown) {
  assert.ok(error instanceof ToolExecutionError);
  console.log("rolled back:", error.message);
}
await session.execute({ name: "count" });

for (const { call, result } of session.history) console.log(call.name, result?.output);
console.log("recorded events:", session.log.map((event) => event.type).join(" "));
assert.deepEqual(
  session.history.map((entry) => entry.result?.output),
  [1, 2, 3],
);

await session.close();
await assert.rejects(session.execute({ name: "count" }), /session "monday" is closed/u);
await runtime.close();

/* Prints:
haft: A batch was rolled back: default::fail: out of order
rolled back: default::fail: out of order
count 1
count 2
count 3
recorded events: call-start call-start state-change call-end state-change call-end call-start call-start state-change call-end call-end state-change batch-rollback call-start state-change call-end
*/
