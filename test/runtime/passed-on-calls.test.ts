/** Calls that tools make for a model (`call_tool`, `mcp_call`, chains), at random under a key, with hooks, other sources of answers, simulations and crashes. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { createRuntime, type Hook, type JsonObject, type Runtime, type Tool, type ToolCall, type ToolResult } from "haft";
import { createChain } from "haft/chain";
import { stubEngine } from "haft/simulation";
import type { Store } from "haft/store";
import { fakePorts, settle } from "haft/testing";
import { NoAnswer } from "../../src/core/answers/no-answer.ts";
import type { Engine } from "../../src/core/engine.ts";
import { ToolError } from "../../src/core/error.ts";
import { mcpToolset } from "../../src/engine/mcp.ts";
import { findToolsToolset } from "../../src/toolsets/find-tools.ts";
import { mcpAccessToolset } from "../../src/toolsets/mcp-access.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { listening, openRuntime } from "../server/mcp-clients.ts";
import { CrashDisk } from "./crash-disk.ts";
import { repeated } from "../ci.ts";

const N = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
const LEAVES = ["pay", "put", "fail", "flaky", "veto", "elsewhere"] as const;
type Leaf = (typeof LEAVES)[number];

/** The tools; each notes that it ran, and with what. `put` may be run again, `pay` may not. */
function leaves(ran: string[]): readonly Tool[] {
  const leaf = (name: Leaf, execute: (input: JsonObject) => unknown, more: object = {}): Tool => ({
    name,
    description: name,
    inputSchema: N,
    effects: { writes: [name] },
    execute: (input: JsonObject) => {
      ran.push(`${name} ${String(input["n"])}`);
      return execute(input);
    },
    ...more,
  });
  const failed = new Set<unknown>();
  return [
    leaf("pay", ({ n }) => ({ paid: n })),
    leaf("put", ({ n }) => ({ put: n }), { effects: { writes: ["put"], idempotent: true } }),
    leaf("fail", () => {
      throw new ToolError("execution_failed", "It fails.", { retryable: false });
    }),
    leaf("flaky", ({ n }) => {
      if (failed.has(n)) return { at: "last" };
      failed.add(n);
      throw new ToolError("network_error", "Reset.", { outcome: "not_started" });
    }),
    leaf("veto", () => "never"),
    leaf("elsewhere", () => "never"),
  ];
}

const absent: Engine = {
  kind: "replay",
  origin: "replay",
  call: () => {
    throw new NoAnswer("not_found", "It has none.", { retryable: false });
  },
};

/** Sees a call before and after: what it changes twice would show. */
const hook: Hook = {
  name: "plus",
  inSimulation: "run",
  beforeCall: ({ name, input, ...call }) => {
    if (name.endsWith("veto")) return { veto: "No." };
    const { n } = input as JsonObject;
    return typeof n === "number" && n < 100 ? { ...call, name, input: { ...(input as JsonObject), n: n + 100 } } : undefined;
  },
  afterCall: (result) => ({ ...result, metadata: { ...result.metadata, seen: Number(result.metadata?.["seen"] ?? 0) + 1 } }),
};

interface World {
  readonly ran?: string[];
  readonly store: Store;
  readonly hooks: boolean;
  /** Whether `elsewhere` is answered by the second source that is asked. */
  readonly sources: boolean;
  readonly more?: object;
}

function runtimeOf({ ran = [], store, hooks, sources, more = {} }: World): Runtime {
  const chained = createChain([
    { tool: "put", inputMapping: { n: "n" } },
    { tool: "pay", inputMapping: { n: "n" } },
  ]).toTool({ name: "chained", description: "Two steps.", inputSchema: N });
  const stub = stubEngine([{ tool: "default::elsewhere", output: "stub" }]);
  const answers = { engines: { replay: absent, stub }, rules: [{ tools: "default::elsewhere", from: ["replay", "stub"] }] };
  return createRuntime({
    store,
    retry: { delayMs: 0, jitter: false },
    tools: [...leaves(ran), chained],
    toolsets: [findToolsToolset({ callTool: true })],
    ...(sources ? { answers } : {}),
    ...(hooks ? { hooks: [hook] } : {}),
    ...more,
  } as never);
}

const call = fc
  .tuple(fc.constantFrom(...LEAVES, "chained"), fc.constantFrom("direct", "once", "twice"))
  .map(([name, way]) => (n: number): ToolCall => {
    const inner = { name: `default::${name}`, input: { n } };
    const once = { name: "catalog::call_tool", input: inner };
    return way === "direct"
      ? inner
      : way === "once"
        ? once
        : { name: "catalog::call_tool", input: { name: "catalog::call_tool", input: once.input } };
  });
const calls = fc.array(call, { minLength: 1, maxLength: 5 }).map((made) => made.map((make, n) => make(n)));

