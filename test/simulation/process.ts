/** A process of the simulated world: a runtime over the shared disk, on a clock that stops with it. */
import type { ToolCall } from "../../src/core/call.ts";
import type { ToolContext } from "../../src/core/context.ts";
import type { RuntimeEvent } from "../../src/core/event.ts";
import type { FaultPlan } from "../../src/core/answers/fault.ts";
import type { Clock, Ports } from "../../src/core/ports.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { MemoryLog, type FakeClock } from "../../src/testing/fake-ports.ts";
import { createChannels } from "../../src/triggers/channels.ts";
import { createTriggers, type Triggers } from "../../src/triggers/triggers.ts";
import type { Bank } from "./bank.ts";
import { TIMEOUT_MS, type Deed, type Order } from "./deeds.ts";
import { Dice } from "./dice.ts";
import { SimulatedStore, type Disk } from "./disk.ts";
import { Broken } from "./broken.ts";
import type { Invariants } from "./invariants.ts";
import type { Sabotage } from "./sabotage.ts";
import { RUNTIME_LIMIT, toolsetsOf, type ToolHost, type Write } from "./tools.ts";

/** What all processes of a world have in common. */
export interface Surroundings {
  readonly seed: number;
  readonly clock: FakeClock;
  readonly disk: Disk;
  readonly bank: Bank;
  readonly invariants: Invariants;
  readonly sabotage: Sabotage | undefined;
  readonly faults: FaultPlan | undefined;
  nextId(prefix: string): string;
  /** Counts what must happen in some run. */
  seen(point: string): void;
  check(check: () => void): void;
  onEvent(process: SimulatedProcess, event: RuntimeEvent): void;
  expect<T>(process: SimulatedProcess, name: string, work: Promise<T>, take: (value: T) => void): void;
}

/** Timers that are gone with their process. */
class ProcessClock implements Clock {
  /** How far its clock on the wall has been put forward, or back. */
  aheadMs = 0;
  readonly #clock: FakeClock;
  readonly #cancels = new Set<() => void>();
  #isStopped = false;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  wallTime(): number {
    return this.#clock.wallTime() + this.aheadMs;
  }

  timer(fire: () => void, delayMs: number): () => void {
    if (this.#isStopped) return () => {};
    const stop = this.#clock.timer(() => {
      this.#cancels.delete(cancel);
      fire();
    }, delayMs);
    const cancel = (): void => {
      this.#cancels.delete(cancel);
      stop();
    };
    this.#cancels.add(cancel);
    return cancel;
  }

  stop(): void {
    this.#isStopped = true;
    for (const cancel of this.#cancels) cancel();
  }
}

export class SimulatedProcess implements ToolHost {
  readonly number: number;
  readonly clock: ProcessClock;
  readonly store: SimulatedStore;
  readonly runtime: Runtime;
  /** The sessions that it has open, those it lost to another process included. */
  readonly sessions = new Map<string, RuntimeSession>();
  readonly bank: Bank;
  readonly sabotage: Sabotage | undefined;
  readonly triggers: Triggers;
  /** Sessions whose inbox is being heard. */
  readonly hearing = new Set<RuntimeSession>();
  /** How many messages were said on its channels. */
  said = 0;
  isDead = false;
  /** It dies as soon as it can. */
  isPoisoned = false;
  /** Random numbers that the runtime has used up. */
  drawn = 0;
  readonly #world: Surroundings;

  constructor(world: Surroundings, number: number) {
    const { seed, clock, disk, bank, sabotage, faults } = world;
    this.#world = world;
    this.number = number;
    this.bank = bank;
    this.sabotage = sabotage;
    this.clock = new ProcessClock(clock);
    this.store = new SimulatedStore({
      disk,
      clock: this.clock,
      dice: new Dice(`store ${seed} ${number}`),
      sabotage,
      failureRate: seed % 4 === 0 ? 0.05 : 0,
      seen: (point) => world.seen(point),
    });
    const dice = new Dice(`runtime ${seed} ${number}`);
    const ports: Ports = {
      clock: this.clock,
      log: new MemoryLog(),
      ids: { next: (prefix) => world.nextId(prefix) },
      random: { next: () => (this.drawn++, dice.share()) },
    };
    const channels = createChannels({ ports });
    channels.open("queue", { capacity: 3 });
    channels.open("broadcast", { kind: "broadcast", capacity: 3 });
    this.triggers = createTriggers({ channels });
    this.runtime = createRuntime({
      toolsets: toolsetsOf(this),
      ports,
      store: this.store,
      timeoutMs: TIMEOUT_MS,
      orphanHoldMs: 40,
      jobs: { maxRunning: 4, maxQueued: 8 },
      maxConcurrent: sabotage === "forget a limit" ? 100 : RUNTIME_LIMIT,
      retry: { delayMs: 4, maxDelayMs: 20 },
      circuit: { failures: 3, windowMs: 1_000, openMs: 80, minimumRate: 0.4 },
      cache: { maxBytes: 3_000 },
      approval: {
        approve: (question) =>
          new Promise((resolve) => this.clock.timer(() => resolve(question.input["ms"] === 0 ? "deny" : "allow-once"), 3)),
      },
      data: { user: "nobody" },
      ...(faults === undefined ? {} : { faults }),
      onEvent: (event) => world.onEvent(this, event),
    });
  }

  /** Nothing of it happens any more. @param share of what waits to be written that is written all the same */
  die(share: number): void {
    this.isDead = true;
    this.clock.stop();
    this.store.die(share);
    this.#world.invariants.processDied(this.number);
  }

  enter(toolName: string, deed: Deed, context: ToolContext): () => void {
    const world = this.#world;
    let leave = (): void => {};
    world.check(() => {
      if (this.isDead) throw new Broken(14, `${toolName} was started after its process had died.`);
      leave = world.invariants.handlerStarts({ process: this.number, toolName, context, isCounted: deed !== "late" });
    });
    // One that never asks for its signal is deaf, and treated otherwise.
    if (deed !== "late") context.signal.addEventListener("abort", leave);
    return leave;
  }

  wrote(write: Write): void {
    this.#world.check(() => this.#world.invariants.wrote({ process: this.number, ...write }));
  }

  poison(callId: string): void {
    this.isPoisoned = true;
    this.#world.check(() => this.#world.invariants.poisoned(callId));
  }

  seen(point: string): void {
    this.#world.seen(point);
  }

  async call(context: ToolContext, order: Order): Promise<unknown> {
    const { user, session: given } = context.data;
    const session = given instanceof RuntimeSession && !given.closed ? given : undefined;
    const call = innerCall(order);
    const work = (session ?? this.runtime).execute(call, { data: context.data });
    this.#world.expect(this, "call by a handler", work, (result) =>
      this.#world.invariants.delivered({ process: this, session, user: String(user), call, result }),
    );
    const { output } = await work;
    return typeof output === "object" && output !== null && "version" in output ? output["version"] : -1;
  }
}

/** What a handler calls: a read, something that changes the session's state, or a tool that calls one again. */
function innerCall(order: Order): ToolCall {
  const tag = `${order.tag} inside`;
  if (order.ms === 45) return { id: "inside", name: "notes::note", input: { ...order, tag } };
  if (order.ms === 80) return { id: "inside", name: "parts::compose", input: { ...order, tag, deed: "wait", ms: 45 } };
  return {
    id: "inside",
    name: order.ms === 20 ? "notes::note" : "bank::balance",
    input: { ...order, tag, deed: order.ms === 20 ? "now" : "wait" },
  };
}
