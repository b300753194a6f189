/** A store in memory that survives the process it plays, and fails when a test tells it to. */
import type { ApprovalStore } from "../../../src/core/store/approval-store.ts";
import { ToolError } from "../../../src/core/error.ts";
import type { BranchPoint, SessionEvent } from "../../../src/core/event.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import { EVENT_LIMITS, readEvent } from "../../../src/core/recording/read-event.ts";
import type { CacheStore, EventLog, EventPage, LogOptions, ReadOptions, Store, StoredSession } from "../../../src/core/store/store.ts";
import { noAccess } from "../../store/no-access.ts";
import { MemoryApprovals } from "../../../src/store/memory/memory-approvals.ts";
import { noFeed, noJobs } from "../../store/no-jobs.ts";
import { MemoryArtifacts } from "../../../src/store/memory/memory-artifacts.ts";
import { MemoryLeases } from "../../../src/store/memory/memory-leases.ts";
import { MemoryWebhooks } from "../../../src/store/memory/memory-webhooks.ts";

interface StoredLog {
  readonly options: LogOptions;
  readonly parent: BranchPoint | undefined;
  readonly lines: string[];
  damagedAt?: number;
}

/** What outlives every process: events as text, and who has claimed which log. */
export class Disk {
  readonly logs = new Map<string, StoredLog>();
  readonly claims = new Map<string, FailingStore>();
  readonly approvals = new MemoryApprovals();

  /** Every event of a session that is durable, those of its parent first. */
  events(sessionId: string): readonly SessionEvent[] {
    const log = this.logs.get(sessionId);
    if (log === undefined) throw new ToolError("not_found", `No session ${sessionId} is stored.`);
    const before = log.parent === undefined ? [] : this.events(log.parent.sessionId).slice(0, log.parent.length);
    return [...before, ...log.lines.map((line) => readEvent(parseJson(line, EVENT_LIMITS), "a stored line"))];
  }

  types(sessionId: string): readonly string[] {
    return this.events(sessionId).map((event) => event.type);
  }

  page(sessionId: string, { from = 1, limit = 1_000 }: ReadOptions, buffered: readonly SessionEvent[] = []): EventPage {
    const all = [...this.events(sessionId), ...buffered];
    const damagedAt = this.logs.get(sessionId)?.damagedAt ?? Infinity;
    const events = all.slice(from - 1, Math.min(from - 1 + limit, damagedAt - 1));
    const end = from + events.length;
    const damage = end === damagedAt ? { damage: { position: damagedAt, reason: "its checksum is wrong" } } : {};
    return { events, next: end <= all.length && !("damage" in damage) ? end : undefined, ...damage };
  }
}

/** How one process sees the disk. `crash()` begins the next one. */
export class FailingStore implements Store {
  readonly kind = "failing";
  readonly outlivesProcess = true;
  readonly disk: Disk;
  readonly logs = new Map<string, FailingLog>();
  /** What `append` throws. */
  appendError: ToolError | undefined;
  /** What `whenDurable` rejects with; what is buffered stays. */
  durableError: ToolError | undefined;
  /** Waits stay pending until `goOn`. */
  #held: (() => void)[] | undefined;
  /** How often a wait was asked for. */
  waits = 0;
  isDead = false;
  /** `claim` does not look at what it claims. */
  claimsDamaged = false;

  constructor(disk: Disk = new Disk()) {
    this.disk = disk;
  }

  /** The process ends here: what is only buffered is lost. */
  crash(): FailingStore {
    this.isDead = true;
    return new FailingStore(this.disk);
  }

  hold(): void {
    this.#held ??= [];
  }

