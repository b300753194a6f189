import { expect, test } from "vitest";
import type { Engine } from "../../src/core/engine.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { Toolset } from "../../src/core/toolset.ts";
import { gate, testRuntime, tool } from "./bench-runtime.ts";

interface Late {
  readonly toolset: Toolset;
  readonly log: string[];
  readonly release: (value: void) => void;
  readonly fail: (error: unknown) => void;
}

function late(name = "late"): Late {
  const log: string[] = [];
  const { promise, open, fail } = gate();
  const engine: Engine = {
    kind: "test",
    async open() {
      log.push("open");
      await promise;
      return [{ name: "read", description: "", inputSchema: {}, effects: { reads: [], writes: [] } }];
    },
    call: () => Promise.resolve("answer"),
    close: async () => void log.push("close"),
  };
  return { toolset: { name, engine }, log, release: open, fail };
}

test("a toolset added after open() is opened before its first call, and calls of others do not wait for it", async () => {
  const { runtime } = testRuntime({ tools: [tool("own", () => "mine")] });
  await runtime.open();
  const { toolset, log, release } = late();
  runtime.registry.addToolset(toolset);
  const waiting = runtime.execute([{ name: "late::read" }, { name: "read" }]);
  expect((await runtime.execute({ name: "own" })).output).toBe("mine");
  expect((await runtime.execute({ name: "default::nowhere" })).error?.code).toBe("not_found");
  release();
  expect((await waiting).map(({ output }) => output)).toEqual(["answer", "answer"]);
  expect((await runtime.execute({ name: "late::read" })).output).toBe("answer");
  await runtime.refresh();
  expect((await runtime.execute({ name: "late::read" })).output).toBe("answer");
  await runtime.close();
  expect(log).toEqual(["open", "close"]);
});

test("a toolset added before open() is opened by it", async () => {
  const { runtime } = testRuntime();
  const { toolset, log, release } = late();
  runtime.registry.addToolset(toolset);
  expect((await runtime.execute({ name: "late::read" })).error?.code).toBe("unavailable");
  release();
  expect((await runtime.open()).opened).toContain("late");
  expect((await runtime.execute({ name: "late::read" })).output).toBe("answer");
  await runtime.close();
  expect(log).toEqual(["open", "close"]);
});

test("calls of a toolset that cannot be opened end with the reason, and a later refresh tries again", async () => {
  const { runtime, events } = testRuntime();
  await runtime.open();
  const { toolset, fail } = late();
  runtime.registry.addToolset(toolset);
  const waiting = runtime.execute({ name: "late::read" });
  fail(new Error("no such server"));
  expect((await waiting).error).toMatchObject({ code: "unavailable", message: expect.stringContaining("no such server") });
  expect(events.map(({ type }) => type)).toContain("toolset-fail");
  await runtime.close();
});

test("a call that waits for a late toolset can be cancelled, and closing the runtime ends it", async () => {
  const { runtime, ports } = testRuntime();
  await runtime.open();
  runtime.registry.addToolset(late().toolset);
  const controller = new AbortController();
  const first = runtime.execute({ name: "late::read" }, { signal: controller.signal });
  const second = runtime.execute({ name: "late::read" });
  controller.abort();
  expect((await first).error?.code).toBe("cancelled");
  const closing = runtime.close();
  expect((await second).error?.code).toBe("cancelled");
  await ports.clock.advance(5_000); // its opening never ends
  await closing;
});

test("two toolsets share one engine even if the second is added late", async () => {
  const { toolset, log, release } = late("one");
  const { runtime } = testRuntime({ toolsets: [toolset] });
  release();
  await runtime.open();
  runtime.registry.addToolset({
    name: "two",
    engine: toolset.engine as Engine,
    tools: [{ name: "other", description: "", inputSchema: {} }],
  });
  expect((await runtime.execute([{ name: "one::read" }, { name: "two::other" }])).map(({ output }) => output)).toEqual([
    "answer",
    "answer",
  ]);
  await runtime.close();
  expect(log).toEqual(["open", "close"]);
});

const X: readonly Tool[] = [{ name: "x", description: "", inputSchema: {} }];

