/** A database that runs in the thread of its store: one that is reached over a network, or a file in a bundle that has no worker file. */
import { ToolError } from "../../core/error.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import type { LogAnswer, LogDatabase, LogRequests } from "../records/log-database.ts";
import type { SqlDatabase } from "../sql/sql-database.ts";

export interface InThreadOptions {
  /** Where the store is, for messages: `The store /a/b.db`. */
  readonly place: string;
  /** How often the owner renews its lease, in milliseconds. */
  readonly heartbeatMs: number;
  /** Makes the database without opening it. */
  readonly connect: () => Promise<SqlDatabase>;
  /** Clock and log, for tests. @default those of the system */
  readonly ports?: { readonly clock: Pick<Clock, "timer">; readonly log: Pick<Log, "warn"> };
}

/** How long an open may take before a warning is logged, in milliseconds. */
const WARN_AFTER_MS = 2_000;

/** A database in this thread. While idle it does not keep the process alive. */
export class InThreadDatabase implements LogDatabase {
  readonly #options: InThreadOptions;
  #database: SqlDatabase | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(options: InThreadOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { place, ports = systemPorts } = this.#options;
    const warn = (): void => ports.log.warn(`${place} has not answered for ${WARN_AFTER_MS / 1_000} s; the call is still waiting.`);
    const cancel = ports.clock.timer(warn, WARN_AFTER_MS);
    try {
      await this.#open();
    } finally {
      cancel();
    }
  }

  async #open(): Promise<void> {
    const database = await this.#options.connect();
    try {
      await database.open();
    } catch (thrown: unknown) {
      await closeQuietly(database);
      throw thrown;
    }
    this.#database = database;
    // oxlint-disable-next-line no-restricted-globals -- real time, as in the thread of the other kind: other processes wait for it
    this.#heartbeat = setInterval(() => void sendHeartbeat(database), this.#options.heartbeatMs).unref();
  }

  async request<Method extends keyof LogRequests>(
    method: Method,
    ...argument: Parameters<LogRequests[Method]>
  ): Promise<LogAnswer<Method>> {
    return this.#opened.request(method, ...argument);
  }

  async close(): Promise<void> {
    clearInterval(this.#heartbeat);
    const database = this.#database;
    this.#database = undefined;
    await database?.close();
  }

  get #opened(): SqlDatabase {
    if (this.#database !== undefined) return this.#database;
    throw new ToolError("store_failed", `${this.#options.place} is not open.`);
  }
}

async function sendHeartbeat(database: SqlDatabase): Promise<void> {
  try {
    await database.sendHeartbeat();
  } catch {
    // the next heartbeat makes up for a missed one
  }
}

async function closeQuietly(database: SqlDatabase): Promise<void> {
  try {
    await database.close();
  } catch {
    // the error that kept the database from being opened is reported
  }
}
