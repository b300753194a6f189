/**
 * Notifies the processes of a store in PostgreSQL at once of writes, by `LISTEN` and `NOTIFY` on a separate connection.
 *
 * `NOTIFY` inside a transaction serializes the commits of the whole server, so notifications are sent separately from the writes: one statement names
 * everything written within 10 milliseconds, or 50 if only events were written, and does not wait for the disk. Notifications may be lost, so readers
 * also poll.
 */
import { hash } from "node:crypto";
import type { Client } from "pg";
import { parseJson } from "../../core/base/parse-json.ts";
import {
  CHANGED_PARTS,
  type ChangedPart,
  type StoreChange,
  type StoreFollower,
  type StoreNotifier,
} from "../../core/store/store-changes.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { isStringArray } from "../../core/base/json.ts";
import { loadPostgresDriver } from "./postgres-pool.ts";
import { KEEP_ALIVE, type PostgresSettings } from "./postgres-settings.ts";

/** Minimum time between two notifications, in milliseconds. */
const SEND_EVERY_MS = 10;
/** The same if only events were written, because each notification wakes every process of the store. */
const EVENTS_EVERY_MS = 50;
/** Maximum size of a payload, in bytes; PostgreSQL accepts less than 8,000. */
const MAX_BYTES = 7_900;
/** Maximum number of sessions or channels named in a notification. With more, readers check all of them. */
const MAX_NAMED = 500;
/** How often to probe a connection that may have died silently, and how long the answer may take, in milliseconds. */
const PROBE_EVERY_MS = 15_000;
const ANSWER_MS = 5_000;
/** How long to wait for a trial notification from another connection, in milliseconds. */
const TRIAL_MS = 2_000;
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 5_000;
/** How long `close` waits for a connection that is being made, in milliseconds. */
const CLOSE_MS = 500;

const NOTIFY = "select set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";

const ANY_CHANGE: StoreChange = Object.freeze({ parts: CHANGED_PARTS, sessionIds: undefined });

type Listener = (change: StoreChange) => void;

/** `ref` and `unref` are missing from the types of `pg`. */
type NotifierClient = Client & { ref(): void; unref(): void };

export class PostgresNotifier implements StoreNotifier {
  readonly #settings: Pick<PostgresSettings, "url" | "connectTimeoutMs">;
  readonly #clock: Clock;
  readonly #channel: string;
  /** Identifies this notifier's own notifications, which it receives too. */
  readonly #from = systemPorts.ids.next("notifier");
  readonly #log: Pick<Log, "warn">;
  readonly #listeners = new Set<Listener>();
  #client: NotifierClient | undefined;
  #connecting: Promise<void> | undefined;
  /** Whether notifications are known to arrive on the connection. */
  #isReceiving = false;
  #received = Promise.withResolvers<void>();
  #isWarned = false;
  #waitMs = FIRST_WAIT_MS;
  /** Settles with the last statement of the connection. */
  #lastStatement: Promise<unknown> = Promise.resolve();
  #cancelRetry: (() => void) | undefined;
  #cancelProbe: (() => void) | undefined;
  readonly #parts = new Set<ChangedPart>();
  /** Sessions whose events were written since the last notification; undefined if there are too many to name. */
  #sessions: Set<string> | undefined = new Set();
  /** As `#sessions`, for channels. */
  #channels: Set<string> | undefined = new Set();
  #sending: Promise<void> | undefined;
  #cancelSend: (() => void) | undefined;
  /** When the next notification is planned; Infinity if none is. */
  #sendAt = Infinity;
  #sentAt = -Infinity;
  #isClosed = false;

  constructor(
    settings: Pick<PostgresSettings, "url" | "schema" | "connectTimeoutMs">,
    { clock, log }: { readonly clock: Clock; readonly log: Pick<Log, "warn"> } = systemPorts,
  ) {
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
    this.#channel = `haft_${hash("sha256", settings.schema).slice(0, 32)}`;
  }

