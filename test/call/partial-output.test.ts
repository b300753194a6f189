/** What a handler had when it was cut off is shown, and nothing of it where the call ended by itself. */
import { expect, test } from "vitest";
import { ToolOutput } from "../../src/core/content.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { testRuntime, tool } from "../runtime/bench-runtime.ts";

const FOUND = new ToolOutput({ output: { found: 2 }, metadata: { pages: 3 } });

function searching(end: () => unknown, ...partials: readonly unknown[]) {
  const search = (_: unknown, context: ToolContext): unknown => {
    for (const partial of partials) context.partial(partial);
    return end();
  };
  return testRuntime({ tools: [tool("search", search, { timeoutMs: 100, maxAttempts: 1 })] });
}

const never = (): Promise<never> => new Promise(() => {});

test.each([
  ["is cancelled", 50, "cancelled", "cancelled"],
  ["runs out of time", 1_000, "error", "timeout"],
])("a call that %s returns the last partial output of its handler, with its metadata", async (_, abortAtMs, status, code) => {
  const { runtime, ports } = searching(never, { found: 1 }, FOUND);
  const controller = new AbortController();
  ports.clock.timer(() => controller.abort(), abortAtMs);
  const call = runtime.execute({ name: "search" }, { signal: controller.signal });
  await ports.clock.advance(1_000);
  expect(await call).toMatchObject({ status, error: { code }, output: { found: 2 }, metadata: { pages: 3 } });
});

test("partial output that cannot be recorded is left out with a warning, and the call ends as usual", async () => {
  const { runtime, ports } = searching(never, { found: 1n });
  const call = runtime.execute({ name: "search" });
  await ports.clock.advance(1_000);
  const result = await call;
  expect([result.error?.code, "output" in result]).toEqual(["timeout", false]);
  expect(ports.log.lines.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
    expect.stringMatching(/^The partial output of default::search was left out: /u),
  ]);
});

test.each<readonly [string, () => unknown, object]>([
  ["an answer", () => "all", { status: "ok", output: "all" }],
  [
    "an error",
    () => Promise.reject(new Error("It broke.")),
    { status: "error", error: expect.objectContaining({ code: "execution_failed" }) },
  ],
])("a call that ended by itself with %s returns no partial output", async (_, end, expected) => {
  const result = await searching(end, FOUND).runtime.execute({ name: "search" });
  const { status, output, metadata, error } = result;
  expect({ status, output, metadata, error }).toEqual({ output: undefined, metadata: undefined, error: undefined, ...expected });
});
