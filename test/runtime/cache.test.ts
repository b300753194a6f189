import { describe, expect, test } from "vitest";
import { ToolOutput } from "../../src/core/content.ts";
import { readOnly } from "../../src/core/resources/effects.ts";
import type { Engine } from "../../src/core/engine.ts";
import { ToolError } from "../../src/core/error.ts";
import type { Hook } from "../../src/core/hook.ts";
import type { Origin } from "../../src/core/result.ts";
import type { Tool } from "../../src/core/tool.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool, type TestRuntime } from "./bench-runtime.ts";

interface Counted {
  readonly tool: Tool;
  /** How often the handler ran. */
  runs(): number;
}

/** A read that answers how often it has run. */
function counting(more: Partial<Tool> = {}): Counted {
  let runs = 0;
  return { tool: tool("read", () => ++runs, { effects: readOnly("file:/a"), cache: "session", ...more }), runs: () => runs };
}

function origins(results: readonly { readonly origin: Origin }[]): readonly Origin[] {
  return results.map((result) => result.origin);
}

describe("a cache hit", () => {
  test("F3.15 answers a second equal call without the handler, with a result of its own", async () => {
    const metadata = { source: "disk", lines: [1, 2] };
    const answer = new ToolOutput({ output: { text: "hi" }, content: [{ type: "text", text: "hi" }], metadata });
    let runs = 0;
    const { runtime, trace } = testRuntime({
      tools: [tool("read", () => (runs++, answer), { effects: readOnly("file:/a"), cache: "session" })],
    });
    const session = runtime.session("s");
    const live = await session.execute({ id: "c1", name: "read", input: { path: "/a" } });
    const hit = await session.execute({ id: "c2", name: "read", input: { path: "/a" } });
    expect(hit).toEqual({ ...live, callId: "call_2", id: "c2", origin: "cache", fidelity: "observed", attempts: 0 });
    expect([live.origin, live.attempts, hit.metadata, runs]).toEqual(["live", 1, metadata, 1]);
    expect(trace()).toEqual(["call-start", "call-attempt", "call-end", "call-start", "call-end"]);
    expect(session.history.map((entry) => entry.result?.origin)).toEqual(["live", "cache"]);
  });

  test("C04 returns the tool's answer even if callers have modified an earlier result", async () => {
    const shared = { list: [{ deep: 1 }], at: "now" };
    const { runtime } = testRuntime({
      tools: [tool("read", () => new ToolOutput({ output: shared, metadata: shared }), { effects: readOnly("a"), cache: "runtime" })],
    });
    const first = await runtime.execute({ name: "read" });
    shared.list.push({ deep: 2 });
    shared.at = "later";
    const second = await runtime.execute({ name: "read" });
    for (const part of [second.output, second.metadata, Reflect.get(second.metadata ?? {}, "list")]) {
      expect(() => Reflect.apply(Array.prototype.push, part, [1])).toThrow(TypeError);
      expect(Reflect.set(Object(part), "at", "changed")).toBe(false);
    }
    const third = await runtime.execute({ name: "read" });
    const kept = { list: [{ deep: 1 }], at: "now" };
    expect([first.output, second.output, second.metadata, third.output, third.metadata]).toEqual([kept, kept, kept, kept, kept]);
  });

  test("F3.15 runs permission, hooks, validation and approval first, and result hooks see it", async () => {
    const { tool: read, runs } = counting({ cache: "runtime", inputSchema: { type: "object", properties: { n: { type: "integer" } } } });
    let vetoed = false;
    let approved = 0;
    const seen: Origin[] = [];
    const hook: Hook = {
      name: "guard",
      beforeCall: () => (vetoed ? { veto: "not now" } : undefined),
      afterCall: (result) => {
        seen.push(result.origin);
        return { ...result, output: `${result.origin} ${String(result.output)}` };
      },
    };
    const { runtime } = testRuntime({
      tools: [read],
      hooks: [hook],
      approval: { always: ["default::read"], approve: () => (++approved < 4 ? "allow-once" : "deny") },
    });
    const outputs = [];
    for (let round = 0; round < 2; round++) outputs.push((await runtime.execute({ name: "read", input: { n: 1 } })).output);
    expect([outputs, seen, approved]).toEqual([["live 1", "cache 1"], ["live", "cache"], 2]);
    const invalid = await runtime.execute({ name: "read", input: { n: "x" } });
    vetoed = true;
    const stopped = await runtime.execute({ name: "read", input: { n: 1 } });
    vetoed = false;
    await runtime.execute({ name: "read", input: { n: 1 } });
    const refused = await runtime.execute({ name: "read", input: { n: 1 } });
    expect([invalid, stopped, refused].map((result) => result.error?.code)).toEqual(["invalid_input", "vetoed", "approval_denied"]);
    expect(runs()).toBe(1);
  });

  test("F3.15 of a truncated answer has the whole answer, and its handle works in the session of the call", async () => {
    const text = Array.from({ length: 50 }, (_, line) => `line ${line}`).join("\n");
    const { runtime } = testRuntime({
      tools: [tool("read", () => text, { effects: readOnly("a"), cache: "runtime", maxResultBytes: 200 })],
    });
    const first = await runtime.session("one").execute({ name: "read" });
    const other = runtime.session("other");
    const hit = await other.execute({ name: "read" });
    expect([hit.origin, hit.truncation]).toEqual(["cache", { ...first.truncation, handle: hit.callId }]);
    const rest = await other.execute({ name: "read_result", input: { handle: hit.callId, offset: 49 } });
    expect(String(Reflect.get(Object(rest.output), "text") ?? rest.output)).toContain("line 49");
  });

  test("F3.15 takes no slot, so it does not wait for a slow call of the same tool", async () => {
    const slow = gate();
    const read = tool("read", ({ slow: wait }) => (wait === true ? slow.promise : 1), {
      effects: { reads: [], writes: [] },
      cache: "runtime",
      maxConcurrent: 1,
    });
    const { runtime } = testRuntime({ tools: [read], maxConcurrent: 1 });
    await runtime.execute({ name: "read" });
    const waiting = runtime.execute({ name: "read", input: { slow: true } });
    expect((await runtime.execute({ name: "read" })).origin).toBe("cache");
    slow.open();
    expect((await waiting).status).toBe("ok");
  });

  test("F3.15 is returned while the circuit of its tool is open; other calls are refused", async () => {
    let down = false;
    const read = tool("read", () => (down ? Promise.reject(new ToolError("network_error", "down")) : "up"), {
      effects: readOnly("a"),
      cache: "runtime",
      maxAttempts: 1,
    });
    const { runtime } = testRuntime({ tools: [read], circuit: { failures: 2 } });
    await runtime.execute({ name: "read", input: { n: 0 } });
    down = true;
    for (let n = 1; n <= 2; n++) await runtime.execute({ name: "read", input: { n } });
    const [hit, other] = await runtime.execute([
      { name: "read", input: { n: 0 } },
      { name: "read", input: { n: 3 } },
    ]);
    expect([hit?.output, hit?.origin, other?.error?.code]).toEqual(["up", "cache", "circuit_open"]);
  });
});

