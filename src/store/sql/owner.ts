/** The owners of open sessions: one row for each store object, kept fresh while its process lives. */
import { hostname } from "node:os";
import type { Kysely, Transaction } from "kysely";
import { addToDescription, type ProcessDescription } from "../../core/process-store.ts";
import { systemPorts } from "../../core/system-ports.ts";
import { ClockWatch } from "./clock-watch.ts";
import { valueOf } from "./database-time.ts";
import { readMark } from "../records/feed-mark.ts";
import { HEARTBEATS_IN_LEASE } from "../records/store-options.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { readableTime } from "../records/stored-text.ts";
import type { OwnerTable, Tables } from "./tables.ts";

/** Owners that ended without closing are forgotten after a day. */
const FORGOTTEN_MS = 86_400_000;

/** In place of an owner that is gone: none has this id. */
const GONE = "";

/** The owner of a session whose claim is given up. @param leavesOpen the next claim is to find that the session was left open */
export function ownerAfter({ leavesOpen = false }: { readonly leavesOpen?: boolean | undefined }): string | null {
  return leavesOpen ? GONE : null;
}

/** An owner that lives. */
export interface LivingOwner {
  readonly id: string;
  /** `process 12 on host a`. */
  readonly text: string;
  /** Where its process is reached over HTTP. Undefined for this owner itself. */
  readonly address: string | undefined;
  /** Whether its process has the number and the host name of this one: it is this one, or that of another container. */
  readonly mayBeThisProcess: boolean;
}

/** An owner, and the database's time when it was read. */
interface SeenOwner extends OwnerTable {
  readonly now: number;
}

/** An owner, and the description of its process where it announced one. */
export interface DescribedOwner extends OwnerTable {
  readonly isAlive: boolean;
  readonly silentMs: number;
  readonly started_at: number | null;
  readonly about: string | null;
  readonly events_behind: number | null;
}

export class Owner {
  readonly #connection: SqlConnection;
  readonly #watch: ClockWatch;
  #id: string | undefined;
  #registered = false;
  /** Undefined until it announced itself. */
  #startedAt: number | undefined;
  #description: ProcessDescription = {};
  /** Where readers of the feed have come to since the last beat: the number of an event. */
  #readTo: number | undefined;
  /** Ends with the beats under way: one that came after the owner has left would make it live again. */
  #beats: Promise<unknown> = Promise.resolve();

  constructor(connection: SqlConnection) {
    this.#connection = connection;
    const { leaseMs, clock = systemPorts.clock } = connection.liveness;
    this.#watch = new ClockWatch({ clock, toleranceMs: leaseMs / HEARTBEATS_IN_LEASE });
  }

  /** Undefined until something was first claimed. */
  get id(): string | undefined {
    return this.#id;
  }

  /** Whether its row is there. */
  get isRegistered(): boolean {
    return this.#registered;
  }

