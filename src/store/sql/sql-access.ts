/** Keys, refused requests, audited calls and keyed requests in SQL tables. The statements work on every database that Kysely supports. */
import type { Kysely, Transaction } from "kysely";
import {
  KEYED_REQUEST_RETENTION_MS,
  MAX_REFUSALS,
  type AccessStore,
  type AuditedCall,
  type AuditedCallPage,
  type AuditedCallQuery,
  type KeyedRequest,
  type KeyQuery,
  type NewKeyedRequest,
  type RefusalQuery,
  type RefusedRequest,
  type RevokeKeyRequest,
  type StoredKey,
} from "../../core/store/access-store.ts";
import { DEFAULT_ACCESS_LIMIT, DAY_MS, toCallPage, readCall, readKey, readRefusal, readRequest, duplicateKeyError } from "./access-rows.ts";
import { lockCounter } from "./counters.ts";
import type { OperationTries } from "../records/store-operations.ts";
import { toStoredText } from "../records/stored-text.ts";
import type { RefusalTable, Tables } from "./tables.ts";

/** Maximum number of rows inserted by one statement. */
const INSERT_BATCH_SIZE = 100;

/** The counters that a transaction locks to number new rows, by table. */
const COUNTERS = { haft_refusal: "refusals", haft_call: "calls" } as const;
type NumberedTable = keyof typeof COUNTERS;

interface AppendOptions {
  readonly table: NumberedTable;
  /** How many rows to keep. */
  readonly keep: number;
  readonly tries: OperationTries | undefined;
}

export class SqlAccess implements AccessStore {
  readonly #tables: Kysely<Tables>;

  constructor(tables: Kysely<Tables>) {
    this.#tables = tables;
  }

