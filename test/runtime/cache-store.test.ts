import { expect, test } from "vitest";
import { ToolOutput } from "../../src/core/content.ts";
import { readOnly } from "../../src/core/resources/effects.ts";
import type { Store } from "../../src/core/store/store.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { MemoryCacheStore } from "../policy/memory-cache-store.ts";
import { noAccess } from "../store/no-access.ts";
import { MemoryApprovals } from "../../src/store/memory/memory-approvals.ts";
import { noFeed, noJobs } from "../store/no-jobs.ts";
import { MemoryArtifacts } from "../../src/store/memory/memory-artifacts.ts";
import { MemoryLeases } from "../../src/store/memory/memory-leases.ts";
import { MemoryWebhooks } from "../../src/store/memory/memory-webhooks.ts";
import { gate, testRuntime, tool, type TestRuntime } from "./bench-runtime.ts";

/** A store of which only the cache is used. */
function storeOf(cache: MemoryCacheStore): Store {
  const unused = (): never => {
    throw new Error("only the cache is used here");
  };
  const nothing = async (): Promise<void> => {};
  return {
    kind: "test",
    outlivesProcess: true,
    open: nothing,
    create: unused,
    claim: unused,
    read: unused,
    list: unused,
    announce: async () => {},
    processes: async () => [],
    follow: () => ({ isLive: false, stop() {} }),
    remove: unused,
    cache,
    jobs: noJobs,
    feed: noFeed,
    access: noAccess,
    artifacts: new MemoryArtifacts(),
    leases: new MemoryLeases(),
    webhooks: new MemoryWebhooks(),
    approvals: new MemoryApprovals(),
    close: nothing,
  };
}

/** What a process that uses the store would have. */
function processOn(cache: MemoryCacheStore, tools: readonly Tool[], more: RuntimeOptions = {}): TestRuntime {
  return testRuntime({ tools, store: storeOf(cache), ...more });
}

function counting(more: Partial<Tool> = {}): Tool {
  let runs = 0;
  return tool("read", () => ++runs, { effects: readOnly("file:/a"), cache: "persistent", ...more });
}

async function read({ runtime }: TestRuntime): Promise<string> {
  const { origin, output } = await runtime.execute({ name: "read" });
  await settle();
  return `${origin} ${String(output)}`;
}

test("F3.16 a persistent result is found after a restart, complete, by every session", async () => {
  const cache = new MemoryCacheStore();
  const answer = new ToolOutput({
    output: { text: "\u0000 \ud800 \u00e9", list: [1, null, { "": {} }] },
    content: [{ type: "text", text: "shown" }],
    metadata: { source: "disk" },
  });
  const reading = tool("read", () => answer, { effects: readOnly("a"), cache: "persistent" });
  const live = await processOn(cache, [reading]).runtime.execute({ name: "read" });
  await settle();
  const after = processOn(cache, [reading]);
  const hit = await after.runtime.execute({ name: "read" });
  expect(hit).toEqual({ ...live, origin: "cache", fidelity: "observed", attempts: 0 });
  expect([Object.isFrozen(hit.output), after.runtime.counters.attempts]).toEqual([true, 0]);
});

test("F3.16 closing the runtime waits until its persistent results are stored", async () => {
  const cache = new MemoryCacheStore();
  const first = processOn(cache, [counting()]);
  await first.runtime.execute({ name: "read" });
  await first.runtime.close();
  expect(await read(processOn(cache, [counting()]))).toBe("cache 1");
});

test("F3.16 without a store a persistent result lasts as long as the runtime", async () => {
  const bench = testRuntime({ tools: [counting()] });
  expect([await read(bench), await read(bench)]).toEqual(["live 1", "cache 1"]);
});

test("F3.16 after its ttl, on the wall clock, a persistent result is read anew", async () => {
  const cache = new MemoryCacheStore();
  const bench = processOn(cache, [counting({ cache: { scope: "persistent", ttlMs: 1_000 } })]);
  const found: string[] = [];
  for (const waitMs of [0, 999, 1]) {
    await bench.ports.clock.advance(waitMs);
    found.push(await read(bench));
  }
  expect(found).toEqual(["live 1", "cache 1", "live 2"]);
});

