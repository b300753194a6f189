/** A store as it may be: slow, failing now and then, shared by processes that die, and true to what it acknowledged. */
import { ToolError } from "../../src/core/error.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import type { Clock } from "../../src/core/ports.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { CacheStore, EventLog, EventPage, LogOptions, ReadOptions, Store, StoredSession } from "../../src/core/store/store.ts";
import { MemoryCache } from "../../src/store/memory/memory-cache.ts";
import { noAccess } from "../store/no-access.ts";
import { MemoryApprovals } from "../../src/store/memory/memory-approvals.ts";
import { noFeed, noJobs } from "../store/no-jobs.ts";
import { MemoryArtifacts } from "../../src/store/memory/memory-artifacts.ts";
import { MemoryLeases } from "../../src/store/memory/memory-leases.ts";
import { MemoryWebhooks } from "../../src/store/memory/memory-webhooks.ts";
import type { Dice } from "./dice.ts";
import type { Sabotage } from "./sabotage.ts";

/** One event with the claim it was written under. */
export interface Line {
  readonly event: SessionEvent;
  readonly token: number;
}

/** What the disk has of one session. */
export interface Written {
  readonly options: LogOptions;
  readonly lines: Line[];
  /** The results in it, by call. */
  readonly results: Map<string, ToolResult>;
  /** Of the newest claim: whoever has an older one may write no more. */
  token: number;
  owner: SimulatedStore | undefined;
}

/** Outlives every process. */
export class Disk {
  readonly logs = new Map<string, Written>();
  readonly cache = new MemoryCache(1_000_000);
  /** How many events were written in all. */
  length = 0;
  #tokens = 0;

  nextToken(): number {
    return ++this.#tokens;
  }

  /** All events of a session, those of its parent first; undefined when there is none. */
  events(sessionId: string): readonly SessionEvent[] | undefined {
    const log = this.logs.get(sessionId);
    if (log === undefined) return undefined;
    const { parent } = log.options;
    const shared = parent === undefined ? [] : (this.events(parent.sessionId) ?? []).slice(0, parent.length);
    return [...shared, ...log.lines.map((line) => line.event)];
  }
}

interface Append {
  readonly log: SimulatedLog;
  readonly events: readonly SessionEvent[];
}

export interface SimulatedStoreParts {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly dice: Dice;
  readonly sabotage: Sabotage | undefined;
  /** The share of writes that fail. */
  readonly failureRate: number;
  seen(point: string): void;
}

/** How one process sees the disk. What is appended waits for a group commit, which may fail and be tried again. */
export class SimulatedStore implements Store {
  readonly kind = "simulated";
  readonly outlivesProcess = true;
  isDead = false;
  /** Nothing more can be written from here: every write fails, and may be tried again. */
  isFull = false;
  /** How many results were put into the cache from here. */
  resultsPut = 0;
  readonly parts: SimulatedStoreParts;
  readonly #open = new Map<string, SimulatedLog>();
  /** Logs that are another's now: nothing branches off what was written to them here. */
  readonly #lost = new Map<string, ToolError>();
  /** In the order written. */
  #waiting: Append[] = [];
  #flush: PromiseWithResolvers<void> | undefined;

  constructor(parts: SimulatedStoreParts) {
    this.parts = parts;
  }

  async open(): Promise<void> {}

