/** Waits for jobs. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "vitest";
import { testRuntime, tool } from "../bench-runtime.ts";
import { testInCI } from "../../test-in-ci.ts";

testInCI("F1.22 timed-out waits for a running job leave nothing in memory", async () => {
  const { runtime, ports } = testRuntime({ tools: [tool("long", () => new Promise(() => {}), { effects: { reads: ["x"] } })] });
  const { id } = await runtime.session().submit({ name: "long" });
  const waitOften = async (): Promise<number> => {
    const waits = Array.from({ length: 10_000 }, () => runtime.jobs.wait(id, { timeoutMs: 1 }));
    await ports.clock.advance(1);
    await Promise.all(waits);
    waits.length = 0;
    setFlagsFromString("--expose-gc");
    runInNewContext("gc")();
    return process.memoryUsage().heapUsed;
  };
  const before = await waitOften();
  for (let times = 0; times < 3; times++) await waitOften();
  expect(((await waitOften()) - before) / 40_000).toBeLessThan(100); // bytes for each wait; a reaction of a promise takes 700
});