test.each<[string, Partial<Tool>]>([
  ["another input schema", { inputSchema: { type: "object", properties: { a: {} } } }],
  ["another output schema", { outputSchema: { type: "integer" } }],
  ["another name", { name: "view" }],
  ["another identity", { cache: { scope: "persistent", identity: ["user"] } }],
])("C03 after a restart a tool with %s does not get the results of the earlier one", async (_, changed) => {
  const cache = new MemoryCacheStore();
  const data = { user: "ann" };
  await processOn(cache, [counting()], { data }).runtime.execute({ name: "read" });
  await settle();
  const after = processOn(cache, [counting(changed)], { data });
  expect((await after.runtime.execute({ name: changed.name ?? "read" })).origin).toBe("live");
});

test("C01 a persistent result of one user is never given to another, in any process", async () => {
  const cache = new MemoryCacheStore();
  const reading = tool("read", (_, { data }) => String(data["user"]), {
    effects: readOnly("a"),
    cache: { scope: "persistent", identity: ["user"] },
  });
  const found: unknown[] = [];
  for (const user of ["ann", "bob", "ann", "bob"]) {
    const { runtime } = processOn(cache, [reading], { data: { user } });
    const { origin, output } = await runtime.execute({ name: "read" });
    await settle();
    found.push([origin, output]);
  }
  expect(found).toEqual([
    ["live", "ann"],
    ["live", "bob"],
    ["cache", "ann"],
    ["cache", "bob"],
  ]);
});

const WRITE = tool("write", () => "written", { effects: { reads: [], writes: ["file:/a/b"] } });

test("a write drops the stored result for every process, even if the writer caches nothing itself", async () => {
  const cache = new MemoryCacheStore();
  const [one, other] = [processOn(cache, [counting(), WRITE]), processOn(cache, [counting(), WRITE])];
  const found = [await read(one), await read(other)];
  await one.runtime.execute({ name: "write" });
  await settle();
  found.push(await read(other), await read(one));
  const writer = processOn(cache, [WRITE, tool("look", () => 0, { effects: readOnly("file:/c"), cache: "persistent" })]);
  await writer.runtime.execute({ name: "write" });
  await writer.runtime.execute({ name: "look" });
  found.push(await read(other));
  expect(found).toEqual(["live 1", "cache 1", "live 1", "cache 1", "live 2"]);
});

test("a write invalidates the store before it starts, and does not start if that fails", async () => {
  const cache = new MemoryCacheStore();
  let written = 0;
  const write = tool("write", () => ++written, { effects: { reads: [], writes: ["file:/a"] }, maxAttempts: 1 });
  const bench = processOn(cache, [counting(), write]);
  await read(bench);
  const known = gate();
  cache.gate = known.promise;
  cache.asked.length = 0;
  const waiting = bench.runtime.execute({ name: "write" });
  await settle();
  expect([written, cache.asked]).toEqual([0, ["invalidate file:/a toolset:default/writes/file:/a"]]);
  known.open();
  expect((await waiting).output).toBe(1);
  cache.failing = true;
  const refused = await bench.runtime.execute({ name: "write" });
  expect([refused.error, written]).toEqual([
    {
      code: "store_failed",
      message: "default::write was not started: the store could not record what it writes: The disk is full.",
      outcome: "not_started",
      retryable: true,
    },
    1,
  ]);
});

test("registering a tool with persistent results is enough for writes to invalidate the store before they start", async () => {
  const cache = new MemoryCacheStore();
  const asked: (readonly string[])[] = [];
  const write = tool("write", () => void asked.push([...cache.asked]), { effects: { reads: [], writes: ["file:/a"] } });
  const bench = processOn(cache, [write]);
  await bench.runtime.execute({ name: "write" });
  bench.runtime.registry.register(counting());
  await bench.runtime.execute({ name: "write" });
  expect(asked).toEqual([[], ["invalidate file:/a toolset:default/writes/file:/a"]]);
});

