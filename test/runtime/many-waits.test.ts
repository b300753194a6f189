/** Whether a wait could never end is found in time that does not grow with what waits elsewhere: these would not end otherwise. */
import { expect, test } from "vitest";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { gate, testRuntime, tool } from "./bench-runtime.ts";
import { testInCI } from "../test-in-ci.ts";

const PATIENT = { timeoutMs: 0, deadlineMs: 3_600_000 } as const;

/** A session whose turn goes on until `open` is called, and a tool whose handler waits for the next one. */
function busyRuntime() {
  const { promise, open } = gate();
  const { runtime } = testRuntime({
    tools: [
      tool("hold", () => promise, PATIENT),
      tool("ask", async () => (await busy.execute({ name: "quick" })).status, PATIENT),
      tool("quick", () => 1, PATIENT),
    ],
  });
  const busy = runtime.session("busy");
  return { runtime, holding: busy.execute({ name: "hold" }), open };
}

function fromMany(runtime: Runtime, name: string, sessions: number) {
  return Promise.all(Array.from({ length: sessions }, (_, n) => runtime.session(`s${n}`).execute({ name })));
}

test("thousands of writers of one key all succeed while a handler of another runtime waits for a turn", async () => {
  const elsewhere = busyRuntime();
  const asking = elsewhere.runtime.session("asks").execute({ name: "ask" });
  await expect.poll(() => elsewhere.runtime.running.length).toBe(2);
  const { runtime } = testRuntime({ tools: [tool("write", async () => 1, { ...PATIENT, effects: { writes: ["k"] } })] });
  const results = await fromMany(runtime, "write", 4_000);
  expect(results.every(({ status }) => status === "ok")).toBe(true);
  elsewhere.open();
  await elsewhere.holding;
  expect((await asking).output).toBe("ok");
});

testInCI("thousands of handlers can wait for one busy session, and all are answered", async () => {
  const { runtime, holding, open } = busyRuntime();
  const asking = fromMany(runtime, "ask", 20_000);
  await expect.poll(() => runtime.running.length, { timeout: 60_000 }).toBe(20_001);
  open();
  await holding;
  expect((await asking).every(({ output }) => output === "ok")).toBe(true);
});
