import { describe, expect, test } from "vitest";
import { readOnly } from "../../src/core/resources/effects.ts";
import type { Engine } from "../../src/core/engine.ts";
import type { Tool } from "../../src/core/tool.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool, type TestRuntime } from "./bench-runtime.ts";

interface World extends TestRuntime {
  readonly values: Map<string, string>;
  /** Resolves to what a read answers, and where it came from. */
  read(path?: string): Promise<string>;
}

/** A world of values that are read, cached for the runtime, by their path. */
function world(writers: (values: Map<string, string>) => readonly Tool[], more: Partial<Tool> = {}): World {
  const values = new Map([["file:/a", "old"]]);
  const read = tool("read", ({ path }) => values.get(String(path)) ?? "nothing", {
    effects: { reads: ({ path }) => [String(path)], writes: [] },
    cache: "runtime",
    ...more,
  });
  const bench = testRuntime({ tools: [read, ...writers(values)] });
  return {
    ...bench,
    values,
    read: async (path = "file:/a") => {
      const { origin, output } = await bench.runtime.execute({ name: "read", input: { path } });
      return `${origin} ${String(output)}`;
    },
  };
}

const WRITES_A = { effects: { reads: [], writes: ["file:/a"] }, maxAttempts: 1 } as const;

describe("a cached result is dropped when", () => {
  test("the key it was read from is written, in call order: a batch reads its earlier writes, not its later ones", async () => {
    const { runtime, read } = world((values) => [tool("write", ({ value }) => void values.set("file:/a", String(value)), WRITES_A)]);
    await read();
    const call = (value?: string): { readonly name: string; readonly input: Record<string, string> } =>
      value === undefined ? { name: "read", input: { path: "file:/a" } } : { name: "write", input: { value } };
    const results = await runtime.execute([call(), call("one"), call(), call(), call("two"), call()]);
    expect(results.flatMap(({ name, origin, output }) => (name === "default::read" ? [`${origin} ${String(output)}`] : []))).toEqual([
      "cache old",
      "live one",
      "cache one",
      "live two",
    ]);
  });

  test("a key inside or around its own is written, but not a neighbouring one", async () => {
    const { runtime, read } = world(() => [tool("write", () => 1, { effects: { reads: [], writes: ({ path }) => [String(path)] } })]);
    const origins: string[] = [];
    for (const path of ["file:/b", "file:/ab", "mail:/a", "file:/a/inside", "file:/a", "file:"]) {
      await read();
      await runtime.execute({ name: "write", input: { path } });
      origins.push(`${path} ${await read()}`);
    }
    expect(origins).toEqual([
      "file:/b cache old",
      "file:/ab cache old",
      "mail:/a cache old",
      "file:/a/inside live old",
      "file:/a live old",
      "file: live old",
    ]);
  });

  test("a call without declared effects runs in its toolset", async () => {
    const anything: Tool = { name: "anything", description: "", inputSchema: {}, execute: () => 1 };
    const { runtime, read } = world(() => [anything]);
    await read();
    await runtime.execute({ name: "anything" });
    expect([await read(), await read()]).toEqual(["live old", "cache old"]);
  });

  test("it was read from the whole toolset and any key in it is written", async () => {
    const { runtime, read } = world(() => [tool("write", () => 1, { effects: { reads: [], writes: ["mail:/b"] } })], {
      effects: readOnly(),
    });
    await read();
    const hit = await read();
    await runtime.execute({ name: "write" });
    expect([hit, await read()]).toEqual(["cache old", "live old"]);
  });

  test("a write of it fails", async () => {
    const { runtime, read, values } = world(() => [
      tool(
        "write",
        () => {
          values.set("file:/a", "half");
          throw new Error("broken");
        },
        WRITES_A,
      ),
    ]);
    await read();
    await runtime.execute({ name: "write" });
    expect(await read()).toBe("live half");
  });

  test("a write of it times out, and no answer is cached until the orphan ends", async () => {
    const late = gate();
    const { runtime, read, values, ports } = world((known) => [
      tool("write", () => late.promise.then(() => void known.set("file:/a", "late")), { ...WRITES_A, timeoutMs: 100 }),
    ]);
    await read();
    const write = runtime.execute({ name: "write" });
    await ports.clock.advance(100);
    values.set("file:/a", "early");
    await ports.clock.advance(10_000);
    expect([(await write).error?.code, await read(), await read()]).toEqual(["timeout", "live early", "live early"]);
    late.open();
    await settle();
    expect([await read(), await read()]).toEqual(["live late", "cache late"]);
  });

  test("an orphaned write ends while it is being read: that answer is not cached", async () => {
    const [late, reading] = [gate(), gate<string>()];
    const { runtime, ports } = testRuntime({
      tools: [
        tool("read", () => reading.promise, { effects: readOnly("file:/a"), cache: "runtime" }),
        tool("write", () => late.promise, { ...WRITES_A, timeoutMs: 100 }),
      ],
      orphanHoldMs: 0,
    });
    const write = runtime.execute({ name: "write" });
    await ports.clock.advance(101);
    const first = runtime.execute({ name: "read" });
    const follower = runtime.execute({ name: "read" });
    await settle();
    late.open();
    await settle();
    reading.open("torn");
    expect([(await write).error?.code, (await first).origin, (await follower).origin]).toEqual(["timeout", "live", "live"]);
    expect((await runtime.execute({ name: "read" })).origin).toBe("cache");
  });

  test("a batch that wrote it is rolled back, by undo and in the session's state", async () => {
    const { runtime, values } = world((known) => [
      tool("write", ({ value }) => void known.set("file:/a", String(value)), {
        effects: { reads: [], writes: ["file:/a"], undo: () => void known.set("file:/a", "undone") },
      }),
      tool("note", (_, { state }) => state.update("text", () => "noted"), { effects: { reads: [], writes: ["session:text"] } }),
      tool("recall", (_, { state }) => state.get("text") ?? null, { effects: readOnly("session:text"), cache: "session" }),
      tool("fail", () => Promise.reject(new Error("broken")), {
        effects: { reads: ["session:text", "file:/a"], writes: ["c"] },
        maxAttempts: 1,
      }),
    ]);
    const session = runtime.session();
    const readBoth = [{ name: "read", input: { path: "file:/a" } }, { name: "recall" }];
    const batch = [{ name: "write", input: { value: "new" } }, { name: "note" }, ...readBoth, { name: "fail" }];
    await expect(session.execute(batch, { onError: "throw" })).rejects.toThrow("broken");
    const results = await session.execute(readBoth);
    expect([results.map(({ origin, output }) => [origin, output]), values.get("file:/a")]).toEqual([
      [
        ["live", "undone"],
        ["live", null],
      ],
      "undone",
    ]);
  });

  test("a nested call of a batch is undone, also where it was read meanwhile", async () => {
    const [begun, undoing] = [gate(), gate()];
    const { runtime, read } = world((known) => [
      tool("write", () => void known.set("file:/a", "new"), {
        effects: {
          reads: [],
          writes: ["file:/a"],
          undo: () => (begun.open(), undoing.promise.then(() => void known.set("file:/a", "undone"))),
        },
      }),
      tool("outer", (_, { execute }) => execute({ name: "write" }).then(({ status }) => status)),
      tool("fail", () => settle().then(() => Promise.reject(new Error("broken"))), { maxAttempts: 1 }),
    ]);
    const batch = runtime.session().execute([{ name: "outer" }, { name: "fail" }], { onError: "throw" });
    await begun.promise;
    expect(await read()).toBe("live new");
    undoing.open();
    await expect(batch).rejects.toThrow("broken");
    expect([await read(), await read()]).toEqual(["live undone", "cache undone"]);
  });
});

