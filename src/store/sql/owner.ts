/** The owners of open sessions: one row for each store object, refreshed while its process lives. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { Kysely, Transaction } from "kysely";
import { mergeDescription, type ProcessDescription } from "../../core/store/process-store.ts";
import type { Clock } from "../../core/ports.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { ClockWatch } from "./clock-watch.ts";
import { evaluateExpression } from "./database-time.ts";
import { parseMark } from "../records/feed-mark.ts";
import { HEARTBEATS_IN_LEASE } from "../records/store-options.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { readStoredTime } from "../records/stored-text.ts";
import type { OwnerTable, Tables } from "./tables.ts";

/** How long owners that ended without closing are remembered: one day, in milliseconds. */
const OWNER_RETENTION_MS = 86_400_000;

/**
 * As a share of a lease: an owner that could not renew its own lease for so long was cut off from the database, as others may have been. For as long
 * after that, it treats no other as gone: those that live send their next heartbeat by then, even if one attempt to connect fails.
 */
const CUT_OFF_SHARE = 2 / HEARTBEATS_IN_LEASE;

/** An id that no owner has, so that a session with it counts as left open. */
const LEFT_OPEN_OWNER = "";

/** The `owner` of a session whose claim is released. @param leavesOpen true if the next claim is to find the session left open */
export function ownerAfterRelease({ leavesOpen = false }: { readonly leavesOpen?: boolean | undefined }): string | null {
  return leavesOpen ? LEFT_OPEN_OWNER : null;
}

/** An owner that is alive. */
export interface LivingOwner {
  readonly id: string;
  /** Such as `process 12 on host a`. */
  readonly text: string;
  /** The HTTP address of its process. Undefined for this owner itself, and if none was announced. */
  readonly address: string | undefined;
  /** Whether its process has the same pid and host name as this one: it is this process, or one in another container. */
  readonly mayBeThisProcess: boolean;
}

/** An owner, and the database's time when it was read. */
interface SeenOwner extends OwnerTable {
  readonly now: number;
}

/** An owner, with the description that its process announced, if any. */
export interface DescribedOwner extends OwnerTable {
  readonly isAlive: boolean;
  readonly silentMs: number;
  readonly started_at: number | null;
  readonly about: string | null;
  readonly events_behind: number | null;
}

export class Owner {
  readonly #connection: SqlConnection;
  readonly #clock: Pick<Clock, "now">;
  readonly #clockWatch: ClockWatch;
  #id: string | undefined;
  #registered = false;
  /** When the last heartbeat that was stored was sent, by this process's clock; undefined before the first. */
  #renewedAt: number | undefined;
  /** When this owner was last cut off from the database, from its last heartbeat before until others have had time to send theirs again. */
  #cutOff: { readonly from: number; readonly until: number } | undefined;
  /** Undefined until `announce` was called. */
  #startedAt: number | undefined;
  #description: ProcessDescription = {};
  /** The highest sequence number that readers of the feed have reached since the last heartbeat. */
  #readTo: number | undefined;
  /** Settles with the heartbeats in progress: one that arrived after `unregister` would revive the owner. */
  #heartbeats: Promise<unknown> = Promise.resolve();

  constructor(connection: SqlConnection) {
    this.#connection = connection;
    const { leaseMs, clock = systemPorts.clock } = connection.liveness;
    this.#clock = clock;
    this.#clockWatch = new ClockWatch({ clock, toleranceMs: leaseMs / HEARTBEATS_IN_LEASE });
  }

  /** Undefined until the owner is first registered. */
  get id(): string | undefined {
    return this.#id;
  }

  /** Whether the owner's row is committed. */
  get isRegistered(): boolean {
    return this.#registered;
  }

