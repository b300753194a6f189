/** The statements that run for every write and every page, compiled once. */
import type { CompiledQuery, Kysely } from "kysely";
import type { EventTable, SessionTable, Tables } from "./tables.ts";
import { withParameters } from "./with-parameters.ts";

/** Number of events inserted by one statement, if there are as many. */
const INSERT_BATCH_SIZE = 32;
const EVENT_COLUMNS = ["session", "position", "at", "type", "call_id", "body", "checksum"] as const;

const ANY_EVENT: EventTable = { session: "", position: 0, at: 0, type: "", call_id: null, body: "", checksum: "" };

export type StoredEvent = Pick<EventTable, "position" | "at" | "type" | "call_id" | "body" | "checksum">;

export class LogStatements {
  readonly #findSession: CompiledQuery<SessionTable>;
  readonly #insertEvent: CompiledQuery;
  /** Compiled when first needed, because it is long. */
  #insertEvents: CompiledQuery | undefined;
  readonly #updateSession: CompiledQuery;
  readonly #eventsBetween: CompiledQuery<StoredEvent>;

  constructor(tables: Kysely<Tables>) {
    this.#findSession = tables.selectFrom("haft_session").selectAll().where("id", "=", "").compile();
    this.#insertEvent = tables.insertInto("haft_event").values(ANY_EVENT).compile();
    this.#updateSession = tables
      .updateTable("haft_session")
      .set({ updated_at: 0, length: 0, head: "", checksum: "" })
      .where("id", "=", "")
      .where("owner", "=", "")
      .where("epoch", "=", 0)
      .where("length", "=", 0)
      .where("head", "=", "")
      .compile();
    this.#eventsBetween = tables
      .selectFrom("haft_event")
      .select(["position", "at", "type", "call_id", "body", "checksum"])
      .where("session", "=", "")
      .where("position", ">=", 0)
      .where("position", "<=", 0)
      .orderBy("position")
      .compile();
  }

  async findSession(tables: Kysely<Tables>, id: string): Promise<SessionTable | undefined> {
    return (await tables.executeQuery(withParameters(this.#findSession, [id]))).rows[0];
  }

  async insertEvents(tables: Kysely<Tables>, events: readonly EventTable[]): Promise<void> {
    let at = 0;
    if (events.length >= INSERT_BATCH_SIZE) this.#insertEvents ??= insertMany(tables);
    for (; this.#insertEvents !== undefined && at + INSERT_BATCH_SIZE <= events.length; at += INSERT_BATCH_SIZE) {
      const values = events.slice(at, at + INSERT_BATCH_SIZE).flatMap((event) => EVENT_COLUMNS.map((column) => event[column]));
      await tables.executeQuery(withParameters(this.#insertEvents, values));
    }
    for (const event of events.slice(at)) {
      const values = EVENT_COLUMNS.map((column) => event[column]);
      await tables.executeQuery(withParameters(this.#insertEvent, values));
    }
  }

  /** Updates a session's record. Returns false if the record has changed since it was read, including its owner and epoch. */
  async updateSession(tables: Kysely<Tables>, from: SessionTable, to: SessionTable): Promise<boolean> {
    const values = [to.updated_at, to.length, to.head, to.checksum, from.id, from.owner, from.epoch, from.length, from.head];
    const { numAffectedRows } = await tables.executeQuery(withParameters(this.#updateSession, values));
    return numAffectedRows === 1n;
  }

  /** The events in order; both positions inclusive. */
  async eventsBetween(tables: Kysely<Tables>, session: string, [first, last]: readonly [number, number]): Promise<readonly StoredEvent[]> {
    return (await tables.executeQuery(withParameters(this.#eventsBetween, [session, first, last]))).rows;
  }
}

function insertMany(tables: Kysely<Tables>): CompiledQuery {
  return tables
    .insertInto("haft_event")
    .values(Array.from({ length: INSERT_BATCH_SIZE }, () => ANY_EVENT))
    .compile();
}
