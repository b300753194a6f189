/** Appended events that are not durable yet: written in groups, one after the other, in the order in which they were appended. */
import { ToolError } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import type { LogOptions } from "../../core/store.ts";
import type { JobChange } from "../records/job-changes.ts";
import { bytesOfPieces } from "../records/json-pieces.ts";
import type { EventRow, LogRefusal, LogWrite } from "../records/log-database.ts";

export interface WriteBufferOptions {
  /** Writes all of a group or rejects; see `LogRequests.commit`. */
  readonly commit: (writes: readonly LogWrite[]) => Promise<readonly LogRefusal[]>;
  /** Most bytes that may wait: UTF-8 JSON, and 200 for each append. */
  readonly maxBytes: number;
  /** Set where `commit` may be called again before it has answered, and writes one group after the other. Tells how long they take. */
  readonly clock?: Pick<Clock, "now"> | undefined;
}

/** A log that writes through the buffer. */
export interface BufferedLog {
  readonly sessionId: string;
  /** That of its claim. */
  readonly epoch: number;
  /** Its claim is given up as by a process that is gone. */
  readonly leavesOpen: boolean;
  /** Called when the log is lost: nothing of it that still waited will be written. */
  fail(error: ToolError): void;
}

/** The events of one append. They are written together. */
interface Entry {
  readonly log: BufferedLog;
  readonly create: LogOptions | undefined;
  readonly from: number;
  readonly rows: readonly EventRow[];
  readonly jobs: readonly JobChange[] | undefined;
  /** The claim is given up. It is the last entry of its log, and is left out once it could not be written. */
  readonly release: boolean;
  readonly bytes: number;
  /** Made when a caller waits. */
  durable: PromiseWithResolvers<void> | undefined;
  /** Sent, and not answered. */
  isUnderWay: boolean;
  /** Sent once and not written, as far as is known. */
  wasSent: boolean;
  /** Given up, perhaps while it is under way. */
  isDropped: boolean;
}

/** The size of an append besides its text, about. */
const ENTRY_BYTES = 200;
/** A group is closed when it has so much; one append may have more. */
const MAX_GROUP_ROWS = 4_096;
const MAX_GROUP_BYTES = 4 * 1024 * 1024;
/** A group that is sent while another is under way is of at least so many sessions. */
const LEAST_AHEAD = 16;
/** Sending ahead costs the database a second flush; it pays where making the calls of a group takes more than this share of writing it. */
const SHARE_OF_CALLS = 1 / 3;
const NEW = { isUnderWay: false, wasSent: false, isDropped: false } as const;

/**
 * Events that a caller waits for are sent as soon as the code that runs has ended, with all that was appended before; the others at
 * the end of the event loop's turn, so that a call that ends within its turn takes one commit. Events appended while a group is being
 * written are written with the next one.
 *
 * A group that cannot be written stays where it is, before everything later. Every wait rejects, and the next append or wait tries
 * again: nothing is lost or written twice, and nothing is tried again for ever.
 */
export class WriteBuffer {
  readonly #options: WriteBufferOptions;
  #entries: Entry[] = [];
  /** The newest entry of each log that has one. */
  readonly #newest = new Map<BufferedLog, Entry>();
  #bytes = 0;
  /** One, or two where the second is sent ahead. */
  #groupsUnderWay = 0;
  /** Resolves when none is under way any more. */
  #idle: PromiseWithResolvers<void> | undefined;
  readonly #sessionsUnderWay = new Set<string>();
  /** When the last answer came; undefined once the event loop's turn that it came in has ended. */
  #answeredAt: number | undefined;
  /** When the newest group was sent, or the one before it answered, if that was later. */
  #begunAt = 0;
  /** How long the last group took to be written, in milliseconds. */
  #tookMs = 0;
  /** With fewer entries, the group that could be sent ahead was looked at and is of too few sessions. */
  #leastAhead = 0;
  #isDue = false;
  /** Set while a group is due at the end of the event loop's turn. */
  #later: NodeJS.Immediate | undefined;
  #problem: ToolError | undefined;
  /** How many groups could not be written so far. */
  #failures = 0;

  constructor(options: WriteBufferOptions) {
    this.#options = options;
  }

  /** @throws ToolError `store_failed` when too much waits already */
  add(
    log: BufferedLog,
    { create, from, rows, jobs }: Pick<Entry, "from" | "rows"> & { readonly create?: LogOptions; readonly jobs?: Entry["jobs"] },
  ): void {
    const bytes = rows.reduce((sum, row) => sum + bytesOfPieces(row.body), ENTRY_BYTES);
    // A whole answer kept with its result is a convenience: what must be recorded after it needs the room.
    const isOptional = rows.length > 0 && rows.every(({ type }) => type === "output-keep");
    if (this.#bytes + (isOptional ? bytes : 0) >= this.#options.maxBytes) throw this.#overflow(bytes);
    this.#push({ log, create, from, rows, jobs, release: false, bytes, durable: undefined, ...NEW });
    this.#scheduleLater();
  }

  /**
   * Gives up the claim of a log behind all that it appended, from a position on. Resolves when that is durable. Rejects as `whenDurable`
   * does, and then the claim is held as before.
   */
  release(log: BufferedLog, from: number): Promise<void> {
    const durable = Promise.withResolvers<void>();
    this.#push({ log, create: undefined, from, rows: [], jobs: undefined, release: true, bytes: ENTRY_BYTES, durable, ...NEW });
    this.#schedule();
    return durable.promise;
  }

  #push(entry: Entry): void {
    this.#entries.push(entry);
    this.#newest.set(entry.log, entry);
    this.#bytes += entry.bytes;
  }