  /** Writes the owner's row if necessary, in the transaction that claims the first session. */
  async register(transaction: Transaction<Tables>): Promise<void> {
    if (this.#registered) return;
    const now = await this.#now(transaction);
    const newId = await evaluateExpression(this.#connection.randomText, transaction);
    const id = (this.#id ??= newId); // another transaction may have set it meanwhile
    if (!this.#isClockDoubtful)
      await transaction
        .deleteFrom("haft_owner")
        .where("seen_at", "<", now - OWNER_RETENTION_MS)
        .execute();
    if (this.#startedAt !== undefined) await deleteStaleProcesses(transaction);
    await this.#writeHeartbeat(transaction, id, now);
  }

  /** Notes that the transaction of `register` is committed. */
  confirmRegistration(): void {
    if (this.#registered) return;
    this.#registered = true;
    this.#recordRenewal(this.#clock.now());
  }

  /** Adds to the description of this owner's process. */
  async announce(tables: Kysely<Tables>, description: ProcessDescription): Promise<void> {
    this.#description = mergeDescription(this.#description, description);
    this.#startedAt ??= await this.#now(tables);
    if (this.#registered) return this.sendHeartbeat(tables);
    await tables.transaction().execute((transaction) => this.register(transaction));
    this.confirmRegistration();
  }

  /** Notes that a reader of the feed has read up to a mark. */
  recordRead(mark: string): void {
    this.#readTo = Math.max(this.#readTo ?? 0, parseMark(mark).sequence);
  }

  /** Renews this owner's lease. */
  async sendHeartbeat(tables: Kysely<Tables>): Promise<void> {
    const id = this.#id;
    if (!this.#registered || id === undefined) return;
    const sentAt = this.#clock.now();
    const sending = this.#now(tables).then((now) => this.#writeHeartbeat(tables, id, now));
    this.#heartbeats = Promise.allSettled([this.#heartbeats, sending]);
    await sending;
    this.#recordRenewal(sentAt);
  }

  #recordRenewal(sentAt: number): void {
    const cutOff = this.#currentCutOff;
    if (cutOff !== undefined) this.#cutOff = { ...cutOff, until: this.#clock.now() + this.#cutOffMs };
    this.#renewedAt = Math.max(this.#renewedAt ?? -Infinity, sentAt);
  }

  get #cutOffMs(): number {
    return this.#connection.liveness.leaseMs * CUT_OFF_SHARE;
  }

  /** Set while the heartbeats of this owner have failed for so long that those of others may have failed too. */
  get #currentCutOff(): { readonly from: number; readonly until: number } | undefined {
    const from = this.#renewedAt;
    return from !== undefined && this.#clock.now() - from > this.#cutOffMs ? { from, until: Infinity } : undefined;
  }

  async #writeHeartbeat(tables: Kysely<Tables>, id: string, now: number): Promise<void> {
    const { address = null, ...rest } = this.#description;
    await tables
      .insertInto("haft_owner")
      .values({ id, host: hostname(), pid: process.pid, seen_at: now, address })
      .onConflict((conflict) => conflict.column("id").doUpdateSet({ seen_at: now, address }))
      .execute();
    if (this.#startedAt === undefined) return;
    const columns = { about: JSON.stringify(rest), events_behind: await this.#eventsBehind(tables) };
    await tables
      .insertInto("haft_process")
      .values({ owner: id, started_at: this.#startedAt, ...columns })
      .onConflict((conflict) => conflict.column("owner").doUpdateSet(columns))
      .execute();
    this.#readTo = undefined;
  }

  async #eventsBehind(tables: Kysely<Tables>): Promise<number | null> {
    const readTo = this.#readTo;
    if (readTo === undefined) return null;
    const last = await tables.selectFrom("haft_event").select("sequence").orderBy("sequence", "desc").limit(1).executeTakeFirst();
    return Math.max(0, (last?.sequence ?? 0) - readTo);
  }

  /** Releases everything by deleting the owner: the claims of a missing owner are free. */
  async unregister(tables: Kysely<Tables>): Promise<void> {
    this.#registered = false;
    await this.#heartbeats;
    if (this.#id === undefined) return;
    if (this.#startedAt !== undefined) await tables.deleteFrom("haft_process").where("owner", "=", this.#id).execute();
    await tables.deleteFrom("haft_owner").where("id", "=", this.#id).execute();
  }

  /** Describes an owner, which may be this one; undefined if it is gone. */
  async describe(tables: Kysely<Tables>, id: string): Promise<LivingOwner | undefined> {
    const [row] = await this.#read(tables, [id]);
    if (row === undefined || (id !== this.#id && !this.#isAlive(row))) return undefined;
    return {
      id,
      text: `process ${row.pid} on host ${row.host}`,
      address: id === this.#id ? undefined : (row.address ?? undefined),
      mayBeThisProcess: row.pid === process.pid && row.host === hostname(),
    };
  }

  /** Filters the ids of owners that are gone. This owner never is. */
  async filterGone(tables: Kysely<Tables>, ids: readonly string[]): Promise<readonly string[]> {
    const others = [...new Set(ids)].filter((id) => id !== this.#id);
    if (others.length === 0) return [];
    const rows = await this.#read(tables, others);
    const living = new Set(rows.filter((row) => this.#isAlive(row)).map(({ id }) => id));
    return others.filter((id) => !living.has(id));
  }

  /** The ids of all living owners. */
  async listLiving(tables: Kysely<Tables>): Promise<readonly string[]> {
    return (await this.#read(tables)).filter((row) => this.#isAlive(row)).map(({ id }) => id);
  }

  /** All owners, whether each is alive, and the descriptions they announced. */
  async listAll(tables: Kysely<Tables>): Promise<readonly DescribedOwner[]> {
    const rows = await this.#read(tables);
    const processes = await tables.selectFrom("haft_process").select(["owner", "started_at", "about", "events_behind"]).execute();
    const described = new Map(processes.map(({ owner, ...description }) => [owner, description]));
    return rows.map(({ now, ...row }) => {
      const { started_at = null, about = null, events_behind = null } = described.get(row.id) ?? {};
      const seen = { ...row, seen_at: readStoredTime(row.seen_at), started_at, about, events_behind };
      const isAlive = row.id === this.#id || this.#isAlive({ ...seen, now });
      return { ...seen, isAlive, silentMs: Math.max(0, now - seen.seen_at) };
    });
  }

  /** Describes the other owners whose process runs, even if they have been silent: a stopped process may hold a lock of the database. */
  async describeOthers(tables: Kysely<Tables>): Promise<readonly string[]> {
    const rows = (await this.#read(tables)).toSorted((one, other) => one.seen_at - other.seen_at);
    const running = rows.filter((row) => row.id !== this.#id && (this.#isOnThisHost(row) ? isRunning(row.pid) : this.#isAlive(row)));
    return running.map(
      ({ pid, host, seen_at, now }) => `process ${pid} on host ${host}, last seen ${Math.round((now - seen_at) / 1_000)} s ago`,
    );
  }

  /**
   * Whether an owner is alive. A process of this host that has ended is not; a process that cannot be seen from here is while its lease lasts. After
   * the database's clock was set, all owners count as alive for the length of a lease: those that live have renewed it by then. The same applies for
   * a while after this process could not reach the database.
   */
  #isAlive(row: SeenOwner): boolean {
    if (this.#isOnThisHost(row) && !isRunning(row.pid)) return false;
    const silentMs = row.now - row.seen_at;
    const { leaseMs } = this.#connection.liveness;
    if (Math.abs(silentMs) <= leaseMs) return true;
    // a time in the future shows that the clock was set back
    if (silentMs < 0) return this.#clockWatch.steadyForMs < leaseMs;
    return this.#isClockDoubtful || this.#wasCutOffSince(silentMs - leaseMs);
  }

  /** Whether an owner whose lease ended so long ago may have been unable to renew it, because the database could not be reached. */
  #wasCutOffSince(overdueMs: number): boolean {
    const now = this.#clock.now();
    const cutOff = this.#currentCutOff ?? this.#cutOff;
    return cutOff !== undefined && now < cutOff.until && overdueMs <= now - cutOff.from;
  }

  /** Whether a time that seems older than a lease may be recent, because the clock was set. */
  get #isClockDoubtful(): boolean {
    return this.#clockWatch.wasSet && this.#clockWatch.steadyForMs < this.#connection.liveness.leaseMs;
  }

  #isOnThisHost({ host }: OwnerTable): boolean {
    return this.#connection.liveness.seesProcesses && host === hostname();
  }

  /** Reads owners together with the database's time in one statement: between two, the clock might be set, or a connection be waited for. */
  async #read(tables: Kysely<Tables>, ids?: readonly string[]): Promise<readonly SeenOwner[]> {
    const all = tables.selectFrom("haft_owner").selectAll().select(this.#connection.databaseTime.as("now"));
    return await this.#clockWatch.measure(
      () => (ids === undefined ? all : all.where("id", "in", ids)).execute(),
      ([row]) => row?.now,
    );
  }

  #now(tables: Kysely<Tables>): Promise<number> {
    return this.#clockWatch.measure(
      () => evaluateExpression(this.#connection.databaseTime, tables),
      (now) => now,
    );
  }
}

/** Deletes the descriptions of owners that no longer exist. */
async function deleteStaleProcesses(tables: Kysely<Tables>): Promise<void> {
  const there = tables.selectFrom("haft_owner").select("id");
  await tables.deleteFrom("haft_process").where("owner", "not in", there).execute();
}

/** Whether a process of this host runs. A killed one that its parent has not waited for, as in a container without an init process, does not. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error: unknown) {
    return error instanceof Error && "code" in error && error.code === "EPERM"; // it exists and belongs to another user
  }
  return !isZombie(pid);
}

/** Whether only the exit code of a process is left, on Linux. */
function isZombie(pid: number): boolean {
  if (process.platform !== "linux") return false;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return /^[ZX]/u.test(stat.slice(stat.lastIndexOf(")") + 2)); // the name before it may contain brackets
  } catch {
    return false;
  }
}
