/** Does one thing to a real session and to its model. */
import { expect } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { diffJson } from "../../src/core/base/json-patch.ts";
import { parseJson } from "../../src/core/base/parse-json.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import type { Simulation } from "../../src/runtime/session-options.ts";
import type { SessionSnapshot } from "../../src/runtime/snapshot.ts";
import type { CallShape, Command } from "./session-arbitrary.ts";
import { Refusal, newBatch, withoutUndefined, type Batch, type ModelResult, type ModelSession } from "./session-log-model.ts";
import { KEYS, type CallPlan } from "./session-plan.ts";
import { TICK_MS, readResult, type Slot, type World } from "./session-world.ts";

type CommandOf<K extends Command["kind"]> = Extract<Command, { readonly kind: K }>;

/** A batch that was submitted under a key. */
interface Keyed {
  readonly slot: Slot;
  readonly key: string;
  readonly plans: readonly CallPlan[];
}

interface Tried {
  readonly real: Simulation;
  readonly branch: ModelSession;
}

/** As many retries as every tool is granted without asking how many calls it had. */
const MAX_FLAPS = 8;
const NOTHING = { real: () => true, model: () => true } as const;

export class Commands {
  readonly #world: World;
  /** Results that were given to callers whose sessions a store keeps. */
  readonly acknowledged: { readonly sessionId: string; readonly results: readonly ToolResult[] }[] = [];
  #numbers = 0;
  #flaps = 0;
  #keyed: Keyed[] = [];
  #tried: Tried[] = [];
  readonly #resuming = new Set<Slot>();

  constructor(world: World) {
    this.#world = world;
    for (let index = 0; index < 2; index++) this.#begin(world.runtime.session());
  }

  do(command: Command): void {
    switch (command.kind) {
      case "execute":
        return this.#execute(command);
      case "again":
        return this.#submitAgain(command);
      case "simulate":
        return this.#simulate(command);
      case "fork":
        return this.#fork(command);
      case "commit":
        return this.#withSlot(command.slot, (slot, real) => this.#commit(() => real.commit(), slot.model));
      case "commit-simulation":
        return this.#commitSimulation(command.slot);
      case "copy":
        return this.#withSlot(command.slot, (slot, real) => this.#copy(slot, real));
      case "close":
        return this.#withSlot(command.slot, (slot, real) => this.#close(slot, real));
      case "resume":
        return this.#resume(this.#slotAt(command.slot));
      case "crash":
        return this.#crash(command);
    }
  }