  notify({ parts, sessionIds, channels }: StoreChange): void {
    if (this.#isClosed) return;
    for (const part of parts) this.#parts.add(part);
    this.#sessions = mergeNames(this.#sessions, sessionIds);
    if (parts.includes("channels")) this.#channels = mergeNames(this.#channels, channels);
    this.#scheduleSend();
  }

  follow(listener: Listener): StoreFollower {
    const isLive = (): boolean => this.#client !== undefined && this.#isReceiving;
    const own: Listener = (change) => listener(change);
    this.#listeners.add(own);
    this.#connect();
    return {
      get isLive() {
        return isLive();
      },
      stop: () => void this.#listeners.delete(own),
    };
  }

  /** Sends the noted changes if connected, then closes. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const cancel of [this.#cancelRetry, this.#cancelProbe, this.#cancelSend]) cancel?.();
    this.#listeners.clear();
    if (this.#connecting !== undefined) await waitAtMost(CLOSE_MS, this.#connecting);
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined) return;
    client.ref(); // keep the process alive until the connection is closed
    await waitAtMost(ANSWER_MS, this.#closeClient(client));
    client.unref(); // a dead connection may take minutes to close
  }

  async #closeClient(client: Client): Promise<void> {
    await this.#sending;
    await this.#send(client);
    await client.end().catch(() => {});
  }

  #scheduleSend(): void {
    if (this.#parts.size === 0 || this.#sending !== undefined || this.#isClosed) return;
    if (this.#client === undefined) return this.#connect(); // connecting plans again
    const clock = this.#clock;
    const isOfEvents = this.#parts.size === 1 && this.#parts.has("events");
    const sendAt = this.#sentAt + (isOfEvents ? EVENTS_EVERY_MS : SEND_EVERY_MS);
    if (sendAt >= this.#sendAt) return;
    this.#cancelSend?.();
    this.#sendAt = sendAt;
    const waitMs = sendAt - clock.now();
    const send = (): void => {
      this.#cancelSend = undefined;
      this.#sendAt = Infinity;
      const client = this.#client; // a new one if the connection was lost meanwhile
      if (client === undefined) return this.#connect();
      this.#sentAt = clock.now();
      this.#sending = this.#send(client).finally(() => {
        this.#sending = undefined;
        this.#scheduleSend();
      });
    };
    if (waitMs <= 0) send();
    else this.#cancelSend = clock.timer(send, waitMs, { background: true });
  }

  async #send(client: Client): Promise<void> {
    if (this.#parts.size === 0) return;
    const payload = this.#payload();
    this.#parts.clear();
    this.#sessions = new Set();
    this.#channels = new Set();
    try {
      await this.#runStatement(client, NOTIFY, [this.#channel, payload]);
    } catch {
      // a broken connection is replaced, and readers also poll
    }
  }

  #payload(): string {
    const parts = [...this.#parts];
    const sessionIds = this.#sessions && [...this.#sessions];
    const named = JSON.stringify({ from: this.#from, parts, sessionIds, channels: this.#channels && [...this.#channels] });
    return Buffer.byteLength(named) <= MAX_BYTES ? named : JSON.stringify({ from: this.#from, parts });
  }

  #connect(): void {
    if (this.#isClosed || this.#client !== undefined || this.#connecting !== undefined || this.#cancelRetry !== undefined) return;
    this.#connecting = this.#open().finally(() => {
      this.#connecting = undefined;
      if (this.#client === undefined) this.#retry();
      else this.#scheduleSend();
    });
  }

  async #open(): Promise<void> {
    let client: NotifierClient | undefined;
    try {
      client = await this.#createClient();
      const opened = client;
      const lost = new AbortController();
      const lose = (): void => {
        lost.abort(new Error("The connection was lost."));
        this.#handleLoss(opened);
      };
      client.on("error", lose);
      client.on("end", lose);
      client.on("notification", ({ payload }) => this.#handlePayload(payload ?? ""));
      await client.connect();
      client.unref(); // the connection does not keep the process alive
      this.#lastStatement = client.query(`listen ${this.#channel}`);
      await this.#lastStatement;
      await this.#testDelivery(lost.signal);
      lost.signal.throwIfAborted();
      if (this.#isClosed) throw new Error("The store was closed meanwhile.");
      this.#client = client;
      this.#waitMs = FIRST_WAIT_MS;
      this.#scheduleProbe(client);
      this.#notifyListeners(ANY_CHANGE); // writes before this were not notified
    } catch {
      await client?.end().catch(() => {});
    }
  }

  async #createClient(): Promise<NotifierClient> {
    const { url, connectTimeoutMs } = this.#settings;
    const { Client: NewClient } = await loadPostgresDriver();
    return new NewClient({
      connectionString: url,
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: ANSWER_MS,
      ...KEEP_ALIVE,
      application_name: "haft notifier",
    }) as NotifierClient;
  }

  /**
   * Tests whether notifications arrive. A proxy that gives each transaction another connection accepts `LISTEN`, but delivers nothing. The trial is
   * sent from a separate connection: through such a proxy, a connection's own notification may arrive with the answer.
   *
   * @param lost aborts when the listening connection is lost; the result is unknown then
   */
  async #testDelivery(lost: AbortSignal): Promise<void> {
    this.#isReceiving = false;
    const heard = (this.#received = Promise.withResolvers());
    lost.addEventListener("abort", () => heard.resolve(), { once: true });
    const other = await this.#createClient();
    other.on("error", () => {});
    try {
      const connecting = other.connect();
      other.unref(); // nor does this one, if the server does not answer
      await connecting;
      await other.query(NOTIFY, [this.#channel, JSON.stringify({ from: this.#trial, parts: [] })]);
    } catch {
      this.#isReceiving = true; // the test failed, for example because the server has no connection left
      return;
    } finally {
      void other.end().catch(() => {});
    }
    if (!lost.aborted) await waitAtMost(TRIAL_MS, heard.promise);
    if (this.#isReceiving || lost.aborted || this.#isWarned || this.#isClosed) return;
    this.#isWarned = true;
    this.#log.warn(
      "No notifications of PostgreSQL arrive, as is the case through PgBouncer in transaction mode: the store polls twice a second for what other processes write. With notify: false (notify = false in [store]) it does not expect notifications.",
    );
  }

  get #trial(): string {
    return `${this.#from}/trial`;
  }

  #retry(): void {
    if (this.#isClosed) return;
    this.#cancelRetry = this.#clock.timer(
      () => {
        this.#cancelRetry = undefined;
        if (this.#listeners.size > 0 || this.#parts.size > 0) this.#connect();
      },
      this.#waitMs,
      { background: true },
    );
    this.#waitMs = Math.min(2 * this.#waitMs, MAX_WAIT_MS);
  }

  #handleLoss(client: Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#cancelProbe?.();
    void client.end().catch(() => {});
    this.#retry();
  }

  /** Schedules a probe, because a connection whose other end is gone may stay open for hours. */
  #scheduleProbe(client: Client): void {
    this.#cancelProbe = this.#clock.timer(() => void this.#probe(client), PROBE_EVERY_MS, { background: true });
  }

