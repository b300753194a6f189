/** Tracks which resources a client of 2026-07-28 listens to, since the SDK does not expose it. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";

const MAX_WATCHED = 1_000;

/** The open listen requests of one connection. */
export class ListenRequests {
  readonly #watch: (uri: string) => () => void;
  /** Functions that stop watching, by the id of the request. */
  readonly #open = new Map<JsonValue | undefined, readonly (() => void)[]>();
  #count = 0;

  constructor(watch: (uri: string) => () => void) {
    this.#watch = watch;
  }

  /** Handles a message of the client, which may begin or cancel listening. */
  handleMessage(message: unknown): void {
    if (!isJsonObject(message)) return;
    if (message["method"] === "notifications/cancelled" && isJsonObject(message["params"])) this.#stop(message["params"]["requestId"]);
    const uris = readResourceUris(message).slice(0, MAX_WATCHED - this.#count);
    if (uris.length === 0) return;
    const { id } = message;
    this.#stop(id);
    this.#count += uris.length;
    this.#open.set(id, uris.map(this.#watch));
  }

  close(): void {
    for (const id of this.#open.keys()) this.#stop(id);
  }

  #stop(id: JsonValue | undefined): void {
    const stops = this.#open.get(id) ?? [];
    this.#open.delete(id);
    this.#count -= stops.length;
    for (const stop of stops) stop();
  }
}

export function isListenRequest(message: unknown): message is JsonObject {
  return isJsonObject(message) && message["method"] === "subscriptions/listen";
}

/** The URIs of the resources that a listen request names. */
export function readResourceUris(message: unknown): readonly string[] {
  if (!isListenRequest(message) || !isJsonObject(message["params"])) return [];
  const { notifications } = message["params"];
  const uris = isJsonObject(notifications) ? notifications["resourceSubscriptions"] : undefined;
  return isJsonArray(uris) ? uris.filter((uri) => typeof uri === "string").slice(0, MAX_WATCHED) : [];
}

/** Returns the message with other resource URIs. */
export function withResourceUris(message: JsonValue | undefined, uris: readonly string[]): JsonValue | undefined {
  const params = isJsonObject(message) ? message["params"] : undefined;
  const notifications = isJsonObject(params) ? params["notifications"] : undefined;
  if (!isJsonObject(message) || !isJsonObject(params) || !isJsonObject(notifications)) return message;
  return { ...message, params: { ...params, notifications: { ...notifications, resourceSubscriptions: uris } } };
}
