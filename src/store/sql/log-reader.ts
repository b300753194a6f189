/** Reads stored logs, including the events that a branch shares with its parents, and verifies every checksum. */
import type { Kysely } from "kysely";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { LogDamage } from "../../core/store/store.ts";
import { eventChecksum, rootChecksum, sessionChecksum } from "./checksum.ts";
import type { StoredPage } from "../records/log-database.ts";
import { toStoredText } from "../records/stored-text.ts";
import type { LogStatements, StoredEvent } from "./log-statements.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { SessionTable, Tables } from "./tables.ts";

/** A session's record, with the reason if it cannot be trusted. */
export interface FoundSession {
  readonly row: SessionTable;
  readonly damage: string | undefined;
}

/** The part of a log that is stored under one session's id. Empty if `last` is before `first`. */
interface Segment {
  readonly row: SessionTable;
  readonly first: number;
  readonly last: number;
}

interface EventRange {
  readonly events: readonly StoredEvent[];
  readonly problem?: string;
}

/** Maximum size of a page, in UTF-16 code units. */
const MAX_PAGE_CHARS = 8 * 1024 * 1024;
/** Number of rows read first; doubled while the rows are small. */
const FIRST_CHUNK = 64;
const SMALL_CHUNK_CHARS = 1024 * 1024;
const UNKNOWN_END = Number.MAX_SAFE_INTEGER;
const MISSING = "it is missing";
const WRONG_SUM = "its checksum is wrong";

export class LogReader {
  readonly #connection: SqlConnection;
  readonly #statements: LogStatements;

  constructor(connection: SqlConnection, statements: LogStatements) {
    this.#connection = connection;
    this.#statements = statements;
  }

  /** Finds a session by its stored id. If only its record is lost, the session is found by its events. */
  async find(tables: Kysely<Tables>, id: string): Promise<FoundSession | undefined> {
    try {
      const row = await this.#statements.findSession(tables, id);
      if (row !== undefined) return verifyRow(id, row);
      const event = await tables.selectFrom("haft_event").select("position").where("session", "=", id).limit(1).executeTakeFirst();
      return event === undefined ? undefined : toLostRecord(id, "the session's own record is missing");
    } catch (error: unknown) {
      if (!this.#connection.isDamageError(error)) throw error;
      return toLostRecord(id, "the session's own record cannot be read");
    }
  }

  /** Finds a session, as `find` does. @throws ToolError `not_found`, as a rejection */
  async require(tables: Kysely<Tables>, sessionId: string): Promise<FoundSession> {
    const found = await this.find(tables, toStoredText(sessionId));
    if (found === undefined) throw new ToolError("not_found", `The store has no session ${JSON.stringify(sessionId)}.`);
    return found;
  }

  /** Reads a page. Verifies every event, and that it follows the one before. */
  async read(
    tables: Kysely<Tables>,
    found: FoundSession,
    { from, limit }: { readonly from: number; readonly limit: number },
  ): Promise<StoredPage> {
    const page = new PageBuilder(from, limit, found);
    if (found.damage !== undefined && !(await this.#isParentRight(tables, found.row))) page.endDamaged(found.damage);
    for (const segment of await this.#segments(tables, found, from)) {
      if (page.isFull) break;
      if (segment.last < page.position) continue;
      if (segment.first > page.position) page.endDamaged(MISSING);
      else await this.#readSegment(tables, segment, page);
    }
    return page.build();
  }

  /** Makes a page of the whole log of a session without a parent from its events, in order; undefined if they do not match its record. */
  toVerifiedPage(row: SessionTable, events: readonly StoredEvent[]): StoredPage | undefined {
    const found = verifyRow(row.id, row);
    if (found.damage !== undefined || row.parent_id !== null || events.length !== row.length) return undefined;
    const page = new PageBuilder(1, row.length + 1, found);
    page.previous = rootChecksum(row, "");
    for (const event of events) if (!page.isFull) page.add(event);
    const result = page.build();
    return result.damage === undefined && result.next === undefined ? result : undefined;
  }

  /** The segments of a log, oldest first, without those that end before the position. */
  async #segments(tables: Kysely<Tables>, found: FoundSession, from: number): Promise<readonly Segment[]> {
    const segments: Segment[] = [];
    let row = found.row;
    let last = lengthOf(found);
    for (const passed = new Set([row.id]); ; passed.add(row.id)) {
      segments.unshift({ row, first: row.parent_length + 1, last });
      last = Math.min(last, row.parent_length);
      const parent = from > last ? undefined : await this.#parentOf(tables, row);
      if (parent === undefined || passed.has(parent.id)) return segments;
      row = parent;
    }
  }

  async #parentOf(tables: Kysely<Tables>, { parent_id }: SessionTable): Promise<SessionTable | undefined> {
    return parent_id === null ? undefined : (await this.find(tables, parent_id))?.row;
  }

  async #readSegment(tables: Kysely<Tables>, { row, first, last }: Segment, page: PageBuilder): Promise<void> {
    const before = page.previous ?? (await this.checksumAt(tables, row, page.position - 1));
    if (before === undefined) return page.endDamagedBefore();
    page.previous = page.position === first ? rootChecksum(row, before) : before;
    for (let chunk = FIRST_CHUNK; !page.isFull && page.position <= last;) {
      const [start, charsBefore] = [page.position, page.chars];
      const end = Math.min(last, start + Math.min(chunk, page.roomLeft) - 1);
      const { events, problem } = await this.#events(tables, row.id, [start, end]);
      for (const event of events) if (!page.isFull) page.add(event);
      if (!page.isFull && page.position <= end) page.endDamaged(problem ?? MISSING);
      if (page.chars - charsBefore < SMALL_CHUNK_CHARS) chunk *= 2;
    }
  }

