/** Follows work that a server continues after its answer (a task), in either era and over several connections if necessary. */
import type { ProgressUpdate } from "../../core/context.ts";
import { ToolError } from "../../core/error.ts";
import { RemoteJob } from "../../core/jobs/remote-job.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { Clock } from "../../core/ports.ts";
import type { ServerRequestContext } from "./answer-request.ts";
import type { Caller } from "./callers.ts";
import type { McpConnection } from "./connection.ts";
import { RpcFailure, ServerFault, WorkStarted } from "./failure.ts";
import { INTERNAL_ERROR } from "./rpc-codes.ts";
import { answerInputRequests } from "./request-with-input.ts";
import { reopenDelayMs } from "./reopen-delay.ts";
import { sleep, withTimeLimit } from "../../processes/sleep.ts";

export interface TaskOptions {
  /** The connection on which the task began. */
  readonly connection: McpConnection;
  /** Resolves to a live connection: the same one, or its replacement. */
  readonly getConnection: (signal: AbortSignal) => Promise<McpConnection>;
  readonly caller: Caller;
  readonly requestContext: ServerRequestContext;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: (update: ProgressUpdate) => void;
  /** Converts the result of the task to the output of the call; throws if the result is a failure. */
  readonly convertResult: (answer: unknown) => unknown;
  /** Converts an error to that of the call. @param connection the one on which it occurred; undefined if there was none */
  readonly toCallError: (error: unknown, connection: McpConnection | undefined) => unknown;
}

const MIN_POLL_MS = 100;
const MAX_POLL_MS = 60_000;
const DEFAULT_POLL_MS = 1_000;
const POLLS_PER_TTL = 4;
/**
 * Number of transient failures in a row that are tolerated while a task is followed, as asking again has no effect. With the waits between, a server
 * may be away for about three minutes.
 */
const MAX_FAILURES = 8;
const CANCEL_MS = 5_000;
const FINAL_STATUSES: ReadonlySet<unknown> = new Set(["completed", "failed", "cancelled"]);

type TaskMethod = "tasks/get" | "tasks/result" | "tasks/update";

/** The answer to a question of the server, and whether the server has received it. */
interface TaskAnswer {
  readonly response: JsonValue;
  hasArrived: boolean;
}

/** The task in an answer to `tools/call`; undefined if the answer is the result itself. */
export function extractTask(answer: unknown, era: "legacy" | "modern"): JsonObject | undefined {
  if (!isJsonObject(answer)) return undefined;
  const task = era === "modern" ? (answer["resultType"] === "task" ? answer : undefined) : answer["task"];
  return isJsonObject(task) && typeof task["taskId"] === "string" ? task : undefined;
}

/** The job for a task. The task is polled until it has ended, at the server's interval, within bounds. */
export function createTaskJob(task: JsonObject, options: TaskOptions): RemoteJob {
  const followed = new FollowedTask(task, options);
  const result = followed.result().finally(() => followed.unregister());
  result.catch(() => undefined); // callers that wait get the error; there may be none
  return new RemoteJob({ id: followed.id, result, cancel: () => followed.cancel() });
}

class FollowedTask {
  readonly id: string;
  readonly #options: TaskOptions;
  /** The connection in use; undefined while there is none. */
  #connection: McpConnection | undefined;
  #unregister: () => void;
  #task: JsonObject;
  #lastStatusMessage: JsonValue | undefined;
  /** Whether the task was polled: the task in the answer to `tools/call` has no result yet. */
  #wasPolled = false;
  /** Number of failures in a row, by method. */
  readonly #failures = { "tasks/get": 0, "tasks/result": 0, "tasks/update": 0 };

  constructor(task: JsonObject, options: TaskOptions) {
    this.id = String(task["taskId"]);
    this.#task = task;
    this.#options = options;
    this.#connection = options.connection;
    this.#unregister = options.connection.callers.register(options.caller, this.id);
  }

  /** Unregisters the caller: it no longer gets questions that name no call. */
  unregister(): void {
    this.#unregister();
  }