  async #probe(client: Client): Promise<void> {
    try {
      await this.#runStatement(client, "select 1");
      if (this.#client === client && !this.#isClosed) this.#scheduleProbe(client);
    } catch {
      this.#handleLoss(client);
    }
  }

  /** Runs statements one after another, because a connection accepts only one at a time. */
  #runStatement(client: Client, statement: string, values: readonly string[] = []): Promise<unknown> {
    const ask = (): Promise<unknown> => client.query(statement, [...values]);
    return (this.#lastStatement = this.#lastStatement.then(ask, ask));
  }

  #handlePayload(payload: string): void {
    const change = parseChange(payload);
    if (change.from === this.#trial) {
      this.#isReceiving = true;
      return this.#received.resolve();
    }
    if (change.from !== this.#from && change.parts.length > 0) this.#notifyListeners(change);
  }

  #notifyListeners(change: StoreChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** Waits for some work, at most for a time, so that an unresponsive server does not block the caller. */
async function waitAtMost(ms: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = systemPorts.clock.timer(resolve, ms);
  await Promise.race([work, promise]);
  cancel();
}

/** Merges names into a set; undefined if there are too many, or if any name may have changed. */
function mergeNames(before: Set<string> | undefined, names: readonly string[] | undefined): Set<string> | undefined {
  if (before === undefined || names === undefined) return undefined;
  for (const name of names) before.add(name);
  return before.size > MAX_NAMED ? undefined : before;
}

/** Parses a notification. Any client of the database can send an invalid one, whose only effect is that anything may have changed. */
function parseChange(payload: string): StoreChange & { readonly from?: unknown } {
  try {
    const read = parseJson(payload) as { readonly [Field in "from" | keyof StoreChange]?: unknown }; // checked below
    const { from, parts: named, sessionIds, channels } = read;
    const parts = Array.isArray(named) ? CHANGED_PARTS.filter((part) => named.includes(part)) : CHANGED_PARTS;
    return { from, parts, sessionIds: readNames(sessionIds), channels: readNames(channels) };
  } catch {
    return ANY_CHANGE;
  }
}

function readNames(value: unknown): readonly string[] | undefined {
  return isStringArray(value) ? value : undefined;
}
