/** Follows work that a server continues after its answer (a task), in either era and over several connections if necessary. */
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
import { reopenDelayMs } from "./reopen-delay.ts";
import { pause, within } from "../../processes/pause.ts";

export interface TaskOptions {
  /** The connection on which the task began. */
  readonly connection: McpConnection;
  /** Resolves to a live connection: the same one, or its replacement. */
  readonly reach: (signal: AbortSignal) => Promise<McpConnection>;
  readonly caller: Caller;
  readonly answering: Answering;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: (update: ProgressUpdate) => void;
  /** Converts the result of the task to the output of the call; throws if the result is a failure. */
  readonly finish: (answer: unknown) => unknown;
  /** Converts an error to that of the call. @param connection the one on which it occurred; undefined if there was none */
  readonly explain: (error: unknown, connection: McpConnection | undefined) => unknown;
}

const MIN_POLL_MS = 100;
const MAX_POLL_MS = 60_000;
const DEFAULT_POLL_MS = 1_000;
const LOOKS_IN_LIFE = 4;
/**
 * Number of transient failures in a row that are tolerated while a task is followed, as asking again has no effect. With the waits between, a server
 * may be away for about three minutes.
 */
const MAX_BREAKS = 8;
const CANCEL_MS = 5_000;
const ENDED: ReadonlySet<unknown> = new Set(["completed", "failed", "cancelled"]);

type TaskMethod = "tasks/get" | "tasks/result" | "tasks/update";

/** The answer to a question of the server, and whether the server has received it. */
interface Answered {
  readonly response: JsonValue;
  hasArrived: boolean;
}

/** The task in an answer to `tools/call`; undefined if the answer is the result itself. */
export function taskIn(answer: unknown, era: "legacy" | "modern"): JsonObject | undefined {
  if (!isJsonObject(answer)) return undefined;
  const task = era === "modern" ? (answer["resultType"] === "task" ? answer : undefined) : answer["task"];
  return isJsonObject(task) && typeof task["taskId"] === "string" ? task : undefined;
}

/** The job for a task. The task is polled until it has ended, at the server's interval, within bounds. */
export function taskJob(task: JsonObject, options: TaskOptions): RemoteJob {
  const followed = new FollowedTask(task, options);
  const result = followed.result().finally(() => followed.leave());
  result.catch(() => undefined); // callers that wait get the error; there may be none
  return new RemoteJob({ id: followed.id, result, cancel: () => followed.cancel() });
}

class FollowedTask {
  readonly id: string;
  readonly #options: TaskOptions;
  /** The connection in use; undefined while there is none. */
  #connection: McpConnection | undefined;
  #leave: () => void;
  #task: JsonObject;
  #said: JsonValue | undefined;
  /** Whether the task was polled: the task in the answer to `tools/call` has no result yet. */
  #isRead = false;
  /** Number of failures in a row, by method. */
  readonly #breaks = { "tasks/get": 0, "tasks/result": 0, "tasks/update": 0 };

  constructor(task: JsonObject, options: TaskOptions) {
    this.id = String(task["taskId"]);
    this.#task = task;
    this.#options = options;
    this.#connection = options.connection;
    this.#leave = options.connection.callers.join(options.caller);
  }

  /** Unregisters the caller: it no longer gets questions that name no call. */
  leave(): void {
    this.#leave();
  }