test("an unreadable cache store causes a miss, not an error", async () => {
  const cache = new MemoryCacheStore();
  const bench = processOn(cache, [counting()]);
  await read(bench);
  cache.failing = true;
  const down = [await read(bench), await read(bench)];
  cache.failing = false;
  expect([down, await read(bench), bench.ports.log.lines.filter((line) => line.level === "warn").length]).toEqual([
    ["live 2", "live 3"],
    "cache 1",
    1,
  ]);
});

test("C05 L23 concurrent equal calls query the store and run the handler once", async () => {
  const cache = new MemoryCacheStore();
  const bench = processOn(cache, [counting()]);
  const results = await bench.runtime.execute(Array.from({ length: 100 }, () => ({ name: "read" })));
  await settle();
  expect([results.filter((result) => result.origin === "cache").length, new Set(results.map((result) => result.output))]).toEqual([
    99,
    new Set([1]),
  ]);
  // the second time for all that waited: another process may have written what was read
  expect(cache.asked).toEqual(["get", "versions", "put", "versions"]);
});

test("C05 a call whose deadline passes during the store query ends, and calls that wait for it continue on their own", async () => {
  const cache = new MemoryCacheStore();
  cache.gate = new Promise(() => {});
  const bench = processOn(cache, [counting({ deadlineMs: 1_000 })]);
  const first = bench.runtime.execute({ name: "read" });
  await bench.ports.clock.advance(500);
  const second = bench.runtime.execute({ name: "read" });
  await bench.ports.clock.advance(500);
  expect((await first).error).toMatchObject({ code: "timeout", outcome: "not_started" });
  await bench.ports.clock.advance(500);
  expect((await second).error).toMatchObject({ code: "timeout", outcome: "not_started" });
  expect([bench.runtime.running, bench.ports.clock.pending]).toEqual([[], 0]);
});

test("C06 a simulation finds a stored result and stores none", async () => {
  const cache = new MemoryCacheStore();
  const bench = processOn(cache, [counting(), counting({ name: "other", effects: readOnly("file:/b") })]);
  await read(bench);
  cache.asked.length = 0;
  const { results } = await bench.runtime.simulate([{ name: "read" }, { name: "other" }]);
  await settle();
  expect([results.map((result) => result.origin), cache.asked]).toEqual([
    ["cache", "live"],
    ["get", "get"],
  ]);
});

test.each([
  ["no JSON", "{"],
  ["no answer", "[1]"],
  ["an answer that breaks the schema", '{"output":"text"}'],
  ["content of no known kind", '{"output":1,"content":[{"type":"script","text":"x"}]}'],
  ["metadata that is not an object", '{"output":1,"metadata":[]}'],
  ["a value nested without end", `{"output":${"[".repeat(100_000)}`],
])("a stored body that is %s is not used", async (_, body) => {
  const cache = new MemoryCacheStore();
  const reading = counting({ outputSchema: { type: "integer" } });
  expect(await read(processOn(cache, [reading]))).toBe("live 1");
  for (const [key, entry] of cache.entries) cache.entries.set(key, { ...entry, body });
  expect(await read(processOn(cache, [reading]))).toBe("live 2");
});

test("C09 a stored body is treated as plain data, whatever its keys", async () => {
  const cache = new MemoryCacheStore();
  const reading = counting();
  await read(processOn(cache, [reading]));
  const body = '{"output":{"__proto__":{"admin":true},"lc":1,"type":"constructor","$type":"x"}}';
  for (const [key, entry] of cache.entries) cache.entries.set(key, { ...entry, body });
  const { output } = await processOn(cache, [reading]).runtime.execute({ name: "read" });
  expect(output).toEqual({ lc: 1, type: "constructor", $type: "x" });
  expect(Reflect.get(Object(output), "admin")).toBe(undefined);
});