  addKey({ revokedAt, ...key }: StoredKey): Promise<void> {
    return this.#tables.transaction().execute(async (tables) => {
      const id = toStoredText(key.id);
      const body = JSON.stringify(key);
      const taken = await tables.selectFrom("haft_key").select("body").where("id", "=", id).executeTakeFirst();
      if (taken?.body === body) return; // the answer to the first commit was lost, and this is a retry
      if (taken !== undefined) throw duplicateKeyError(key.id);
      const forgotten = Math.trunc(key.createdAt - DAY_MS);
      await tables.deleteFrom("haft_key").where("session", "is not", null).where("expires_at", "<", forgotten).execute();
      await tables
        .insertInto("haft_key")
        .values({
          id,
          created_at: Math.trunc(key.createdAt),
          session: key.sessionId === undefined ? null : toStoredText(key.sessionId),
          expires_at: key.expiresAt === undefined ? null : Math.trunc(key.expiresAt),
          revoked_at: revokedAt === undefined ? null : Math.trunc(revokedAt),
          body,
        })
        .execute();
    });
  }

  async key(id: string): Promise<StoredKey | undefined> {
    const row = await this.#tables.selectFrom("haft_key").selectAll().where("id", "=", toStoredText(id)).executeTakeFirst();
    return row === undefined ? undefined : readKey(row);
  }

  async keys({ sessionKeys = false, sessionId, limit = DEFAULT_ACCESS_LIMIT }: KeyQuery = {}): Promise<readonly StoredKey[]> {
    let newest = this.#tables.selectFrom("haft_key").selectAll().orderBy("created_at", "desc").orderBy("id").limit(limit);
    if (sessionId !== undefined) newest = newest.where("session", "=", toStoredText(sessionId));
    else if (!sessionKeys) newest = newest.where("session", "is", null);
    return (await newest.execute()).map(readKey);
  }

  async revokeKey({ id, at }: RevokeKeyRequest, tries?: OperationTries): Promise<boolean> {
    const { numUpdatedRows } = await this.#tables
      .updateTable("haft_key")
      .set({ revoked_at: Math.trunc(at) })
      .where("id", "=", toStoredText(id))
      .where("revoked_at", "is", null)
      .executeTakeFirst();
    return numUpdatedRows > 0n || ((tries?.count ?? 1) > 1 && (await this.key(id))?.revokedAt === Math.trunc(at));
  }

  addRefusals(refusals: readonly RefusedRequest[], tries?: OperationTries): Promise<void> {
    return this.#append(refusals, { table: "haft_refusal", keep: MAX_REFUSALS, tries });
  }

  async refusals({ since, principal, limit = DEFAULT_ACCESS_LIMIT }: RefusalQuery = {}): Promise<readonly RefusedRequest[]> {
    let newest = this.#tables.selectFrom("haft_refusal").selectAll().orderBy("number", "desc").limit(limit);
    if (since !== undefined) newest = newest.where("at", ">=", since);
    if (principal !== undefined) newest = newest.where("principal", "=", toStoredText(principal));
    return (await newest.execute()).map(readRefusal);
  }

  addCalls({ calls, keep }: Parameters<AccessStore["addCalls"]>[0], tries?: OperationTries): Promise<void> {
    return this.#append(calls, { table: "haft_call", keep, tries });
  }

  async calls({ since, until, principal, after, limit = DEFAULT_ACCESS_LIMIT }: AuditedCallQuery = {}): Promise<AuditedCallPage> {
    let newest = this.#tables
      .selectFrom("haft_call")
      .selectAll()
      .orderBy("at", "desc")
      .orderBy("number", "desc")
      .limit(limit + 1);
    if (since !== undefined) newest = newest.where("at", ">=", since);
    if (until !== undefined) newest = newest.where("at", "<", until);
    if (principal !== undefined) newest = newest.where("principal", "=", toStoredText(principal));
    if (after !== undefined)
      newest = newest
        .where("at", "<=", after.at) // lets the index be used
        .where((eb) => eb.or([eb("at", "<", after.at), eb("number", "<", after.number)]));
    const rows = await newest.execute();
    return toCallPage(
      rows.map((row) => ({ at: row.at, number: row.number, call: readCall(row) })),
      limit,
    );
  }

  /** Numbers and inserts the rows, and deletes those with the lowest numbers. */
  #append(bodies: readonly (RefusedRequest | AuditedCall)[], { table, keep, tries = { count: 1 } }: AppendOptions): Promise<void> {
    return this.#tables.transaction().execute(async (tables) => {
      await lockCounter(tables, COUNTERS[table]); // as for the positions of approvals
      if (await isAppended(tables, { table, body: bodies[0], number: tries.number })) return;
      let number = await readLastNumber(tables, table);
      tries.number = number + 1;
      const rows = bodies.map((body) => toRow(++number, body));
      for (let from = 0; from < rows.length; from += INSERT_BATCH_SIZE)
        await tables
          .insertInto(table)
          .values(rows.slice(from, from + INSERT_BATCH_SIZE))
          .execute();
      await tables
        .deleteFrom(table)
        .where("number", "<=", number - keep)
        .execute();
    });
  }

  async beginRequest(request: NewKeyedRequest): Promise<KeyedRequest | undefined> {
    const { key, fingerprint, at, holder, after } = request;
    const begins = { fingerprint: toStoredText(fingerprint), at: Math.trunc(at), answer: null, holder, beats: 0 };
    const row = { key: toStoredText(key), ...begins };
    const old = row.at - KEYED_REQUEST_RETENTION_MS;
    for (;;) {
      const inserted = await this.#tables
        .insertInto("haft_request")
        .values(row)
        .onConflict((conflict) =>
          conflict
            .column("key")
            .doUpdateSet(begins)
            .where((eb) => {
              const isFree = eb("haft_request.holder", "is", null);
              const isLeft = eb.and([
                eb("haft_request.holder", "=", after?.holder ?? ""),
                eb("haft_request.beats", "=", after?.beats ?? 0),
              ]);
              const isSame = eb.and([eb("haft_request.answer", "is", null), eb("haft_request.fingerprint", "=", row.fingerprint)]);
              return eb.or([eb("haft_request.at", "<", old), eb.and([isSame, after === undefined ? isFree : eb.or([isFree, isLeft])])]);
            }),
        )
        .returning("key")
        .executeTakeFirst();
      if (inserted !== undefined) return undefined;
      const known = await this.#tables.selectFrom("haft_request").selectAll().where("key", "=", row.key).executeTakeFirst();
      if (known?.holder === holder && known.fingerprint === row.fingerprint) return undefined; // a retry, as for keys
      if (known !== undefined) return readRequest(request.key, known); // otherwise it was forgotten meanwhile
    }
  }

  async holdRequest({ key, holder }: { readonly key: string; readonly holder: string }): Promise<boolean> {
    const { numUpdatedRows } = await this.#tables
      .updateTable("haft_request")
      .set(({ eb }) => ({ beats: eb("beats", "+", 1) }))
      .where("key", "=", toStoredText(key))
      .where("holder", "=", holder)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  async releaseRequest({ key, holder }: { readonly key: string; readonly holder: string }): Promise<void> {
    await this.#tables
      .updateTable("haft_request")
      .set({ holder: null })
      .where("key", "=", toStoredText(key))
      .where("holder", "=", holder)
      .execute();
  }

  async answerRequest({ key, answer }: { readonly key: string; readonly answer: string }): Promise<string | undefined> {
    const { numUpdatedRows } = await this.#tables
      .updateTable("haft_request")
      .set({ answer: toStoredText(answer), holder: null })
      .where("key", "=", toStoredText(key))
      .where("answer", "is", null)
      .executeTakeFirst();
    if (numUpdatedRows > 0n) return undefined;
    const known = await this.#tables.selectFrom("haft_request").selectAll().where("key", "=", toStoredText(key)).executeTakeFirst();
    return known === undefined ? undefined : readRequest(key, known).answer;
  }

  async forgetRequests(before: number): Promise<void> {
    await this.#tables.deleteFrom("haft_request").where("at", "<", Math.trunc(before)).execute();
  }
}

function toRow(number: number, body: RefusedRequest | AuditedCall): RefusalTable {
  const principal = body.principal === undefined ? null : toStoredText(body.principal);
  return { number, at: Math.trunc(body.at), principal, body: JSON.stringify(body) };
}

/** Whether an earlier try has inserted the rows, the first one under this number: the answer to its commit was lost. */
async function isAppended(
  tables: Transaction<Tables>,
  { table, body, number }: { readonly table: NumberedTable; readonly body: object | undefined; readonly number: number | undefined },
): Promise<boolean> {
  if (number === undefined) return false;
  const row = await tables.selectFrom(table).select("body").where("number", "=", number).executeTakeFirst();
  return row?.body === JSON.stringify(body);
}

async function readLastNumber(tables: Transaction<Tables>, table: NumberedTable): Promise<number> {
  const last = await tables
    .selectFrom(table)
    .select((select) => select.fn.max("number").as("number"))
    .executeTakeFirst();
  return last?.number ?? 0;
}
