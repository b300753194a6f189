/** The feed in SQL tables, ordered by the events' sequence numbers. Read up to where an open transaction may still add events. */
import type { Kysely, Transaction } from "kysely";
import { isToolError } from "../../core/error.ts";
import type { FeedPage, ReadFeedOptions, StoreFeed } from "../../core/store/store-feed.ts";
import { parseMark, unknownMarkError, formatMark } from "../records/feed-mark.ts";
import { requirePart } from "./migrate.ts";
import type { Owner } from "./owner.ts";
import { runInSnapshot } from "./session-claims.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { parseStoredText } from "../records/stored-text.ts";
import type { Tables } from "./tables.ts";

/** Number of characters of an event's checksum in a mark, which prove that the mark is of this store. */
const SEAL_CHARS = 12;

export class SqlFeed implements StoreFeed {
  readonly #connection: SqlConnection;
  readonly #owner: Owner;

  constructor(connection: SqlConnection, owner: Owner) {
    this.#connection = connection;
    this.#owner = owner;
  }

  latest(): Promise<string> {
    return this.#readSnapshot(async (tables, settled) => {
      let events = tables.selectFrom("haft_event").select(["sequence", "checksum"]);
      if (settled !== undefined) events = events.where("sequence", "<=", settled);
      const row = await events.orderBy("sequence", "desc").limit(1).executeTakeFirst();
      return row === undefined ? formatMark({ sequence: 0, seal: undefined }) : toMark(row);
    });
  }

  async read(options: Required<ReadFeedOptions>): Promise<FeedPage> {
    const page = await this.#readSnapshot((tables, settled) => readFeed(tables, this.#connection, { ...options, settled }));
    this.#owner.recordRead(page.entries.at(-1)?.mark ?? options.after);
    return page;
  }

  /** Reads from one snapshot. @param read called with the number up to which no event will be added; undefined if that is true of all */
  async #readSnapshot<Result>(read: (tables: Transaction<Tables>, settled: number | undefined) => Promise<Result>): Promise<Result> {
    const { tables, settledSequence } = this.#connection;
    try {
      // before the reading transaction begins
      const row = settledSequence && (await tables.selectNoFrom(settledSequence.as("settled")).executeTakeFirst());
      return await runInSnapshot(tables, (transaction) => read(transaction, row?.settled));
    } catch (thrown: unknown) {
      if (!isToolError(thrown)) await requirePart(this.#connection, "feed");
      throw thrown;
    }
  }
}

async function readFeed(
  tables: Kysely<Tables>,
  { lastSequence }: SqlConnection,
  { after, limit, settled }: Required<ReadFeedOptions> & { readonly settled: number | undefined },
): Promise<FeedPage> {
  const { sequence, seal } = parseMark(after);
  if (seal !== undefined) {
    const row = await tables.selectFrom("haft_event").select("checksum").where("sequence", "=", sequence).executeTakeFirst();
    // the row is missing if its session was removed, but its number is never reused
    const isKnown = row === undefined ? sequence <= (await readLastNumber(tables, lastSequence)) : toSeal(row.checksum) === seal;
    if (!isKnown) throw unknownMarkError(after);
  }
  let behind = tables
    .selectFrom("haft_event")
    .select(["sequence", "session", "position", "checksum"])
    .where("sequence", ">", sequence)
    .orderBy("sequence")
    .limit(limit);
  if (settled !== undefined) behind = behind.where("sequence", "<=", settled);
  const rows = await behind.execute();
  const entries = rows.flatMap((row) => {
    const sessionId = decodeId(row.session);
    return sessionId === undefined ? [] : [{ sessionId, position: row.position, mark: toMark(row) }];
  });
  return { entries, isFull: rows.length === limit };
}

async function readLastNumber(tables: Kysely<Tables>, lastSequence: SqlConnection["lastSequence"]): Promise<number> {
  const row = await tables.selectNoFrom(lastSequence.as("last")).executeTakeFirst();
  return row?.last ?? 0;
}

function toMark({ sequence, checksum }: { readonly sequence: number; readonly checksum: string }): string {
  return formatMark({ sequence, seal: toSeal(checksum) });
}

/** Returns the seal of a checksum, reduced to valid characters in case the checksum is damaged. */
function toSeal(checksum: string): string {
  return checksum
    .toLowerCase()
    .replaceAll(/[^0-9a-z]/gu, "")
    .slice(0, SEAL_CHARS)
    .padEnd(1, "0");
}

/** Undefined for a damaged id, which names no readable session. */
function decodeId(stored: string): string | undefined {
  try {
    return parseStoredText(stored);
  } catch {
    return undefined;
  }
}
