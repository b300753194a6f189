import { describe, expect, test } from "vitest";
import { readOnly } from "../../src/core/resources/effects.ts";
import { ToolError } from "../../src/core/error.ts";
import type { Origin, ToolResult } from "../../src/core/result.ts";
import type { Tool } from "../../src/core/tool.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool, type TestRuntime } from "./bench-runtime.ts";

interface SlowRead extends TestRuntime {
  /** The handlers that have begun, in order: each is ended from outside. */
  readonly begun: ReturnType<typeof gate<unknown>>[];
  read(options?: { readonly signal?: AbortSignal }): Promise<ToolResult>;
}

function slowRead(more: Partial<Tool> = {}): SlowRead {
  const begun: ReturnType<typeof gate<unknown>>[] = [];
  const read = tool(
    "read",
    () => {
      const one = gate<unknown>();
      begun.push(one);
      return one.promise;
    },
    { effects: readOnly("file:/a"), cache: "runtime", maxAttempts: 1, ...more },
  );
  const bench = testRuntime({ tools: [read, tool("write", () => "written", { effects: { reads: [], writes: ["file:/a"] } })] });
  return { ...bench, begun, read: (options) => bench.runtime.execute({ name: "read" }, options) };
}

function count(results: readonly ToolResult[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { status, origin, output, attempts } of results) {
    const said = `${status} ${origin} ${String(output)} after ${attempts}`;
    counts.set(said, (counts.get(said) ?? 0) + 1);
  }
  return counts;
}