describe("a simulation and the cache: it", () => {
  const STAND_IN: Engine = { kind: "test", call: () => "pretended" };
  const writeA = tool("write", () => "written", { effects: { reads: [], writes: ["file:/a"] } });

  function simulated(): ReturnType<typeof testRuntime> & { readonly runs: () => number } {
    let runs = 0;
    const read = (name: string, cache: "runtime" | "session"): Tool =>
      tool(name, ({ path }) => `${String(path)} ${++runs}`, { effects: { reads: ({ path }) => [String(path)], writes: [] }, cache });
    const bench = testRuntime({ tools: [read("shared", "runtime"), read("own", "session"), writeA], standIn: STAND_IN });
    return { ...bench, runs: () => runs };
  }

  const reads = (path: string): readonly { readonly name: string; readonly input: { readonly path: string } }[] => [
    { name: "shared", input: { path } },
    { name: "own", input: { path } },
  ];

  test("C06 finds results of the session and the runtime, and caches none of its own reads", async () => {
    const { runtime } = simulated();
    const session = runtime.session();
    await session.execute(reads("file:/a"));
    const { results } = await session.simulate([...reads("file:/a"), ...reads("file:/b"), ...reads("file:/b")]);
    expect(results.map((result) => [result.origin, result.output])).toEqual([
      ["cache", "file:/a 1"],
      ["cache", "file:/a 2"],
      ["live", "file:/b 3"],
      ["live", "file:/b 4"],
      ["live", "file:/b 5"],
      ["live", "file:/b 6"],
    ]);
    expect((await session.execute(reads("file:/b"))).map((result) => result.origin)).toEqual(["live", "live"]);
  });

  test("C06 does not drop results when it pretends a write, and does not answer from them what it pretended to write", async () => {
    const { runtime } = simulated();
    const session = runtime.session();
    await session.execute(reads("file:/a"));
    const { results } = await session.simulate([{ name: "write" }, ...reads("file:/a")]);
    expect(results.map((result) => [result.origin, result.output])).toEqual([
      ["simulated", "pretended"],
      ["simulated", "pretended"],
      ["simulated", "pretended"],
    ]);
    expect((await session.execute(reads("file:/a"))).map((result) => result.origin)).toEqual(["cache", "cache"]);
  });

  test("drops results that were read from keys it really writes", async () => {
    const { runtime } = simulated();
    const session = runtime.session();
    await session.execute(reads("file:/a"));
    await session.simulate([{ name: "write" }], { allowSideEffects: ["*::write"] });
    expect((await session.execute(reads("file:/a"))).map((result) => result.origin)).toEqual(["live", "live"]);
  });

  test("C06 does not wait for a live call, and no live call waits for it", async () => {
    const slow = gate<string>();
    let runs = 0;
    const read = tool("read", () => (runs++ === 0 ? slow.promise : `quick ${runs}`), { effects: readOnly("a"), cache: "runtime" });
    const { runtime } = testRuntime({ tools: [read] });
    const session = runtime.session();
    const live = session.execute({ name: "read" });
    await settle();
    const { results } = await session.simulate([{ name: "read" }]);
    expect(results.map((result) => [result.origin, result.output])).toEqual([["live", "quick 2"]]);
    slow.open("slow");
    expect([(await live).output, (await session.execute({ name: "read" })).output]).toEqual(["slow", "slow"]);
  });

  test("drops results read from the session's state when it is committed", async () => {
    const note = tool("note", (_, { state }) => state.update("text", () => "noted"), { effects: { reads: [], writes: ["session:text"] } });
    const recall = tool("recall", (_, { state }) => state.get("text") ?? null, { effects: readOnly("session:text"), cache: "session" });
    const { runtime } = testRuntime({ tools: [note, recall] });
    const session = runtime.session();
    const before = await session.execute({ name: "recall" });
    const simulation = await session.simulate([{ name: "note" }, { name: "recall" }]);
    const between = await session.execute({ name: "recall" }, { recordHistory: false });
    await simulation.commit();
    const after = await session.execute({ name: "recall" });
    expect([before, simulation.results[1], between, after].map((result) => [result?.origin, result?.output])).toEqual([
      ["live", null],
      ["live", "noted"],
      ["cache", null],
      ["live", "noted"],
    ]);
  });
});

