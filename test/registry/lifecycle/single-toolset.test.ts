import { describe, expect, test } from "vitest";
import type { Engine } from "../../../src/core/engine.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "../../runtime/bench-runtime.ts";

/** A service that writes down when it is opened, called and closed. */
function service(log: string[], name: string, more: Partial<Engine> = {}): Engine {
  return {
    kind: "service",
    open: async () => {
      log.push(`open ${name}`);
      return [];
    },
    call: () => `${name} answers`,
    close: async () => void log.push(`close ${name}`),
    ...more,
  };
}

const bare = (name: string): Tool => ({ name, description: "", inputSchema: {}, effects: { reads: [], writes: [] } });

describe("F4.5 F4.6 closeToolset and openToolset", () => {
  test("F4.6 a closed toolset is unavailable and its engine closed, others keep working, and reopening works", async () => {
    const log: string[] = [];
    const { runtime, trace } = testRuntime({
      toolsets: [
        { name: "tides", tools: [bare("high")], engine: service(log, "tides") },
        { name: "stars", tools: [bare("rise")], engine: service(log, "stars") },
      ],
    });
    await runtime.open();
    await runtime.closeToolset("tides");
    const calls = [{ name: "tides::high" }, { name: "stars::rise" }];
    const closed = await runtime.execute(calls);
    expect(closed.map(({ error, output }) => error?.message ?? output)).toEqual(['The toolset "tides" is not open.', "stars answers"]);
    expect(closed[0]?.error?.code).toBe("unavailable");
    await runtime.openToolset("tides");
    await runtime.openToolset("tides");
    expect((await runtime.execute(calls)).map(({ output }) => output)).toEqual(["tides answers", "stars answers"]);
    await runtime.close();
    expect(log).toEqual(["open tides", "open stars", "close tides", "open tides", "close tides", "close stars"]);
    expect(trace().filter((type) => type.startsWith("toolset"))).toEqual([
      "toolset-open",
      "toolset-open",
      "toolset-close",
      "toolset-open",
      "toolset-close",
      "toolset-close",
    ]);
  });

  test("F4.6 closing waits for the running calls of the toolset, and new calls are unavailable", async () => {
    const log: string[] = [];
    const door = gate();
    const engine = service(log, "tides", { call: () => door.promise.then(() => log.push("answered")) });
    const { runtime } = testRuntime({ toolsets: [{ name: "tides", tools: [bare("high")], engine }] });
    await runtime.open();
    const running = runtime.execute({ name: "tides::high" });
    const closing = runtime.closeToolset("tides");
    expect((await runtime.execute({ name: "tides::high" })).error?.code).toBe("unavailable");
    door.open();
    expect((await running).status).toBe("ok");
    await closing;
    expect(log).toEqual(["open tides", "answered", "close tides"]);
  });

  test("F4.6 a toolset reopened while it waits to close stays open", async () => {
    const log: string[] = [];
    const door = gate();
    const engine = service(log, "tides", { call: () => door.promise });
    const { runtime } = testRuntime({ toolsets: [{ name: "tides", tools: [bare("high")], engine }] });
    await runtime.open();
    const running = runtime.execute({ name: "tides::high" });
    const closing = runtime.closeToolset("tides");
    await runtime.openToolset("tides");
    door.open();
    await Promise.all([running, closing]);
    expect([log, (await runtime.execute({ name: "tides::high" })).status]).toEqual([["open tides"], "ok"]);
  });

  test("F4.6 a toolset closed before open() or refresh() stays closed; one may be opened before open()", async () => {
    const log: string[] = [];
    const toolsets = ["a", "b", "c"].map((name) => ({ name, tools: [bare("t")], engine: service(log, name) }));
    const { runtime } = testRuntime({ toolsets });
    await runtime.openToolset("c");
    await runtime.closeToolset("a");
    expect((await runtime.execute({ name: "c::t" })).output).toBe("c answers");
    expect(await runtime.open()).toEqual({ opened: ["b", "c"], failed: [] });
    expect(await runtime.refresh()).toEqual({ changed: [], failed: [] });
    expect(log).toEqual(["open c", "open b"]);
    expect((await runtime.execute({ name: "a::t" })).error?.code).toBe("unavailable");
  });

  test("F4.6 an engine shared by two toolsets closes with the second", async () => {
    const log: string[] = [];
    const engine = service(log, "sky");
    const { runtime } = testRuntime({ toolsets: ["sun", "moon"].map((name) => ({ name, tools: [bare("rise")], engine })) });
    await runtime.open();
    await runtime.closeToolset("sun");
    expect([log, (await runtime.execute({ name: "moon::rise" })).output]).toEqual([["open sky"], "sky answers"]);
    await runtime.closeToolset("moon");
    await runtime.openToolset("sun");
    const results = await runtime.execute([{ name: "sun::rise" }, { name: "moon::rise" }]);
    expect([log, results.map(({ output, error }) => output ?? error?.code)]).toEqual([
      ["open sky", "close sky", "open sky"],
      ["sky answers", "unavailable"],
    ]);
  });

  test("F4.6 toolsets of local handlers close and open too, before or after open(), and so do toolsets added later", async () => {
    const { runtime } = testRuntime({ toolsets: [{ name: "mill", tools: [tool("grind", () => "flour")] }] });
    const grind = async () => (await runtime.execute({ name: "mill::grind" })).output ?? "unavailable";
    const seen = [await grind()];
    await runtime.closeToolset("mill");
    seen.push(await grind());
    await runtime.open();
    seen.push(await grind());
    await runtime.openToolset("mill");
    seen.push(await grind());
    expect(seen).toEqual(["flour", "unavailable", "unavailable", "flour"]);
    runtime.registry.addToolset({ name: "late", tools: [tool("ring", () => "rings")] });
    await runtime.closeToolset("late");
    expect((await runtime.execute({ name: "late::ring" })).error?.code).toBe("unavailable");
    await runtime.openToolset("late");
    expect((await runtime.execute({ name: "late::ring" })).output).toBe("rings");
  });

  test("F4.6 F4.10 a failed openToolset says why and may be repeated; unknown and disabled toolsets are rejected", async () => {
    let isUp = false;
    const engine = service([], "tides", {
      open: async () => {
        if (!isUp) throw new Error("the harbour is closed");
        return [];
      },
    });
    const { runtime } = testRuntime({
      toolsets: [
        { name: "tides", tools: [bare("high")], engine },
        { name: "off", enabled: false, tools: [bare("t")] },
      ],
    });
    await runtime.open();
    await expect(runtime.openToolset("tides")).rejects.toThrow('The toolset "tides" could not be opened: the harbour is closed');
    isUp = true;
    await runtime.openToolset("tides");
    expect((await runtime.execute({ name: "tides::high" })).output).toBe("tides answers");
    await expect(runtime.openToolset("tide")).rejects.toThrow('No toolset "tide". Did you mean "tides"?');
    await expect(runtime.closeToolset("haft")).rejects.toMatchObject({ code: "not_found" });
    await expect(runtime.openToolset("off")).rejects.toThrow('The toolset "off" could not be opened: it is disabled.');
    await runtime.close();
    await settle();
    await expect(runtime.openToolset("tides")).rejects.toThrow("closed");
  });
});
