/** Follows work that a server continues after it answered, in the terms of either era. */
import type { ProgressUpdate } from "../../core/context.ts";
import { ToolError } from "../../core/error.ts";
import { RemoteJob } from "../../core/remote-job.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { Clock } from "../../core/ports.ts";
import type { Answering } from "./answer-request.ts";
import type { Caller } from "./caller.ts";
import type { McpConnection } from "./connection.ts";
import { RpcFailure, ServerFault, WorkBegun } from "./failure.ts";
import { INTERNAL_ERROR } from "./rpc-codes.ts";
import { inputResponses } from "./input-rounds.ts";
import { pause, within } from "../../processes/pause.ts";

export interface TaskOptions {
  readonly connection: McpConnection;
  readonly caller: Caller;
  readonly answering: Answering;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: (update: ProgressUpdate) => void;
  /** Makes an output of the result that the call would have had, and an error of what went wrong. */
  readonly finish: (answer: unknown) => unknown;
  readonly explain: (error: unknown) => unknown;
}

const MIN_POLL_MS = 100;
const MAX_POLL_MS = 60_000;
const DEFAULT_POLL_MS = 1_000;
/** So often in a row may what passes go wrong while a task is followed: to ask again changes nothing. */
const MAX_BREAKS = 5;
const CANCEL_MS = 5_000;
const ENDED: ReadonlySet<unknown> = new Set(["completed", "failed", "cancelled"]);

/** The task in an answer to `tools/call`; undefined when it is the answer itself. */
export function taskIn(answer: unknown, era: "legacy" | "modern"): JsonObject | undefined {
  if (!isJsonObject(answer)) return undefined;
  const task = era === "modern" ? (answer["resultType"] === "task" ? answer : undefined) : answer["task"];
  return isJsonObject(task) && typeof task["taskId"] === "string" ? task : undefined;
}

/** The job behind a task. It is asked about until it has ended, as often as the server wants within bounds. */
export function taskJob(task: JsonObject, options: TaskOptions): RemoteJob {
  const followed = new FollowedTask(task, options);
  const leave = options.connection.callers.join(options.caller);
  const result = followed.result().finally(leave);
  result.catch(() => undefined); // a waiter gets the error; there need not be one
  return new RemoteJob({ id: followed.id, result, cancel: () => followed.cancel() });
}

class FollowedTask {
  readonly id: string;
  readonly #options: TaskOptions;
  #task: JsonObject;
  #said: JsonValue | undefined;
  /** It was asked for: what `tools/call` answers has no result yet. */
  #isRead = false;
  #breaks = 0;

  constructor(task: JsonObject, options: TaskOptions) {
    this.id = String(task["taskId"]);
    this.#task = task;
    this.#options = options;
  }

  async result(): Promise<unknown> {
    const { connection, finish, explain } = this.#options;
    try {
      return finish(connection.era === "modern" ? await this.#followModern() : await this.#followLegacy());
    } catch (error: unknown) {
      throw explain(error);
    }
  }

  async cancel(): Promise<void> {
    const { connection, clock } = this.#options;
    await within({ clock, limitMs: CANCEL_MS }, (signal) => connection.request("tasks/cancel", { taskId: this.id }, { signal }));
  }

  /** Revision 2025-11-25: `tasks/result` has the answer, and before it what the server wants to ask. */
  async #followLegacy(): Promise<unknown> {
    for (;;) {
      const { status } = this.#task;
      if (status === "cancelled") throw this.#cancelled();
      if (ENDED.has(status) || status === "input_required") {
        const answer = await this.#ask("tasks/result");
        if (answer !== undefined) return answer;
      }
      await this.#next();
    }
  }

