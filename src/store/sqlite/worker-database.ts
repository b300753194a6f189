/** The database of a store in a separate thread, which receives requests and answers them as messages. */
import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { ToolError, type ErrorInfo } from "../../core/error.ts";
import type { LogAnswer, LogDatabase, LogRequests } from "../records/log-database.ts";
import { sharedNow } from "./busy-wait.ts";
import { sqliteUnavailableError } from "./sqlite-error.ts";
import type { SqliteSettings } from "./sqlite-settings.ts";

export interface WorkerRequest {
  readonly id: number;
  readonly method: "open" | keyof LogRequests | "close";
  readonly argument: unknown;
  /** By `sharedNow`. */
  readonly sentAt: number;
}

export type WorkerAnswer = { readonly id: number; readonly value: unknown } | { readonly id: number; readonly error: ErrorInfo };

/** Hardly any object in the thread outlives its request. Without a limit, V8 would fill some 100 MB with young objects before it collects garbage. */
const WORKER_MEMORY = { maxYoungGenerationSizeMb: 8 } as const;

interface PendingRequest {
  resolve(value: unknown): void;
  reject(error: ToolError): void;
}

/** The file of the thread: TypeScript in the source, JavaScript in the package. Undefined in a bundle, which may not know its location. */
export function findWorkerFile(here: unknown = import.meta.url): URL | undefined {
  if (typeof here !== "string" || !here.startsWith("file:")) return undefined;
  const file = new URL(here.endsWith(".ts") ? "./sqlite-worker.ts" : "../store/sqlite/sqlite-worker.js", here);
  return existsSync(file) ? file : undefined;
}

/**
 * Keeps the process alive only while a request is pending.
 *
 * If the thread ends by itself, all pending and later requests reject with `store_failed`.
 */
export class WorkerDatabase implements LogDatabase {
  readonly #settings: SqliteSettings;
  readonly #file: URL;
  readonly #pending = new Map<number, PendingRequest>();
  #worker: Worker | undefined;
  #failure: ToolError | undefined;
  #count = 0;

  constructor(settings: SqliteSettings, file: URL) {
    this.#settings = settings;
    this.#file = file;
  }

  async open(): Promise<void> {
    this.#start();
    try {
      await this.#send("open");
    } catch (error: unknown) {
      await this.#stop();
      throw error;
    }
  }

  request<Method extends keyof LogRequests>(method: Method, ...argument: Parameters<LogRequests[Method]>): Promise<LogAnswer<Method>> {
    return this.#send(method, argument[0]) as Promise<LogAnswer<Method>>; // the thread returns the result of the method of the same name
  }

  async close(): Promise<void> {
    try {
      if (this.#failure === undefined) await this.#send("close");
    } finally {
      await this.#stop();
    }
  }

  #start(): void {
    this.#failure = undefined;
    const settings = { workerData: this.#settings, resourceLimits: WORKER_MEMORY, execArgv: warningFlags(), name: "haft-sqlite" };
    let worker: Worker;
    try {
      worker = new Worker(this.#file, settings);
    } catch (thrown: unknown) {
      throw sqliteUnavailableError(thrown, `The store ${this.#settings.path}`);
    }
    worker.unref();
    worker.on("message", (answer: WorkerAnswer) => this.#settle(answer));
    worker.on("error", (error) => this.#handleExit(worker, `its thread failed: ${error.message}`, error));
    worker.on("exit", (code) => this.#handleExit(worker, `its thread ended with exit code ${code}`));
    this.#worker = worker;
  }

  async #stop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #send(method: WorkerRequest["method"], argument?: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const worker = this.#worker;
      if (worker === undefined)
        return reject(this.#failure ?? new ToolError("store_failed", `The store ${this.#settings.path} is not open.`));
      const id = this.#count++;
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage({ id, method, argument, sentAt: sharedNow() } satisfies WorkerRequest);
      this.#pending.set(id, { resolve, reject });
      if (this.#pending.size === 1) worker.ref();
    });
  }

  #settle(answer: WorkerAnswer): void {
    const waiter = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    if (this.#pending.size === 0) this.#worker?.unref();
    if ("value" in answer) waiter?.resolve(answer.value);
    else waiter?.reject(new ToolError(answer.error.code, answer.error.message, answer.error));
  }

  /** Handles the end of the thread, which is a failure unless `#stop` was called. */
  #handleExit(worker: Worker, why: string, cause?: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#failure = new ToolError("store_failed", `The store ${this.#settings.path} can no longer be used: ${why}.`, {
      retryable: false,
      hint: "Acknowledged events are safe, all others are lost. Create a new store for the file.",
      cause,
    });
    for (const waiter of this.#pending.values()) waiter.reject(this.#failure);
    this.#pending.clear();
  }
}

/** The flags of this process that suppress warnings, such as the one of Node 22 about SQLite. Other flags are not passed to the thread. */
function warningFlags(): string[] {
  return process.execArgv.filter((flag) => /^--(?:no-warnings$|disable-warning=)/u.test(flag));
}
