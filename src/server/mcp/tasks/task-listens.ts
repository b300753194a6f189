/** Notifications of tasks, on the requests to listen that name them (2026-07-28): the SDK's own know nothing of tasks. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../core/base/json.ts";
import type { ServedTask } from "./served-task.ts";
import { TASKS_EXTENSION } from "./task-offer.ts";
import type { Tasks } from "./tasks.ts";

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
/** Most tasks that one request follows. */
const MAX_TASKS = 1_000;

export interface TaskListensOptions {
  readonly tasks: Tasks;
  readonly callerId: string;
  /** Sends a message to the client. */
  readonly send: (message: JsonObject) => void;
}

/** The requests to listen of one connection. */
export class TaskListens {
  readonly #options: TaskListensOptions;
  /** Which tasks a request names that is not acknowledged yet. */
  readonly #wanted = new Map<JsonValue | undefined, readonly string[]>();
  /** How to stop, by the id of the request. */
  readonly #open = new Map<JsonValue | undefined, readonly (() => void)[]>();

  constructor(options: TaskListensOptions) {
    this.#options = options;
  }

  /** Takes notice of a message of the client: it may begin to listen, or cease to. */
  hear(message: unknown): void {
    if (!isJsonObject(message)) return;
    const { id, method, params } = message;
    if (method === "notifications/cancelled" && isJsonObject(params)) this.#stop(params["requestId"]);
    const ids = listenedTasks(message);
    if (ids.length > 0) this.#wanted.set(id, ids);
  }

  /** The message that goes out in place of this one: the acknowledgement names the tasks that are followed, each of which is shown next. */
  passing<T>(message: T): T | JsonObject {
    if (this.#wanted.size === 0 || !isJsonObject(message) || message["method"] !== ACKNOWLEDGED) return message;
    const params = isJsonObject(message["params"]) ? message["params"] : {};
    const id = isJsonObject(params["_meta"]) ? params["_meta"][SUBSCRIPTION] : undefined;
    const ids = this.#wanted.get(id);
    if (ids === undefined) return message;
    this.#wanted.delete(id);
    const { tasks, callerId } = this.#options;
    const found = ids.map((taskId) => tasks.known(taskId, callerId)).filter((task) => task !== undefined);
    this.#follow(id, found);
    const honoured = isJsonObject(params["notifications"]) ? params["notifications"] : {};
    return { ...message, params: { ...params, notifications: { ...honoured, taskIds: found.map((task) => task.id) } } };
  }

  end(): void {
    for (const id of this.#open.keys()) this.#stop(id);
    this.#wanted.clear();
  }

  #follow(id: JsonValue | undefined, tasks: readonly ServedTask[]): void {
    const tell = (task: ServedTask): void => {
      const params = { ...task.details, _meta: { [SUBSCRIPTION]: id ?? null } };
      this.#options.send({ jsonrpc: "2.0", method: "notifications/tasks", params });
    };
    this.#open.set(
      id,
      tasks.map((task) => task.onChange(tell)),
    );
    queueMicrotask(() => {
      if (this.#open.has(id)) for (const task of tasks) tell(task);
    });
  }

  #stop(id: JsonValue | undefined): void {
    for (const stop of this.#open.get(id) ?? []) stop();
    this.#open.delete(id);
    this.#wanted.delete(id);
  }
}

/** The tasks that a request to listen names, of a client that declares them. */
export function listenedTasks(message: unknown): readonly string[] {
  if (!isJsonObject(message) || message["method"] !== "subscriptions/listen" || !isJsonObject(message["params"])) return [];
  const { notifications, _meta: meta } = message["params"];
  const capabilities = isJsonObject(meta) ? meta[CAPABILITIES] : undefined;
  const extensions = isJsonObject(capabilities) ? capabilities["extensions"] : undefined;
  if (!isJsonObject(extensions) || !isJsonObject(extensions[TASKS_EXTENSION])) return [];
  const ids = isJsonObject(notifications) ? notifications["taskIds"] : undefined;
  return isJsonArray(ids) ? ids.filter((id) => typeof id === "string").slice(0, MAX_TASKS) : [];
}