  /** Resolves when all that a log appended is durable; undefined when nothing of it waits. */
  whenDurable(log: BufferedLog): Promise<void> | undefined {
    const entry = this.#newest.get(log);
    if (entry === undefined) return undefined;
    this.#schedule();
    return (entry.durable ??= Promise.withResolvers()).promise;
  }

  /** The events of a log that wait, those under way included. */
  waiting(log: BufferedLog): readonly EventRow[] {
    return this.#newest.has(log) ? this.#entries.flatMap((entry) => (entry.log === log ? entry.rows : [])) : [];
  }

  /** True while something of a log waits. */
  holds(log: BufferedLog): boolean {
    return this.#newest.has(log);
  }

  /** Resolves when nothing waits. Rejects when a group cannot be written, and then none is under way. */
  async flush(): Promise<void> {
    for (let last = this.#entries.at(-1); last !== undefined; last = this.#entries.at(-1)) {
      this.#schedule();
      const failures = this.#failures;
      try {
        await (last.durable ??= Promise.withResolvers()).promise;
      } catch {
        await this.#idle?.promise; // what is under way may be written yet
        if (this.#entries.length > 0 && this.#failures !== failures && this.#problem !== undefined) throw this.#problem;
      }
    }
  }

  /** Resolves when nothing waits of what was appended so far. Rejects as `whenDurable` of the newest does. */
  async written(): Promise<void> {
    const last = this.#entries.at(-1);
    if (last === undefined) return;
    this.#schedule();
    await (last.durable ??= Promise.withResolvers()).promise;
  }

  /** Gives up what waits of a log; what is under way may still be written. Its waits reject with the error. */
  drop(log: BufferedLog, error: ToolError): void {
    if (!this.#newest.delete(log)) return;
    for (const entry of this.#entries) {
      if (entry.log !== log) continue;
      entry.isDropped = true;
      entry.durable?.reject(error);
      this.#bytes -= entry.bytes;
    }
    this.#entries = this.#entries.filter((entry) => !entry.isDropped);
  }

  #schedule(): void {
    if (this.#isDue || this.#groupsUnderWay >= this.#mostUnderWay) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#send();
    });
  }

  #scheduleLater(): void {
    if (this.#later !== undefined || this.#isDue || this.#groupsUnderWay > 0) return;
    this.#later = setImmediate(() => this.#send());
  }