describe("a cache scope", () => {
  async function readTwice({ runtime }: TestRuntime, calls = 1): Promise<readonly Origin[]> {
    const batch = Array.from({ length: calls }, () => ({ name: "read" }));
    return origins([...(await runtime.execute(batch)), ...(await runtime.execute(batch))]);
  }

  test("F3.16 turn: a result is dropped at the end of its turn, in a session and outside", async () => {
    const { tool: read, runs } = counting({ cache: "turn" });
    const bench = testRuntime({ tools: [read] });
    expect(await readTwice(bench, 2)).toEqual(["live", "cache", "live", "cache"]);
    const session = bench.runtime.session();
    const turns = [await session.execute([{ name: "read" }, { name: "read" }]), [await session.execute({ name: "read" })]];
    expect([turns.map(origins), runs()]).toEqual([[["live", "cache"], ["live"]], 4]);
  });

  test("F3.16 session: a result is found in later turns, not in other sessions, and is dropped when the session closes", async () => {
    const { tool: read } = counting({ cache: "session" });
    const { runtime } = testRuntime({ tools: [read] });
    const session = runtime.session("s");
    const found = [await session.execute({ name: "read" }), await session.execute({ name: "read" })];
    const other = await runtime.session("other").execute({ name: "read" });
    const branch = await session.fork().execute({ name: "read" });
    await session.close();
    const again = await runtime.session("s").execute({ name: "read" });
    expect(origins([...found, other, branch, again])).toEqual(["live", "cache", "live", "live", "live"]);
  });

  test("F3.16 session: outside a session, a result lasts for one turn", async () => {
    expect(await readTwice(testRuntime({ tools: [counting({ cache: "session" }).tool] }), 2)).toEqual(["live", "cache", "live", "cache"]);
  });

  test("F3.16 runtime: a result is found by every session and by calls without one, in this runtime only", async () => {
    const { tool: read, runs } = counting({ cache: "runtime" });
    const bench = testRuntime({ tools: [read] });
    const results = [
      await bench.runtime.session("a").execute({ name: "read" }),
      await bench.runtime.session("b").execute({ name: "read" }),
      await bench.runtime.execute({ name: "read" }),
      await testRuntime({ tools: [read] }).runtime.execute({ name: "read" }),
    ];
    expect([origins(results), runs()]).toEqual([["live", "cache", "cache", "live"], 2]);
  });

  test("F3.16 runtime: after its ttl a result is read anew", async () => {
    const { tool: read } = counting({ cache: { scope: "runtime", ttlMs: 1_000 } });
    const { runtime, ports } = testRuntime({ tools: [read] });
    const found: unknown[] = [];
    for (const waitMs of [0, 999, 1, 999]) {
      await ports.clock.advance(waitMs);
      found.push((await runtime.execute({ name: "read" })).output);
    }
    expect(found).toEqual([1, 1, 2, 2]);
  });

  test("F3.16 runtime: a tool that replaces another of the same name does not get its results", async () => {
    const { runtime } = testRuntime({ tools: [tool("read", () => "old", { effects: readOnly("a"), cache: "runtime" })] });
    await runtime.execute({ name: "read" });
    runtime.registry.unregister("read");
    runtime.registry.register(tool("read", () => "new", { effects: readOnly("a"), cache: "runtime" }));
    expect(await runtime.execute({ name: "read" })).toMatchObject({ output: "new", origin: "live" });
  });

  test("C01 any: a result that was read from session state never reaches another session", async () => {
    const note = tool("note", ({ text }, { state }) => state.update("text", () => String(text)), {
      effects: { reads: [], writes: ["session:text"] },
    });
    const read = tool("read", (_, { state }) => state.get("text") ?? null, { effects: readOnly("session:text"), cache: "runtime" });
    const { runtime } = testRuntime({ tools: [note, read] });
    const [one, other] = [runtime.session("one"), runtime.session("other")];
    await one.execute([{ name: "note", input: { text: "mine" } }, { name: "read" }]);
    const seen = [await other.execute({ name: "read" }), await one.execute({ name: "read" })];
    await one.execute({ name: "note", input: { text: "newer" } });
    seen.push(await other.execute({ name: "read" }), await one.execute({ name: "read" }));
    expect(seen.map((result) => [result.origin, result.output])).toEqual([
      ["live", null],
      ["cache", "mine"],
      ["cache", null],
      ["live", "newer"],
    ]);
  });
});

