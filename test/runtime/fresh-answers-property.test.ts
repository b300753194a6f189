/** Random trees of reads that are cached and writes that fail, are cancelled or go on too long: no read gets an answer older than its own start. */
import { AsyncLocalStorage } from "node:async_hooks";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isToolError } from "../../src/core/error.ts";
import { isSameOrInside } from "../../src/core/resources/effects.ts";
import type { CacheScope, Tool } from "../../src/core/tool.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { inCI } from "../ci.ts";
import { testRuntime } from "./bench-runtime.ts";
import { within } from "./holds-world.ts";

interface Node {
  readonly tool: "write" | "turn" | "session" | "runtime" | "persistent";
  /** What it reads or writes: each key with everything inside it. */
  readonly keys: readonly string[];
  /** Turns of the event loop before it is called, before its handler reads or writes, and after. */
  readonly start: number;
  readonly before: number;
  readonly after: number;
  /** The handler of a write throws at its end. */
  readonly fails: boolean;
  /** The handler goes on after it is cancelled. */
  readonly isLate: boolean;
  /** It is cancelled after so many turns of the event loop. */
  readonly cancelAfter: number | undefined;
  readonly how: "first" | "second" | "alone" | "elsewhere";
  readonly calls: readonly Node[];
}

/** Only what is `far` is written by the other runtime too. */
const FAR = "far";
const LEAF: Node = {
  tool: "write",
  keys: ["a"],
  start: 0,
  before: 0,
  after: 0,
  fails: false,
  isLate: false,
  cancelAfter: undefined,
  how: "alone",
  calls: [],
};
const KEYS = ["a", "a/b", "a/b/c", "a/d", "e", FAR];
const SCOPES: readonly CacheScope[] = ["turn", "session", "runtime", "persistent"];

const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.record({
    tool: fc.constantFrom<Node["tool"][]>("write", "turn", "session", "runtime", "runtime", "persistent"),
    keys: fc.constantFrom(["a"], ["a/b"], ["a/b/c", "e"], ["a/d"], [FAR]),
    start: fc.nat(12),
    before: fc.nat(3),
    after: fc.nat(3),
    fails: fc.boolean(),
    isLate: fc.boolean(),
    cancelAfter: fc.option(fc.nat(6), { nil: undefined, freq: 8 }),
    how: fc.constantFrom<Node["how"][]>("first", "first", "second", "alone", "elsewhere"),
    calls: fc.oneof(
      { maxDepth: 3 },
      { arbitrary: fc.constant([]), weight: 4 },
      { arbitrary: fc.array(tie("node"), { maxLength: 3 }), weight: 1 },
    ),
  }),
}));

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function wait(ticks: number, signal?: AbortSignal): Promise<void> {
  for (let left = ticks; left > 0 && signal?.aborted !== true; left--) await tick();
}

/** What each call does. It is no part of the input, so that reads of the same keys are equal. */
const NODE = new AsyncLocalStorage<Node>();

class World {
  readonly stale: string[] = [];
  readonly counts = { cache: 0, live: 0 };
  readonly #versions = new Map(KEYS.map((key) => [key, 0]));
  /** What the last write of it has left that has ended: each runtime has locks of its own, so a read may begin during a write of the other. */
  #farVersion = 0;
  /** The last version of it that each write made. */
  readonly #farWrites = new Map<Node, number>();
  readonly #late: Promise<unknown>[] = [];
  readonly #store = memoryStore();
  readonly #ports = fakePorts();
  readonly #here = this.#runtime();
  readonly #elsewhere = this.#runtime();
  /** Two runtimes do not know of each other's waits, so what such a call makes stays in its runtime. */
  readonly #elsewhereCalls = new Set<Node>();
  readonly #sessions = new Map<string, RuntimeSession>();

  async play(roots: readonly Node[]): Promise<void> {
    let isOver = false;
    const playing = this.#playAll(roots).finally(() => (isOver = true));
    while (!isOver) {
      await this.#ports.clock.advance(1); // an orphan keeps its locks for no time
      await tick();
    }
    await playing;
  }

