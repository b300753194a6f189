/** A disk that outlives the processes of a test, and stores on it that can be killed: what was not written is gone. */
import { ToolError } from "../../src/core/error.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import { parseJson } from "../../src/core/base/parse-json.ts";
import { readEvent } from "../../src/core/recording/read-event.ts";
import type { CacheStore, EventLog, EventPage, LogOptions, ReadOptions, Store, StoredSession } from "../../src/core/store/store.ts";
import { noAccess } from "../store/no-access.ts";
import { MemoryApprovals } from "../../src/store/memory/memory-approvals.ts";
import { noFeed, noJobs } from "../store/no-jobs.ts";
import { MemoryArtifacts } from "../../src/store/memory/memory-artifacts.ts";
import { MemoryLeases } from "../../src/store/memory/memory-leases.ts";
import { MemoryWebhooks } from "../../src/store/memory/memory-webhooks.ts";

/** What the disk has of one session: its own events as text. */
interface Written {
  readonly options: LogOptions;
  readonly lines: string[];
}

export class CrashDisk {
  readonly written = new Map<string, Written>();

  /** Starts a process that writes here. */
  store(): CrashStore {
    return new CrashStore(this);
  }

  /** All events of a session that were written, those of its parent included. */
  events(sessionId: string): readonly SessionEvent[] {
    const written = this.written.get(sessionId);
    if (written === undefined) throw new ToolError("not_found", `The disk has no session ${JSON.stringify(sessionId)}.`);
    const { parent } = written.options;
    const shared = parent === undefined ? [] : this.events(parent.sessionId).slice(0, parent.length);
    return [...shared, ...written.lines.map((line, index) => readEvent(parseJson(line), `Line ${index + 1}`))];
  }
}

/** Writes only when `flush` is called. */
export class CrashStore implements Store {
  readonly kind = "crash";
  readonly outlivesProcess = true;
  readonly #disk: CrashDisk;
  readonly #logs = new Map<string, CrashLog>();
  #pending: { readonly log: CrashLog; readonly lines: readonly string[] }[] = [];
  #flushed = Promise.withResolvers<void>();

  constructor(disk: CrashDisk) {
    this.#disk = disk;
  }

  async open(): Promise<void> {}

  create(sessionId: string, options: LogOptions): EventLog {
    if (this.#logs.has(sessionId)) throw new ToolError("duplicate", `This store has ${JSON.stringify(sessionId)} already.`);
    const { parent } = options;
    const shared = parent === undefined ? [] : (this.#logs.get(parent.sessionId)?.events ?? this.#disk.events(parent.sessionId));
    return this.#begin(new CrashLog(this, sessionId, options, shared.slice(0, parent?.length ?? 0)));
  }

  async claim(sessionId: string, { takeOver = false }: { readonly takeOver?: boolean } = {}): Promise<EventLog> {
    if (this.#logs.has(sessionId) && !takeOver) throw new ToolError("resource_busy", `${JSON.stringify(sessionId)} is open.`);
    const events = this.#disk.events(sessionId);
    return this.#begin(new CrashLog(this, sessionId, this.#disk.written.get(sessionId)?.options ?? NO_OPTIONS, events));
  }

  async read(sessionId: string, options: ReadOptions = {}): Promise<EventPage> {
    return pageOf(this.#disk.events(sessionId), options);
  }

  async list(): Promise<readonly StoredSession[]> {
    return [...this.#disk.written].map(([sessionId, { options }]) => {
      const { length } = this.#disk.events(sessionId);
      return { sessionId, createdAt: options.at, updatedAt: options.at, length };
    });
  }

  async remove(sessionId: string): Promise<boolean> {
    const all = [...this.#disk.written.values(), ...this.#logs.values()];
    if (all.some(({ options }) => options.parent?.sessionId === sessionId))
      throw new ToolError("conflict", `Others branch off ${JSON.stringify(sessionId)}.`);
    return this.#disk.written.delete(sessionId);
  }

  async close(): Promise<void> {
    this.flush();
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
    get: async () => undefined,
    versions: async (resources) => resources.map(() => 0),
    put: async () => {},
    invalidate: async () => {},
  };

  flush(): void {
    this.#write(this.#pending.splice(0));
    this.#flushed.resolve();
    this.#flushed = Promise.withResolvers<void>();
  }

  /** The process ends: a share of what waits is written, and nobody hears of it. Torn: some was and some was not. */
  die(share: number): "whole" | "torn" {
    const written = Math.round(this.#pending.length * share);
    this.#write(this.#pending.splice(0, written));
    return written > 0 && this.#pending.splice(0).length > 0 ? "torn" : "whole";
  }

  #write(appends: readonly { readonly log: CrashLog; readonly lines: readonly string[] }[]): void {
    for (const { log, lines } of appends) {
      const written = this.#disk.written.get(log.sessionId) ?? { options: log.options, lines: [] };
      this.#disk.written.set(log.sessionId, written);
      written.lines.push(...lines);
    }
  }

  /** How many appends wait to be written. */
  get waiting(): number {
    return this.#pending.length;
  }

  append(log: CrashLog, events: readonly SessionEvent[]): void {
    this.#pending.push({ log, lines: events.map((event) => JSON.stringify(event)) });
  }

  whenDurable(log: CrashLog): Promise<void> | undefined {
    return this.#pending.some((append) => append.log === log) ? this.#flushed.promise : undefined;
  }

  closed(log: CrashLog): void {
    if (this.#logs.get(log.sessionId) === log) this.#logs.delete(log.sessionId);
  }

  #begin(log: CrashLog): CrashLog {
    this.#logs.set(log.sessionId, log);
    return log;
  }
}

const NO_OPTIONS: LogOptions = { at: 0, durability: "sync" };

class CrashLog implements EventLog {
  readonly wasLeftOpen = false;
  readonly sessionId: string;
  readonly options: LogOptions;
  readonly events: SessionEvent[];
  readonly failure = undefined;
  readonly #store: CrashStore;
  #isClosed = false;

  constructor(store: CrashStore, sessionId: string, options: LogOptions, events: readonly SessionEvent[]) {
    this.#store = store;
    this.sessionId = sessionId;
    this.options = options;
    this.events = [...events];
  }

  get length(): number {
    return this.events.length;
  }

  append(events: readonly SessionEvent[]): void {
    if (this.#isClosed) throw new ToolError("store_failed", `The log of ${JSON.stringify(this.sessionId)} is closed.`);
    this.events.push(...events);
    this.#store.append(this, events);
  }

  whenDurable(): Promise<void> | undefined {
    return this.#store.whenDurable(this);
  }

  async read(options: ReadOptions = {}): Promise<EventPage> {
    return pageOf(this.events, options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#store.whenDurable(this);
    this.#store.closed(this);
  }
}

function pageOf(events: readonly SessionEvent[], { from = 1, limit = 1_000 }: ReadOptions): EventPage {
  const next = from + limit;
  return { events: events.slice(from - 1, next - 1), next: next > events.length ? undefined : next };
}