  /** Reads a range up to the first unreadable event, with the reason. */
  async #events(tables: Kysely<Tables>, session: string, [first, last]: readonly [number, number]): Promise<EventRange> {
    try {
      return { events: await this.#statements.eventsBetween(tables, session, [first, last]) };
    } catch (error: unknown) {
      if (!this.#connection.isDamageError(error)) throw error;
      if (first === last) return { events: [], problem: `it cannot be read: ${describeThrown(error)}` };
    }
    const middle = Math.floor((first + last) / 2);
    const early = await this.#events(tables, session, [first, middle]);
    if (early.problem !== undefined) return early;
    const late = await this.#events(tables, session, [middle + 1, last]);
    return { ...late, events: [...early.events, ...late.events] };
  }

  /** The stored checksum of the event at a position, in this session or any ancestor; undefined if there is none. */
  async checksumAt(tables: Kysely<Tables>, row: SessionTable, position: number): Promise<string | undefined> {
    if (position === 0) return "";
    let holder = row;
    for (const passed = new Set([row.id]); position <= holder.parent_length; passed.add(holder.id)) {
      const parent = await this.#parentOf(tables, holder);
      if (parent === undefined || passed.has(parent.id)) return undefined;
      holder = parent;
    }
    return (await this.#events(tables, holder.id, [position, position])).events[0]?.checksum;
  }

  /** Whether a damaged record still names the right parent, which the checksum of its first own event shows. */
  async #isParentRight(tables: Kysely<Tables>, row: SessionTable): Promise<boolean> {
    if (row.parent_id === null) return true; // the checksum of the first event will show
    const parent = await this.checksumAt(tables, row, row.parent_length);
    const first = row.parent_length + 1;
    const [event] = (await this.#events(tables, row.id, [first, first])).events;
    return parent !== undefined && event !== undefined && eventChecksum(rootChecksum(row, parent), event) === event.checksum;
  }
}

class PageBuilder {
  readonly #bodies: string[] = [];
  readonly #limit: number;
  readonly #found: FoundSession;
  #damage: LogDamage | undefined;
  /** The position of the next event. */
  position: number;
  /** The checksum of the event before, or of the empty log; undefined until it is known. */
  previous: string | undefined;
  chars = 0;

  constructor(from: number, limit: number, found: FoundSession) {
    this.position = from;
    this.#limit = limit;
    this.#found = found;
  }

  get roomLeft(): number {
    return this.#limit - this.#bodies.length;
  }

  get isFull(): boolean {
    return this.#damage !== undefined || this.roomLeft <= 0 || this.chars >= MAX_PAGE_CHARS;
  }

  add(event: StoredEvent): void {
    if (event.position !== this.position) return this.endDamaged(MISSING);
    if (typeof event.body !== "string" || eventChecksum(this.previous ?? "", event) !== event.checksum) return this.endDamaged(WRONG_SUM);
    const { row, damage } = this.#found;
    if (damage === undefined && event.position === row.length && headAfter(row, event) !== row.head) return this.endDamaged(WRONG_SUM);
    this.#bodies.push(event.body);
    this.chars += event.body.length;
    this.previous = event.checksum;
    this.position++;
  }

  /** Ends the page before an unreadable event. If the end of the log is unknown, it ends here, and the reason is why it is unknown. */
  endDamaged(reason: string): void {
    const unknownEnd = reason === MISSING ? this.#found.damage : undefined;
    this.#damage ??= { position: this.position, reason: unknownEnd ?? reason };
  }

  endDamagedBefore(): void {
    this.#damage ??= { position: this.position - 1, reason: MISSING };
  }

  build(): StoredPage {
    const ended = this.#damage !== undefined || this.position > lengthOf(this.#found);
    return { bodies: this.#bodies, next: ended ? undefined : this.position, damage: this.#damage };
  }
}

/** The head of a log that ends with this event. The head of a branch without own events also depends on the branch. */
function headAfter(row: SessionTable, { position, checksum }: StoredEvent): string {
  return position === row.parent_length ? rootChecksum(row, checksum) : checksum;
}

function lengthOf({ row, damage }: FoundSession): number {
  return damage === undefined ? row.length : UNKNOWN_END;
}

function verifyRow(id: string, row: SessionTable): FoundSession {
  const sound =
    row.id === id &&
    Number.isSafeInteger(row.length) &&
    Number.isSafeInteger(row.parent_length) &&
    row.parent_length >= 0 &&
    row.length >= row.parent_length &&
    (row.parent_id === null || typeof row.parent_id === "string");
  const damage = "the checksum of the session's own record is wrong";
  if (!sound) return toLostRecord(id, damage);
  return { row, damage: sessionChecksum(row) === row.checksum ? undefined : damage };
}

/** A replacement for a lost record: a log without a parent, of unknown length. */
function toLostRecord(id: string, damage: string): FoundSession {
  const times = { created_at: 0, updated_at: 0 };
  const row = {
    id,
    parent_id: null,
    parent_length: 0,
    ...times,
    durability: "sync",
    length: 0,
    head: "",
    checksum: "",
    owner: null,
    epoch: 0,
  };
  return { row, damage };
}