  create(sessionId: string, options: LogOptions): EventLog {
    if (this.#open.has(sessionId)) throw new ToolError("duplicate", `The session ${sessionId} is open here already.`);
    const { parent } = options;
    const lost = parent === undefined ? undefined : this.#lost.get(parent.sessionId);
    if (lost !== undefined) throw lost;
    const log = new SimulatedLog(this, sessionId, options, { token: 0, base: parent === undefined ? 0 : parent.length });
    this.#open.set(sessionId, log);
    this.#waiting.push({ log, events: [] });
    return log;
  }

  async claim(sessionId: string, { takeOver = false }: { readonly takeOver?: boolean } = {}): Promise<EventLog> {
    await this.#pause();
    const { disk, seen } = this.parts;
    const written = disk.logs.get(sessionId);
    if (written === undefined) throw new ToolError("not_found", `No session ${sessionId} is stored.`);
    if (written.owner !== undefined && !written.owner.isDead) {
      if (!takeOver) throw new ToolError("resource_busy", `The session ${sessionId} is open elsewhere.`);
      seen("session taken over");
    }
    written.owner = this;
    written.token = disk.nextToken();
    const shared = written.options.parent?.length ?? 0;
    const log = new SimulatedLog(this, sessionId, written.options, { token: written.token, base: shared + written.lines.length });
    this.#lost.delete(sessionId);
    this.#open.set(sessionId, log);
    return log;
  }

  async read(sessionId: string, options: ReadOptions = {}): Promise<EventPage> {
    await this.#pause();
    const events = this.parts.disk.events(sessionId);
    if (events === undefined) throw new ToolError("not_found", `No session ${sessionId} is stored.`);
    return pageOf(events, options);
  }

  async list(): Promise<readonly StoredSession[]> {
    return [];
  }

  async remove(sessionId: string): Promise<boolean> {
    await this.#pause();
    const { logs } = this.parts.disk;
    const owner = logs.get(sessionId)?.owner;
    if (owner !== undefined && owner !== this && !owner.isDead) throw new ToolError("resource_busy", `${sessionId} is open elsewhere.`);
    const branches = [...[...logs.values()].map((log) => log.options), ...[...this.#open.values()].map((log) => log.options)];
    if (branches.some(({ parent }) => parent?.sessionId === sessionId)) throw new ToolError("conflict", `${sessionId} has branches.`);
    const log = this.#open.get(sessionId);
    if (log !== undefined) this.#lose(log, new ToolError("store_failed", `The session ${sessionId} was removed.`));
    return logs.delete(sessionId);
  }

  readonly jobs = noJobs;
  readonly feed = noFeed;
  readonly access = noAccess;
  readonly artifacts = new MemoryArtifacts();
  readonly leases = new MemoryLeases();

  async announce(): Promise<void> {}

  async processes(): Promise<readonly []> {
    return [];
  }

  follow(): { readonly isLive: false; stop(): void } {
    return { isLive: false, stop() {} };
  }

  readonly webhooks = new MemoryWebhooks();
  readonly approvals = new MemoryApprovals();
  readonly cache: CacheStore = {
    get: (key, now) => this.#pause().then(() => this.parts.disk.cache.get(key, now)),
    versions: (resources) => this.#pause().then(() => this.parts.disk.cache.versions(resources)),
    put: (entry) => (this.resultsPut++, this.#pause().then(() => this.parts.disk.cache.put(entry))),
    invalidate: (resources) => this.#pause().then(() => this.parts.disk.cache.invalidate(resources)),
  };

  async close(): Promise<void> {
    for (const log of this.#open.values()) await log.close();
  }

  /** The process ends: a share of what waits is written, and nobody hears of it. */
  die(share: number): void {
    this.isDead = true;
    const { disk, sabotage, seen } = this.parts;
    const written = this.isFull ? 0 : Math.round(this.#waiting.length * share);
    if (written < this.#waiting.length) seen("crash that loses what was not acknowledged");
    this.#write(this.#waiting.slice(0, written));
    this.#waiting = [];
    if (sabotage !== "lose what was acknowledged") return;
    for (const { lines, results, owner } of disk.logs.values()) {
      const last = owner === this ? lines.pop() : undefined;
      if (last?.event.type === "call-end") results.delete(last.event.callId);
    }
  }

  append(log: SimulatedLog, events: readonly SessionEvent[]): void {
    this.#waiting.push({ log, events });
  }

  /** Undefined when nothing of the log waits. */
  whenWritten(log: SimulatedLog): Promise<void> | undefined {
    if (log.failure !== undefined) return Promise.reject(log.failure);
    if (!this.#waiting.some((append) => append.log === log)) return undefined;
    return this.#afterFlush(log);
  }

  async #afterFlush(log: SimulatedLog): Promise<void> {
    await this.#nextFlush();
    if (log.failure !== undefined) throw log.failure;
  }

  /** Events that the log has and the disk has not yet. */
  waitingOf(log: SimulatedLog): readonly SessionEvent[] {
    return this.#waiting.flatMap((append) => (append.log === log ? append.events : []));
  }

  closed(log: SimulatedLog): void {
    if (this.#open.get(log.sessionId) === log) this.#open.delete(log.sessionId);
    const written = this.parts.disk.logs.get(log.sessionId);
    if (written !== undefined && written.token === log.token) written.owner = undefined;
  }

  #nextFlush(): Promise<void> {
    if (this.#flush !== undefined) return this.#flush.promise;
    const flush = (this.#flush = Promise.withResolvers<void>());
    const { clock, dice, failureRate, seen } = this.parts;
    const fails = dice.chance(failureRate);
    clock.timer(
      () => {
        this.#flush = undefined;
        if (fails || this.isFull) {
          seen(this.isFull ? "store that is full" : "store that fails and is tried again");
          flush.reject(new ToolError("store_failed", "The disk is full."));
          return;
        }
        this.#write(this.#waiting.splice(0));
        flush.resolve();
      },
      dice.between(0, 4),
    );
    return flush.promise;
  }

  #write(appends: readonly Append[]): void {
    const { disk, sabotage, seen } = this.parts;
    for (const { log, events } of appends) {
      if (log.failure !== undefined) continue;
      const written = disk.logs.get(log.sessionId) ?? this.#begin(log);
      if (written === undefined) continue;
      if (written.token !== log.token) {
        seen("stale owner refused");
        if (sabotage !== "write after the claim is lost") {
          this.#lose(log, new ToolError("conflict", `The session ${log.sessionId} was taken over.`));
          continue;
        }
      }
      for (const event of events) {
        if (sabotage === "leave out the end of a job" && event.type === "job-end") continue;
        if (sabotage === "leave out a removal" && event.type === "trigger-remove") continue;
        written.lines.push({ event, token: log.token });
        if (event.type === "call-end") written.results.set(event.callId, event.result);
      }
      disk.length += events.length;
    }
  }

  #begin(log: SimulatedLog): Written | undefined {
    const { disk } = this.parts;
    const { parent } = log.options;
    if (parent !== undefined && (disk.events(parent.sessionId)?.length ?? 0) < parent.length) {
      this.#lose(log, new ToolError("not_found", `The disk has not all that ${log.sessionId} goes on from.`));
      return undefined;
    }
    const written: Written = { options: log.options, lines: [], results: new Map(), token: (log.token = disk.nextToken()), owner: this };
    disk.logs.set(log.sessionId, written);
    return written;
  }

  #lose(log: SimulatedLog, failure: ToolError): void {
    log.failure = failure;
    this.#lost.set(log.sessionId, failure);
    for (const child of this.#open.values())
      if (child.options.parent?.sessionId === log.sessionId && child.token === 0) this.#lose(child, failure);
    if (this.#open.get(log.sessionId) === log) this.#open.delete(log.sessionId);
  }

  /** A little while on the virtual clock; for ever once the process is dead. */
  #pause(): Promise<void> {
    return new Promise((resolve) => this.parts.clock.timer(resolve, this.parts.dice.between(0, 2)));
  }
}

class SimulatedLog implements EventLog {
  readonly wasLeftOpen = false;
  readonly sessionId: string;
  readonly options: LogOptions;
  token: number;
  failure: ToolError | undefined;
  #length: number;
  readonly #store: SimulatedStore;
  #isClosed = false;

  constructor(store: SimulatedStore, sessionId: string, options: LogOptions, place: { readonly token: number; readonly base: number }) {
    this.#store = store;
    this.sessionId = sessionId;
    this.options = options;
    this.token = place.token;
    this.#length = place.base;
  }

  get length(): number {
    return this.#length;
  }

  append(events: readonly SessionEvent[]): void {
    if (this.failure !== undefined) throw this.failure;
    if (this.#isClosed) throw new ToolError("store_failed", `The log of ${this.sessionId} is closed.`);
    this.#length += events.length;
    this.#store.append(this, events);
  }

  whenDurable(): Promise<void> | undefined {
    return this.#store.whenWritten(this);
  }

  async read(options: ReadOptions = {}): Promise<EventPage> {
    const { parent } = this.options;
    const { disk } = this.#store.parts;
    const written =
      disk.events(this.sessionId) ?? (parent === undefined ? [] : (disk.events(parent.sessionId) ?? []).slice(0, parent.length));
    return pageOf([...written, ...this.#store.waitingOf(this)], options);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#store.whenWritten(this);
    this.#store.closed(this);
  }
}

function pageOf(events: readonly SessionEvent[], { from = 1, limit = 1_000 }: ReadOptions): EventPage {
  const next = from + limit;
  return { events: events.slice(from - 1, next - 1), next: next > events.length ? undefined : next };
}
