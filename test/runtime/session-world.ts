/** Sessions of real runtimes and their models side by side, in processes that can be killed, on one virtual clock. */
import { expect } from "vitest";
import type { ToolContext } from "../../src/core/context.ts";
import { ToolError } from "../../src/core/error.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { Store } from "../../src/core/store/store.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { ToolExecutionError } from "../../src/call/tool-execution-error.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { FakeClock, MemoryLog, countingIds, seededRandom } from "../../src/testing/fake-ports.ts";
import { CrashDisk, type CrashStore } from "./crash-disk.ts";
import type { Scenario } from "./session-arbitrary.ts";
import { Refusal, type ModelResult, type ModelSession } from "./session-log-model.ts";
import { Model } from "./session-model.ts";
import { RETRY_MS, TIMEOUT_MS, applyOp, type CallPlan, type Op } from "./session-plan.ts";

/** Things are done at multiples of this; what waits is written halfway between, so that nothing depends on which comes first. */
export const TICK_MS = 4;

/** A session and its model. */
export interface Slot {
  readonly id: string;
  model: ModelSession;
  /** Undefined while nobody has it open. */
  real: RuntimeSession | undefined;
}

/** What an operation came to. */
export type Settled<T> = { readonly value: T } | { readonly refused: string; readonly results: readonly ModelResult[] | undefined };

/** One thing that was asked of both. */
interface Pending {
  readonly name: string;
  readonly real: { settled?: Settled<unknown> };
  readonly model: { settled?: Settled<unknown> };
  readonly onSettled: (() => void) | undefined;
}

/** One start of a handler. */
export interface Dispatch {
  readonly plan: CallPlan;
  readonly callId: string;
  readonly idempotencyKey: string;
}

export class World {
  readonly scenario: Scenario;
  readonly model: Model;
  readonly plans = new Map<number, CallPlan>();
  readonly dispatches: Dispatch[] = [];
  /** What happened at least once. */
  readonly seen = new Set<string>();
  /** Ids of calls and random numbers that were used up. */
  readonly used = { callIds: 0, random: 0 };
  slots: Slot[] = [];
  runtime: Runtime;
  clock = new FakeClock();
  readonly #disk = new CrashDisk();
  readonly #memory = memoryStore();
  #crashStore: CrashStore | undefined;
  #now = 0;
  #pending: Pending[] = [];
  readonly #ids = countingIds();
  readonly #random = seededRandom(1);

  constructor(scenario: Scenario) {
    this.scenario = scenario;
    this.model = new Model(scenario.keeping, scenario.standIn);
    this.runtime = this.#startProcess();
  }