  /** Makes sure of the row, in the transaction that claims the first session. */
  async register(transaction: Transaction<Tables>): Promise<void> {
    if (this.#registered) return;
    const now = await this.#now(transaction);
    const newId = await valueOf(this.#connection.randomText, transaction);
    const id = (this.#id ??= newId); // another transaction may have been quicker
    if (!this.#isClockDoubtful)
      await transaction
        .deleteFrom("haft_owner")
        .where("seen_at", "<", now - FORGOTTEN_MS)
        .execute();
    if (this.#startedAt !== undefined) await forgetProcesses(transaction);
    await this.#beat(transaction, id, now);
  }

  /** The transaction of `register` is committed. */
  confirm(): void {
    this.#registered = true;
  }

  /** Adds to the description of this owner's process. */
  async announce(tables: Kysely<Tables>, description: ProcessDescription): Promise<void> {
    this.#description = addToDescription(this.#description, description);
    this.#startedAt ??= await this.#now(tables);
    if (this.#registered) return this.beat(tables);
    await tables.transaction().execute((transaction) => this.register(transaction));
    this.confirm();
  }

  /** Notes that a reader of the feed has read up to a mark. */
  noteRead(mark: string): void {
    this.#readTo = Math.max(this.#readTo ?? 0, readMark(mark).sequence);
  }

  /** Says that this owner lives. */
  async beat(tables: Kysely<Tables>): Promise<void> {
    const id = this.#id;
    if (!this.#registered || id === undefined) return;
    const beat = this.#now(tables).then((now) => this.#beat(tables, id, now));
    this.#beats = Promise.allSettled([this.#beats, beat]);
    await beat;
  }

  async #beat(tables: Kysely<Tables>, id: string, now: number): Promise<void> {
    const { address = null, ...rest } = this.#description;
    await tables
      .insertInto("haft_owner")
      .values({ id, host: hostname(), pid: process.pid, seen_at: now, address })
      .onConflict((conflict) => conflict.column("id").doUpdateSet({ seen_at: now, address }))
      .execute();
    if (this.#startedAt === undefined) return;
    const told = { about: JSON.stringify(rest), events_behind: await this.#eventsBehind(tables) };
    await tables
      .insertInto("haft_process")
      .values({ owner: id, started_at: this.#startedAt, ...told })
      .onConflict((conflict) => conflict.column("owner").doUpdateSet(told))
      .execute();
    this.#readTo = undefined;
  }

  async #eventsBehind(tables: Kysely<Tables>): Promise<number | null> {
    const readTo = this.#readTo;
    if (readTo === undefined) return null;
    const last = await tables.selectFrom("haft_event").select("sequence").orderBy("sequence", "desc").limit(1).executeTakeFirst();
    return Math.max(0, (last?.sequence ?? 0) - readTo);
  }

  /** Gives up everything: the claims of an owner that is gone are free. */
  async leave(tables: Kysely<Tables>): Promise<void> {
    this.#registered = false;
    await this.#beats;
    if (this.#id === undefined) return;
    if (this.#startedAt !== undefined) await tables.deleteFrom("haft_process").where("owner", "=", this.#id).execute();
    await tables.deleteFrom("haft_owner").where("id", "=", this.#id).execute();
  }

  /** An owner by its id, this one included; undefined when it is gone. */
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

  /** Those of some owners that are gone; this one never is. */
  async gone(tables: Kysely<Tables>, ids: readonly string[]): Promise<readonly string[]> {
    const others = [...new Set(ids)].filter((id) => id !== this.#id);
    if (others.length === 0) return [];
    const rows = await this.#read(tables, others);
    const living = new Set(rows.filter((row) => this.#isAlive(row)).map(({ id }) => id));
    return others.filter((id) => !living.has(id));
  }

  /** The ids of all owners that live. */
  async living(tables: Kysely<Tables>): Promise<readonly string[]> {
    return (await this.#read(tables)).filter((row) => this.#isAlive(row)).map(({ id }) => id);
  }

  /** All owners, and whether each lives, with what they announced. */
  async all(tables: Kysely<Tables>): Promise<readonly DescribedOwner[]> {
    const rows = await this.#read(tables);
    const processes = await tables.selectFrom("haft_process").select(["owner", "started_at", "about", "events_behind"]).execute();
    const described = new Map(processes.map(({ owner, ...told }) => [owner, told]));
    return rows.map(({ now, ...row }) => {
      const { started_at = null, about = null, events_behind = null } = described.get(row.id) ?? {};
      const seen = { ...row, seen_at: readableTime(row.seen_at), started_at, about, events_behind };
      const isAlive = row.id === this.#id || this.#isAlive({ ...seen, now });
      return { ...seen, isAlive, silentMs: Math.max(0, now - seen.seen_at) };
    });
  }

  /** Other owners whose process runs, however long they were silent: one that is stopped may hold a lock of the database. */
  async others(tables: Kysely<Tables>): Promise<readonly string[]> {
    const rows = (await this.#read(tables)).toSorted((one, other) => one.seen_at - other.seen_at);
    const running = rows.filter((row) => row.id !== this.#id && (this.#isHere(row) ? isRunning(row.pid) : this.#isAlive(row)));
    return running.map(
      ({ pid, host, seen_at, now }) => `process ${pid} on host ${host}, last seen ${Math.round((now - seen_at) / 1_000)} s ago`,
    );
  }

  /**
   * A process that is gone holds nothing; one that cannot be seen from here is believed as long as it is heard of. After the database's
   * clock was set, all are believed for as long as a lease: those that live have said so again by then.
   */
  #isAlive(row: SeenOwner): boolean {
    if (this.#isHere(row) && !isRunning(row.pid)) return false;
    const silentMs = row.now - row.seen_at;
    const { leaseMs } = this.#connection.liveness;
    if (Math.abs(silentMs) <= leaseMs) return true;
    // A time that is still to come shows by itself that the clock was put back.
    return silentMs < 0 ? this.#watch.evenForMs < leaseMs : this.#isClockDoubtful;
  }

  /** A time that is longer ago than a lease may be new. */
  get #isClockDoubtful(): boolean {
    return this.#watch.wasSet && this.#watch.evenForMs < this.#connection.liveness.leaseMs;
  }

  #isHere({ host }: OwnerTable): boolean {
    return this.#connection.liveness.seesProcesses && host === hostname();
  }

  /** With the time in one statement: between two, the clock may be set, or a connection be waited for. */
  async #read(tables: Kysely<Tables>, ids?: readonly string[]): Promise<readonly SeenOwner[]> {
    const all = tables.selectFrom("haft_owner").selectAll().select(this.#connection.databaseTime.as("now"));
    return await this.#watch.reading(
      () => (ids === undefined ? all : all.where("id", "in", ids)).execute(),
      ([row]) => row?.now,
    );
  }

  #now(tables: Kysely<Tables>): Promise<number> {
    return this.#watch.reading(
      () => valueOf(this.#connection.databaseTime, tables),
      (now) => now,
    );
  }
}

/** Descriptions of owners that are not there any more. */
async function forgetProcesses(tables: Kysely<Tables>): Promise<void> {
  const there = tables.selectFrom("haft_owner").select("id");
  await tables.deleteFrom("haft_process").where("owner", "not in", there).execute();
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error: unknown) {
    return error instanceof Error && "code" in error && error.code === "EPERM"; // it is there and belongs to another user
  }
}