  async result(): Promise<unknown> {
    const { connection, finish, explain } = this.#options;
    try {
      return finish(connection.era === "modern" ? await this.#followModern() : await this.#followLegacy());
    } catch (error: unknown) {
      throw explain(error, this.#connection);
    }
  }

  async cancel(): Promise<void> {
    const { reach, clock } = this.#options;
    await within({ clock, limitMs: CANCEL_MS }, async (signal) => {
      const connection = await reach(signal);
      await connection.request("tasks/cancel", { taskId: this.id }, { signal });
    });
  }

  /** Revision 2025-11-25: `tasks/result` waits for the result, and the server asks its questions during that request. */
  async #followLegacy(): Promise<unknown> {
    for (;;) {
      const { status } = this.#task;
      if (status === "cancelled") throw this.#cancelled();
      if (ENDED.has(status) || status === "input_required") {
        const answer = await this.#ask("tasks/result");
        if (answer !== undefined) return answer;
        if (ENDED.has(status)) continue; // only the result is missing
      }
      await this.#next();
    }
  }

  /** The tasks extension of 2026-07-28: `tasks/get` has everything. */
  async #followModern(): Promise<unknown> {
    const answers = new Map<string, Answered>();
    for (;;) {
      const { status, result, error, inputRequests } = this.#task;
      if (status === "cancelled") throw this.#cancelled();
      if (status === "completed" && result !== undefined) return result;
      if (status === "completed" && this.#isRead) throw begun("it says that its task is completed, but gives no result");
      if (status === "failed") throw failureOf(error, this.#task["statusMessage"]);
      if (status === "input_required" && isJsonObject(inputRequests)) await this.#update(inputRequests, answers);
      await this.#next();
    }
  }

  /** Asks each question once, however often it is listed. Its answer is sent again while it is listed and no answer has been accepted. */
  async #update(requests: JsonObject, answers: Map<string, Answered>): Promise<void> {
    const listed = Object.entries(requests);
    const fresh = Object.fromEntries(listed.filter(([key]) => !answers.has(key)));
    const responses = await inputResponses(fresh, this.#options);
    for (const [key, response = null] of Object.entries(responses)) answers.set(key, { response, hasArrived: false });
    const unsent = listed.flatMap(([key]) => {
      const answer = answers.get(key);
      return answer === undefined || answer.hasArrived ? [] : [[key, answer] as const];
    });
    if (unsent.length === 0) return;
    const inputs = Object.fromEntries(unsent.map(([key, { response }]) => [key, response]));
    if ((await this.#ask("tasks/update", { inputResponses: inputs })) === undefined) return;
    for (const [, answer] of unsent) answer.hasArrived = true;
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

  /** Returns the server's answer; undefined if the request failed and may be repeated. */
  async #ask(method: TaskMethod, params: JsonObject = {}): Promise<unknown> {
    const { signal, clock, explain } = this.#options;
    try {
      const answer = await this.#request(method, params);
      this.#breaks[method] = 0;
      return answer;
    } catch (error: unknown) {
      const told = explain(error, this.#connection);
      const passes = told instanceof ToolError && told.retryable && !signal.aborted;
      if (!passes || ++this.#breaks[method] > MAX_BREAKS) throw error;
      const delayMs = told.retryAfterMs ?? reopenDelayMs(this.#breaks[method] - 1);
      await pause(clock, Math.min(delayMs, MAX_POLL_MS), signal);
      return undefined;
    }
  }

  /** Throws errors as `WorkBegun`, as the work itself has begun. */
  async #request(method: TaskMethod, params: JsonObject): Promise<unknown> {
    const { signal } = this.#options;
    try {
      const connection = await this.#reached();
      return await connection.request(method, { taskId: this.id, ...params }, { signal });
    } catch (error: unknown) {
      // in the legacy era, an error of `tasks/result` is the error of the call itself
      const isAboutTask = error instanceof RpcFailure && method !== "tasks/result";
      const again = this.#connection === this.#options.connection ? "it" : "it was reconnected and";
      const cause = isAboutTask
        ? new ServerFault("execution_failed", `${again} does not report its task: ${error.message}`, { cause: error })
        : error;
      throw new WorkBegun("the task had begun", { cause });
    }
  }

  async #reached(): Promise<McpConnection> {
    const { reach, signal, caller, connection: first } = this.#options;
    const before = this.#connection;
    this.#connection = undefined;
    const connection = await reach(signal);
    this.#connection = connection;
    if (connection === before) return connection;
    this.#leave();
    this.#leave = connection.callers.join(caller);
    if (connection.era === first.era) return connection;
    throw new ServerFault(
      "execution_failed",
      "it was reconnected and now speaks another revision of the protocol, whose tasks are incompatible",
    );
  }

  #cancelled(): ToolError {
    return new ServerFault("cancelled", "the task was cancelled on the server");
  }
}

function begun(fault: string): WorkBegun {
  return new WorkBegun("the task had begun", { cause: new ServerFault("invalid_output", fault) });
}

/**
 * The server's interval, but short enough to poll several times before the task expires: a misconfigured server may forget it between two polls. A
 * `ttl` of 0 or less is ignored.
 */
function pollMs({ pollInterval, pollIntervalMs, ttl, ttlMs }: JsonObject): number {
  const wanted = pollIntervalMs ?? pollInterval;
  const kept = ttlMs ?? ttl;
  const mostMs = typeof kept === "number" && kept > 0 ? Math.min(kept / LOOKS_IN_LIFE, MAX_POLL_MS) : MAX_POLL_MS;
  return Math.max(Math.min(typeof wanted === "number" ? wanted : DEFAULT_POLL_MS, mostMs), MIN_POLL_MS);
}

function failureOf(error: JsonValue | undefined, statusMessage: JsonValue | undefined): RpcFailure {
  const { code, message, data } = isJsonObject(error) ? error : ({} as { readonly [key: string]: JsonValue | undefined }); // nothing to read
  const said = typeof message === "string" ? message : typeof statusMessage === "string" ? statusMessage : "the task failed";
  return new RpcFailure(typeof code === "number" ? code : INTERNAL_ERROR, said, data);
}
