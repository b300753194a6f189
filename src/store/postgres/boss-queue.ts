/** The queue of sessions in PostgreSQL: pg-boss, in a schema of its own next to the store's. */
import type { ConstructorOptions, PgBoss } from "pg-boss";
import { ToolError, describeThrown } from "../../core/error.ts";
import { loadPackage } from "../../core/system/lazy-package.ts";
import type { SessionQueue, TakeSessionsOptions, TakenSessions } from "../../core/store/session-queue.ts";
import { NO_FOLLOWER, type StoreChange, type StoreNotifier } from "../../core/store/store-changes.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { Batcher } from "../records/batcher.ts";
import { QueueConsumer } from "./queue-consumer.ts";
import { parseStoredText, toStoredKey, toStoredText } from "../records/stored-text.ts";
import { KEEP_ALIVE, redactUrl, type PostgresSettings } from "./postgres-settings.ts";

const QUEUE = "haft-sessions";
/** pg-boss writes the name of the schema into statements and functions. */
const SCHEMA_NAME = /^[A-Za-z_]\w{0,44}$/u;
/** Maximum size of a key, in bytes, so that it fits into an index. */
const KEY_BYTES = 1_000;
/** Maximum number of sessions offered by one statement. */
const OFFER_BATCH_SIZE = 1_000;

/** A session is held while its jobs run. A day is the maximum of pg-boss; after it, the store still refuses the session to other processes. */
const HELD_SECONDS = 24 * 60 * 60;
const QUEUE_OPTIONS = {
  policy: "exclusive", // a session is in the queue at most once, waiting or taken
  expireInSeconds: HELD_SECONDS,
  heartbeatSeconds: 10,
  retryLimit: 1_000,
  retryDelay: 1,
  retryBackoff: true,
  retryDelayMax: 60,
  deleteAfterSeconds: 60,
} as const;

/** @see https://pgboss.io/api/constructor (2026-11) */
const BOSS_OPTIONS = {
  max: 4,
  schedule: false,
  superviseIntervalSeconds: 1,
  monitorIntervalSeconds: 1,
  maintenanceIntervalSeconds: 60,
  reindex: false,
  monitorVacuum: false,
  application_name: "haft",
  openTelemetry: { enabled: false }, // it would make a trace of each poll, twice a second
} as const satisfies ConstructorOptions;

/** How often to poll for offers, in milliseconds: without notifications, and with them, to find failed sessions that are due again. */
const POLL_MS = 500;
const POLL_NOTIFIED_MS = 1_000;

/** The data of an entry. pg-boss stores it as jsonb, which cannot hold every text. */
interface QueueData {
  /** The session id as JSON text. */
  readonly session: string;
}

/** Makes a queue that connects when it is opened. @param notifier notifies other processes of offers; without one they poll */
export function bossQueue(settings: PostgresSettings, notifier?: StoreNotifier): SessionQueue {
  return new BossQueue(settings, notifier);
}

class BossQueue implements SessionQueue {
  readonly #settings: PostgresSettings;
  readonly #notifier: StoreNotifier | undefined;
  readonly #listeners = new Set<(error: unknown) => void>();
  readonly #consumers = new Set<QueueConsumer<QueueData>>();
  /** Batches offers: those made while a statement runs go into the next one. */
  readonly #offers = new Batcher((ids: readonly string[]) => this.#insert([...new Set(ids)]));
  #opening: Promise<PgBoss> | undefined;
  #isClosed = false;

  constructor(settings: PostgresSettings, notifier: StoreNotifier | undefined) {
    this.#settings = settings;
    this.#notifier = notifier;
  }

  async open(): Promise<void> {
    await this.#whenOpen();
  }

  offer(sessionIds: readonly string[]): Promise<number> {
    return sessionIds.length === 0 ? Promise.resolve(0) : this.#offers.add(sessionIds);
  }

