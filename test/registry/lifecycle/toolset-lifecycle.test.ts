import { describe, expect, test } from "vitest";
import type { Engine } from "../../../src/core/engine.ts";
import { ToolError } from "../../../src/core/error.ts";
import type { ToolsetEvent } from "../../../src/core/event.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { Toolset } from "../../../src/core/toolset.ts";
import { localEngine } from "../../../src/engine/local.ts";
import { Registry } from "../../../src/registry/registry.ts";
import type { LifecycleOptions } from "../../../src/registry/lifecycle/lifecycle-options.ts";
import { ToolsetLifecycle } from "../../../src/registry/lifecycle/toolset-lifecycle.ts";
import { fakePorts, settle } from "../../../src/testing/fake-ports.ts";

const ask: Tool = { name: "ask", description: "Asks.", inputSchema: {} };

/** An engine that notes what is done to it. */
function engine(trace: string[], name: string, more: Partial<Engine> = {}): Engine {
  return {
    kind: "test",
    call: () => "answered",
    open: async () => {
      trace.push(`open ${name}`);
      return [];
    },
    close: async () => {
      trace.push(`close ${name}`);
    },
    ...more,
  };
}

function lifecycleOf(toolsets: readonly Toolset[], options: Pick<LifecycleOptions, "strict" | "sources"> = {}) {
  const ports = fakePorts();
  const registry = new Registry({ onWarning: (message) => ports.log.warn(message) });
  const events: ToolsetEvent[] = [];
  const lifecycle = new ToolsetLifecycle(toolsets, {
    registry,
    ports,
    emit: (event) => events.push(event),
    localEngine: localEngine(),
    ...options,
  });
  const state = (name: string): string => {
    const resolved = registry.resolve(name);
    return resolved instanceof ToolError ? resolved.message : "callable";
  };
  const trace = (): readonly string[] => events.map((event) => `${event.type} ${event.toolset}`);
  return { lifecycle, registry, events, ports, state, trace };
}

const never = (): Promise<never> => new Promise(() => {});

describe("listing tools", () => {
  const source = { name: "folder", load: () => Promise.resolve([]) };
  const waiting = (): Toolset => ({ name: "notes", engine: engine([], "notes") });
  const missing = 'Tools of "notes", "folder" may be missing: the runtime is not open. Await runtime.open() before the tools are listed.';

  test("before open() logs one warning that names the toolsets and sources with missing tools", () => {
    const { registry, ports } = lifecycleOf([waiting(), { name: "plain", tools: [ask] }], { sources: [source] });
    expect(registry.list().map(({ qualifiedName }) => qualifiedName)).toEqual(["plain::ask"]);
    registry.register(ask);
    registry.list();
    expect(ports.log.lines.map(({ message }) => message)).toEqual([missing]);
  });

  test.each<readonly [string, (lifecycle: ToolsetLifecycle) => unknown]>([
    ["was asked to open", (lifecycle) => lifecycle.open()],
    ["opened one toolset", (lifecycle) => lifecycle.openOne("notes")],
    ["closed one toolset", (lifecycle) => lifecycle.closeOne("notes")],
    ["was closed", (lifecycle) => lifecycle.close()],
  ])("logs nothing once the program %s", async (done, known) => {
    const { lifecycle, registry, ports } = lifecycleOf([waiting()], { sources: [source] });
    const begun = known(lifecycle);
    if (done === "was asked to open") registry.list(); // while it opens
    await begun;
    registry.list();
    expect(ports.log.lines).toEqual([]);
  });

  test("by namespace warns only about those namespaces and about sources that are not loaded yet", () => {
    const { registry, ports } = lifecycleOf([waiting(), { name: "plain", tools: [ask] }], { sources: [source] });
    registry.list("plain");
    registry.names(["plain"]);
    expect(ports.log.lines).toEqual([]);
    registry.list(["plain", "of a source"]);
    expect(ports.log.lines.map(({ message }) => message)).toEqual([missing.replace('"notes", ', "")]);
    const other = lifecycleOf([waiting(), { name: "plain", tools: [ask] }]);
    other.registry.list("plain");
    other.registry.list(); // although they were collected before
    expect(other.ports.log.lines.map(({ message }) => message)).toEqual([missing.replace(', "folder"', "")]);
  });

  test("logs nothing where no toolset needs to be opened", () => {
    const { registry, ports } = lifecycleOf([
      { name: "plain", tools: [ask] },
      { ...waiting(), enabled: false },
      { ...waiting(), name: "declared", tools: [ask] }, // they are listed before its engine is open
    ]);
    registry.list();
    expect(ports.log.lines).toEqual([]);
  });
});