const brief = (results: readonly ToolResult[]): readonly unknown[] =>
  results.map(({ callId, status, output, error, metadata }) => ({ callId, status, output, error, metadata }));

test("a repeated key returns the results of passed-on calls, also after a resume; a simulation of them runs nothing", async () => {
  await fc.assert(
    fc.asyncProperty(calls, fc.boolean(), fc.boolean(), async (batch, hooks, sources) => {
      const [ran, store] = [[] as string[], memoryStore()];
      const runtime = runtimeOf({ ran, store, hooks, sources });
      const session = runtime.session("s");
      const first = brief(await session.execute(batch, { idempotencyKey: "k" }));
      const before = [...ran];
      expect(brief(await session.execute(batch, { idempotencyKey: "k" }))).toEqual(first);
      const branch = session.fork({ simulated: true });
      const simulated = brief(await branch.execute(batch, { idempotencyKey: "other" }));
      expect(brief(await branch.execute(batch, { idempotencyKey: "other" }))).toEqual(simulated);
      await branch.discard();
      await session.close();
      const resumed = await runtime.resume("s");
      expect(brief(await resumed.execute(batch, { idempotencyKey: "k" }))).toEqual(first);
      expect(ran).toEqual(before);
      if (hooks) expect(ran.filter((line) => !/ 10\d$/u.test(line))).toEqual([]);
      expect(await runtime.close()).toEqual([]);
    }),
    { numRuns: repeated(60) },
  );
});

test("after a crash at any time a passed-on call runs once, or has an unknown outcome, and its result stays the same", async () => {
  const crash = fc.tuple(fc.nat({ max: 12 }), fc.double({ min: 0, max: 1, noNaN: true }));
  await fc.assert(
    fc.asyncProperty(calls, fc.boolean(), fc.boolean(), crash, async (batch, hooks, sources, [steps, written]) => {
      const [disk, ran, ports] = [new CrashDisk(), [] as string[], fakePorts()];
      const live = disk.store();
      const session = runtimeOf({ ran, store: live, hooks, sources, more: { ports } }).session("s");
      void session.execute(batch, { idempotencyKey: "k" }).catch(() => {});
      for (let step = 0; step < steps; step++) {
        await settle();
        if (step + 1 < steps) live.flush();
      }
      live.die(written);
      const next = disk.store();
      const until = async <T>(work: Promise<T>): Promise<T> => {
        let isOver = false;
        void work.catch(() => {}).finally(() => (isOver = true));
        for (let turn = 0; turn < 300 && !isOver; turn++) {
          next.flush();
          await settle();
          await ports.clock.advance(1);
        }
        return work;
      };
      const runtime = runtimeOf({ ran, store: next, hooks, sources, more: { ports } });
      if (!disk.written.has("s")) return;
      const again = await until(runtime.resume("s"));
      const first = brief(await until(again.execute(batch, { idempotencyKey: "k" })));
      const before = [...ran];
      expect(brief(await until(again.execute(batch, { idempotencyKey: "k" })))).toEqual(first);
      expect(ran).toEqual(before);
      for (const line of new Set(ran))
        if (/^(?:pay|fail) /u.test(line))
          expect(
            ran.filter((other) => other === line),
            line,
          ).toHaveLength(1);
      if (hooks) expect(ran.filter((line) => !/ 10\d$/u.test(line))).toEqual([]);
    }),
    { numRuns: repeated(200) },
  );
});

test("a repeated key returns the result of mcp_call, alone and by call_tool, and a simulation does not make the call", async () => {
  const seen: string[] = [];
  const { runtime: far } = await openRuntime({ tools: leaves(seen).filter(({ name }) => name !== "flaky") });
  const { url } = await listening(far);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom("pay", "put", "fail", "veto"), fc.boolean()), { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      async (made, hooks) => {
        const toolsets = [findToolsToolset({ callTool: true }), mcpToolset("far", { url, include: ["*"] }), mcpAccessToolset()];
        const runtime = runtimeOf({ store: memoryStore(), hooks, sources: true, more: { toolsets } });
        await runtime.open();
        const session = runtime.session("s");
        const batch = made.map(([tool, isWrapped], n): ToolCall => {
          const own = { name: "mcp::mcp_call", input: { server: "far", tool, input: { n } } };
          return isWrapped ? { name: "catalog::call_tool", input: own } : own;
        });
        const from = seen.length;
        const first = brief(await session.execute(batch, { idempotencyKey: "k" }));
        const ran = seen.slice(from);
        expect(ran).toHaveLength(made.filter(([tool]) => !hooks || tool !== "veto").length);
        expect(brief(await session.execute(batch, { idempotencyKey: "k" }))).toEqual(first);
        await session.simulate(batch);
        expect(seen.slice(from)).toEqual(ran);
        expect(await runtime.close()).toEqual([]);
      },
    ),
    { numRuns: repeated(15) },
  );
});