describe("F3.17 C02 the cache does not store", () => {
  type Answer = () => unknown;
  test.each<[string, Answer]>([
    ["an error", () => Promise.reject(new ToolError("execution_failed", "broken"))],
    ["what is not JSON", () => 1n],
    ["an output that breaks its schema", () => "text"],
  ])("%s", async (_, first) => {
    let runs = 0;
    const read = tool("read", () => (runs++ === 0 ? first() : 2), {
      effects: readOnly("a"),
      cache: "runtime",
      outputSchema: { type: "integer" },
      maxAttempts: 1,
    });
    const { runtime } = testRuntime({ tools: [read] });
    const results = [];
    for (let round = 0; round < 3; round++) results.push(await runtime.execute({ name: "read" }));
    expect([runs, origins(results), results[2]?.output]).toEqual([2, ["live", "live", "cache"], 2]);
  });

  test("a call that timed out, and its late answer", async () => {
    const late = gate<string>();
    let runs = 0;
    const read = tool("read", () => (runs++ === 0 ? late.promise : "fresh"), {
      effects: readOnly("a"),
      cache: "runtime",
      timeoutMs: 100,
      maxAttempts: 1,
    });
    const { runtime, ports } = testRuntime({ tools: [read] });
    const first = runtime.execute({ name: "read" });
    await ports.clock.advance(100);
    expect((await first).error?.code).toBe("timeout");
    late.open("stale");
    await settle();
    expect(await runtime.execute({ name: "read" })).toMatchObject({ output: "fresh", origin: "live" });
  });

  test("a call that was cancelled", async () => {
    const { tool: read, runs } = counting({ cache: "runtime", execute: async (_: never, { signal }) => (signal.throwIfAborted(), 1) });
    const controller = new AbortController();
    const { runtime } = testRuntime({ tools: [read], hooks: [{ name: "cancel", beforeCall: () => controller.abort() }] });
    const cancelled = await runtime.execute({ name: "read" }, { signal: controller.signal });
    expect([cancelled.status, runs(), origins([await runtime.execute({ name: "read" })])]).toEqual(["cancelled", 0, ["live"]]);
  });

  test.each<Origin>(["replay", "stub", "simulated"])("an answer of an engine whose origin is %s", async (origin) => {
    let runs = 0;
    const engine: Engine = { kind: "test", origin, call: () => ++runs };
    const read = { name: "read", description: "", inputSchema: {}, effects: readOnly("a"), cache: "runtime" } as const;
    const { runtime } = testRuntime({ toolsets: [{ name: "t", engine, tools: [read] }] });
    await runtime.open();
    const results = [await runtime.execute({ name: "t::read" }), await runtime.execute({ name: "t::read" })];
    expect([origins(results), runs]).toEqual([[origin, origin], 2]);
  });

  test("a call without validation, which does not get cached answers either", async () => {
    const { tool: read } = counting({ cache: "runtime" });
    const { runtime } = testRuntime({ tools: [read] });
    const outputs: unknown[] = [];
    for (const validate of [false, true, false, true]) outputs.push((await runtime.execute({ name: "read" }, { validate })).output);
    expect(outputs).toEqual([1, 2, 3, 2]);
  });
});