test("a toolset removed while it opens stays removed, also after a refresh, and its engine is closed", async () => {
  const { runtime, events } = testRuntime();
  await runtime.open();
  const { toolset, log, release } = late();
  runtime.registry.addToolset(toolset);
  const waiting = runtime.execute({ name: "late::read" });
  await new Promise(setImmediate);
  runtime.registry.removeToolset("late");
  expect((await waiting).error?.code).toBe("not_found");
  release();
  await runtime.refresh();
  expect(runtime.registry.has("late::read")).toBe(false);
  expect(events.map(({ type }) => type).filter((type) => type.startsWith("toolset"))).toEqual([]);
  await runtime.close();
  expect(log).toEqual(["open", "close"]);
});

test("a toolset that replaces another of the same name is the one that is opened and called", async () => {
  const { runtime } = testRuntime();
  await runtime.open();
  const [first, second] = [late("same"), late("same")];
  runtime.registry.addToolset(first.toolset);
  await new Promise(setImmediate);
  runtime.registry.removeToolset("same");
  runtime.registry.addToolset(second.toolset);
  first.release();
  const waiting = runtime.execute({ name: "same::read" });
  await new Promise(setImmediate);
  second.release();
  expect((await waiting).output).toBe("answer");
  expect((await runtime.refresh()).failed).toEqual([]);
  await runtime.close();
  expect([first.log, second.log]).toEqual([
    ["open", "close"],
    ["open", "close"],
  ]);
});

test("a toolset that is removed and added again has the tools that its engine lists", async () => {
  const { runtime } = testRuntime();
  await runtime.open();
  const { toolset, log, release } = late();
  release();
  runtime.registry.addToolset(toolset);
  await runtime.execute({ name: "late::read" });
  runtime.registry.removeToolset("late");
  runtime.registry.addToolset(toolset);
  expect((await runtime.execute({ name: "late::read" })).output).toBe("answer");
  expect((await runtime.refresh()).failed).toEqual([]);
  await runtime.close();
  expect(log).toEqual(["open", "close"]);
});

test("an engine that two late toolsets share is opened once, even with a concurrent refresh", async () => {
  const { runtime, events } = testRuntime();
  await runtime.open();
  const { toolset, log, release } = late("one");
  runtime.registry.addToolset(toolset);
  runtime.registry.addToolset({ ...toolset, name: "two", tools: X });
  const refreshed = runtime.refresh();
  await new Promise(setImmediate);
  release();
  expect((await runtime.execute({ name: "two::x" })).output).toBe("answer");
  await refreshed;
  await runtime.close();
  expect(log).toEqual(["open", "close"]);
  expect(events.flatMap((event) => (event.type === "toolset-open" ? [event.toolset] : []))).toEqual(["one", "two"]);
});

test("a toolset added during a refresh stays", async () => {
  const listing = gate();
  const engine: Engine = {
    kind: "test",
    open: () => Promise.resolve(X),
    call: () => Promise.resolve("own"),
    list: () => listing.promise.then(() => X),
  };
  const { runtime } = testRuntime({ toolsets: [{ name: "own", engine }] });
  await runtime.open();
  const refreshed = runtime.refresh();
  await new Promise(setImmediate);
  const { toolset, release } = late();
  runtime.registry.addToolset(toolset);
  release();
  listing.open();
  expect((await refreshed).failed).toEqual([]);
  expect((await runtime.execute({ name: "late::read" })).output).toBe("answer");
  await runtime.close();
});

test("a toolset added while open() reads its sources is opened once", async () => {
  const reading = gate();
  const { runtime, events } = testRuntime({ sources: [{ name: "s", load: () => reading.promise.then(() => []) }] });
  const opening = runtime.open();
  const { toolset, release } = late();
  runtime.registry.addToolset(toolset);
  release();
  reading.open();
  await opening;
  expect((await runtime.execute({ name: "late::read" })).output).toBe("answer");
  expect(events.filter(({ type }) => type === "toolset-open")).toHaveLength(1);
  await runtime.close();
});

test("an unknown bare name tells the operator which toolsets could not be opened, and the model nothing of them", async () => {
  const { toolset, fail } = late();
  const { runtime } = testRuntime({ tools: [tool("own", () => "mine")], toolsets: [toolset] });
  fail(new Error("no key"));
  await runtime.open();
  const { error } = await runtime.execute({ name: "read" });
  expect(error).toMatchObject({ code: "not_found", message: 'No tool "read".' });
  expect(error?.hint).not.toContain("late");
  expect(error?.operatorHint).toBe('Tools may be missing. The toolset "late" could not be opened: no key');
  expect((await runtime.execute({ name: "default::read" })).error?.operatorHint).toBeUndefined();
  await runtime.close();
});