  async #playAll(roots: readonly Node[]): Promise<void> {
    await Promise.all(roots.map((one) => this.#call(one)));
    while (this.#late.length > 0) await this.#late.pop();
  }

  #runtime(): Runtime {
    return testRuntime({ tools: this.#tools(), store: this.#store, ports: this.#ports, orphanHoldMs: 0 }).runtime;
  }

  #session(name: string): RuntimeSession {
    const session = this.#sessions.get(name) ?? this.#here.session(name);
    this.#sessions.set(name, session);
    return session;
  }

  async #call(one: Node, outer?: Node): Promise<void> {
    await wait(one.start);
    const isElsewhere = one.how === "elsewhere" || this.#elsewhereCalls.has(outer ?? one);
    if (isElsewhere) this.#elsewhereCalls.add(one);
    const keys = isElsewhere ? [FAR] : one.keys;
    // Of what another runtime writes, only persistent results are dropped.
    const tool = keys.includes(FAR) && one.tool !== "write" ? "persistent" : one.tool;
    const before = keys.includes(FAR) ? { [FAR]: this.#farVersion } : this.#read(keys);
    const call = { name: tool, input: { keys: [...keys] } };
    const stop = new AbortController();
    const { signal } = stop;
    if (one.cancelAfter !== undefined) void wait(one.cancelAfter).then(() => stop.abort());
    const place = isElsewhere ? this.#elsewhere : one.how === "alone" ? this.#here : this.#session(one.how);
    try {
      const result = await NODE.run(one, () => place.execute(call, { signal }));
      if (tool === "write") return this.#noteEnd(one);
      if (result.status !== "ok") return;
      this.counts[result.origin === "cache" ? "cache" : "live"]++;
      const answer = result.output as Readonly<Record<string, number>>; // as the tool made it
      for (const [key, version] of Object.entries(before))
        if ((answer[key] ?? -1) < version) this.stale.push(`${tool} ${key}: ${answer[key]} for ${version} (${result.origin})`);
    } catch (error: unknown) {
      if (!isToolError(error) || error.code !== "resource_busy") throw error; // its turn would never begin
    }
  }

  #noteEnd(write: Node): void {
    this.#farVersion = Math.max(this.#farVersion, this.#farWrites.get(write) ?? 0);
  }

  #read(keys: readonly string[]): Readonly<Record<string, number>> {
    const isRead = (key: string): boolean => keys.some((outer) => isSameOrInside(key, outer));
    return Object.fromEntries([...this.#versions].filter(([key]) => isRead(key)));
  }

  #write(one: Node, keys: readonly string[]): void {
    for (const [key, version] of Object.entries(this.#read(keys))) this.#versions.set(key, version + 1);
    if (keys.includes(FAR)) this.#farWrites.set(one, this.#versions.get(FAR) ?? 0);
  }

  async #run(keys: readonly string[], isWrite: boolean, signal: AbortSignal): Promise<Readonly<Record<string, number>>> {
    const one = NODE.getStore() ?? expect.fail("a handler runs in no call");
    const stops = one.isLate ? undefined : signal;
    await wait(one.before, stops);
    const found = this.#read(keys);
    if (isWrite && stops?.aborted !== true) this.#write(one, keys);
    const calls = Promise.all(one.calls.map((inner) => this.#call(inner, one)));
    this.#late.push(calls);
    await calls;
    await wait(one.after, stops);
    if (isWrite && stops?.aborted !== true) this.#write(one, keys);
    if (isWrite && one.fails) throw new Error("It fails at its end.");
    return found;
  }

  #tools(): readonly Tool[] {
    const keysOf = (input: { readonly keys?: unknown }): readonly string[] => input.keys as readonly string[]; // as `#call` wrote it
    const fields = {
      description: "Reads or writes.",
      inputSchema: { type: "object", properties: { keys: { type: "array", items: { type: "string" } } }, required: ["keys"] },
      timeoutMs: 0,
    } as const;
    const execute =
      (isWrite: boolean): NonNullable<Tool["execute"]> =>
      (input, { signal }) => {
        const running = this.#run(keysOf(input), isWrite, signal);
        const write = NODE.getStore() ?? expect.fail("a handler runs in no call");
        this.#late.push(running.catch(() => {}).then(() => this.#noteEnd(write)));
        return running;
      };
    const read = (scope: CacheScope): Tool => ({
      ...fields,
      name: scope,
      cache: scope,
      effects: { reads: keysOf, writes: [] },
      execute: execute(false),
    });
    return [{ ...fields, name: "write", effects: { reads: [], writes: keysOf }, execute: execute(true) }, ...SCOPES.map(read)];
  }
}

const CALL: Node = { ...LEAF, how: "first" };
/** An equal call waits, in the turn of a session, for one whose handler makes a call in that session. */
const EQUAL_AND_TURN: readonly Node[] = [
  { ...CALL, tool: "runtime", calls: [{ ...CALL, start: 1, how: "second" }] },
  { ...CALL, tool: "runtime", how: "second", start: 1 },
];
/** A read begins during the write of another runtime, and an equal one after it. */
const EQUAL_ELSEWHERE: readonly Node[] = [
  { ...CALL, keys: [FAR], before: 1, after: 4 },
  { ...CALL, how: "elsewhere", tool: "persistent", start: 3, before: 2, after: 4 },
  { ...CALL, how: "elsewhere", tool: "persistent", start: 8 },
];
/** A read begins and ends while an abandoned write goes on. */
const DURING_A_LATE_WRITE: readonly Node[] = [
  { ...CALL, how: "second", isLate: true, cancelAfter: 1, before: 8, after: 8 },
  ...[3, 5, 7, 9, 11, 13, 15].map((start) => ({ ...CALL, tool: "runtime" as const, start })),
];

test("a cached answer is never older than the start of the call that gets it", async () => {
  const counts = { cache: 0, live: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(node, { minLength: 1, maxLength: 12 }), async (roots) => {
      const world = new World();
      expect(await within(3_000, world.play(roots))).toBe(true);
      counts.cache += world.counts.cache;
      counts.live += world.counts.live;
      expect(world.stale).toEqual([]);
    }),
    { numRuns: inCI ? 1_500 : 60, examples: [[EQUAL_AND_TURN], [EQUAL_ELSEWHERE], [DURING_A_LATE_WRITE]] },
  );
  expect(counts.cache).toBeGreaterThan(0);
});