describe("cache settings of a tool", () => {
  const reads = { reads: ["a"], writes: [] };
  test.each<[string, Record<string, unknown>, string]>([
    ["that declares nothing", { cache: "session" }, "does not declare that it only reads"],
    ["that writes", { cache: "session", effects: { reads: ["a"], writes: ["b"] } }, "does not declare that it only reads"],
    ["whose writes depend on its input", { cache: "session", effects: { reads: ["a"], writes: () => [] } }, "does not declare"],
    ["that is destructive", { cache: "session", effects: { ...reads, destructive: true } }, "is destructive"],
    ["that runs once a turn", { cache: "session", effects: reads, oncePerTurn: true }, "once a turn"],
    ["that ends the turn", { cache: "session", effects: reads, endsTurn: true }, "ends the turn"],
    ["of the category DANGEROUS", { cache: "session", effects: reads, category: "DANGEROUS", oncePerTurn: false }, "DANGEROUS"],
    ["of the category TERMINAL", { cache: "session", effects: reads, category: "TERMINAL", endsTurn: false }, "TERMINAL"],
    ["that its provider runs", { cache: "session", effects: reads, providerExecuted: true }, "provider"],
    ["in an unknown scope", { cache: "week", effects: reads }, '"turn" or "tick" or "session" or "runtime" or "persistent"'],
    ["without a scope", { cache: { ttlMs: 5 }, effects: reads }, "cache.scope"],
    ["by a list", { cache: ["session"], effects: reads }, "cache of tool"],
    ["for no time", { cache: { scope: "session", ttlMs: 0 }, effects: reads }, "cache.ttlMs"],
    ["for less than no time", { cache: { scope: "session", ttlMs: -1 }, effects: reads }, "cache.ttlMs"],
    ["for ever", { cache: { scope: "session", ttlMs: Infinity }, effects: reads }, "cache.ttlMs"],
    ["for a text of time", { cache: { scope: "session", ttlMs: "5" }, effects: reads }, "cache.ttlMs"],
    ["for an identity that is not a list", { cache: { scope: "runtime", identity: "user" }, effects: reads }, "cache.identity"],
    ["for an identity without a name", { cache: { scope: "runtime", identity: [""] }, effects: reads }, "cache.identity"],
    ["for an identity named twice", { cache: { scope: "runtime", identity: ["user", "user"] }, effects: reads }, "cache.identity"],
    ["with a misspelt setting", { cache: { scope: "session", ttl: 5 }, effects: reads }, '"ttl"'],
  ])("F3.15 %s: defining and registering it throw", (_, fields, why) => {
    const definition = { name: "read", description: "Reads.", inputSchema: {}, ...fields };
    const refusal = expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(why) });
    expect(() => Reflect.apply(defineTool, undefined, [definition])).toThrow(refusal);
    const register = Reflect.get(createRuntime().registry, "register");
    expect(() => Reflect.apply(register, createRuntime().registry, [definition])).toThrow(refusal);
  });

  test("F3.15 do not change with the object that the definition was made from", async () => {
    const cache = { scope: "runtime" as const, identity: ["user"] };
    const { runtime } = testRuntime({
      tools: [
        defineTool({ name: "read", description: "", effects: { reads: [], writes: [] }, cache, execute: (_, { data }) => data["user"] }),
      ],
    });
    cache.identity.pop();
    for (const user of ["ann", "bob"]) expect((await runtime.execute({ name: "read" }, { data: { user } })).output).toBe(user);
  });
});

