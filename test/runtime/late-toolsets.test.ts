import { expect, test } from "vitest";
import type { Engine } from "../../src/core/engine.ts";
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

test("a toolset added after open() is open before its first call, and the calls of others do not wait for it", async () => {
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

test("one that is added before open() is opened by it", async () => {
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

test("one that cannot be opened ends its calls with the reason, and a later refresh tries again", async () => {
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

test("a call that waits for one can be cancelled, and closing the runtime ends it", async () => {
  const { runtime } = testRuntime();
  await runtime.open();
  runtime.registry.addToolset(late().toolset);
  const controller = new AbortController();
  const first = runtime.execute({ name: "late::read" }, { signal: controller.signal });
  const second = runtime.execute({ name: "late::read" });
  controller.abort();
  expect((await first).error?.code).toBe("cancelled");
  const closing = runtime.close();
  expect((await second).error?.code).toBe("cancelled");
  await closing;
});

test("two toolsets of one engine share it also when the second comes late", async () => {
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
