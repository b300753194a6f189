/** The persistent result cache: bodies by key, valid while the resources that they were read from keep their versions. */
import type { CompiledQuery, Kysely, Transaction } from "kysely";
import { ToolError } from "../../core/error.ts";
import type { CacheRecord } from "../../core/store/store.ts";
import { hasExpired } from "../records/cache-expiry.ts";
import { cacheChecksum } from "./checksum.ts";
import { lockCounter, setCounter } from "./counters.ts";
import type { Owner } from "./owner.ts";
import { generationsOfWrite, withOuterResources, computeVersion, type Generation } from "./resource-versions.ts";
import { parseStoredText, parseStoredTexts, toStoredKey, toStoredText, toStoredTexts, toStoredTime } from "../records/stored-text.ts";
import type { CacheTable, GenerationTable, Tables } from "./tables.ts";
import type { ImmediateSql, RunStatement } from "./sql-connection.ts";
import { withParameters } from "./with-parameters.ts";

/** Maximum number of rows of generations. Beyond it all are deleted, together with the cache. Checked once in `WRITES_BETWEEN_CHECKS` writes. */
const MAX_GENERATIONS = 100_000;
const WRITES_BETWEEN_CHECKS = 1_000;
/** Number of entries deleted at a time. */
const DELETE_BATCH_SIZE = 100;
/** Maximum number of resources in a look-up: a power of two, less than the maximum number of parameters of a statement. */
const MAX_LOOKED_UP_RESOURCES = 16_384;
/** The row whose `self` is added to every version. No resource is stored as an empty text. */
const BASE = "";
/** Prefix of the row of a writing process, followed by the id of its owner. No stored resource begins with it. */
const WRITER = "@";
/** How often to check whether a process that wrote has ended without closing, in milliseconds. */
const CHECK_MS = 1_000;

export interface SqlCacheOptions {
  /** Maximum size of all entries together. */
  readonly maxBytes: number;
  /** As in the connection. */
  readonly maxKeyBytes: number;
  /** As in the connection. */
  readonly immediate: ImmediateSql | undefined;
  readonly owner: Owner;
}

/**
 * A process that ends without closing may have written a resource without a last `invalidate`, after another process had cached a value read from it.
 * Each writing process therefore has a row, and when the process of a row is gone, all versions increase.
 */
export class SqlCache {
  readonly #maxBytes: number;
  readonly #maxKeyBytes: number;
  readonly #immediate: ImmediateSql | undefined;
  readonly #findGenerations = new Map<number, CompiledQuery<GenerationTable>>();
  #findEntry: CompiledQuery<CacheTable> | undefined;
  #addToGeneration: CompiledQuery | undefined;
  #runAddToGeneration: RunStatement | undefined;
  #writes = 0;
  #checkedAt = -Infinity;
  readonly #owner: Owner;

  constructor({ maxBytes, maxKeyBytes, immediate, owner }: SqlCacheOptions) {
    this.#owner = owner;
    this.#maxBytes = maxBytes;
    this.#maxKeyBytes = maxKeyBytes;
    this.#immediate = immediate;
  }

