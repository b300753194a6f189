/** Notifies every connection of changes: the tools of the runtime, and the notifications of connected servers. */
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { PeerNotification } from "../../engine/mcp/peer.ts";
import type { Visibility } from "../../policy/visibility.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Peers, Source } from "./peers.ts";

/** A connection, or all of those that one handler keeps, as far as changes are announced to them. */
export interface Audience {
  toolsChanged(): void;
  promptsChanged(): void;
  resourcesChanged(): void;
  resourceUpdated(uri: string, source: Source): void;
  logged(params: JsonObject, source: Source): void;
}

export class Announcer {
  readonly #runtime: Runtime;
  readonly #peers: Peers;
  readonly #audiences = new Set<Audience>();
  /** How to stop listening to each source. */
  readonly #heard = new Map<Source, () => void>();
  /** How many want to know of changes of a resource, by its server. */
  readonly #watched = new Map<Source, Map<string, number>>();
  readonly #unsubscribe: () => void;
  #version: number;

  constructor(runtime: Runtime, peers: Peers) {
    this.#runtime = runtime;
    this.#peers = peers;
    this.#version = runtime.registry.version;
    this.#hearSources();
    this.#unsubscribe = runtime.subscribe((event) => {
      if (event.type.startsWith("toolset-")) this.check();
    });
  }

  /** The returned function ends it. */
  add(audience: Audience): () => void {
    this.#audiences.add(audience);
    return () => void this.#audiences.delete(audience);
  }

  /** Says so if tools have come, gone or changed since it was last asked. */
  check(): void {
    const { version } = this.#runtime.registry;
    if (version === this.#version) return;
    this.#version = version;
    this.#hearSources();
    this.#tell((audience) => audience.toolsChanged());
  }

  /** Subscribes to a resource at the server that lists it, or has a template for it, for a caller with these tools, until the returned function is called. */
  watch(uri: string, visible: Visibility | undefined): () => void {
    let isOver = false;
    let leave = (): void => {};
    void (async () => {
      const asker = { signal: AbortSignal.timeout(SUBSCRIBE_TIMEOUT_MS), visible };
      const source = await this.#peers.findOwner(uri, asker).catch(() => undefined); // as where the server does not take the subscription
      if (source !== undefined && !isOver) leave = this.#join(source, uri);
    })();
    return () => {
      if (isOver) return;
      isOver = true;
      leave();
    };
  }

  #join(source: Source, uri: string): () => void {
    const counts = this.#watched.get(source) ?? new Map<string, number>();
    this.#watched.set(source, counts);
    const count = counts.get(uri) ?? 0;
    counts.set(uri, count + 1);
    if (count === 0) void subscribe(source, uri, "subscribe");
    return () => {
      const left = (counts.get(uri) ?? 1) - 1;
      if (left > 0) return void counts.set(uri, left);
      counts.delete(uri);
      if (counts.size === 0) this.#watched.delete(source);
      void subscribe(source, uri, "unsubscribe");
    };
  }

  close(): void {
    this.#unsubscribe();
    for (const stop of this.#heard.values()) stop();
    this.#heard.clear();
    this.#audiences.clear();
  }

  #hearSources(): void {
    const sources = new Set(this.#peers.sources());
    for (const [source, stop] of this.#heard) {
      if (sources.has(source)) continue;
      stop();
      this.#heard.delete(source);
    }
    for (const source of sources) {
      if (source.onNotification === undefined || this.#heard.has(source)) continue;
      this.#heard.set(
        source,
        source.onNotification((notification) => this.#pass(notification, source)),
      );
    }
    this.#peers.forget();
  }

  #pass({ method, params }: PeerNotification, source: Source): void {
    switch (method) {
      case "notifications/message":
        return this.#tell((audience) => audience.logged(params, source));
      case "notifications/prompts/list_changed":
        this.#peers.forget();
        return this.#tell((audience) => audience.promptsChanged());
      case "notifications/resources/list_changed":
        this.#peers.forget();
        return this.#tell((audience) => audience.resourcesChanged());
      case "notifications/resources/updated": {
        const uri = isJsonObject(params) ? params["uri"] : undefined;
        return typeof uri === "string" ? this.#tell((audience) => audience.resourceUpdated(uri, source)) : undefined;
      }
      case "notifications/tools/list_changed": // the runtime lists them again and says so itself
    }
  }

  #tell(tell: (audience: Audience) => void): void {
    for (const audience of this.#audiences) tell(audience);
  }
}

const SUBSCRIBE_TIMEOUT_MS = 10_000;

async function subscribe(source: Source, uri: string, method: "subscribe" | "unsubscribe"): Promise<void> {
  try {
    await source[method]?.({ uri }, { signal: AbortSignal.timeout(SUBSCRIBE_TIMEOUT_MS) });
  } catch {
    // Changes of that resource are not announced then; a read of it says why it cannot be read.
  }
}
