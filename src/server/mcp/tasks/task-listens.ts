/** Notifications of tasks on the listen requests that name them (2026-07-28); the SDK does not support them. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../core/base/json.ts";
import type { ServedTask } from "./served-task.ts";
import { TASKS_EXTENSION } from "./task-offer.ts";
import type { Tasks } from "./tasks.ts";

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
const MAX_TASKS = 1_000;

export interface TaskListensOptions {
  readonly tasks: Tasks;
  readonly callerId: string;
  readonly send: (message: JsonObject) => void;
}

/** The listen requests of one connection. */
export class TaskListens {
  readonly #options: TaskListensOptions;
  /** The tasks that unacknowledged requests name, by request id. */
  readonly #wanted = new Map<JsonValue | undefined, readonly string[]>();
  /** Functions that stop listening, by request id. */
  readonly #open = new Map<JsonValue | undefined, readonly (() => void)[]>();

  constructor(options: TaskListensOptions) {
    this.#options = options;
  }

  /** Handles a message of the client, which may begin or cancel listening. */
  hear(message: unknown): void {
    if (!isJsonObject(message)) return;
    const { id, method, params } = message;
    if (method === "notifications/cancelled" && isJsonObject(params)) this.#stop(params["requestId"]);
    const ids = listenedTasks(message);
    if (ids.length > 0) this.#wanted.set(id, ids);
  }

  /** Returns the message to send in place of this one: the acknowledgement also names the tasks listened to. The state of each is sent next. */
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

/** The ids of the tasks in a listen request; empty unless the client declares the extension. */
export function listenedTasks(message: unknown): readonly string[] {
  if (!isJsonObject(message) || message["method"] !== "subscriptions/listen" || !isJsonObject(message["params"])) return [];
  const { notifications, _meta: meta } = message["params"];
  const capabilities = isJsonObject(meta) ? meta[CAPABILITIES] : undefined;
  const extensions = isJsonObject(capabilities) ? capabilities["extensions"] : undefined;
  if (!isJsonObject(extensions) || !isJsonObject(extensions[TASKS_EXTENSION])) return [];
  const ids = isJsonObject(notifications) ? notifications["taskIds"] : undefined;
  return isJsonArray(ids) ? ids.filter((id) => typeof id === "string").slice(0, MAX_TASKS) : [];
}
