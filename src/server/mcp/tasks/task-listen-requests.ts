/** Notifications of tasks on the listen requests that name them (2026-07-28); the SDK does not support them. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../core/base/json.ts";
import { describeThrown } from "../../../core/error.ts";
import { onNextTurn } from "../../../core/system/lazy-timer.ts";
import type { CallHandlerContext } from "../handler-context.ts";
import type { TaskContext } from "./task-context.ts";
import { TASKS_EXTENSION } from "./task-offer.ts";
import { LEAST_LOOK_MS, taskStates } from "./task-states.ts";

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
const MAX_TASKS = 1_000;
/** How often a listen request looks for its tasks, in all. */
const MAX_LOOKS_PER_SECOND = 50;

export interface TaskListenRequestsOptions {
  readonly serving: CallHandlerContext;
  /** The headers of the request; undefined over standard input and output. */
  readonly headers?: Headers | undefined;
  readonly send: (message: JsonObject) => void;
}

/** A listen request that is not acknowledged yet. */
interface Wanted {
  readonly ids: readonly string[];
  readonly envelope: unknown;
}

interface Followed {
  /** The id of the request. */
  readonly id: JsonValue | undefined;
  readonly context: TaskContext;
  readonly pollMs: number;
}

/** The listen requests of one connection. */
export class TaskListenRequests {
  readonly #options: TaskListenRequestsOptions;
  /** By request id. */
  readonly #unacknowledged = new Map<JsonValue | undefined, Wanted>();
  /** Stops listening, by request id. */
  readonly #open = new Map<JsonValue | undefined, AbortController>();

  constructor(options: TaskListenRequestsOptions) {
    this.#options = options;
  }

  /** Handles a message of the client, which may begin or cancel listening. */
  handleMessage(message: unknown): void {
    if (!isJsonObject(message)) return;
    const { id, method, params } = message;
    if (method === "notifications/cancelled" && isJsonObject(params)) this.#stop(params["requestId"]);
    const ids = readTaskIds(message);
    if (ids.length > 0) this.#unacknowledged.set(id, { ids, envelope: isJsonObject(params) ? params["_meta"] : undefined });
  }

  /**
   * Returns the message to send in place of this one: the acknowledgement, later, also names the tasks that there are. The state of each is sent next, and
   * each later one until its end.
   */
  transformOutgoing<T>(message: T): T | Promise<JsonObject> {
    if (this.#unacknowledged.size === 0 || !isJsonObject(message) || message["method"] !== ACKNOWLEDGED) return message;
    const params = isJsonObject(message["params"]) ? message["params"] : {};
    const id = isJsonObject(params["_meta"]) ? params["_meta"][SUBSCRIPTION] : undefined;
    const wanted = this.#unacknowledged.get(id);
    if (wanted === undefined) return message;
    this.#unacknowledged.delete(id);
    const honoured = isJsonObject(params["notifications"]) ? params["notifications"] : {};
    return this.#begin(id, wanted).then((taskIds) => ({ ...message, params: { ...params, notifications: { ...honoured, taskIds } } }));
  }

  close(): void {
    for (const id of this.#open.keys()) this.#stop(id);
    this.#unacknowledged.clear();
  }

  /** Begins to follow the tasks that there are, and resolves to their ids. */
  async #begin(id: JsonValue | undefined, { ids, envelope }: Wanted): Promise<readonly string[]> {
    const { serving, headers } = this.#options;
    const over = new AbortController();
    this.#open.set(id, over);
    // the envelope was checked by the SDK, which has acknowledged the request
    const mcpReq = { signal: over.signal, envelope } as TaskContext["mcpReq"];
    const context: TaskContext = { mcpReq, http: headers === undefined ? undefined : { req: { headers } } };
    const { gateway, info } = serving;
    const taskIds = (await gateway.tasks?.idsOf(ids, info.caller.id)) ?? [];
    const pollMs = Math.max(LEAST_LOOK_MS, (taskIds.length * 1_000) / MAX_LOOKS_PER_SECOND);
    onNextTurn(() => {
      for (const taskId of taskIds) void this.#follow(taskId, { id, context, pollMs });
    });
    return taskIds;
  }

  async #follow(taskId: string, { id, context, pollMs }: Followed): Promise<void> {
    const { serving, send } = this.#options;
    const { clock, log } = serving.gateway.settings;
    const { signal } = context.mcpReq;
    let told: string | undefined;
    while (!signal.aborted)
      try {
        for await (const task of taskStates(serving, taskId, { context, pollMs })) {
          if (task.situation === told) continue;
          told = task.situation;
          send({ jsonrpc: "2.0", method: "notifications/tasks", params: { ...task.details, _meta: { [SUBSCRIPTION]: id ?? null } } });
        }
        return;
      } catch (thrown: unknown) {
        if (signal.aborted) return;
        log.debug(`A task over MCP is looked for again: ${describeThrown(thrown)}`);
        await new Promise<void>((resolve) => void clock.timer(resolve, pollMs, { background: true }));
      }
  }

  #stop(id: JsonValue | undefined): void {
    this.#open.get(id)?.abort();
    this.#open.delete(id);
    this.#unacknowledged.delete(id);
  }
}

/** The ids of the tasks in a listen request; empty unless the client declares the extension. */
export function readTaskIds(message: unknown): readonly string[] {
  if (!isJsonObject(message) || message["method"] !== "subscriptions/listen" || !isJsonObject(message["params"])) return [];
  const { notifications, _meta: meta } = message["params"];
  const capabilities = isJsonObject(meta) ? meta[CAPABILITIES] : undefined;
  const extensions = isJsonObject(capabilities) ? capabilities["extensions"] : undefined;
  if (!isJsonObject(extensions) || !isJsonObject(extensions[TASKS_EXTENSION])) return [];
  const ids = isJsonObject(notifications) ? notifications["taskIds"] : undefined;
  return isJsonArray(ids) ? ids.filter((id) => typeof id === "string").slice(0, MAX_TASKS) : [];
}
