import { describe, expect, test } from "vitest";
import type { Engine, EngineContext } from "../../../src/core/engine.ts";
import type { ToolSource } from "../../../src/core/source.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { Toolset } from "../../../src/core/toolset.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime } from "../../runtime/bench-runtime.ts";

const brought = (name: string): Tool => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: "object" },
  effects: { reads: [], writes: [] },
});

/** An engine that brings one tool and notes its openings and closings. */
function noted(name: string, trace: string[], more: Partial<Engine> = {}): Engine & { context: EngineContext | undefined } {
  const made = {
    kind: "test",
    context: undefined as EngineContext | undefined,
    open: async (context: EngineContext) => {
      made.context = context;
      trace.push(`open ${name}`);
      return [brought("x")];
    },
    list: async () => [brought("x")],
    call: (): unknown => `by ${name}`,
    close: async () => void trace.push(`close ${name}`),
    ...more,
  };
  return made;
}

interface Changing extends ToolSource {
  toolsets: readonly unknown[];
}

function source(toolsets: readonly unknown[], name = "s"): Changing {
  const made = { name, toolsets, load: async () => made.toolsets as readonly Toolset[] };
  return made;
}

describe("F0.11 toolsets of a source are validated before use", () => {
  test.each([[null], [5], [{}], [{ name: 7 }], [{ name: "y", tools: 5 }], [{ name: "y", engine: "x" }], [{ name: "y", engine: {} }]])(
    "%j is reported as a failure, and the other toolsets open",
    async (garbage) => {
      const bad = source([{ name: "good", tools: [] }, garbage], "bad");
      const { runtime } = testRuntime({ sources: [bad, source([{ name: "y", engine: noted("y", []) }])] });
      const report = await runtime.open();
      expect(report.opened).toEqual(["good", "y"]);
      expect(report.failed).toMatchObject([{ toolset: "bad", error: { code: "invalid_argument" } }]);
      expect(await runtime.execute({ name: "y::x" })).toMatchObject({ output: "by y" });
      expect((await runtime.refresh()).failed).toMatchObject([{ toolset: "bad", error: { code: "invalid_argument" } }]);
      await runtime.close();
    },
  );

  test("a toolset that throws when it is read is reported as a failure", async () => {
    const trap = new Proxy(
      { name: "t" },
      {
        get: () => {
          throw new Error("gotcha");
        },
      },
    );
    const { runtime } = testRuntime({ sources: [source([trap], "bad"), source([{ name: "y", engine: noted("y", []) }])] });
    expect(await runtime.open()).toMatchObject({ opened: ["y"], failed: [{ toolset: "bad" }] });
  });

  test("a source whose watch returns no stop function, or one that throws, does not keep the others or the runtime from closing", async () => {
    const trace: string[] = [];
    const watched = (name: string, watch: () => unknown): ToolSource => ({ ...source([], name), watch: watch as () => () => void });
    const refuse = (): never => {
      throw new Error("no");
    };
    const good = watched("good", () => (trace.push("watched"), () => trace.push("left alone")));
    const sources = [watched("five", () => 5), watched("throws", refuse), watched("refuses", () => refuse), good];
    const { runtime, ports } = testRuntime({ sources });
    await runtime.open();
    runtime.watch();
    expect(await runtime.close()).toEqual([]);
    expect([trace, ports.log.lines.map(({ message }) => message)]).toEqual([
      ["watched", "left alone"],
      [
        'The source "throws" cannot be watched: no',
        expect.stringContaining('The source "five" cannot stop being watched'),
        'The source "refuses" cannot stop being watched: no',
      ],
    ]);
  });
});

