/** Buffers appended events until they are durable, and writes them in groups, in the order in which they were appended. */
import { ToolError } from "../../core/error.ts";
import { notOnNextTurn, onNextTurn } from "../../core/system/lazy-timer.ts";
import type { Clock } from "../../core/ports.ts";
import type { LogOptions } from "../../core/store/store.ts";
import type { JobChange } from "../records/job-changes.ts";
import { bytesOfPieces } from "../records/json-pieces.ts";
import type { EventRow, LogRefusal, LogWrite } from "../records/log-database.ts";

export interface WriteBufferOptions {
  /** Writes all of a group or rejects; see `LogRequests.commit`. */
  readonly commit: (writes: readonly LogWrite[]) => Promise<readonly LogRefusal[]>;
  /** Maximum number of buffered bytes: the UTF-8 JSON, plus 200 for each append. */
  readonly maxBytes: number;
  /** Set if `commit` may be called again before it has answered, and writes the groups in order. Measures how long a group takes. */
  readonly clock?: Pick<Clock, "now"> | undefined;
}

/** A log that writes through the buffer. */
export interface BufferedLog {
  readonly sessionId: string;
  /** The epoch of the log's claim. */
  readonly epoch: number;
  /** Whether a release records that the session was left open, as if the process were gone. */
  readonly leavesOpen: boolean;
  /** Called when the log is lost: its buffered events will not be written. */
  fail(error: ToolError): void;
}

/** The events of one append, which are always written together. */
interface Entry {
  readonly log: BufferedLog;
  readonly create: LogOptions | undefined;
  readonly from: number;
  readonly rows: readonly EventRow[];
  readonly jobs: readonly JobChange[] | undefined;
  /** Whether the entry releases the claim. Such an entry is the last of its log, and is withdrawn if it could not be written. */
  readonly release: boolean;
  readonly bytes: number;
  /** Created when a caller waits for the entry. */
  durable: PromiseWithResolvers<void> | undefined;
  /** Whether the entry was sent and is not answered yet. */
  isUnderWay: boolean;
  /** Whether the entry was sent before and, as far as is known, not written. */
  wasSent: boolean;
  /** Whether the entry was dropped, perhaps while in flight. */
  isDropped: boolean;
}

/** Approximate size of an append besides its text, in bytes. */
const ENTRY_BYTES = 200;
/** Limits of a group in rows and bytes; a single append may exceed them. */
const MAX_GROUP_ROWS = 4_096;
const MAX_GROUP_BYTES = 4 * 1024 * 1024;
/** Minimum number of sessions in a group that is sent while another is in flight. */
const MIN_AHEAD = 16;
/** Sending ahead costs the database a second flush. It pays if making a group's calls takes more than this share of the time to write the group. */
const MIN_CALL_SHARE = 1 / 3;
const NEW_ENTRY_FLAGS = { isUnderWay: false, wasSent: false, isDropped: false } as const;

/**
 * A buffer that commits groups of events.
 *
 * Events that a caller waits for are sent in the next microtask, with everything appended before. Other events are sent at the end of the event
 * loop's turn, so that a call that ends within its turn takes one commit. Events appended while a group is being written are written with the next
 * group.
 *
 * A group that cannot be written stays first in the buffer. Every wait rejects, and the next append or wait tries again: no event is lost or written
 * twice, and there are no endless retries.
 */
export class WriteBuffer {
  readonly #options: WriteBufferOptions;
  #entries: Entry[] = [];
  /** The newest entry of each log that has entries. */
  readonly #newest = new Map<BufferedLog, Entry>();
  #bytes = 0;
  /** At most 1, or 2 if groups are sent ahead. */
  #groupsInFlight = 0;
  /** Resolves when no group is in flight. */
  #idle: PromiseWithResolvers<void> | undefined;
  readonly #sessionsInFlight = new Set<string>();
  /** When the last answer arrived; undefined once that turn of the event loop has ended. */
  #answeredAt: number | undefined;
  /** When the newest group was sent, or when the group before it was answered, if that was later. */
  #sentAt = 0;
  /** How long the last group took to be written, in milliseconds. */
  #lastWriteMs = 0;
  /** Minimum number of entries before another group may be sent ahead: with fewer, it would have too few sessions. */
  #minAhead = 0;
  #isDue = false;
  /** Set while a group is due at the end of the event loop's turn. */
  #immediate: NodeJS.Immediate | undefined;
  #problem: ToolError | undefined;
  /** Number of groups that could not be written so far. */
  #failures = 0;

  constructor(options: WriteBufferOptions) {
    this.#options = options;
  }

