/** One life of a node: a whole runtime over its own connection to the database, and the sessions that requests work in. */
import type { ToolCall } from "../../../src/core/call.ts";
import { ToolError } from "../../../src/core/error.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { findOwnerAddress } from "../../../src/server/api/requests/forward.ts";
import { SessionPool } from "../../../src/server/api/sessions/session-pool.ts";
import { MemoryLog, type FakeClock } from "../../../src/testing/fake-ports.ts";
import type { Bank } from "../bank.ts";
import { Dice } from "../dice.ts";
import type { Counters } from "./counters.ts";
import type { DatabaseServer } from "./database-server.ts";
import type { FleetSabotage } from "./fleet-sabotage.ts";
import { fleetToolsets, type FleetHost } from "./fleet-tools.ts";
import { Link } from "./link.ts";
import { NodeClock } from "./node-clock.ts";
import { openNodeStore } from "./node-database.ts";

/** A node looks so often for jobs that no node runs. */
const SWEEP_MS = 1_200;
const ALL = (): undefined => undefined;

export interface FleetRequest {
  readonly idempotencyKey: string;
  readonly sessionId: string;
  readonly calls: readonly ToolCall[];
  readonly background: boolean;
}

export interface NodeSurroundings {
  readonly seed: number;
  readonly clock: FakeClock;
  readonly server: DatabaseServer;
  readonly bank: Bank;
  readonly counters: Counters;
  readonly sabotage: FleetSabotage | undefined;
  nextId(prefix: string): string;
  seen(point: string): void;
  check(check: () => void): void;
  done(tag: string, tool: string): void;
  /** Passes a request on to the node of an address. */
  forward(from: FleetNode, address: string, request: FleetRequest): Promise<readonly ToolResult[]>;
}

export class FleetNode implements FleetHost {
  readonly number: number;
  readonly life: number;
  readonly clock: NodeClock;
  readonly link: Link;
  readonly store: Store;
  readonly runtime: Runtime;
  readonly pool: SessionPool;
  readonly bank: Bank;
  readonly counters: Counters;
  readonly sabotage: FleetSabotage | undefined;
  isDead = false;
  /** How many handlers have read a counter and not written it yet. */
  bumping = 0;
  /** It takes no more requests. */
  isClosing = false;
  readonly #world: NodeSurroundings;
  #resent = 0;

  /** @param place 1, 2, …; `life` is another one after each restart */
  constructor(
    world: NodeSurroundings,
    { number, life, aheadMs }: { readonly number: number; readonly life: number; readonly aheadMs: number },
  ) {
    const { seed, clock, server, sabotage } = world;
    this.#world = world;
    this.number = number;
    this.life = life;
    this.bank = world.bank;
    this.counters = world.counters;
    this.sabotage = sabotage;
    this.clock = new NodeClock(clock);
    this.clock.aheadMs = aheadMs;
    const seen = (point: string): void => world.seen(point);
    this.link = new Link({ node: life, clock: this.clock, worldClock: clock, server, dice: new Dice(`link ${seed} ${life}`), seen });
    const { store, beat } = openNodeStore({ node: life, clock: this.clock, link: this.link, server, sabotage });
    this.store = store;
    const dice = new Dice(`node ${seed} ${life}`);
    const log = new MemoryLog();
    this.runtime = createRuntime({
      toolsets: fleetToolsets(this),
      store,
      ports: { clock: this.clock, log, ids: { next: (prefix) => world.nextId(prefix) }, random: { next: () => dice.share() } },
      timeoutMs: 15_000,
      retry: { delayMs: 20, maxDelayMs: 100 },
      jobs: { maxRunning: 4, maxQueued: 20 },
    });
    const settings = { maxOpenSessions: 3, sessionIdleMs: 6_000, graceMs: 1_000 };
    this.pool = new SessionPool({ runtime: this.runtime, store, clock: this.clock, log, settings, allow: ALL });
    void this.#begin(beat, dice);
  }

  async #begin(beat: () => void, dice: Dice): Promise<void> {
    try {
      await this.store.open();
      await this.store.announce({ address: this.address });
    } catch {
      this.clock.timer(() => void this.#begin(beat, dice), 300);
      return;
    }
    beat();
    const sweep = (): void => {
      void this.#takeUpJobs();
      this.clock.timer(sweep, SWEEP_MS + dice.between(0, 100));
    };
    sweep();
  }

  get address(): string {
    return `node:${this.number}`;
  }

  get isUp(): boolean {
    return !this.isDead && !this.isClosing;
  }

  /** Answers a request: here, or where its session is open. */
  async answer(request: FleetRequest, wasForwarded = false): Promise<readonly ToolResult[]> {
    const { sessionId, calls, background, idempotencyKey } = request;
    if (this.isClosing) throw new ToolError("unavailable", "The node is stopping.", { retryable: true });
    const address = wasForwarded ? undefined : await findOwnerAddress(sessionId, { runtime: this.runtime, sessions: this.pool });
    if (address !== undefined) return this.#world.forward(this, address, request);
    const key = this.sabotage === "forget the keys of requests" ? `${idempotencyKey} ${++this.#resent}` : idempotencyKey;
    const execute = (session: RuntimeSession): Promise<readonly ToolResult[]> => {
      if (this.sabotage === "keep a lost session open") Object.defineProperty(session, "broken", { value: undefined });
      return session.execute(calls, { idempotencyKey: key, background });
    };
    return this.pool.use(sessionId, execute, { create: true });
  }

  /** Takes the session from the node that has it, whether or not that one lives. */
  async takeOver(sessionId: string): Promise<void> {
    if (this.runtime.sessions.get(sessionId) !== undefined) return;
    this.pool.add(await this.runtime.resume(sessionId, { takeOver: true }));
  }

  /** Resumes the sessions of jobs that no node runs. */
  async #takeUpJobs(): Promise<void> {
    if (this.isClosing) return;
    try {
      const jobs = await this.store.jobs.list({ states: ["queued", "running", "waiting"] });
      const left = new Set(jobs.flatMap(({ sessionId, openedBy }) => (openedBy === undefined ? [sessionId] : [])));
      for (const sessionId of left) {
        this.seen("jobs of a dead node taken up");
        await this.pool.use(sessionId, () => {});
      }
    } catch {
      // another node was quicker, or the database is away; the next time finds what is left
    }
  }

  /** Nothing of it happens any more. */
  die(): void {
    this.isDead = true;
    this.clock.stop();
    this.link.die();
  }

  async close(): Promise<void> {
    this.isClosing = true;
    await this.pool.closeAll();
    await this.runtime.close();
  }

  done(tag: string, tool: string): void {
    this.#world.check(() => this.#world.done(tag, tool));
  }

  seen(point: string): void {
    this.#world.seen(point);
  }
}
