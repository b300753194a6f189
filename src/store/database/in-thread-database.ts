/** The database of a store in the thread that uses it: one that is reached over a network, or a file where a bundle has no thread for it. */
import { ToolError } from "../../core/error.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { systemPorts } from "../../core/system-ports.ts";
import type { LogAnswer, LogDatabase, LogRequests } from "../records/log-database.ts";
import type { SqlDatabase } from "../sql/sql-database.ts";

export interface InThreadOptions {
  /** For messages: `The store /a/b.db`. */
  readonly place: string;
  /** How often the owner says that it lives. */
  readonly heartbeatMs: number;
  /** Makes the database, not opened. */
  readonly connect: () => Promise<SqlDatabase>;
  /** Clock and log, for tests. @default those of the system */
  readonly ports?: { readonly clock: Pick<Clock, "timer">; readonly log: Pick<Log, "warn"> };
}

/** An open that takes longer says in the log what is waited for. */
const SAID_AFTER_MS = 2_000;

/** An idle store does not keep the process alive. */
export class InThreadDatabase implements LogDatabase {
  readonly #options: InThreadOptions;
  #database: SqlDatabase | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(options: InThreadOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { place, ports = systemPorts } = this.#options;
    const say = (): void => ports.log.warn(`${place} has not answered for ${SAID_AFTER_MS / 1_000} s, and is waited for.`);
    const cancel = ports.clock.timer(say, SAID_AFTER_MS);
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
    this.#heartbeat = setInterval(() => void beat(database), this.#options.heartbeatMs).unref();
  }

  async ask<Method extends keyof LogRequests>(method: Method, ...argument: Parameters<LogRequests[Method]>): Promise<LogAnswer<Method>> {
    return this.#opened.ask(method, ...argument);
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

async function beat(database: SqlDatabase): Promise<void> {
  try {
    await database.beat();
  } catch {
    // The next one makes up for one that is missed
  }
}

async function closeQuietly(database: SqlDatabase): Promise<void> {
  try {
    await database.close();
  } catch {
    // The error that kept it from being opened is reported
  }
}
