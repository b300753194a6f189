/** One task of a client: a call that continues after its request was answered. */
import type { JsonObject, JsonValue } from "../../../core/base/json.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import type { Clock } from "../../../core/ports.ts";
import type { InputRequest } from "../exchange.ts";

export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** How a task has ended: with the result of `tools/call`, or with a protocol error. */
export type TaskEnd =
  | { readonly status: "completed" | "cancelled"; readonly result: JsonObject }
  | { readonly status: "failed"; readonly error: TaskError };

/** A JSON-RPC error. */
export interface TaskError {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonValue;
}

/** The questions of a task, and the way of their answers to the process that runs it. */
export interface TaskInput {
  /** Questions that wait for an answer, by key. */
  readonly requests: ReadonlyMap<string, InputRequest>;
  /** Passes answers on, by key. Answers to no question are ignored. */
  deliverAnswers(answers: ReadonlyMap<string, unknown>): void | Promise<void>;
}

export interface ServedTaskOptions {
  /** The id for the client: only the same caller can find the task by it. */
  readonly id: string;
  readonly clock: Pick<Clock, "wallTime">;
  readonly ttlMs: number | null;
  readonly pollIntervalMs: number;
  /** In wall-clock milliseconds. @default now */
  readonly createdAt?: number;
  /** undefined for a task that had ended before it was found again, and for one in a process that cannot be reached. */
  readonly input?: TaskInput;
  /** Requests the cancellation of the call. */
  readonly cancel?: () => void;
}

/** A task as the protocol defines it. @see https://modelcontextprotocol.github.io/ext-tasks/specification/2026-07-28/tasks.html */
export class ServedTask {
  readonly id: string;
  readonly input: TaskInput | undefined;
  readonly #options: ServedTaskOptions;
  readonly #createdAt: number;
  readonly #listeners = new Set<(task: ServedTask) => void>();
  #updatedAt: number;
  #statusMessage: string | undefined;
  #end: TaskEnd | undefined;
  #lastNotified: string;

  constructor(options: ServedTaskOptions) {
    this.id = options.id;
    this.input = options.input;
    this.#options = options;
    this.#createdAt = options.createdAt ?? options.clock.wallTime();
    this.#updatedAt = this.#createdAt;
    this.#lastNotified = this.situation;
  }

  get status(): TaskStatus {
    if (this.#end !== undefined) return this.#end.status;
    return (this.input?.requests.size ?? 0) > 0 ? "input_required" : "working";
  }

  /** Its status and the keys of its questions: while they are equal, nothing has changed that a client is notified of. */
  get situation(): string {
    return [this.status, ...(this.input?.requests.keys() ?? [])].join("\n");
  }

  /** How the task ended; undefined while it runs. */
  get end(): TaskEnd | undefined {
    return this.#end;
  }

  setStatusMessage(message: string): void {
    this.#statusMessage = message.slice(0, MAX_MESSAGE_CHARS);
    this.#updatedAt = this.#options.clock.wallTime();
  }

  /** Calls the listeners if the status or the questions have changed. @param at wall-clock milliseconds. @default now */
  notifyIfChanged(at?: number): void {
    const { situation } = this;
    if (situation === this.#lastNotified) return;
    this.#lastNotified = situation;
    this.#updatedAt = at ?? this.#options.clock.wallTime();
    for (const listener of this.#listeners) listener(this);
  }

  /** Ends the task; ignored if it has ended. @param at wall-clock milliseconds. @default now */
  finish(end: TaskEnd, at?: number): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.notifyIfChanged(at);
  }

  /** Calls the listeners a last time, because another process runs it now: it does not change here any more, and must be looked up again. */
  markTakenOver(): void {
    for (const listener of this.#listeners) listener(this);
  }

  /** Requests cancellation; the task may still end otherwise. */
  cancel(): void {
    if (this.#end === undefined) this.#options.cancel?.();
  }

  /** Calls the listener when the status or the questions change. Returns a function that stops this. */
  onChange(listener: (task: ServedTask) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The task without result and questions, for revision 2026-07-28. */
  get facts(): JsonObject {
    const { ttlMs, pollIntervalMs } = this.#options;
    return { ...this.#commonFacts(), ttlMs, pollIntervalMs };
  }

  /** The task with its result, error or questions, for revision 2026-07-28. */
  get details(): JsonObject {
    const end = this.#end;
    if (end?.status === "failed") return { ...this.facts, error: omitUndefined({ ...end.error }) };
    if (end?.status === "completed") return { ...this.facts, result: end.result };
    const requests = this.input?.requests ?? NO_REQUESTS;
    if (end !== undefined || requests.size === 0) return this.facts;
    const inputRequests = Object.fromEntries(Array.from(requests, ([key, { method, params }]) => [key, { method, params }]));
    return { ...this.facts, inputRequests };
  }

  /** The task for revision 2025-11-25. */
  get legacyFacts(): JsonObject {
    const { ttlMs, pollIntervalMs } = this.#options;
    return { ...this.#commonFacts(), ttl: ttlMs, pollInterval: pollIntervalMs };
  }

  #commonFacts(): JsonObject {
    return omitUndefined({
      taskId: this.id,
      status: this.status,
      statusMessage: this.#statusMessage,
      createdAt: new Date(this.#createdAt).toISOString(),
      lastUpdatedAt: new Date(this.#updatedAt).toISOString(),
    });
  }
}

const NO_REQUESTS: TaskInput["requests"] = new Map();
const MAX_MESSAGE_CHARS = 1_000;
