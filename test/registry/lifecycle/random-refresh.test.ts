import { expect, test } from "vitest";
import type { ToolContext } from "../../../src/core/context.ts";
import type { Engine, EngineContext } from "../../../src/core/engine.ts";
import type { Random } from "../../../src/core/ports.ts";
import type { ToolSource } from "../../../src/core/source.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { Toolset } from "../../../src/core/toolset.ts";
import { knownTools } from "../../../src/engine/known-tools.ts";
import { perSession } from "../../../src/engine/per-session.ts";
import { seededRandom, settle } from "../../../src/testing/fake-ports.ts";
import { testRuntime } from "../../runtime/bench-runtime.ts";
import { inCI } from "../../ci.ts";

const ROUNDS = inCI ? 500 : 20;

/** Everything that happened to the engines of one round, and what should not have. */
class World {
  readonly faults = new Set<string>();
  readonly engines: RandomEngine[] = [];
  readonly random: Random;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  chance(probability: number): boolean {
    return this.random.next() < probability;
  }

  below(limit: number): number {
    return Math.floor(this.random.next() * limit);
  }

  async wait(longest: number): Promise<void> {
    for (let turns = this.below(longest + 1); turns > 0; turns--) await settle();
  }

  makeEngine(): RandomEngine {
    const engine = new RandomEngine(this);
    this.engines.push(engine);
    return engine;
  }
}

/** Takes its time for everything, fails now and then, and notices when it is used as no engine may be. */
class RandomEngine implements Engine {
  readonly kind = "random";
  context: EngineContext | undefined;
  opening = 0;
  isOpen = false;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  async open(context: EngineContext): Promise<readonly Tool[]> {
    if (this.isOpen || this.opening > 0) this.#world.faults.add("opened twice");
    this.opening++;
    await this.#world.wait(8);
    this.opening--;
    if (context.signal.aborted || this.#world.chance(0.15)) throw new Error("it does not open");
    this.isOpen = true;
    this.context = context;
    return this.#tools();
  }

  async list(signal: AbortSignal): Promise<readonly Tool[]> {
    await this.#used("listed", signal, 3);
    return this.#tools();
  }

  async call(_request: unknown, { signal }: ToolContext): Promise<string> {
    await this.#used("called", signal, 6);
    return "done";
  }

  async close(): Promise<void> {
    await this.#world.wait(4);
    this.isOpen = false;
  }

  async #used(how: string, signal: AbortSignal, turns: number): Promise<void> {
    if (!this.isOpen) this.#world.faults.add(`${how} while it was closed`);
    await this.#world.wait(turns);
    if (!this.isOpen && !signal.aborted) this.#world.faults.add(`closed while it was ${how}`);
  }

  #tools(): readonly Tool[] {
    const effects = { reads: [], writes: [] };
    return [{ name: "x", description: `Version ${this.#world.below(3)}.`, inputSchema: {}, effects }];
  }
}

function wrapped(world: World, seed: number): Engine {
  if (seed % 3 === 0) return world.makeEngine();
  if (seed % 3 === 1) return perSession(() => world.makeEngine());
  const memory = { read: () => Promise.resolve(undefined), write: () => Promise.resolve() };
  return knownTools(world.makeEngine(), { memory, identity: {}, idleMs: 30, openTimeoutMs: 20 });
}

/** Toolsets over the engines, under names that change. */
function someToolsets(world: World, engines: readonly Engine[]): readonly Toolset[] {
  const chosen = engines.filter(() => world.chance(0.7));
  return chosen.map((engine) => ({ name: `n${world.below(5)}`, engine, openTimeoutMs: 10 + world.below(30) }));
}

async function playRound(seed: number): Promise<unknown> {
  const world = new World(seed);
  const engines = [1, 2, 3].map(() => wrapped(world, seed));
  const given: (readonly Toolset[])[] = [someToolsets(world, engines), []];
  const sources = given.map((_toolsets, index): ToolSource => ({
    name: `s${index}`,
    load: async () => {
      await world.wait(2);
      if (world.chance(0.1)) throw new Error("it cannot be read");
      return given[index] ?? [];
    },
  }));
  const { runtime, ports } = testRuntime({ sources, strict: seed % 7 === 6 });
  const { clock } = ports;
  let isOver = false;
  const flow = (async () => {
    for (; !isOver; await settle()) await clock.advance(2);
  })();
  await runtime.open().catch(() => undefined);
  const session = runtime.session();
  const running: Promise<unknown>[] = [];
  const act = (work: Promise<unknown>): void => void running.push(work.catch(() => undefined));
  for (let step = 0; step < 12; step++) {
    const call = { name: `n${world.below(5)}::x` };
    const kind = world.below(6);
    if (kind < 2) {
      const all = someToolsets(world, engines);
      const cut = world.below(all.length + 1);
      given.splice(0, 2, all.slice(0, cut), all.slice(cut));
      act(runtime.refresh());
    } else if (kind === 2) for (const engine of world.engines) engine.context?.changed();
    else if (kind === 3) act(runtime.execute(call));
    else if (kind === 4) act(session.execute(call));
    else act(session.simulate(call));
    await world.wait(6);
  }
  if (world.chance(0.5)) await Promise.all(running);
  const problems = await runtime.close();
  await Promise.all(running);
  for (let turn = 0; turn < 20; turn++) await settle();
  isOver = true;
  await flow;
  const left = world.engines.filter(({ isOpen, opening }) => isOpen || opening > 0).length;
  return { seed, faults: [...world.faults], left, problems: problems.length, timers: clock.pending };
}

test(
  `F0.11 F4.35 in ${ROUNDS} random runs of refreshes, calls and closing, no engine is opened twice, used while closed or left open`,
  { timeout: 240_000 },
  async () => {
    for (let seed = 0; seed < ROUNDS; seed++) {
      expect(await playRound(seed)).toEqual({ seed, faults: [], left: 0, problems: 0, timers: 0 });
    }
  },
);