  async take(work: (sessionId: string) => Promise<void>, { concurrency, onError }: TakeSessionsOptions): Promise<TakenSessions> {
    const boss = await this.#whenOpen();
    this.#listeners.add(onError);
    const wakeOnChange = ({ parts }: StoreChange): void => {
      if (parts.includes("queue")) entries.wake();
    };
    const follower = this.#notifier?.follow(wakeOnChange) ?? NO_FOLLOWER;
    const { clock, random } = systemPorts;
    const entries = new QueueConsumer<QueueData>({
      boss,
      queue: QUEUE,
      work: ({ session }) => work(parseStoredText(session)),
      concurrency,
      clock,
      onError: (error) => onError(this.#toStoreError(error)),
      pollMs: () => (follower.isLive ? POLL_NOTIFIED_MS : POLL_MS) * (0.75 + random.next() / 2), // with jitter
    });
    this.#consumers.add(entries);
    return {
      stop: async () => {
        await entries.stop();
        follower.stop();
        this.#consumers.delete(entries);
        this.#listeners.delete(onError);
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const entries of this.#consumers) entries.abandon();
    await this.#offers.whenSettled();
    const boss = await this.#opening?.catch(() => undefined);
    await boss?.stop({ graceful: false });
  }

  #whenOpen(): Promise<PgBoss> {
    if (this.#isClosed) return Promise.reject(new ToolError("store_failed", `${this.#place} is closed.`, { retryable: false }));
    this.#opening ??= this.#start().catch((thrown: unknown) => {
      this.#opening = undefined; // the cause may be fixed, so the next call tries again
      throw this.#toStoreError(thrown);
    });
    return this.#opening;
  }

  async #start(): Promise<PgBoss> {
    const { PgBoss } = await loadBoss();
    const { url, migrate, connectTimeoutMs, answerTimeoutMs } = this.#settings;
    const boss = new PgBoss({
      ...BOSS_OPTIONS,
      connectionString: url,
      connectionTimeoutMillis: connectTimeoutMs,
      ...timeoutSettings(answerTimeoutMs),
      schema: bossSchema(this.#settings),
      migrate,
      createSchema: migrate,
    });
    boss.on("error", (error) => this.#notifyListeners(error));
    try {
      await boss.start();
      if ((await boss.getQueue(QUEUE)) === null) await boss.createQueue(QUEUE, QUEUE_OPTIONS);
    } catch (thrown: unknown) {
      await boss.stop({ graceful: false }).catch(() => {}); // the first error is reported
      throw thrown;
    }
    return boss;
  }

  async #insert(ids: readonly string[]): Promise<number> {
    const boss = await this.#whenOpen();
    let count = 0;
    try {
      for (let from = 0; from < ids.length; from += OFFER_BATCH_SIZE) {
        const part = ids.slice(from, from + OFFER_BATCH_SIZE);
        const offered = part.map((id) => ({ data: { session: toStoredText(id) }, singletonKey: toStoredKey(id, KEY_BYTES) }));
        count += (await boss.insert(QUEUE, offered, { returnId: true }))?.length ?? 0;
      }
    } catch (thrown: unknown) {
      throw this.#toStoreError(thrown);
    }
    if (count === 0) return 0;
    this.#notifier?.notify({ parts: ["queue"], sessionIds: [] });
    for (const entries of this.#consumers) entries.wake(); // this process does not receive its own notifications
    return count;
  }

  #notifyListeners(error: unknown): void {
    for (const listener of this.#listeners) listener(this.#toStoreError(error));
  }

  get #place(): string {
    return `The queue of jobs in ${redactUrl(this.#settings.url)} (schema ${bossSchema(this.#settings)})`;
  }

  #toStoreError(thrown: unknown): ToolError {
    if (thrown instanceof ToolError) return thrown;
    const why = describeThrown(thrown);
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : undefined;
    if (/pg-boss is not installed|database schema|migrat/iu.test(why) && code === undefined)
      return new ToolError("corrupt_record", `${this.#place} has no tables yet, or those of another version: ${why}`, {
        operatorHint: "Run haft store migrate with a role that may create tables.",
        cause: thrown,
      });
    const hint = code === "42501" ? { operatorHint: "Run haft store migrate with a role that may, and grant this one its tables." } : {};
    return new ToolError("store_failed", `${this.#place} cannot be used: ${why}${code === undefined ? "" : ` (${code})`}`, {
      retryable: code !== "42501",
      cause: thrown,
      ...hint,
    });
  }
}

/**
 * Settings of `pg`, which pg-boss passes on. Without them, a statement on a connection whose other end is gone would never end, and the queue could
 * neither offer nor take sessions while it is pending.
 */
function timeoutSettings(answerTimeoutMs: number): ConstructorOptions {
  const settings = { query_timeout: answerTimeoutMs, ...KEEP_ALIVE };
  return settings as ConstructorOptions; // the types of pg-boss omit these settings
}

/** The schema of pg-boss's tables. @throws ToolError `invalid_argument` if no name can be derived from the store's schema */
function bossSchema({ schema }: PostgresSettings): string {
  if (SCHEMA_NAME.test(schema)) return `${schema.toLowerCase()}_jobs`;
  throw new ToolError("invalid_argument", `The schema ${JSON.stringify(schema)} cannot be used with a queue of jobs.`, {
    hint: "Its name may contain only letters, digits and _, at most 45 of them.",
  });
}

function loadBoss(): Promise<typeof import("pg-boss")> {
  return loadPackage(() => import("pg-boss"), { name: "pg-boss", need: "jobs in several processes need it" });
}