describe("F0.11 engines that are removed and added again", () => {
  test("a failed strict refresh keeps the engines of toolsets that it would have removed open", async () => {
    const trace: string[] = [];
    const files = source([{ name: "a", engine: noted("a", trace) }]);
    const { runtime } = testRuntime({ sources: [files], strict: true });
    await runtime.open();
    files.toolsets = [{ name: "b", engine: noted("b", trace, { open: () => Promise.reject(new Error("down")) }) }];
    await expect(runtime.refresh()).rejects.toMatchObject({ code: "unavailable" });
    await settle();
    expect(trace).toEqual(["open a"]);
    expect(await runtime.execute({ name: "a::x" })).toMatchObject({ output: "by a" });
    await runtime.close();
    expect(trace).toEqual(["open a", "close a"]);
  });

  test("an engine added again while a call still uses it is neither reopened nor closed", async () => {
    const trace: string[] = [];
    const answer = gate<string>();
    const engine = noted("a", trace, { call: () => answer.promise });
    const files = source([{ name: "a", engine }]);
    const { runtime } = testRuntime({ sources: [files] });
    await runtime.open();
    const call = runtime.execute({ name: "a::x" });
    await settle();
    const { toolsets } = files;
    files.toolsets = [];
    await runtime.refresh();
    files.toolsets = toolsets;
    await runtime.refresh();
    answer.open("at last");
    expect(await call).toMatchObject({ output: "at last" });
    await settle();
    expect(trace).toEqual(["open a"]);
    expect(await runtime.execute({ name: "a::x" })).toMatchObject({ output: "at last" });
    await runtime.close();
    expect(trace).toEqual(["open a", "close a"]);
  });

  test("an engine added again while it is closing is reopened once it has closed", async () => {
    const trace: string[] = [];
    const closing = gate();
    const engine = noted("a", trace, { close: () => (trace.push("closing a"), closing.promise.then(() => void trace.push("closed a"))) });
    const files = source([{ name: "a", engine }]);
    const { runtime } = testRuntime({ sources: [files] });
    await runtime.open();
    const { toolsets } = files;
    files.toolsets = [];
    await runtime.refresh();
    await settle();
    files.toolsets = toolsets;
    const refreshing = runtime.refresh();
    await settle();
    closing.open();
    await refreshing;
    expect(trace).toEqual(["open a", "closing a", "closed a", "open a"]);
    expect(await runtime.execute({ name: "a::x" })).toMatchObject({ output: "by a" });
    await runtime.close();
  });

  test("an engine that timed out while opening is opened again only once that opening has ended", async () => {
    const trace: string[] = [];
    const first = gate();
    let openings = 0;
    const engine = noted("a", trace, {
      open: async () => {
        trace.push(`open ${++openings}`);
        if (openings === 1) await first.promise;
        return [brought("x")];
      },
    });
    const { runtime, ports } = testRuntime({ toolsets: [{ name: "a", engine }] });
    const opening = runtime.open();
    await ports.clock.advance(10_000);
    expect(await opening).toMatchObject({ failed: [{ toolset: "a" }] });
    const refreshing = runtime.refresh();
    await settle();
    expect(trace).toEqual(["open 1"]);
    first.open();
    await refreshing;
    expect(trace).toEqual(["open 1", "close a", "open 2"]);
    expect(await runtime.execute({ name: "a::x" })).toMatchObject({ output: "by a" });
    await runtime.close();
    expect([trace.length, ports.clock.pending]).toEqual([4, 0]);
  });

  test("an engine that timed out, was removed and is added again is never opened twice at a time", async () => {
    const first = gate();
    let opening = 0;
    let most = 0;
    const engine = noted("a", [], {
      open: async () => {
        most = Math.max(most, ++opening);
        await first.promise;
        opening--;
        return [brought("x")];
      },
    });
    const files = source([{ name: "a", engine }]);
    const { runtime, ports } = testRuntime({ sources: [files] });
    const beginning = runtime.open();
    await settle();
    await ports.clock.advance(10_000);
    await beginning;
    const { toolsets } = files;
    files.toolsets = [];
    await runtime.refresh();
    await settle();
    files.toolsets = toolsets;
    const refreshing = runtime.refresh();
    await settle();
    first.open();
    await refreshing;
    expect([most, await runtime.execute({ name: "a::x" })]).toMatchObject([1, { output: "by a" }]);
    await runtime.close();
  });

  test("F0.18 a replaced engine no longer changes the tools of its toolset", async () => {
    const answer = gate<string>();
    const old = noted("old", [], { call: () => answer.promise });
    const files = source([{ name: "a", engine: old }]);
    const { runtime, ports } = testRuntime({ sources: [files] });
    await runtime.open();
    const call = runtime.execute({ name: "a::x" });
    await settle();
    files.toolsets = [{ name: "a", engine: noted("new", []) }];
    await runtime.refresh();
    old.context?.changed();
    await ports.clock.advance(1_000);
    await settle();
    expect(await runtime.execute({ name: "a::x" })).toMatchObject({ output: "by new" });
    answer.open("late");
    await call;
    await runtime.close();
  });
});

describe("F0.11 F4.35 closing during a refresh", () => {
  test("opens nothing after the runtime closed while its sources were loading", async () => {
    const trace: string[] = [];
    const reading = gate<readonly Toolset[]>();
    const files = source([{ name: "a", engine: noted("a", trace) }]);
    const { runtime } = testRuntime({ sources: [files] });
    await runtime.open();
    files.load = () => reading.promise;
    const refreshing = runtime.refresh().catch((error: unknown) => error);
    await settle();
    await runtime.close();
    reading.open([{ name: "b", engine: noted("b", trace) }]);
    expect(await refreshing).toMatchObject({ code: "invalid_argument" });
    await settle();
    expect(trace).toEqual(["open a", "close a"]);
  });

  test("does not wait for an engine that never lists its tools", async () => {
    const trace: string[] = [];
    let signal: AbortSignal | undefined;
    const engine = noted("a", trace, { list: (given) => ((signal = given), new Promise(() => {})) });
    const { runtime } = testRuntime({ toolsets: [{ name: "a", engine, openTimeoutMs: 0 }] });
    await runtime.open();
    const refreshing = runtime.refresh().catch((error: unknown) => error);
    await settle();
    await runtime.close();
    expect(await refreshing).toMatchObject({ code: "invalid_argument" });
    expect([signal?.aborted, trace]).toEqual([true, ["open a", "close a"]]);
  });

  test("waits for an engine that is already closing", async () => {
    const trace: string[] = [];
    const closing = gate();
    const files = source([{ name: "a", engine: noted("a", trace, { close: () => closing.promise }) }]);
    const { runtime } = testRuntime({ sources: [files] });
    await runtime.open();
    files.toolsets = [];
    await runtime.refresh();
    await settle();
    const closed = runtime.close().then(() => trace.push("runtime closed"));
    await settle();
    expect(trace).toEqual(["open a"]);
    closing.open();
    await closed;
    expect(trace).toEqual(["open a", "runtime closed"]);
  });

  test("F0.18 leaves no timer and lists no tools for a change reported just before", async () => {
    const listed: string[] = [];
    const engine = noted("a", [], { list: async () => (listed.push("list"), [brought("x")]) });
    const { runtime, ports } = testRuntime({ toolsets: [{ name: "a", engine }] });
    await runtime.open();
    engine.context?.changed();
    await runtime.close();
    engine.context?.changed();
    expect(ports.clock.pending).toBe(0);
    await ports.clock.advance(2_000);
    expect(listed).toEqual([]);
  });
});