describe("open", () => {
  test("two toolsets with the same name throw duplicate before anything is opened", () => {
    const trace: string[] = [];
    const toolset = { name: "a", engine: engine(trace, "a") };
    expect(() => lifecycleOf([toolset, { ...toolset }])).toThrow(expect.objectContaining({ code: "duplicate" }));
    expect(trace).toEqual([]);
  });

  test("F4.10 A16 a failing toolset is reported and left out with its reason; the others work", async () => {
    const failing = (open: Engine["open"]) => engine([], "", open === undefined ? {} : { open });
    const { lifecycle, registry, state, trace } = lifecycleOf([
      { name: "rejects", tools: [ask], engine: failing(() => Promise.reject(new Error("no such host"))) },
      {
        name: "throws",
        tools: [ask],
        engine: failing(() => {
          throw new ToolError("network_error", "no route");
        }),
      },
      { name: "lies", tools: [ask], engine: failing(() => Promise.resolve(5 as never)) },
      { name: "good", tools: [ask], engine: engine([], "good") },
    ]);
    const report = await lifecycle.open();
    expect(report.opened).toEqual(["good"]);
    expect(report.failed.map(({ toolset, error }) => [toolset, error.code])).toEqual([
      ["rejects", "unavailable"],
      ["throws", "network_error"],
      ["lies", "unavailable"],
    ]);
    expect([state("rejects::ask"), state("throws::ask"), state("good::ask")]).toEqual([
      'The toolset "rejects" could not be opened: no such host',
      'The toolset "throws" could not be opened: no route',
      "callable",
    ]);
    expect([...trace()].sort()).toEqual(["toolset-fail lies", "toolset-fail rejects", "toolset-fail throws", "toolset-open good"]);
    expect(registry.names()).toEqual(["good::ask"]);
  });

  test("F4.6 F4.13 tools are unavailable before open, the order is kept, and disabled toolsets are skipped", async () => {
    const trace: string[] = [];
    const { lifecycle, state, events } = lifecycleOf([
      { name: "b", tools: [ask], engine: engine(trace, "b") },
      { name: "off", tools: [ask], engine: engine(trace, "off"), enabled: false },
      { name: "a", tools: [ask], engine: engine(trace, "a") },
      { name: "plain", tools: [ask] },
    ]);
    expect([state("b::ask"), state("off::ask"), state("plain::ask")]).toEqual([
      'The toolset "b" is not open.',
      'The toolset "off" is disabled.',
      "callable",
    ]);
    expect(await lifecycle.open()).toEqual({ opened: ["b", "a", "plain"], failed: [] });
    expect([state("b::ask"), trace]).toEqual(["callable", ["open b", "open a"]]);
    expect(events).toContainEqual({ type: "toolset-open", at: Date.UTC(2026, 0, 1), toolset: "b", tools: 1 });
  });

  test("a disabled toolset that is enabled after open is reported as not open", async () => {
    const { lifecycle, registry, state } = lifecycleOf([{ name: "off", tools: [ask], engine: engine([], "off"), enabled: false }]);
    await lifecycle.open();
    registry.setEnabled("off", true);
    expect(state("off::ask")).toBe('The toolset "off" is not open.');
  });

  test("F4.10 an engine that does not answer times out, its signal aborts, and it is closed if it opens after all", async () => {
    const trace: string[] = [];
    let openLate: (tools: readonly Tool[]) => void = () => {};
    const deaf = engine(trace, "deaf", {
      open: ({ signal }) => {
        signal.addEventListener("abort", () => trace.push("aborted"));
        return new Promise((resolve) => (openLate = resolve));
      },
    });
    const { lifecycle, ports, state } = lifecycleOf([
      { name: "deaf", tools: [ask], engine: deaf },
      { name: "good", tools: [ask], engine: engine(trace, "good") },
    ]);
    const opening = lifecycle.open();
    await ports.clock.advance(9_999);
    expect([state("good::ask"), state("deaf::ask"), trace]).toEqual(["callable", 'The toolset "deaf" is not open.', ["open good"]]);
    await ports.clock.advance(1);
    expect((await opening).failed.map(({ toolset, error }) => [toolset, error.code])).toEqual([["deaf", "timeout"]]);
    openLate([ask]);
    await settle();
    expect(trace).toEqual(["open good", "aborted", "close deaf"]);
    expect(state("deaf::ask")).toContain("10000 ms");
    await lifecycle.close();
    expect(trace).toEqual(["open good", "aborted", "close deaf", "close good"]);
    expect(ports.clock.pending).toBe(0);
  });

  test("openTimeoutMs of a toolset is its own, and 0 waits forever", async () => {
    const { lifecycle, ports, trace } = lifecycleOf([
      { name: "short", engine: engine([], "", { open: never }), openTimeoutMs: 5 },
      { name: "patient", engine: engine([], "", { open: never }), openTimeoutMs: 0 },
    ]);
    const opening = lifecycle.open();
    await ports.clock.advance(86_400_000);
    expect(trace()).toEqual(["toolset-fail short"]);
    const closing = lifecycle.close();
    await ports.clock.advance(5_000);
    expect(await closing).toEqual([]);
    expect(ports.log.lines.map(({ message }) => message)).toEqual(
      ["short", "patient"].map((name) => `The abandoned opening of toolset "${name}" has not ended within 5000 ms.`),
    );
    expect((await opening).failed.map(({ toolset, error }) => [toolset, error.code])).toEqual([
      ["short", "timeout"],
      ["patient", "cancelled"],
    ]);
  });

  test("F4.6 open after close rejects, also if the toolsets had been open, and repeats the failure of a strict opening", async () => {
    const trace: string[] = [];
    const { lifecycle } = lifecycleOf([{ name: "a", engine: engine(trace, "a") }]);
    await lifecycle.open();
    await lifecycle.close();
    await expect(lifecycle.open()).rejects.toMatchObject({
      code: "invalid_argument",
      message: "The toolsets are closed and cannot be opened again.",
    });
    expect(trace).toEqual(["open a", "close a"]);

    const broken = engine([], "b", { open: () => Promise.reject(new Error("no disk")) });
    const strict = lifecycleOf([{ name: "b", engine: broken }], { strict: true }).lifecycle;
    for (const _ of [1, 2]) await expect(strict.open()).rejects.toThrow('The toolset "b" could not be opened: no disk');
  });

  test("an engine shared by two toolsets is opened and closed once; its tools join the first", async () => {
    const trace: string[] = [];
    const shared = engine(trace, "shared", {
      open: async ({ toolset }) => (trace.push(`open for ${toolset}`), [{ ...ask, name: "brought" }]),
    });
    const {
      lifecycle,
      registry,
      trace: seen,
    } = lifecycleOf([
      { name: "a", tools: [ask], engine: shared },
      { name: "b", tools: [ask], engine: shared },
    ]);
    await lifecycle.open();
    expect(registry.names()).toEqual(["a::ask", "a::brought", "b::ask"]);
    await lifecycle.close();
    expect(trace).toEqual(["open for a", "close shared"]);
    expect(seen()).toEqual(["toolset-open a", "toolset-open b", "toolset-close a", "toolset-close b"]);
  });

  test("an unusable tool listed by an engine is left out or quarantined alone", async () => {
    const brings = engine([], "", {
      open: async () => [{ ...ask, name: "good" }, { ...ask, name: "" }, { ...ask, name: "bad", inputSchema: { type: "something" } }, ask],
    });
    const { lifecycle, registry, ports, events } = lifecycleOf([{ name: "s", tools: [{ ...ask, description: "Ours." }], engine: brings }]);
    await lifecycle.open();
    expect(registry.names()).toEqual(["s::ask", "s::bad", "s::good"]);
    expect(registry.require("s::ask").tool.description).toBe("Ours.");
    expect(registry.check().map((one) => one.tool)).toEqual(["s::bad"]);
    expect(ports.log.lines).toHaveLength(2);
    expect(events[0]).toMatchObject({ type: "toolset-open", tools: 3 });
  });

  test("overlapping and repeated calls of open share one run", async () => {
    const trace: string[] = [];
    const { lifecycle } = lifecycleOf([{ name: "a", engine: engine(trace, "a") }]);
    const [one, other] = await Promise.all([lifecycle.open(), lifecycle.open()]);
    expect([one === other, (await lifecycle.open()) === one, trace]).toEqual([true, true, ["open a"]]);
  });

  test("F4.10 with strict, open rejects at the first failure and closes engines that are open or open later", async () => {
    const trace: string[] = [];
    let openLate: (tools: readonly Tool[]) => void = () => {};
    const { lifecycle, state, ports } = lifecycleOf(
      [
        { name: "slow", tools: [ask], engine: engine(trace, "slow", { open: () => new Promise((resolve) => (openLate = resolve)) }) },
        { name: "good", tools: [ask], engine: engine(trace, "good") },
        {
          name: "bad",
          tools: [ask],
          engine: engine(trace, "bad", { open: () => settle().then(() => Promise.reject(new Error("no such host"))) }),
        },
      ],
      { strict: true },
    );
    const opening = lifecycle.open();
    opening.catch(() => {});
    await settle();
    await settle();
    expect(trace).toEqual(["open good", "close good"]);
    await ports.clock.advance(5_000);
    await expect(opening).rejects.toMatchObject({
      code: "unavailable",
      message: 'The toolset "bad" could not be opened: no such host',
    });
    openLate([]);
    await settle();
    expect(trace).toEqual(["open good", "close good", "close slow"]);
    expect(["slow", "good", "bad"].map((name) => state(`${name}::ask`).includes("not open"))).toEqual([true, true, true]);
    expect(await lifecycle.close()).toEqual([]);
  });
});