  /** The tasks extension of 2026-07-28: `tasks/get` has everything. */
  async #followModern(): Promise<unknown> {
    const answered = new Set<string>();
    for (;;) {
      const { status, result, error, inputRequests } = this.#task;
      if (status === "cancelled") throw this.#cancelled();
      if (status === "completed" && result !== undefined) return result;
      if (status === "completed" && this.#isRead) throw begun("it says that its task is completed, and gives no result");
      if (status === "failed") throw failureOf(error, this.#task["statusMessage"]);
      if (status === "input_required" && isJsonObject(inputRequests)) await this.#update(inputRequests, answered);
      await this.#next();
    }
  }

  /** Each question is put once, however often it is listed. */
  async #update(requests: JsonObject, answered: Set<string>): Promise<void> {
    const fresh = Object.fromEntries(Object.entries(requests).filter(([key]) => !answered.has(key)));
    const keys = Object.keys(fresh);
    if (keys.length === 0) return;
    const responses = await inputResponses(fresh, this.#options);
    await this.#request("tasks/update", { inputResponses: responses });
    for (const key of keys) answered.add(key);
  }

  async #next(): Promise<void> {
    const { clock, signal, onProgress } = this.#options;
    await pause(clock, pollMs(this.#task), signal);
    signal.throwIfAborted();
    const task = await this.#ask("tasks/get");
    if (task === undefined) return;
    if (!isJsonObject(task)) throw begun("it answered tasks/get with something that is not an object");
    this.#task = task;
    this.#isRead = true;
    const { statusMessage } = task;
    if (typeof statusMessage === "string" && statusMessage !== this.#said) onProgress({ message: statusMessage });
    this.#said = statusMessage;
  }

  /** Returns the server's answer; undefined when the connection broke and it may be asked once more. */
  async #ask(method: "tasks/get" | "tasks/result"): Promise<unknown> {
    const { connection, signal, clock, explain } = this.#options;
    try {
      const answer = await this.#request(method, {});
      this.#breaks = 0;
      return answer;
    } catch (error: unknown) {
      const told = explain(error);
      const passes = told instanceof ToolError && told.retryable && connection.ended === undefined && !signal.aborted;
      if (!passes || ++this.#breaks > MAX_BREAKS) throw error;
      if (told.retryAfterMs !== undefined) await pause(clock, Math.min(told.retryAfterMs, MAX_POLL_MS), signal);
      return undefined;
    }
  }

  /** Its errors come after the work itself has begun. */
  async #request(method: "tasks/get" | "tasks/result" | "tasks/update", params: JsonObject): Promise<unknown> {
    const { connection, signal } = this.#options;
    try {
      return await connection.request(method, { taskId: this.id, ...params }, { signal });
    } catch (error: unknown) {
      // The older era answers `tasks/result` with the error of the call itself.
      const isAboutTask = error instanceof RpcFailure && method !== "tasks/result";
      const cause = isAboutTask
        ? new ServerFault("execution_failed", `it does not report its task: ${error.message}`, { cause: error })
        : error;
      throw new WorkBegun("the task had begun", { cause });
    }
  }

  #cancelled(): ToolError {
    return new ServerFault("cancelled", "the task was cancelled on the server");
  }
}

function begun(fault: string): WorkBegun {
  return new WorkBegun("the task had begun", { cause: new ServerFault("invalid_output", fault) });
}

function pollMs({ pollInterval, pollIntervalMs }: JsonObject): number {
  const wanted = pollIntervalMs ?? pollInterval;
  return Math.min(Math.max(typeof wanted === "number" ? wanted : DEFAULT_POLL_MS, MIN_POLL_MS), MAX_POLL_MS);
}

function failureOf(error: JsonValue | undefined, statusMessage: JsonValue | undefined): RpcFailure {
  const { code, message, data } = isJsonObject(error) ? error : ({} as { readonly [key: string]: JsonValue | undefined }); // nothing to read
  const said = typeof message === "string" ? message : typeof statusMessage === "string" ? statusMessage : "the task failed";
  return new RpcFailure(typeof code === "number" ? code : INTERNAL_ERROR, said, data);
}