test("F3.15 a call that changes state, or whose answer refers to another call, is not cached", async () => {
  let runs = 0;
  const noting = tool("noting", (_input, { state }) => (state.update("seen", () => true), ++runs), { cache: { scope: "runtime" } });
  const referring = tool("referring", () => new ToolOutput({ output: ++runs, sameAs: "call_1" }), { cache: { scope: "runtime" } });
  const { runtime } = testRuntime({ tools: [noting, referring] });
  for (const session of [runtime.session(), runtime.session()]) {
    await session.execute([{ name: "noting" }, { name: "referring" }]);
    expect(session.state("default", "seen")).toBe(true);
  }
  expect(runs).toBe(4);
});

test("issue 19.7 answers of an engine with perUser are cached per principal, in every scope", async () => {
  const engine: Engine = {
    kind: "test",
    perUser: true,
    call: async (_request, { data }) => (data["principal"] as { readonly id: string } | undefined)?.id ?? null,
  };
  const read = { name: "whoami", description: "", inputSchema: {}, effects: readOnly("file:/a"), cache: "runtime" } as const;
  const { runtime } = testRuntime({ toolsets: [{ name: "tickets", engine, tools: [read] }] });
  const ask = (id?: string) =>
    runtime.execute({ name: "tickets::whoami" }, id === undefined ? {} : { data: { principal: { id, scopes: new Set(["execute"]) } } });
  await Promise.all([ask("one"), ask("two"), ask()]);
  const again = [await ask("one"), await ask("two"), await ask()];
  expect(again.map(({ origin, output }) => [origin, output])).toEqual([
    ["cache", "one"],
    ["cache", "two"],
    ["cache", null],
  ]);
});

test("a turn-scoped answer is shared by the nested calls of a batch, and not with the next batch", async () => {
  const read = counting({ cache: "turn" });
  const outer = tool("outer", async (_input, { execute }) => (await execute({ name: "read" })).output, { effects: { writes: ["a"] } });
  const session = testRuntime({ tools: [read.tool, outer] }).runtime.session();
  const asked = async (times: number): Promise<unknown> =>
    (await session.execute(Array.from({ length: times }, () => ({ name: "outer" })))).map(({ output }) => output);
  expect([await asked(2), await asked(3), (await session.execute({ name: "outer" })).output]).toEqual([[1, 1], [2, 2, 2], 3]);
});