  /** Moves both clocks on, and writes what waits every `TICK_MS`. */
  async advance(ms: number): Promise<void> {
    const step = this.scenario.keeping === "disk" ? TICK_MS / 2 : Math.max(ms, 1);
    let left = ms;
    do {
      const now = this.#crashStore?.waiting === 0 && this.clock.pending === 0 ? left : Math.min(step, left);
      await Promise.all([this.model.advance(now), this.clock.advance(now)]);
      left -= now;
      this.#now += now;
      if (this.#now % TICK_MS === TICK_MS / 2) await this.#flush();
    } while (left > 0);
    for (const { name, real, model, onSettled } of this.#pending) {
      expect([name, real.settled]).toEqual([name, model.settled]);
      if (real.settled !== undefined) onSettled?.();
      if (real.settled !== undefined && "refused" in real.settled) this.seen.add(`${name} ${real.settled.refused}`);
      else if (real.settled !== undefined) this.seen.add(name);
    }
    this.#pending = this.#pending.filter((pending) => pending.real.settled === undefined);
  }

  get isQuiet(): boolean {
    return this.#pending.length === 0;
  }

  /** Waits for what both come to: the same, and at the same time. `read` makes values that can be compared. */
  expectSame<R, M>(
    name: string,
    both: { readonly real: Promise<R>; readonly model: Promise<M> },
    read: { readonly real: (value: R) => unknown; readonly model: (value: M) => unknown; readonly onValues?: (real: R, model: M) => void },
  ): void {
    const values: { real?: readonly [R]; model?: readonly [M] } = {};
    const onSettled = (): void => {
      if (values.real !== undefined && values.model !== undefined) read.onValues?.(values.real[0], values.model[0]);
    };
    const pending: Pending = { name, real: {}, model: {}, onSettled };
    this.#pending.push(pending);
    const takeReal = (value: R): void => {
      values.real = [value];
      pending.real.settled = { value: read.real(value) };
    };
    const takeModel = (value: M): void => {
      values.model = [value];
      pending.model.settled = { value: read.model(value) };
    };
    both.real.then(takeReal, (thrown: unknown) => (pending.real.settled = refusalOf(thrown)));
    both.model.then(takeModel, (thrown: unknown) => (pending.model.settled = refusalOf(thrown)));
  }

  /** Ends the process without a word, and begins another. @param written the share of what waits that is written all the same */
  crash(written: number): void {
    const rest = this.#crashStore?.die(written);
    if (rest !== undefined) this.seen.add(`crash, ${rest}`);
    this.model.crash((name) => (this.#disk.written.has(name) ? this.#disk.events(name).length : undefined));
    this.#pending = [];
    for (const slot of this.slots) slot.real = undefined;
    this.slots = this.slots.filter((slot) => slot.model.stored);
    this.runtime = this.#startProcess();
  }

  async #flush(): Promise<void> {
    this.model.flush();
    this.#crashStore?.flush();
    await Promise.all([this.model.advance(0), this.clock.advance(0)]);
  }

  /** A clock of its own: nothing of the process before ever goes on. */
  #startProcess(): Runtime {
    this.clock = new FakeClock({ wallTime: Date.UTC(2026, 0, 1) + this.#now });
    const clock = this.clock;
    const { keepEvents, standIn } = this.scenario;
    const store = this.#openStore();
    return createRuntime({
      tools: TOOLS.map((tool) => ({ ...tool, execute: (input: { readonly n: number }, context) => this.#handle(input.n, context, clock) })),
      ports: {
        clock,
        log: new MemoryLog(),
        ids: { next: (prefix) => this.#nextId(prefix) },
        random: { next: () => (this.used.random++, this.#random.next()) },
      },
      ...(store === undefined ? {} : { store }),
      ...(standIn ? { standIn: { kind: "pretend", call: () => "pretended" } } : {}),
      keepEvents,
      timeoutMs: TIMEOUT_MS,
      retry: { delayMs: 1, maxDelayMs: 1 },
      circuit: false,
      orphanHoldMs: 0,
    });
  }

  #openStore(): Store | undefined {
    if (this.scenario.keeping === "disk") return (this.#crashStore = this.#disk.store());
    return this.scenario.keeping === "memory" ? this.#memory : undefined;
  }

  #nextId(prefix: string): string {
    if (prefix === "call") this.used.callIds++;
    return this.#ids.next(prefix);
  }

  #handle(n: number, context: ToolContext, clock: FakeClock): unknown {
    const plan = this.plans.get(n);
    if (plan === undefined) throw new Error(`There is no plan ${n}.`);
    const { callId, idempotencyKey, attempt, simulated } = context;
    // What a simulation only tries has ids that are its own, and may be those of one that was dropped.
    if (attempt === 1 && !(simulated && callId.includes("~"))) this.dispatches.push({ plan, callId, idempotencyKey });
    const seen: JsonValue[] = [];
    perform(plan.first, context, seen);
    if (plan.ms === 0) return (perform(plan.last, context, seen), seen);
    const wait = new Promise<void>((resolve) => plan.ms !== Infinity && clock.timer(resolve, plan.ms));
    return wait.then(() => {
      if (plan.tool === "flap" && attempt === 1)
        throw new ToolError("network_error", "reset", { outcome: "not_started", retryAfterMs: RETRY_MS });
      perform(plan.last, context, seen);
      if (plan.end === "throw") throw new Error("as planned");
      return seen;
    });
  }
}

function perform(ops: readonly Op[], { state }: ToolContext, seen: JsonValue[]): void {
  for (const op of ops) {
    if (op.op === "read") seen.push(state.get(op.key) ?? null);
    else state.update(op.key, (before) => (seen.push(before ?? null), applyOp(before, op)));
  }
}

const world = (input: { readonly n?: unknown }): readonly string[] => [`world:${String(input.n)}`];

const TOOLS: readonly Tool[] = [
  { name: "look", effects: { reads: ["lookup"], writes: [] } },
  { name: "flap", effects: { reads: ["lookup"], writes: [] }, maxAttempts: 2 },
  { name: "note", effects: { writes: ["session:notes"], commutative: true } },
  { name: "put", effects: { writes: world, idempotent: true } },
  { name: "pay", effects: { writes: world } },
].map((tool) => ({ description: "Does what was planned.", inputSchema: { type: "object" }, maxAttempts: 1, ...tool }));

/** What of a result the model knows. */
export function readResult({ status, error, output, origin, attempts }: ToolResult): ModelResult {
  return { status, code: error?.code, output, origin, attempts };
}

function refusalOf(thrown: unknown): Settled<never> {
  if (thrown instanceof ToolExecutionError) return { refused: "rolled back", results: thrown.results.map(readResult) };
  if (thrown instanceof ToolError || thrown instanceof Refusal)
    return { refused: thrown.code, results: thrown instanceof Refusal ? thrown.results : undefined };
  throw thrown;
}