  get #mostUnderWay(): 1 | 2 {
    return this.#options.clock === undefined ? 1 : 2;
  }

  #send(): void {
    clearImmediate(this.#later);
    this.#later = undefined;
    if (this.#groupsUnderWay >= this.#mostUnderWay) return;
    const isAhead = this.#groupsUnderWay > 0;
    if (isAhead && (this.#entries.length < this.#leastAhead || !this.#paysAhead())) return;
    const group = this.#nextGroup();
    if (group.length === 0) return;
    const logs = new Set(group.map(({ log }) => log));
    if (isAhead) {
      if (logs.size >= LEAST_AHEAD) this.#dispatch(group);
      else this.#leastAhead = this.#entries.length + LEAST_AHEAD - logs.size;
    } else if (logs.size >= 2 * LEAST_AHEAD && this.#paysAhead()) {
      const half = new Set([...logs].slice(0, logs.size / 2));
      this.#dispatch(group.filter(({ log }) => half.has(log)));
      this.#send();
    } else {
      this.#dispatch(group);
    }
  }

  /** Whether the calls that the last answer let go on have taken as long as the database needs for a good part of a group. */
  #paysAhead(): boolean {
    const { clock } = this.#options;
    return clock !== undefined && this.#answeredAt !== undefined && clock.now() - this.#answeredAt > this.#tookMs * SHARE_OF_CALLS;
  }

  /**
   * The oldest that are not under way, up to the first that must wait for one that is. What was sent of a log before is sent together
   * again: it may be written already, and then a part of it would be in the place of other events.
   */
  #nextGroup(): readonly Entry[] {
    const group: Entry[] = [];
    let [rows, bytes] = [0, 0];
    let logs: ReadonlySet<BufferedLog> | undefined;
    for (const entry of this.#entries) {
      if (entry.isUnderWay) continue;
      if (logs === undefined) {
        rows += entry.rows.length;
        bytes += entry.bytes;
        const isFull = group.length > 0 && (rows > MAX_GROUP_ROWS || bytes > MAX_GROUP_BYTES);
        if (!isFull && !this.#mustWait(entry)) {
          group.push(entry);
          continue;
        }
        if (!group.some(({ wasSent }) => wasSent)) break;
        logs = new Set(group.map(({ log }) => log));
      }
      if (entry.wasSent && logs.has(entry.log)) group.push(entry);
    }
    return group;
  }

  #mustWait({ log, create }: Entry): boolean {
    const parent = create?.parent?.sessionId;
    return this.#sessionsUnderWay.has(log.sessionId) || (parent !== undefined && this.#sessionsUnderWay.has(parent));
  }

  #dispatch(group: readonly Entry[]): void {
    if (this.#groupsUnderWay++ === 0) {
      this.#begunAt = this.#options.clock?.now() ?? 0;
      this.#idle = Promise.withResolvers();
    }
    for (const entry of group) {
      entry.isUnderWay = true;
      entry.wasSent = true;
      this.#sessionsUnderWay.add(entry.log.sessionId);
    }
    void this.#write(group).finally(() => {
      if (this.#problem === undefined) this.#send();
    });
  }

  async #write(group: readonly Entry[]): Promise<void> {
    let refusals: readonly LogRefusal[];
    try {
      refusals = await this.#options.commit(writesOf(group));
    } catch (error: unknown) {
      this.#noteAnswer(group);
      return this.#stay(ToolError.fromUnknown(error, "store_failed"));
    }
    this.#noteAnswer(group);
    this.#problem = undefined;
    const done = new Set(group.filter((entry) => !entry.isDropped));
    this.#entries = this.#entries.filter((entry) => !done.has(entry));
    const refused = new Map(refusals.map(({ sessionId, error }) => [sessionId, new ToolError(error.code, error.message, error)]));
    for (const entry of done) {
      this.#bytes -= entry.bytes;
      if (this.#newest.get(entry.log) === entry) this.#newest.delete(entry.log);
      const error = refused.get(entry.log.sessionId);
      if (error === undefined) entry.durable?.resolve();
      else this.#lose(entry, error);
    }
  }

  #noteAnswer(group: readonly Entry[]): void {
    if (--this.#groupsUnderWay === 0) {
      this.#idle?.resolve();
      this.#idle = undefined;
    }
    this.#leastAhead = 0;
    for (const entry of group) {
      entry.isUnderWay = false;
      this.#sessionsUnderWay.delete(entry.log.sessionId);
    }
    const now = this.#options.clock?.now();
    if (now === undefined) return;
    this.#tookMs = now - this.#begunAt;
    this.#begunAt = now;
    this.#answeredAt = now;
    setImmediate(() => {
      if (this.#answeredAt === now) this.#answeredAt = undefined;
    });
  }

  #stay(error: ToolError): void {
    this.#problem = error;
    this.#failures++;
    const staying = this.#entries.filter(({ isUnderWay }) => !isUnderWay);
    for (const entry of staying) {
      entry.durable?.reject(error);
      entry.durable = undefined;
    }
    for (const entry of staying) if (entry.release) this.#withdraw(entry);
  }

  /** Takes a release out again: its caller knows, and the log may be used on. */
  #withdraw(entry: Entry): void {
    entry.isDropped = true;
    this.#bytes -= entry.bytes;
    this.#entries = this.#entries.filter((other) => other !== entry);
    const before = this.#entries.findLast(({ log }) => log === entry.log);
    if (before === undefined) this.#newest.delete(entry.log);
    else this.#newest.set(entry.log, before);
  }

  #lose(entry: Entry, error: ToolError): void {
    entry.log.fail(error);
    entry.durable?.reject(error);
    this.drop(entry.log, error);
    for (const child of this.#entries) if (child.create?.parent?.sessionId === entry.log.sessionId) this.#lose(child, error);
  }

  #overflow(bytes: number): ToolError {
    const waits = `${this.#bytes} bytes of events wait to be written, and ${bytes} more would pass the limit of ${this.#options.maxBytes}`;
    const why = this.#problem === undefined ? "" : ` The last try failed: ${this.#problem.message}`;
    return new ToolError("store_failed", `The events were not taken: ${waits}.${why}`, {
      hint: this.#problem?.hint ?? "Wait for whenDurable() now and then, or raise maxBufferedBytes.",
      ...(this.#problem === undefined ? {} : { cause: this.#problem }),
    });
  }
}

/** A group by session; within one, in order. */
function writesOf(group: readonly Entry[]): readonly LogWrite[] {
  const writes = new Map<BufferedLog, { -readonly [Key in keyof LogWrite]: LogWrite[Key] } & { readonly events: EventRow[] }>();
  for (const { log, create, from, rows, jobs, release } of group) {
    let write = writes.get(log);
    if (write === undefined) {
      write = { sessionId: log.sessionId, epoch: log.epoch, ...(create === undefined ? {} : { create }), from, events: [] };
      writes.set(log, write);
    }
    for (const row of rows) write.events.push(row);
    if (jobs !== undefined) write.jobs = write.jobs === undefined ? jobs : [...write.jobs, ...jobs];
    if (release) write.release = true;
    if (release && log.leavesOpen) write.leavesOpen = true;
  }
  return [...writes.values()];
}
