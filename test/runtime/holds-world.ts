/** Random trees of calls over a tree of resources, with limits, and cancelled anywhere; and the runtime in which they are made. */
import { AsyncLocalStorage } from "node:async_hooks";
import fc from "fast-check";
import { isSameOrInside } from "../../src/core/resources/effects.ts";
import { isToolError } from "../../src/core/error.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { ResourceLocks } from "../../src/policy/locks/resource-locks.ts";
import { testRuntime } from "./bench-runtime.ts";

/** A call, and those that its handler makes. */
export interface Node {
  /** Equal calls of `kept` have one answer. */
  readonly tool: "one" | "two" | "free" | "kept";
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** Turns of the event loop before it makes its calls. */
  readonly before: number;
  readonly after: number;
  /** `first` is in the session of the first root. */
  readonly how: "session" | "alone" | "job" | "first";
  /** It does not wait for the calls it makes. */
  readonly isHasty: boolean;
  /** Its calls are cancelled after so many turns of the event loop. */
  readonly cancelAfter: number | undefined;
  readonly calls: readonly Node[];
}

/** Tools that may run one call at a time. */
const LIMITED: ReadonlySet<Node["tool"]> = new Set(["one", "two"]);
const STRING = { type: "string" } as const;
const KEYS = ["a", "a/b", "a/b/c", "a/d", "e", "e/f"];
export const LEAF: Node = {
  tool: "free",
  reads: [],
  writes: [],
  before: 0,
  after: 0,
  how: "alone",
  isHasty: false,
  cancelAfter: undefined,
  calls: [],
};

export const KEPT: readonly Node[] = [
  { ...LEAF, tool: "kept", reads: ["a"], before: 2, how: "session", calls: [{ ...LEAF, reads: ["e"] }] },
  { ...LEAF, tool: "kept", reads: ["a/b"], before: 2, how: "session", calls: [{ ...LEAF, tool: "one", reads: ["e/f"] }] },
];

interface NodeOptions {
  /** Whether every handler waits for its calls, and no call is cancelled. */
  readonly isPatient: boolean;
}

export function nodes({ isPatient }: NodeOptions): fc.Arbitrary<readonly Node[]> {
  const { node } = fc.letrec<{ node: Node }>((tie) => ({
    node: fc.record({
      tool: fc.constantFrom<Node["tool"][]>("one", "two", "free", "free"),
      reads: fc.subarray(KEYS, { maxLength: 2 }),
      writes: fc.subarray(KEYS, { maxLength: 2 }),
      before: fc.nat(3),
      after: fc.nat(3),
      how: fc.constantFrom<Node["how"][]>("session", "session", "alone", "job", "first"),
      isHasty: isPatient ? fc.constant(false) : fc.boolean(),
      cancelAfter: isPatient ? fc.constant(undefined) : fc.option(fc.nat(6), { nil: undefined, freq: 5 }),
      calls: fc.oneof(
        { maxDepth: 3, depthSize: "small" },
        fc.constant([]),
        fc.array(fc.oneof({ arbitrary: tie("node"), weight: 4 }, fc.constantFrom(...KEPT)), { maxLength: 3 }),
      ),
    }),
  }));
  return fc.array(node, { minLength: 1, maxLength: 4 });
}

interface Place {
  /** The ids of the calls around. */
  readonly path: readonly string[];
  readonly session: RuntimeSession;
}

interface Running {
  readonly id: string;
  /** The ids of the calls that it was made inside of. */
  readonly path: readonly string[];
  readonly node: Node;
}

/** Not part of the input: calls of several places may be equal. */
const PLACE = new AsyncLocalStorage<Place>();

