import { expect, test } from "vitest";
import { settle } from "../../src/testing/fake-ports.ts";
import { testRuntime, tool } from "../runtime/bench-runtime.ts";

test.each([
  ["nothing", { reads: [], writes: [] }, 0],
  ["a key", { writes: ["k"] }, 1],
])("an abandoned handler that holds %s leaves timers only for what it holds", async (_, effects, pending) => {
  const never = (): Promise<never> => new Promise(() => {});
  const { runtime, ports } = testRuntime({ tools: [tool("hang", never, { effects, timeoutMs: 50, maxAttempts: 1 })] });
  const call = runtime.execute({ name: "hang" });
  await ports.clock.advance(50);
  await call;
  await ports.clock.advance(1);
  await settle();
  expect({ orphans: runtime.counters.orphans, pending: ports.clock.pending }).toEqual({ orphans: 1, pending });
});