  /** @throws ToolError `store_failed` if the buffer is full */
  add(
    log: BufferedLog,
    { create, from, rows, jobs }: Pick<Entry, "from" | "rows"> & { readonly create?: LogOptions; readonly jobs?: Entry["jobs"] },
  ): void {
    const bytes = rows.reduce((sum, row) => sum + bytesOfPieces(row.body), ENTRY_BYTES);
    // a whole output kept besides its result is optional: the room is needed for events that must be recorded
    const isOptional = rows.length > 0 && rows.every(({ type }) => type === "output-keep");
    if (this.#bytes + (isOptional ? bytes : 0) >= this.#options.maxBytes) throw this.#overflowError(bytes);
    this.#push({ log, create, from, rows, jobs, release: false, bytes, durable: undefined, ...NEW_ENTRY_FLAGS });
    this.#scheduleLater();
  }

  /**
   * Releases the claim of a log after everything that it appended. Resolves when the release is durable. Rejects as `whenDurable` does, and then the
   * claim is still held.
   *
   * @param from position after the last event
   */
  release(log: BufferedLog, from: number): Promise<void> {
    const durable = Promise.withResolvers<void>();
    this.#push({ log, create: undefined, from, rows: [], jobs: undefined, release: true, bytes: ENTRY_BYTES, durable, ...NEW_ENTRY_FLAGS });
    this.#schedule();
    return durable.promise;
  }

  #push(entry: Entry): void {
    this.#entries.push(entry);
    this.#newest.set(entry.log, entry);
    this.#bytes += entry.bytes;
  }

  /** Resolves when everything that a log appended is durable; undefined if nothing of it is buffered. */
  whenDurable(log: BufferedLog): Promise<void> | undefined {
    const entry = this.#newest.get(log);
    if (entry === undefined) return undefined;
    this.#schedule();
    return (entry.durable ??= Promise.withResolvers()).promise;
  }

  /** The buffered events of a log, including those in flight. */
  bufferedRows(log: BufferedLog): readonly EventRow[] {
    return this.#newest.has(log) ? this.#entries.flatMap((entry) => (entry.log === log ? entry.rows : [])) : [];
  }

  /** Whether anything of a log is buffered. */
  hasEntries(log: BufferedLog): boolean {
    return this.#newest.has(log);
  }