describe("C01 C06 results read from an engine's own state of a session", () => {
  const tools: readonly Tool[] = [
    { name: "look", description: "", inputSchema: {}, effects: readOnly("board:x"), cache: "runtime" },
    { name: "move", description: "", inputSchema: {}, effects: { reads: [], writes: ["board:x"] } },
  ];
  /** Keeps a count in the state of each session. */
  const engine: Engine = {
    kind: "test",
    state: "value",
    effectFree: true,
    call: ({ tool: { name } }, { state }) => {
      if (name === "move") state.update("moves", (before) => Number(before ?? 0) + 1);
      return state.get("moves") ?? 0;
    },
  };

  test("are found by that session only, in every scope", async () => {
    const { runtime } = testRuntime({ toolsets: [{ name: "t", engine, tools }] });
    await runtime.open();
    const [one, other] = [runtime.session(), runtime.session()];
    await one.execute([{ name: "move" }, { name: "look" }]);
    const seen = [await one.execute({ name: "look" }), await other.execute({ name: "look" }), await one.fork().execute({ name: "look" })];
    expect(seen.map(({ origin, output }) => [origin, output])).toEqual([
      ["cache", 1],
      ["live", 0],
      ["live", 1],
    ]);
  });

  test("are separate in a simulation, whose calls change nothing outside it", async () => {
    const { runtime } = testRuntime({ toolsets: [{ name: "t", engine, tools }] });
    await runtime.open();
    const session = runtime.session();
    await session.execute([{ name: "move" }, { name: "look" }]);
    const { results } = await session.simulate([{ name: "look" }, { name: "move" }, { name: "look" }]);
    expect(results.map(({ output }) => output)).toEqual([1, 2, 2]);
    expect((await session.execute({ name: "look" })).origin).toBe("cache");
  });
});