function placeHere(): Place {
  const place = PLACE.getStore();
  if (place === undefined) throw new Error("A handler runs in no place.");
  return place;
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function wait(ticks: number): Promise<void> {
  for (let left = ticks; left > 0; left--) await tick();
}

const meet = (left: string, right: string): boolean => isSameOrInside(left, right) || isSameOrInside(right, left);

function conflict(left: Node, right: Node): boolean {
  const clash = (writes: readonly string[], others: readonly string[]): boolean =>
    writes.some((key) => others.some((other) => meet(key, other)));
  return clash(left.writes, [...right.reads, ...right.writes]) || clash(right.writes, left.reads);
}

/** The runtime of one case, and what went wrong in it. */
export class World {
  readonly locks = new ResourceLocks();
  readonly wrong: string[] = [];
  readonly hasty: Promise<unknown>[] = [];
  readonly #running = new Set<Running>();
  readonly #runtime = testRuntime({ tools: this.#tools(), locks: this.locks, maxConcurrent: 3, jobs: { maxRunning: 1 }, orphanHoldMs: 0 })
    .runtime;
  readonly #sessions = new Map<string, RuntimeSession>();
  #calls = 0;

  #session(id: string): RuntimeSession {
    const session = this.#sessions.get(id) ?? this.#runtime.session(id);
    this.#sessions.set(id, session);
    return session;
  }

  /** Each call in a session of its own. */
  async begin(nodes: readonly Node[]): Promise<void> {
    await Promise.all(nodes.map((one, index) => this.#call({ path: [], session: this.#session(`s${index}`) }, one)));
  }

  /** Every call that anybody waits for, or does not, has ended and holds nothing. */
  async end(): Promise<void> {
    const { jobs } = this.#runtime;
    for (;;) {
      // Each may begin others of either kind.
      while (this.hasty.length > 0) await this.hasty.pop();
      const job = jobs.list().find(({ endedAt }) => endedAt === undefined);
      if (job === undefined) break;
      await jobs.wait(job.id);
    }
    for (let left = 20; left > 0 && this.locks.size > 0; left--) await tick();
    if (this.locks.size > 0) this.wrong.push(`${this.locks.size} tickets are left`);
    for (const name of ["one", "two", "free"]) {
      const place = { path: [], session: this.#session("end") };
      const { status } = await PLACE.run(place, () => this.#runtime.execute({ name, input: { tree: JSON.stringify(LEAF) } }));
      if (status !== "ok") this.wrong.push(`${name} has no slot left`);
    }
  }

  async #call(place: Place, one: Node, signal?: AbortSignal): Promise<void> {
    const call = { name: one.tool, input: { tree: JSON.stringify(one) } };
    const options = signal === undefined ? {} : { signal };
    const session = one.how === "first" ? this.#session("s0") : place.session;
    try {
      await PLACE.run({ ...place, session }, () =>
        one.how === "alone" ? this.#runtime.execute(call, options) : session.execute(call, { ...options, background: one.how === "job" }),
      );
    } catch (error: unknown) {
      if (!isToolError(error) || error.code !== "resource_busy") throw error; // its turn would never begin
    }
  }

  async #run({ path, session }: Place, tree: Node, signal: AbortSignal): Promise<void> {
    const own: Running = { id: `${tree.tool} ${++this.#calls}`, path, node: tree };
    for (const other of this.#running) {
      if (own.path.includes(other.id) || other.path.includes(own.id)) continue;
      if (conflict(own.node, other.node)) this.wrong.push(`${own.id} beside ${other.id}`);
      if (tree.tool === other.node.tool && LIMITED.has(tree.tool)) this.wrong.push(`${own.id} and ${other.id} have one slot`);
    }
    this.#running.add(own);
    signal.addEventListener("abort", () => this.#running.delete(own)); // it touches nothing from then on
    try {
      await wait(tree.before);
      const stop = new AbortController();
      const place = { path: [...path, own.id], session };
      const all = AbortSignal.any([stop.signal, signal]);
      const calls = Promise.all(tree.calls.map((one) => this.#call(place, one, all)));
      if (tree.cancelAfter !== undefined) void wait(tree.cancelAfter).then(() => stop.abort());
      if (tree.isHasty) this.hasty.push(calls);
      else await calls;
      await wait(tree.after);
    } finally {
      this.#running.delete(own);
    }
  }

  #tools(): readonly Tool[] {
    return (["one", "two", "free", "kept"] as const).map((name) => ({
      name,
      description: "Calls others.",
      inputSchema: { type: "object", properties: { tree: STRING } },
      effects: {
        reads: ({ tree }) => (JSON.parse(String(tree)) as Node).reads,
        writes: name === "kept" ? [] : ({ tree }) => (JSON.parse(String(tree)) as Node).writes,
      },
      timeoutMs: 0,
      ...(name === "kept" ? { cache: "runtime" } : name === "free" ? {} : { maxConcurrent: 1 }),
      execute: ({ tree }, { signal }) => this.#run(placeHere(), JSON.parse(String(tree)) as Node, signal),
    }));
  }
}

/** A case that hangs says so, in turns of the event loop. */
export async function within(ticks: number, work: Promise<void>): Promise<boolean> {
  let isOver = false;
  void work.finally(() => (isOver = true)).catch(() => {});
  for (let left = ticks; left > 0 && !isOver; left--) await tick();
  if (isOver) await work;
  return isOver;
}