  /** Resolves when the buffer is empty. Rejects when a group cannot be written and no group is in flight any more. */
  async flush(): Promise<void> {
    for (let last = this.#entries.at(-1); last !== undefined; last = this.#entries.at(-1)) {
      this.#schedule();
      const failures = this.#failures;
      try {
        await (last.durable ??= Promise.withResolvers()).promise;
      } catch {
        await this.#idle?.promise; // groups in flight may still be written
        if (this.#entries.length > 0 && this.#failures !== failures && this.#problem !== undefined) throw this.#problem;
      }
    }
  }

  /** Resolves when everything that was appended so far is written. Rejects as `whenDurable` of the newest entry does. */
  async whenWritten(): Promise<void> {
    const last = this.#entries.at(-1);
    if (last === undefined) return;
    this.#schedule();
    await (last.durable ??= Promise.withResolvers()).promise;
  }

  /** Drops the buffered entries of a log; those in flight may still be written. Waits for them reject with the error. */
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
    if (this.#isDue || this.#groupsInFlight >= this.#maxInFlight) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#send();
    });
  }

  #scheduleLater(): void {
    if (this.#immediate !== undefined || this.#isDue || this.#groupsInFlight > 0) return;
    this.#immediate = onNextTurn(() => this.#send());
  }

  get #maxInFlight(): 1 | 2 {
    return this.#options.clock === undefined ? 1 : 2;
  }

  #send(): void {
    notOnNextTurn(this.#immediate);
    this.#immediate = undefined;
    if (this.#groupsInFlight >= this.#maxInFlight) return;
    const isAhead = this.#groupsInFlight > 0;
    if (isAhead && (this.#entries.length < this.#minAhead || !this.#isWorthSendingAhead())) return;
    const group = this.#nextGroup();
    if (group.length === 0) return;
    const logs = new Set(group.map(({ log }) => log));
    if (isAhead) {
      if (logs.size >= MIN_AHEAD) this.#dispatch(group);
      else this.#minAhead = this.#entries.length + MIN_AHEAD - logs.size;
    } else if (logs.size >= 2 * MIN_AHEAD && this.#isWorthSendingAhead()) {
      const half = new Set([...logs].slice(0, logs.size / 2));
      this.#dispatch(group.filter(({ log }) => half.has(log)));
      this.#send();
    } else {
      this.#dispatch(group);
    }
  }

  /** Whether the calls that the last answer released have already taken a good part of the time that the database needs for a group. */
  #isWorthSendingAhead(): boolean {
    const { clock } = this.#options;
    return clock !== undefined && this.#answeredAt !== undefined && clock.now() - this.#answeredAt > this.#lastWriteMs * MIN_CALL_SHARE;
  }

  /**
   * Returns the oldest entries that are not in flight, up to the first that must wait for one in flight. Entries of a log that were sent together
   * before are sent together again: they may have been written already, and a part of them would then have the positions of other events.
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
    return this.#sessionsInFlight.has(log.sessionId) || (parent !== undefined && this.#sessionsInFlight.has(parent));
  }

  #dispatch(group: readonly Entry[]): void {
    if (this.#groupsInFlight++ === 0) {
      this.#sentAt = this.#options.clock?.now() ?? 0;
      this.#idle = Promise.withResolvers();
    }
    for (const entry of group) {
      entry.isUnderWay = true;
      entry.wasSent = true;
      this.#sessionsInFlight.add(entry.log.sessionId);
    }
    void this.#write(group).finally(() => {
      if (this.#problem === undefined) this.#send();
    });
  }

  async #write(group: readonly Entry[]): Promise<void> {
    let refusals: readonly LogRefusal[];
    try {
      refusals = await this.#options.commit(mergeWrites(group));
    } catch (error: unknown) {
      this.#recordAnswer(group);
      return this.#rejectWaits(ToolError.fromUnknown(error, "store_failed"));
    }
    this.#recordAnswer(group);
    this.#problem = undefined;
    const done = new Set(group.filter((entry) => !entry.isDropped));
    this.#entries = this.#entries.filter((entry) => !done.has(entry));
    const refused = new Map(refusals.map(({ sessionId, error }) => [sessionId, new ToolError(error.code, error.message, error)]));
    for (const entry of done) {
      this.#bytes -= entry.bytes;
      if (this.#newest.get(entry.log) === entry) this.#newest.delete(entry.log);
      const error = refused.get(entry.log.sessionId);
      if (error === undefined) entry.durable?.resolve();
      else this.#failLog(entry, error);
    }
  }

  #recordAnswer(group: readonly Entry[]): void {
    if (--this.#groupsInFlight === 0) {
      this.#idle?.resolve();
      this.#idle = undefined;
    }
    this.#minAhead = 0;
    for (const entry of group) {
      entry.isUnderWay = false;
      this.#sessionsInFlight.delete(entry.log.sessionId);
    }
    const now = this.#options.clock?.now();
    if (now === undefined) return;
    this.#lastWriteMs = now - this.#sentAt;
    this.#sentAt = now;
    this.#answeredAt = now;
    onNextTurn(() => {
      if (this.#answeredAt === now) this.#answeredAt = undefined;
    });
  }

  #rejectWaits(error: ToolError): void {
    this.#problem = error;
    this.#failures++;
    const staying = this.#entries.filter(({ isUnderWay }) => !isUnderWay);
    for (const entry of staying) {
      entry.durable?.reject(error);
      entry.durable = undefined;
    }
    for (const entry of staying) if (entry.release) this.#withdraw(entry);
  }

  /** Removes a release from the buffer: its caller gets the error, and the log stays usable. */
  #withdraw(entry: Entry): void {
    entry.isDropped = true;
    this.#bytes -= entry.bytes;
    this.#entries = this.#entries.filter((other) => other !== entry);
    const before = this.#entries.findLast(({ log }) => log === entry.log);
    if (before === undefined) this.#newest.delete(entry.log);
    else this.#newest.set(entry.log, before);
  }

  #failLog(entry: Entry, error: ToolError): void {
    entry.log.fail(error);
    entry.durable?.reject(error);
    this.drop(entry.log, error);
    for (const child of this.#entries) if (child.create?.parent?.sessionId === entry.log.sessionId) this.#failLog(child, error);
  }

  #overflowError(bytes: number): ToolError {
    const waits = `${this.#bytes} bytes of events wait to be written, and ${bytes} more would pass the limit of ${this.#options.maxBytes}`;
    const why = this.#problem === undefined ? "" : ` The last try failed: ${this.#problem.message}`;
    return new ToolError("store_failed", `The events were not accepted: ${waits}.${why}`, {
      hint: this.#problem?.hint ?? "Await whenDurable() from time to time, or raise maxBufferedBytes.",
      ...(this.#problem === undefined ? {} : { cause: this.#problem }),
    });
  }
}

/** Merges the entries of a group into one write per session, in order. */
function mergeWrites(group: readonly Entry[]): readonly LogWrite[] {
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