  async result(): Promise<unknown> {
    const { connection, convertResult, toCallError } = this.#options;
    try {
      return convertResult(connection.era === "modern" ? await this.#followModern() : await this.#followLegacy());
    } catch (error: unknown) {
      throw toCallError(error, this.#connection);
    }
  }

  async cancel(): Promise<void> {
    const { getConnection, clock } = this.#options;
    await withTimeLimit({ clock, limitMs: CANCEL_MS }, async (signal) => {
      const connection = await getConnection(signal);
      await connection.request("tasks/cancel", { taskId: this.id }, { signal });
    });
  }

  /** Revision 2025-11-25: `tasks/result` waits for the result, and the server asks its questions during that request. */
  async #followLegacy(): Promise<unknown> {
    for (;;) {
      const { status } = this.#task;
      if (status === "cancelled") throw this.#cancelledError();
      if (FINAL_STATUSES.has(status) || status === "input_required") {
        const answer = await this.#requestWithRetry("tasks/result");
        if (answer !== undefined) return answer;
        if (FINAL_STATUSES.has(status)) continue; // only the result is missing
      }
      await this.#pollAfterDelay();
    }
  }

  /** The tasks extension of 2026-07-28: `tasks/get` has everything. */
  async #followModern(): Promise<unknown> {
    const answers = new Map<string, TaskAnswer>();
    for (;;) {
      const { status, result, error, inputRequests } = this.#task;
      if (status === "cancelled") throw this.#cancelledError();
      if (status === "completed" && result !== undefined) return result;
      if (status === "completed" && this.#wasPolled) throw workStartedError("it says that its task is completed, but gives no result");
      if (status === "failed") throw taskFailure(error, this.#task["statusMessage"]);
      if (status === "input_required" && isJsonObject(inputRequests)) await this.#answerQuestions(inputRequests, answers);
      await this.#pollAfterDelay();
    }
  }

  /** Asks each question once, however often it is listed. Its answer is sent again while it is listed and no answer has been accepted. */
  async #answerQuestions(requests: JsonObject, answers: Map<string, TaskAnswer>): Promise<void> {
    const listed = Object.entries(requests);
    const fresh = Object.fromEntries(listed.filter(([key]) => !answers.has(key)));
    const responses = await answerInputRequests(fresh, this.#options);
    for (const [key, response = null] of Object.entries(responses)) answers.set(key, { response, hasArrived: false });
    const unsent = listed.flatMap(([key]) => {
      const answer = answers.get(key);
      return answer === undefined || answer.hasArrived ? [] : [[key, answer] as const];
    });
    if (unsent.length === 0) return;
    const inputs = Object.fromEntries(unsent.map(([key, { response }]) => [key, response]));
    if ((await this.#requestWithRetry("tasks/update", { inputResponses: inputs })) === undefined) return;
    for (const [, answer] of unsent) answer.hasArrived = true;
  }

  async #pollAfterDelay(): Promise<void> {
    const { clock, signal, onProgress } = this.#options;
    await sleep(clock, pollMs(this.#task), signal);
    signal.throwIfAborted();
    const task = await this.#requestWithRetry("tasks/get");
    if (task === undefined) return;
    if (!isJsonObject(task)) throw workStartedError("it answered tasks/get with something that is not an object");
    this.#task = task;
    this.#wasPolled = true;
    const { statusMessage } = task;
    if (typeof statusMessage === "string" && statusMessage !== this.#lastStatusMessage) onProgress({ message: statusMessage });
    this.#lastStatusMessage = statusMessage;
  }

  /** Returns the server's answer; undefined if the request failed and may be repeated. */
  async #requestWithRetry(method: TaskMethod, params: JsonObject = {}): Promise<unknown> {
    const { signal, clock, toCallError } = this.#options;
    try {
      const answer = await this.#request(method, params);
      this.#failures[method] = 0;
      return answer;
    } catch (error: unknown) {
      const callError = toCallError(error, this.#connection);
      const passes = callError instanceof ToolError && callError.retryable && !signal.aborted;
      if (!passes || ++this.#failures[method] > MAX_FAILURES) throw error;
      const delayMs = callError.retryAfterMs ?? reopenDelayMs(this.#failures[method] - 1);
      await sleep(clock, Math.min(delayMs, MAX_POLL_MS), signal);
      return undefined;
    }
  }

  /** Throws errors as `WorkStarted`, as the work itself has begun. */
  async #request(method: TaskMethod, params: JsonObject): Promise<unknown> {
    const { signal } = this.#options;
    try {
      const connection = await this.#getConnection();
      return await connection.request(method, { taskId: this.id, ...params }, { signal });
    } catch (error: unknown) {
      // in the legacy era, an error of `tasks/result` is the error of the call itself
      const isAboutTask = error instanceof RpcFailure && method !== "tasks/result";
      const again = this.#connection === this.#options.connection ? "it" : "it was reconnected and";
      const cause = isAboutTask
        ? new ServerFault("execution_failed", `${again} does not report its task: ${error.message}`, { cause: error })
        : error;
      throw new WorkStarted("the task had begun", { cause });
    }
  }

  async #getConnection(): Promise<McpConnection> {
    const { getConnection, signal, caller, connection: first } = this.#options;
    const before = this.#connection;
    this.#connection = undefined;
    const connection = await getConnection(signal);
    this.#connection = connection;
    if (connection === before) return connection;
    this.#unregister();
    this.#unregister = connection.callers.register(caller, this.id);
    if (connection.era === first.era) return connection;
    throw new ServerFault(
      "execution_failed",
      "it was reconnected and now speaks another revision of the protocol, whose tasks are incompatible",
    );
  }

  #cancelledError(): ToolError {
    return new ServerFault("cancelled", "the task was cancelled on the server");
  }
}

function workStartedError(fault: string): WorkStarted {
  return new WorkStarted("the task had begun", { cause: new ServerFault("invalid_output", fault) });
}

/**
 * The server's interval, but short enough to poll several times before the task expires: a misconfigured server may forget it between two polls. A
 * `ttl` of 0 or less is ignored.
 */
function pollMs({ pollInterval, pollIntervalMs, ttl, ttlMs }: JsonObject): number {
  const wanted = pollIntervalMs ?? pollInterval;
  const kept = ttlMs ?? ttl;
  const mostMs = typeof kept === "number" && kept > 0 ? Math.min(kept / POLLS_PER_TTL, MAX_POLL_MS) : MAX_POLL_MS;
  return Math.max(Math.min(typeof wanted === "number" ? wanted : DEFAULT_POLL_MS, mostMs), MIN_POLL_MS);
}

function taskFailure(error: JsonValue | undefined, statusMessage: JsonValue | undefined): RpcFailure {
  const { code, message, data } = isJsonObject(error) ? error : ({} as { readonly [key: string]: JsonValue | undefined }); // nothing to read
  const text = typeof message === "string" ? message : typeof statusMessage === "string" ? statusMessage : "the task failed";
  return new RpcFailure(typeof code === "number" ? code : INTERNAL_ERROR, text, data);
}
