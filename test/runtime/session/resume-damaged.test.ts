/** Logs that say what no process of Haft writes. */
import { expect, test } from "vitest";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";

test.each([
  { name: "in itself", madeIn: { a: "a" }, ends: [["a", "echo"]] },
  {
    name: "in one another",
    madeIn: { b: "a", a: "b" },
    ends: [
      ["b", "cancelled"],
      ["a", "cancelled"],
    ],
  },
])("calls recorded as nested $name get results on resume", async ({ madeIn, ends }) => {
  const store = memoryStore();
  const log = store.create("s", { at: 1, durability: "sync" });
  const at = { sessionId: "s", turnId: "t", at: 1 };
  log.append([
    { sessionId: "s", type: "session-start", at: 1 },
    ...Object.entries(madeIn).map(([callId, parentCallId]) => {
      const call = { name: "echo", input: {} };
      return { ...at, type: "call-start", callId, call, parentCallId } as const;
    }),
  ]);
  await log.close();
  const runtime = createRuntime({
    store,
    tools: [{ name: "echo", description: "Echoes.", inputSchema: { type: "object" }, execute: () => "echo" }],
  });
  const { history } = await runtime.resume("s");
  expect(history.map(({ callId, result }) => [callId, result?.error?.code ?? result?.output])).toEqual(ends);
  await runtime.close();
});