  goOn(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const go of held) go();
  }

  async passHold(): Promise<void> {
    if (this.#held !== undefined) await new Promise<void>((resolve) => this.#held?.push(resolve));
  }

  async open(): Promise<void> {}

  create(sessionId: string, options: LogOptions): EventLog {
    if (this.logs.has(sessionId)) throw new ToolError("duplicate", `The session ${sessionId} is stored already.`);
    const log = new FailingLog(this, sessionId, options);
    this.logs.set(sessionId, log);
    return log;
  }

  async claim(sessionId: string, options: { readonly takeOver?: boolean } = {}): Promise<EventLog> {
    const stored = this.disk.logs.get(sessionId);
    if (stored === undefined) throw new ToolError("not_found", `No session ${sessionId} is stored.`);
    const owner = this.disk.claims.get(sessionId);
    if (owner !== undefined && !owner.isDead && options.takeOver !== true)
      throw new ToolError("resource_busy", `The session ${sessionId} is open in another process.`);
    if (stored.damagedAt !== undefined && !this.claimsDamaged) throw new ToolError("corrupt_record", `The log of ${sessionId} is damaged.`);
    this.disk.claims.set(sessionId, this);
    const log = new FailingLog(this, sessionId, stored.options, stored);
    this.logs.set(sessionId, log);
    return log;
  }

  async read(sessionId: string, options: ReadOptions = {}): Promise<EventPage> {
    return this.disk.page(sessionId, options);
  }

  async list(): Promise<readonly StoredSession[]> {
    return [];
  }

  async remove(sessionId: string): Promise<boolean> {
    return this.disk.logs.delete(sessionId);
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
  get approvals(): ApprovalStore {
    return this.disk.approvals;
  }

  readonly cache: CacheStore = {
    get: async () => undefined,
    versions: async (resources) => resources.map(() => 0),
    put: async () => {},
    invalidate: async () => {},
  };

  async close(): Promise<void> {
    await Promise.all([...this.logs.values()].map((log) => log.close()));
  }
}

class FailingLog implements EventLog {
  readonly wasLeftOpen = false;
  readonly sessionId: string;
  readonly options: LogOptions;
  failure: ToolError | undefined;
  readonly #store: FailingStore;
  #stored: StoredLog | undefined;
  #buffer: SessionEvent[] = [];
  #closed = false;

  constructor(store: FailingStore, sessionId: string, options: LogOptions, stored?: StoredLog) {
    this.sessionId = sessionId;
    this.options = options;
    this.#store = store;
    this.#stored = stored;
  }

  get length(): number {
    const parent = (this.#stored?.parent ?? this.options.parent)?.length ?? 0;
    return parent + (this.#stored?.lines.length ?? 0) + this.#buffer.length;
  }

  append(events: readonly SessionEvent[]): void {
    if (this.#closed) throw new ToolError("store_failed", `The log of ${this.sessionId} is closed.`);
    if (this.#store.appendError !== undefined) throw this.#store.appendError;
    this.#buffer.push(...events);
  }

  whenDurable(): Promise<void> | undefined {
    this.#store.waits++;
    return this.#buffer.length === 0 && this.#stored !== undefined
      ? undefined
      : this.#write().catch((thrown: unknown) => {
          const error = ToolError.fromUnknown(thrown);
          if (error.code !== "store_failed") this.failure ??= error;
          throw thrown;
        });
  }

  async #write(): Promise<void> {
    await this.#store.passHold();
    if (this.#store.isDead) return new Promise(() => {}); // its process is gone, and so is whoever waits
    if (this.#store.durableError !== undefined) throw this.#store.durableError;
    const { parent } = this.options;
    // What was written first is stored first: the log that this one goes on from.
    if (this.#stored === undefined && parent !== undefined) await this.#store.logs.get(parent.sessionId)?.whenDurable();
    const stored = (this.#stored ??= this.#begin());
    if (this.#store.disk.claims.get(this.sessionId) !== this.#store)
      throw new ToolError("conflict", `The session ${this.sessionId} was taken over by another process.`);
    stored.lines.push(...this.#buffer.map((event) => JSON.stringify(event)));
    this.#buffer = [];
  }

  #begin(): StoredLog {
    const { disk } = this.#store;
    const { parent } = this.options;
    if (disk.logs.has(this.sessionId)) throw new ToolError("duplicate", `The session ${this.sessionId} is stored already.`);
    if (parent !== undefined && !((disk.logs.has(parent.sessionId) ? disk.events(parent.sessionId).length : 0) >= parent.length))
      throw new ToolError("not_found", `The store has not all that ${this.sessionId} goes on from.`);
    const stored: StoredLog = { options: this.options, parent, lines: [] };
    disk.logs.set(this.sessionId, stored);
    disk.claims.set(this.sessionId, this.#store);
    return stored;
  }

  async read(options: ReadOptions = {}): Promise<EventPage> {
    if (this.#stored === undefined) return { events: this.#buffer.slice((options.from ?? 1) - 1), next: undefined };
    return this.#store.disk.page(this.sessionId, options, this.#buffer);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#store.logs.delete(this.sessionId);
    if (this.#buffer.length > 0) await this.#write();
    if (this.#store.disk.claims.get(this.sessionId) === this.#store) this.#store.disk.claims.delete(this.sessionId);
  }
}
