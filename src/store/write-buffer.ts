/** Appended events that are not durable yet: written in groups, one at a time, in the order in which they were appended. */
import { ToolError } from "../core/error.ts";
import type { LogOptions } from "../core/store.ts";
import type { JobChange } from "./job-changes.ts";
import { bytesOfPieces } from "./json-pieces.ts";
import type { EventRow, LogRefusal, LogWrite } from "./log-database.ts";

export interface WriteBufferOptions {
  /** Writes all of a group or rejects; see `LogDatabase.commit`. */
  readonly commit: (writes: readonly LogWrite[]) => Promise<readonly LogRefusal[]>;
  /** Most bytes that may wait: UTF-8 JSON, and 200 for each append. */
  readonly maxBytes: number;
}

/** A log that writes through the buffer. */
export interface BufferedLog {
  readonly sessionId: string;
  /** That of its claim. */
  readonly epoch: number;
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
  /** Given up, perhaps while it is under way. */
  isDropped: boolean;
}

/** The size of an append besides its text, about. */
const ENTRY_BYTES = 200;
/** A group is closed when it has so much; one append may have more. */
const MAX_GROUP_ROWS = 4_096;
const MAX_GROUP_BYTES = 4 * 1024 * 1024;

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
  #group: Promise<void> | undefined;
  #isDue = false;
  /** Set while a group is due at the end of the event loop's turn. */
  #later: NodeJS.Immediate | undefined;
  #problem: ToolError | undefined;

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
    this.#push({ log, create, from, rows, jobs, release: false, bytes, durable: undefined, isDropped: false });
    this.#scheduleLater();
  }

  /**
   * Gives up the claim of a log behind all that it appended, from a position on. Resolves when that is durable. Rejects as `whenDurable`
   * does, and then the claim is held as before.
   */
  release(log: BufferedLog, from: number): Promise<void> {
    const durable = Promise.withResolvers<void>();
    this.#push({ log, create: undefined, from, rows: [], jobs: undefined, release: true, bytes: ENTRY_BYTES, durable, isDropped: false });
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

  /** Resolves when nothing waits. Rejects as soon as a group cannot be written. */
  async flush(): Promise<void> {
    for (let last = this.#entries.at(-1); last !== undefined; last = this.#entries.at(-1)) {
      this.#schedule();
      await (last.durable ??= Promise.withResolvers()).promise.catch((error: unknown) => {
        if (this.#entries.length > 0 && this.#problem === error) throw error;
      });
    }
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
    if (this.#isDue || this.#group !== undefined) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#send();
    });
  }

  #scheduleLater(): void {
    if (this.#later !== undefined || this.#isDue || this.#group !== undefined) return;
    this.#later = setImmediate(() => this.#send());
  }

  #send(): void {
    clearImmediate(this.#later);
    this.#later = undefined;
    if (this.#group !== undefined || this.#entries.length === 0) return;
    const group = this.#nextGroup();
    this.#group = this.#write(group).finally(() => {
      this.#group = undefined;
      if (this.#problem === undefined) this.#send();
    });
  }

  #nextGroup(): readonly Entry[] {
    let [count, rows, bytes] = [0, 0, 0];
    for (const entry of this.#entries) {
      rows += entry.rows.length;
      bytes += entry.bytes;
      if (count > 0 && (rows > MAX_GROUP_ROWS || bytes > MAX_GROUP_BYTES)) break;
      count++;
    }
    return this.#entries.slice(0, count);
  }

  async #write(group: readonly Entry[]): Promise<void> {
    let refusals: readonly LogRefusal[];
    try {
      refusals = await this.#options.commit(writesOf(group));
    } catch (error: unknown) {
      return this.#stay(ToolError.fromUnknown(error, "store_failed"));
    }
    this.#problem = undefined;
    const done = group.filter((entry) => !entry.isDropped);
    this.#entries = this.#entries.slice(done.length);
    const refused = new Map(refusals.map(({ sessionId, error }) => [sessionId, new ToolError(error.code, error.message, error)]));
    for (const entry of done) {
      this.#bytes -= entry.bytes;
      if (this.#newest.get(entry.log) === entry) this.#newest.delete(entry.log);
      const error = refused.get(entry.log.sessionId);
      if (error === undefined) entry.durable?.resolve();
      else this.#lose(entry, error);
    }
  }

  #stay(error: ToolError): void {
    this.#problem = error;
    for (const entry of this.#entries) {
      entry.durable?.reject(error);
      entry.durable = undefined;
    }
    for (const entry of this.#entries) if (entry.release) this.#withdraw(entry);
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
  }
  return [...writes.values()];
}