describe("equal calls at the same time", () => {
  test("L23 C05 run the handler once for a thousand on one cold key", async () => {
    const { runtime, begun, read } = slowRead();
    const calls = Array.from({ length: 1_000 }, () => read());
    await settle();
    expect(begun.length).toBe(1);
    begun[0]?.open("x");
    expect(count(await Promise.all(calls))).toEqual(
      new Map([
        ["ok live x after 1", 1],
        ["ok cache x after 0", 999],
      ]),
    );
    expect([runtime.counters.attempts, runtime.running]).toEqual([1, []]);
  });

  test("C05 of several sessions share runtime-scoped answers, and none that are session-scoped", async () => {
    for (const [cache, expected] of [
      ["runtime", 1],
      ["session", 2],
    ] as const) {
      const { runtime, begun } = slowRead({ cache });
      const calls = ["a", "b"].map((id) => runtime.session(id).execute({ name: "read" }));
      await settle();
      expect(begun.length).toBe(expected);
      for (const one of begun) one.open(1);
      expect((await Promise.all(calls)).map((result) => result.output)).toEqual([1, 1]);
    }
  });

  test.each<[string, (bench: SlowRead, cancel: () => void) => Promise<void> | void, string]>([
    ["throws", ({ begun }) => begun[0]?.fail(new Error("broken")), "error live undefined after 1"],
    ["is cancelled", (_, cancel) => cancel(), "cancelled live undefined after 1"],
    ["times out", ({ ports }) => ports.clock.advance(100), "error live undefined after 1"],
  ])("C05 when the leader %s, none of 100 followers is lost: each runs by itself", async (_, end, leaders) => {
    const bench = slowRead({ timeoutMs: 100 });
    const controller = new AbortController();
    const leader = bench.read({ signal: controller.signal });
    await settle();
    const followers = Array.from({ length: 100 }, () => bench.read());
    await settle();
    await end(bench, () => controller.abort());
    await settle();
    expect(bench.begun.length).toBe(101);
    for (const one of bench.begun.slice(1)) one.open("x");
    expect([count([await leader]), count(await Promise.all(followers))]).toEqual([
      new Map([[leaders, 1]]),
      new Map([["ok live x after 1", 100]]),
    ]);
    bench.begun[0]?.open("late");
    await settle();
    expect([(await bench.read()).output, bench.ports.clock.pending, bench.runtime.running]).toEqual(["x", 0, []]);
  });

  test("C05 when the leader fails with maxConcurrent 1, the first successful follower answers the others", async () => {
    const { begun, read } = slowRead({ maxConcurrent: 1 });
    const calls = Array.from({ length: 5 }, () => read());
    await settle();
    begun[0]?.fail(new Error("broken"));
    await settle();
    begun[1]?.open("x");
    expect(count(await Promise.all(calls))).toEqual(
      new Map([
        ["error live undefined after 1", 1],
        ["ok live x after 1", 1],
        ["ok cache x after 0", 3],
      ]),
    );
  });

  test("C05 that start while a follower of a failed leader runs wait for that follower", async () => {
    const { begun, read } = slowRead();
    const [leader, follower] = [read(), read()];
    await settle();
    begun[0]?.fail(new Error("broken"));
    await settle();
    const late = read();
    await settle();
    begun[1]?.open("x");
    expect(count(await Promise.all([leader, follower, late]))).toEqual(
      new Map([
        ["error live undefined after 1", 1],
        ["ok live x after 1", 1],
        ["ok cache x after 0", 1],
      ]),
    );
  });

  test("C05 one follower that is cancelled, or passes its deadline, ends alone and at once", async () => {
    const { begun, read, ports } = slowRead({ deadlineMs: 1_000 });
    const controller = new AbortController();
    const leader = read();
    await ports.clock.advance(900);
    const cancelled = read({ signal: controller.signal });
    const follower = read();
    await settle();
    controller.abort();
    expect(count([await cancelled])).toEqual(new Map([["cancelled live undefined after 0", 1]]));
    begun[0]?.open("x");
    expect(count([await leader, await follower])).toEqual(
      new Map([
        ["ok live x after 1", 1],
        ["ok cache x after 0", 1],
      ]),
    );
  });

  test("C05 a follower whose deadline passes first ends with timeout and not_started", async () => {
    const { begun, read, ports, runtime } = slowRead({ timeoutMs: 0 });
    runtime.registry.unregister("read");
    const shared = { effects: readOnly("file:/a"), cache: "runtime", maxAttempts: 1, timeoutMs: 0 } as const;
    const slow = gate<unknown>();
    runtime.registry.register(tool("read", () => slow.promise, { ...shared, deadlineMs: 1_000 }));
    const leader = read();
    await ports.clock.advance(500);
    const follower = read();
    await ports.clock.advance(500);
    expect((await leader).error).toMatchObject({ code: "timeout", outcome: "unknown" });
    await ports.clock.advance(500);
    expect((await follower).error).toMatchObject({ code: "timeout", outcome: "unknown" });
    expect([begun.length, runtime.running]).toEqual([0, []]);
  });

  test("C05 a leader that waits for its retry releases its followers, and no call waits twice for a write in between", async () => {
    const { runtime, begun, read, ports } = slowRead({ maxAttempts: 2, maxConcurrent: 2 });
    const [leader, follower] = [read(), read()];
    const write = runtime.execute({ name: "write" });
    await settle();
    begun[0]?.fail(new ToolError("network_error", "no line"));
    await settle();
    begun[1]?.open("before");
    await settle();
    expect([(await follower).output, (await write).output]).toEqual(["before", "written"]);
    await ports.clock.advance(5_000);
    begun[2]?.open("after");
    const retried = await leader;
    expect([retried.output, retried.attempts, ports.clock.pending]).toEqual(["after", 2, 0]);
  });

  test("C05 an answer that hooks delay reaches the followers without the delay", async () => {
    const held = gate();
    let shown = 0;
    const read = tool("read", async () => "x", { effects: readOnly("a"), cache: "runtime" });
    const { runtime } = testRuntime({
      tools: [read],
      hooks: [{ name: "slow", afterCall: () => (++shown === 1 ? held.promise : undefined) }],
    });
    const [leader, follower] = [runtime.execute({ name: "read" }), runtime.execute({ name: "read" })];
    const origin: Origin = (await follower).origin;
    held.open();
    expect([origin, (await leader).origin]).toEqual(["cache", "live"]);
  });

  test("C05 an answer that breaks its schema is not shared", async () => {
    const { begun, read } = slowRead({ outputSchema: { type: "integer" } });
    const [leader, follower] = [read(), read()];
    await settle();
    begun[0]?.open("text");
    await settle();
    begun[1]?.open(5);
    expect(count([await leader, await follower])).toEqual(
      new Map([
        ["partial live text after 1", 1],
        ["ok live 5 after 1", 1],
      ]),
    );
  });

  test.each([1, 2])(
    "C05 a nested call in a call that has a slot follows only nested calls of the same caller: of %d slots",
    async (maxConcurrent) => {
      let reads = 0;
      const read = tool("read", async () => (await settle(), ++reads), { effects: readOnly("file:/a"), cache: "runtime", timeoutMs: 0 });
      const twice = tool(
        "twice",
        async (_, { execute }) => {
          await settle();
          return (await execute([{ name: "read" }, { name: "read" }])).map(({ output }) => output);
        },
        { timeoutMs: 0 },
      );
      const { runtime } = testRuntime({ tools: [read, twice], maxConcurrent });
      const [inside, outside] = await Promise.all([runtime.execute({ name: "twice" }), runtime.execute({ name: "read" })]);
      expect([inside.output, outside.output, reads]).toEqual(maxConcurrent === 1 ? [[1, 1], 1, 1] : [[2, 2], 1, 2]);
    },
  );
});

test("a call made in a turn stops waiting for an equal one whose handler waits for that turn, and runs by itself", async () => {
  const begun = gate();
  let runs = 0;
  const { runtime } = testRuntime({
    tools: [
      tool("nothing", () => "done"),
      tool("outer", () => third.execute({ name: "read" })),
      tool(
        "read",
        async () => {
          if (++runs > 1) return "read again";
          await begun.promise;
          await second.execute({ name: "nothing" });
          return "read";
        },
        { cache: "runtime", effects: { reads: ["a"] } },
      ),
    ],
  });
  const [second, third] = [runtime.session("second"), runtime.session("third")];
  const first = runtime.session("first").execute({ name: "read" });
  const outer = second.execute({ name: "outer" });
  await settle();
  begun.open();
  expect([(await first).output, (await outer).status, runs]).toEqual(["read", "ok", 2]);
});