describe("close", () => {
  test("F4.6 closes every engine even when some throw, hang or reject, and reports the errors", async () => {
    const trace: string[] = [];
    const { lifecycle, ports, state, events } = lifecycleOf([
      { name: "rejects", tools: [ask], engine: engine(trace, "", { close: () => Promise.reject(new Error("stuck")) }) },
      {
        name: "throws",
        engine: engine(trace, "", {
          close: () => {
            throw new Error("broken");
          },
        }),
      },
      { name: "deaf", engine: engine(trace, "", { close: never }) },
      { name: "good", engine: engine(trace, "good") },
    ]);
    await lifecycle.open();
    trace.length = 0;
    events.length = 0;
    const closing = lifecycle.close();
    await settle();
    expect([trace, state("rejects::ask")]).toEqual([["close good"], 'The toolset "rejects" is not open.']);
    await ports.clock.advance(10_000);
    expect((await closing).map((error) => error.message)).toEqual([
      'The engine of toolset "rejects" could not be closed: stuck',
      'The engine of toolset "throws" could not be closed: broken',
      'The engine of toolset "deaf" could not be closed: it did not close within 10000 ms.',
    ]);
    expect(events.map((event) => [event.type, event.toolset, "error" in event])).toEqual(
      expect.arrayContaining([
        ["toolset-close", "rejects", true],
        ["toolset-close", "throws", true],
        ["toolset-close", "deaf", true],
        ["toolset-close", "good", false],
      ]),
    );
  });

  test("is idempotent, and makes every tool of the registry unavailable", async () => {
    const trace: string[] = [];
    const { lifecycle, registry, state } = lifecycleOf([{ name: "a", tools: [ask], engine: engine(trace, "a") }]);
    registry.register(ask);
    await lifecycle.open();
    expect([await lifecycle.close(), await lifecycle.close()]).toEqual([[], []]);
    expect([trace, state("a::ask"), state("default::ask")]).toEqual([
      ["open a", "close a"],
      'The toolset "a" is not open.',
      'The toolset "default" is not open.',
    ]);
  });

  test("before open closes only engines without open(), and open rejects from then on", async () => {
    const trace: string[] = [];
    const { open: _, ...unopened } = engine(trace, "ready");
    const { lifecycle } = lifecycleOf([
      { name: "a", engine: engine(trace, "a") },
      { name: "ready", engine: unopened },
    ]);
    expect(await lifecycle.close()).toEqual([]);
    await expect(lifecycle.open()).rejects.toMatchObject({ code: "invalid_argument" });
    expect(trace).toEqual(["close ready"]);
  });

  test("while opening gives up the engines that are not open yet, and leaves none open", async () => {
    const trace: string[] = [];
    let openLate: (tools: readonly Tool[]) => void = () => {};
    const { lifecycle, state, ports } = lifecycleOf([
      { name: "slow", tools: [ask], engine: engine(trace, "slow", { open: () => new Promise((resolve) => (openLate = resolve)) }) },
      { name: "fast", tools: [ask], engine: engine(trace, "fast") },
    ]);
    const opening = lifecycle.open();
    const closing = lifecycle.close();
    openLate([ask]);
    await closing;
    expect((await opening).failed.map(({ error }) => error.code)).toContain("cancelled");
    expect([...trace].sort()).toEqual(["close fast", "close slow", "open fast"]);
    expect([state("slow::ask"), state("fast::ask"), ports.clock.pending]).toEqual([
      'The toolset "slow" is not open.',
      'The toolset "fast" is not open.',
      0,
    ]);
  });

  test("also closes the engine of a toolset that was removed from the registry", async () => {
    const trace: string[] = [];
    const { lifecycle, registry } = lifecycleOf([
      { name: "a", engine: engine(trace, "a") },
      { name: "b", engine: engine(trace, "b") },
    ]);
    registry.removeToolset("a");
    expect(await lifecycle.open()).toEqual({ opened: ["a", "b"], failed: [] });
    expect([await lifecycle.close(), trace]).toEqual([[], ["open a", "open b", "close a", "close b"]]);
  });
});

test("F4.5 a toolset without an engine uses the local engine", () => {
  const own = engine([], "own");
  const { lifecycle } = lifecycleOf([]);
  expect([lifecycle.engineOf({ name: "a" }), lifecycle.engineOf({ name: "b", engine: own })]).toEqual([localEngine(), own]);
});