  #slotAt(index: number): Slot | undefined {
    return this.#world.slots[index % this.#world.slots.length];
  }

  #withSlot(index: number, work: (slot: Slot, real: RuntimeSession) => void): void {
    const slot = this.#slotAt(index);
    if (slot?.real !== undefined) work(slot, slot.real);
  }

  #begin(real: RuntimeSession, model: ModelSession = this.#world.model.begin(real.id)): void {
    this.#world.slots.push({ id: real.id, real, model });
  }

  /** Gives every call its number, and its end a fraction of a millisecond that no other event has. */
  #plan(shapes: readonly CallShape[]): readonly CallPlan[] {
    return shapes.map((shape) => {
      const n = ++this.#numbers;
      const tool = shape.tool === "flap" && ++this.#flaps > MAX_FLAPS ? "look" : shape.tool;
      const fraction = (Math.imul(n, 0x9e3779b1) >>> 12) / 2 ** 20;
      const plan = { ...shape, n, tool, ms: shape.ms === 0 ? 0 : shape.ms + fraction };
      this.#world.plans.set(n, plan);
      return plan;
    });
  }

  #execute({ slot: index, calls, throwOnError, single, keyed, abortMs }: CommandOf<"execute">): void {
    this.#withSlot(index, (slot, real) => {
      const plans = this.#plan(single ? calls.slice(0, 1) : calls);
      const key = keyed ? `key ${plans[0]?.n}` : undefined;
      if (key !== undefined) this.#keyed.push({ slot, key, plans });
      const batch = newBatch(plans, { throwOnError, key });
      const controller = new AbortController();
      const options = {
        ...(throwOnError ? { onError: "throw" as const } : {}),
        ...(key === undefined ? {} : { idempotencyKey: key }),
        ...(abortMs === undefined ? {} : { signal: controller.signal }),
      };
      if (abortMs !== undefined) {
        // Not before the session is written for the first time: all that waits for that begins at the same moment.
        const ms = Math.max(abortMs, slot.model.durable > slot.model.base ? 0 : TICK_MS) + 0.75;
        this.#world.clock.timer(() => controller.abort(), ms);
        this.#world.model.abortAfter(batch, ms);
      }
      const [first] = callsOf(plans);
      const answer =
        single && first !== undefined ? real.execute(first, options).then((one) => [one]) : real.execute(callsOf(plans), options);
      this.#expectResults("execute", slot, batch, answer);
    });
  }

  #submitAgain({ which, wrongly, elsewhere, slot: index }: CommandOf<"again">): void {
    const keyed = this.#keyed[which % this.#keyed.length];
    const slot = wrongly && elsewhere ? this.#slotAt(index) : keyed?.slot;
    if (keyed === undefined || slot?.real === undefined) return;
    const { key } = keyed;
    const plans = wrongly ? this.#plan(keyed.plans) : keyed.plans;
    if (slot.model.keys.has(key)) this.#world.seen.add("submitted again");
    this.#expectResults("again", slot, newBatch(plans, { key }), slot.real.execute(callsOf(plans), { idempotencyKey: key }));
  }

  #expectResults(name: string, slot: Slot, batch: Batch, real: Promise<readonly ToolResult[]>): void {
    const { world, acknowledged } = { world: this.#world, acknowledged: this.acknowledged };
    world.expectSame(
      name,
      { real, model: world.model.execute(slot.model, batch) },
      {
        real: (results) => results.map(readResult),
        model: (results) => results,
        onValues: (results) => {
          for (const result of results) world.seen.add(`result ${result.error?.code ?? result.status} ${result.origin}`);
          if (slot.model.stored) acknowledged.push({ sessionId: slot.id, results });
        },
      },
    );
  }

  #simulate({ slot: index, calls, allow }: CommandOf<"simulate">): void {
    this.#withSlot(index, (slot, session) => {
      const plans = this.#plan(calls);
      const real = session.simulate(callsOf(plans), allow ? { allowSideEffects: true } : {});
      const model = this.#simulateModel(slot.model, plans, allow ? { allow } : {});
      this.#world.expectSame(
        "simulate",
        { real, model },
        {
          real: ({ results, diff }) => ({
            results: results.map(readResult),
            state: diff.state.map(({ key, before, after }) => [key, before, after]),
            calls: diff.calls.map((entry) => entry.result?.callId).length,
          }),
          model: ({ results, branch }) => ({ results, state: differences(branch), calls: results.length }),
          onValues: (simulation, { branch }) => this.#tried.push({ real: simulation, branch }),
        },
      );
    });
  }

  async #simulateModel(
    session: ModelSession,
    plans: readonly CallPlan[],
    options: { readonly allow?: boolean },
  ): Promise<{ readonly results: readonly ModelResult[]; readonly branch: ModelSession }> {
    const branch = this.#world.model.fork(session, "simulation", { simulated: true, ...options });
    const results = await this.#world.model.execute(branch, newBatch(plans));
    branch.closed = true;
    return { results, branch };
  }

  #fork({ slot: index, simulated, allow }: CommandOf<"fork">): void {
    this.#withSlot(index, (slot, real) => {
      const isReal = allow && (simulated || slot.model.simulated);
      const branch = attempt(() => real.fork({ simulated, ...(isReal ? { allowSideEffects: true } : {}) }));
      const name = branch instanceof Error ? "" : branch.id;
      const model = attempt(() => this.#world.model.fork(slot.model, name, { simulated, ...(isReal ? { allow } : {}) }));
      expect(branch instanceof Error).toBe(model instanceof Error);
      if (branch instanceof Error || model instanceof Error) return;
      this.#begin(branch, model);
      this.#world.seen.add(`fork of ${slot.model.parent === undefined ? "a session" : "a fork"}${model.simulated ? ", simulated" : ""}`);
    });
  }

  #commit(commit: () => Promise<void>, branch: ModelSession): void {
    this.#world.expectSame(
      branch.simulated ? "commit simulated" : "commit",
      { real: commit(), model: this.#world.model.commit(branch) },
      NOTHING,
    );
  }

  #commitSimulation(which: number): void {
    const tried = this.#tried[which % this.#tried.length];
    if (tried !== undefined) this.#commit(() => tried.real.commit(), tried.branch);
  }

  /** Takes a snapshot and begins a session from it. */
  #copy(slot: Slot, real: RuntimeSession): void {
    this.#world.expectSame(
      "copy",
      { real: real.snapshot(), model: this.#world.model.snapshot(slot.model) },
      {
        real: ({ state }) => state["default"] ?? {},
        model: ({ state }) => withoutUndefined(state),
        onValues: (snapshot, from) => {
          const sent = parseJson(JSON.stringify(snapshot)) as unknown as SessionSnapshot; // checked by whoever restores it
          const copy = this.#world.runtime.session(undefined, { from: sent });
          this.#begin(copy, this.#world.model.begin(copy.id, from));
        },
      },
    );
  }

  #close(slot: Slot, real: RuntimeSession): void {
    if (real.closed) return;
    this.#world.expectSame(
      "close",
      { real: real.close(), model: this.#world.model.close(slot.model) },
      { ...NOTHING, onValues: () => (slot.real = undefined) },
    );
  }

  #resume(slot: Slot | undefined): void {
    if (slot === undefined || slot.model.simulated || (slot.real !== undefined && slot.real.closed)) return;
    const isOpen = slot.real !== undefined || this.#resuming.has(slot);
    const model = isOpen ? Promise.reject<void>(new Refusal("duplicate")) : this.#world.model.resume(slot);
    if (!isOpen) this.#resuming.add(slot);
    const over = (): boolean => !isOpen && this.#resuming.delete(slot);
    model.then(over, over);
    this.#world.expectSame(
      "resume",
      { real: this.#world.runtime.resume(slot.id, { takeOver: true }), model },
      {
        ...NOTHING,
        onValues: (resumed) => (slot.real = resumed),
      },
    );
  }

  #crash({ written, slots }: CommandOf<"crash">): void {
    this.#world.crash(written);
    this.#tried = [];
    this.#resuming.clear();
    for (const slot of new Set(slots.map((index) => this.#slotAt(index)))) this.#resume(slot);
    if (this.#world.slots.length === 0) this.#begin(this.#world.runtime.session());
  }
}

function callsOf(
  plans: readonly CallPlan[],
): readonly { readonly id: string; readonly name: string; readonly input: { readonly n: number } }[] {
  return plans.map(({ n, tool }) => ({ id: `id${n}`, name: tool, input: { n } }));
}

function attempt<T>(work: () => T): T | Error {
  try {
    return work();
  } catch (thrown: unknown) {
    if (thrown instanceof ToolError || thrown instanceof Refusal) return thrown;
    throw thrown;
  }
}

function differences(branch: ModelSession): unknown {
  const before = branch.baseState;
  return KEYS.flatMap((key) => (diffJson(before[key], branch.state[key]).length === 0 ? [] : [[key, before[key], branch.state[key]]]));
}
