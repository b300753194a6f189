/** A claimed log in a database: appends go into the store's buffer, reads return the stored events and then the buffered ones. */
import { ToolError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import type { EventLog, EventPage, LogOptions, ReadOptions } from "../../core/store/store.ts";
import { readStoredPage, writeEvent } from "../records/event-text.ts";
import { deriveJobChanges } from "../records/job-changes.ts";
import { joinPieces } from "../records/json-pieces.ts";
import type { ClaimFacts, LogDatabase, ReadRequest, StoredPage } from "../records/log-database.ts";
import { checkReadOptions } from "../records/store-options.ts";
import type { BufferedLog, WriteBuffer } from "./write-buffer.ts";

export interface DatabaseLogOptions {
  readonly sessionId: string;
  readonly options: LogOptions;
  /** Number of stored events. */
  readonly length: number;
  /** The epoch of the claim. */
  readonly epoch: number;
  /** Facts found by the claim. The page is kept until it is read or something is appended. */
  readonly seen: ClaimFacts;
  readonly buffer: WriteBuffer;
  readonly database: LogDatabase;
  /** Called once, when the claim ends. */
  readonly onClose: () => void;
  /** Called each time closing has failed and the log is open again. */
  readonly onCloseFailed: () => void;
}

/** Kinds of requests of other processes that a claimed session may have. */
export type RequestKind = "questions" | "cancel requests";

const REQUEST_KINDS: readonly RequestKind[] = ["questions", "cancel requests"];

export class DatabaseLog implements EventLog, BufferedLog {
  readonly sessionId: string;
  readonly options: LogOptions;
  readonly epoch: number;
  readonly wasLeftOpen: boolean;
  readonly #options: DatabaseLogOptions;
  /** The kinds of requests of which the claim found none, and which were not looked up since. */
  readonly #absentRequests: Set<RequestKind>;
  #page: StoredPage | undefined;
  #length: number;
  #failure: ToolError | undefined;
  #isClosed = false;
  #leavesOpen = false;
  #closing: Promise<void> | undefined;

  constructor(options: DatabaseLogOptions) {
    this.sessionId = options.sessionId;
    this.options = options.options;
    this.epoch = options.epoch;
    this.#options = options;
    this.#length = options.length;
    this.#page = options.seen.page;
    this.wasLeftOpen = options.seen.wasLeftOpen;
    this.#absentRequests = new Set(options.seen.isUnasked === true ? REQUEST_KINDS : []);
  }

  get length(): number {
    return this.#length;
  }

  leaveOpen(): void {
    this.#leavesOpen = true;
  }

  get leavesOpen(): boolean {
    return this.#leavesOpen;
  }

  /** Whether the claim found no such request. True only the first time it is asked, because requests may arrive later. */
  claimFoundNone(kind: RequestKind): boolean {
    return this.#absentRequests.delete(kind);
  }

  /** Queues the creation of the log, before anything is appended to it. */
  queueCreation(): void {
    this.#options.buffer.add(this, { create: this.options, from: this.#length + 1, rows: [] });
  }

  append(events: readonly SessionEvent[]): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#isClosed)
      throw new ToolError("store_failed", `Session ${JSON.stringify(this.sessionId)} was closed; nothing can be added to its log.`);
    if (events.length === 0) return;
    this.#page = undefined;
    const jobs = deriveJobChanges(this.sessionId, events);
    const rows = events.map(writeEvent);
    this.#options.buffer.add(this, { from: this.#length + 1, rows, ...(jobs.length === 0 ? {} : { jobs }) });
    this.#length += events.length;
  }

  get failure(): ToolError | undefined {
    return this.#failure;
  }

  whenDurable(): Promise<void> | undefined {
    return this.#failure === undefined ? this.#options.buffer.whenDurable(this) : Promise.reject(this.#failure);
  }

  /** Commits a write without events, so that the database checks that the claim is still held. */
  async confirm(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#isClosed && !this.#options.buffer.hasEntries(this)) this.#options.buffer.add(this, { from: this.#length + 1, rows: [] });
    await this.#options.buffer.whenDurable(this);
  }

  fail(error: ToolError): void {
    this.#failure ??= error;
    this.#end();
  }

  async read(options: ReadOptions = {}): Promise<EventPage> {
    const { from, limit } = checkReadOptions(options);
    if (this.#isBuffered(from)) return this.#readBuffered(from, limit);
    const { sessionId } = this;
    const page = readStoredPage(this.#takePage({ from, limit }) ?? (await this.#readStored({ sessionId, from, limit })), from);
    const behind = from + page.events.length;
    if (page.damage !== undefined || page.events.length === limit || behind > this.#length) return page;
    if (page.events.length === 0) throw sessionRemovedError(sessionId, from); // the events had been written before this read, so they were removed since
    if (page.next !== undefined || !this.#isBuffered(behind)) return { ...page, next: behind };
    const rest = this.#readBuffered(behind, limit - page.events.length);
    return { ...rest, events: [...page.events, ...rest.events] };
  }

  async #readStored(request: ReadRequest): Promise<StoredPage> {
    try {
      return await this.#options.database.request("read", request);
    } catch (thrown: unknown) {
      throw ToolError.fromUnknown(thrown, "store_failed").code === "not_found"
        ? sessionRemovedError(request.sessionId, request.from)
        : thrown;
    }
  }

  /** Returns the page that was read with the claim, once, if the caller asks for all of it. */
  #takePage({ from, limit }: Omit<ReadRequest, "sessionId">): StoredPage | undefined {
    const page = this.#page;
    this.#page = undefined;
    return from === 1 && page !== undefined && page.bodies.length <= limit ? page : undefined;
  }

  /** Whether the event at a position is in the buffer. An event may have been written since the page was read. */
  #isBuffered(position: number): boolean {
    return position > this.#length - this.#options.buffer.bufferedRows(this).length;
  }

  #readBuffered(from: number, limit: number): EventPage {
    const waiting = this.#options.buffer.bufferedRows(this);
    const start = from - 1 - (this.#length - waiting.length);
    const bodies = waiting.slice(start, start + limit).map((row) => joinPieces(row.body));
    const next = from + bodies.length;
    return readStoredPage({ bodies, next: next > this.#length ? undefined : next, damage: undefined }, from);
  }

  /** If it rejects with `store_failed`, the log is open again with all its events. */
  close(): Promise<void> {
    this.#closing ??= this.#close().catch((error: unknown) => {
      if (this.#failure === undefined) {
        this.#closing = undefined;
        this.#options.onCloseFailed();
      }
      throw error;
    });
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#isClosed = true;
    try {
      await this.#options.buffer.release(this, this.#length + 1);
    } catch (error: unknown) {
      this.#isClosed = this.#failure !== undefined;
      throw error;
    }
    this.#end();
  }

  /** Resolves when no event of the log is buffered, whether written or lost. Rejects with the error that prevents a write. */
  async flush(): Promise<void> {
    try {
      await this.#options.buffer.whenDurable(this);
    } catch (error: unknown) {
      if (this.#failure === undefined) throw error;
    }
  }

  /** Ends the log without writing: the session belongs to another owner. */
  abandon(error: ToolError): void {
    this.fail(error);
    this.forceClose(error);
  }

  /** Ends the log because the store closes. Events that are still buffered are lost. */
  forceClose(error: ToolError): void {
    if (this.#options.buffer.hasEntries(this)) this.fail(error);
    this.#options.buffer.drop(this, error);
    this.#end();
  }

  #end(): void {
    this.#isClosed = true;
    this.#options.onClose();
  }
}

/** The error of a log whose session was removed: the store now has another, shorter session of the same id, or none. */
function sessionRemovedError(sessionId: string, position: number): ToolError {
  return new ToolError(
    "conflict",
    `The store has no events of session ${JSON.stringify(sessionId)} from event ${position} on: it was removed, and its id may belong to another session.`,
  );
}