  /** Returns the body of an entry. An entry that is replaced between the two look-ups was still valid at the second. */
  async get(tables: Kysely<Tables>, { key, now }: { readonly key: string; readonly now: number }): Promise<string | undefined> {
    if (Math.abs(now - this.#checkedAt) >= CHECK_MS) await this.#invalidateAfterGoneWriters(tables, now);
    this.#findEntry ??= tables.selectFrom("haft_cache").selectAll().where("key", "=", "").compile();
    const wanted = toStoredKey(key, this.#maxKeyBytes);
    const [entry] = (await tables.executeQuery(withParameters(this.#findEntry, [wanted]))).rows;
    if (entry === undefined || entry.checksum !== cacheChecksum(entry)) return undefined;
    if (entry.key !== wanted || hasExpired({ storedAt: entry.stored_at, expiresAt: entry.expires_at ?? undefined }, now)) return undefined;
    const versions = await this.versions(tables, parseStoredTexts(entry.resources));
    return JSON.stringify(versions) === entry.versions ? parseStoredText(entry.body) : undefined;
  }

  /** The versions of resources, all at one moment. @throws ToolError `too_large` for resources with too many others around them */
  async versions(tables: Kysely<Tables>, resources: readonly string[]): Promise<readonly number[]> {
    if (resources.length === 0) return [];
    const outer = new Map([...withOuterResources(resources)].map((resource) => [this.#key(resource), resource]));
    const generations = new Map<string, Generation>();
    let base = 0;
    for (const row of await this.#generations(tables, [BASE, ...outer.keys()])) {
      const resource = outer.get(row.resource);
      if (resource === undefined) base = row.self;
      else generations.set(resource, row);
    }
    return resources.map((resource) => base + computeVersion(resource, generations));
  }

  /** Uses one statement for all sizes up to a power of two, and pads the parameters with the base row, which is always wanted. */
  async #generations(tables: Kysely<Tables>, stored: readonly string[]): Promise<readonly GenerationTable[]> {
    if (stored.length > MAX_LOOKED_UP_RESOURCES)
      throw new ToolError("too_large", `${stored.length} resources are too many for one cached result.`);
    const size = 2 ** Math.ceil(Math.log2(stored.length));
    const parameters = [...stored, ...Array.from({ length: size - stored.length }, () => BASE)];
    const find =
      this.#findGenerations.get(size) ?? tables.selectFrom("haft_generation").selectAll().where("resource", "in", parameters).compile();
    this.#findGenerations.set(size, find);
    return (await tables.executeQuery(withParameters(find, parameters))).rows;
  }

  async put(tables: Kysely<Tables>, record: CacheRecord): Promise<void> {
    const entry = toCacheRow(record, this.#key(record.key));
    await tables.transaction().execute(async (transaction) => {
      const before = await lockCounter(transaction, "cache-bytes");
      if (JSON.stringify(await this.versions(transaction, record.resources)) !== entry.versions) return;
      let total = before - (await deleteEntries(transaction, [entry.key]));
      if (entry.bytes <= this.#maxBytes) {
        await transaction.insertInto("haft_cache").values(entry).execute();
        total = await this.#makeRoom(transaction, total + entry.bytes);
      }
      await setCounter(transaction, "cache-bytes", total);
    });
  }

  async invalidate(tables: Kysely<Tables>, resources: readonly string[]): Promise<void> {
    if (resources.length === 0) return;
    // sorted, so that two transactions that write the same rows cannot deadlock
    const additions = [...generationsOfWrite(resources)]
      .map(([resource, { self, below }]) => [this.#key(resource), self, below, self, below] as const)
      .sort(([one], [other]) => (one < other ? -1 : 1));
    const isLook = this.#writes++ % WRITES_BETWEEN_CHECKS === 0;
    const query = (this.#addToGeneration ??= addToGeneration(tables));
    const sql = this.#immediate;
    if (sql?.isIdle === true && !isLook && this.#owner.isRegistered) {
      const run = (this.#runAddToGeneration ??= sql.prepare(query));
      sql.write(() => {
        for (const addition of additions) run(addition);
        run(writerRow(this.#owner));
        return true;
      });
      return;
    }
    await tables.transaction().execute(async (transaction) => {
      for (const addition of additions) await transaction.executeQuery(withParameters(query, addition));
      await this.#owner.register(transaction);
      await transaction.executeQuery(withParameters(query, writerRow(this.#owner)));
      if (isLook) await restartGenerations(transaction);
    });
    this.#owner.confirmRegistration();
  }

  /** Deletes this process's row, because it will write nothing more. */
  async removeWriterRow(tables: Kysely<Tables>): Promise<void> {
    await tables.deleteFrom("haft_generation").where("resource", "=", writerRow(this.#owner)[0]).execute();
  }

  async #invalidateAfterGoneWriters(tables: Kysely<Tables>, now: number): Promise<void> {
    const rows = await tables.selectFrom("haft_generation").select("resource").where("resource", "like", `${WRITER}%`).execute();
    const gone = await this.#owner.filterGone(
      tables,
      rows.map(({ resource }) => resource.slice(WRITER.length)),
    );
    if (gone.length > 0)
      await tables.transaction().execute(async (transaction) => {
        const dead = gone.map((id) => WRITER + id).sort();
        const left = await transaction.deleteFrom("haft_generation").where("resource", "in", dead).returning("resource").execute();
        if (left.length > 0) await transaction.executeQuery(withParameters(addToGeneration(transaction), [BASE, 1, 0, 1, 0]));
      });
    this.#checkedAt = now;
  }

  #key(text: string): string {
    return toStoredKey(text, this.#maxKeyBytes);
  }

  /** Deletes the oldest entries until the rest fits. Returns the remaining size in bytes. */
  async #makeRoom(transaction: Transaction<Tables>, total: number): Promise<number> {
    let left = total;
    while (left > this.#maxBytes) {
      const oldest = await transaction
        .selectFrom("haft_cache")
        .select(["key", "bytes"])
        .orderBy("stored_at")
        .limit(DELETE_BATCH_SIZE)
        .execute();
      if (oldest.length === 0) return 0;
      const keys: string[] = [];
      let freed = 0;
      for (const { key, bytes } of oldest) {
        if (left - freed <= this.#maxBytes) break;
        keys.push(key);
        freed += bytes;
      }
      left -= await deleteEntries(transaction, keys);
    }
    return left;
  }
}

function writerRow({ id = "" }: Owner): readonly [string, number, number, number, number] {
  return [WRITER + id, 0, 0, 0, 0];
}

/** Parameters: the resource, the amounts added to `self` and `below`, and both amounts again. */
function addToGeneration(tables: Kysely<Tables>): CompiledQuery {
  return tables
    .insertInto("haft_generation")
    .values({ resource: "", self: 0, below: 0 })
    .onConflict((conflict) =>
      conflict.column("resource").doUpdateSet((update) => ({
        self: update("haft_generation.self", "+", 0),
        below: update("haft_generation.below", "+", 0),
      })),
    )
    .compile();
}

function toCacheRow({ body, resources, versions, storedAt, expiresAt }: CacheRecord, key: string): CacheTable {
  const entry = {
    key,
    body: toStoredText(body),
    resources: toStoredTexts(resources),
    versions: JSON.stringify(versions),
    expires_at: expiresAt === undefined ? null : toStoredTime(expiresAt),
  };
  const bytes = Buffer.byteLength(entry.key) + Buffer.byteLength(entry.body) + Buffer.byteLength(entry.resources);
  return { ...entry, stored_at: toStoredTime(storedAt), bytes, checksum: cacheChecksum(entry) };
}

/** Restarts the generations above every earlier version, so that no version repeats. */
async function restartGenerations(transaction: Transaction<Tables>): Promise<void> {
  const { rows, self, below } = await transaction
    .selectFrom("haft_generation")
    .select(({ fn }) => [
      fn.countAll<number>().as("rows"),
      fn.sum<number | null>("self").as("self"),
      fn.sum<number | null>("below").as("below"),
    ])
    .executeTakeFirstOrThrow();
  if (rows <= MAX_GENERATIONS) return;
  await transaction.deleteFrom("haft_generation").where("resource", "not like", `${WRITER}%`).execute();
  const base = { resource: BASE, self: (self ?? 0) + (below ?? 0) + 1, below: 0 };
  await transaction.insertInto("haft_generation").values(base).execute();
  await transaction.deleteFrom("haft_cache").execute();
  await setCounter(transaction, "cache-bytes", 0);
}

/** Selects entries that were stored before a time, or have expired. */
export function selectOldEntries(tables: Kysely<Tables>, { before, now }: { readonly before: number; readonly now: number }) {
  return tables.selectFrom("haft_cache").where((entry) => entry.or([entry("stored_at", "<", before), entry("expires_at", "<=", now)]));
}

/** Deletes some old entries, or, if there are none left, recounts the size of the rest. Returns the number of deleted entries. */
export async function pruneEntries(
  transaction: Transaction<Tables>,
  times: { readonly before: number; readonly now: number },
): Promise<number> {
  const before = await lockCounter(transaction, "cache-bytes");
  const old = await selectOldEntries(transaction, times).select("key").limit(DELETE_BATCH_SIZE).execute();
  if (old.length > 0) {
    const freed = await deleteEntries(
      transaction,
      old.map(({ key }) => key),
    );
    await setCounter(transaction, "cache-bytes", Math.max(0, before - freed));
    return old.length;
  }
  const sum = await transaction
    .selectFrom("haft_cache")
    .select(({ fn }) => fn.sum<number | null>("bytes").as("bytes"))
    .executeTakeFirst();
  await setCounter(transaction, "cache-bytes", sum?.bytes ?? 0);
  return 0;
}

/** Deletes entries. Returns the number of bytes freed. */
async function deleteEntries(transaction: Transaction<Tables>, keys: readonly string[]): Promise<number> {
  const dropped = await transaction.deleteFrom("haft_cache").where("key", "in", keys).returning("bytes").execute();
  return dropped.reduce((sum, { bytes }) => sum + bytes, 0);
}
