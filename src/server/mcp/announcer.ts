/** Notifies every connection of changes: the tools of the runtime, and the notifications of connected servers. */
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { PeerNotification } from "../../engine/mcp/peer.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Peers, Source } from "./peers.ts";

/** A connection, or all of those that one handler keeps, as far as changes are announced to them. */
export interface Audience {
  toolsChanged(): void;
  promptsChanged(): void;
  resourcesChanged(): void;
  resourceUpdated(uri: string): void;
  logged(params: JsonObject): void;
}

export class Announcer {
  readonly #runtime: Runtime;
  readonly #peers: Peers;
  readonly #audiences = new Set<Audience>();
  /** How to stop listening to each source. */
  readonly #heard = new Map<Source, () => void>();
  /** How many want to know of changes of a resource. */
  readonly #watched = new Map<string, number>();
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

  /** Subscribes to a resource at the server that lists it, until the returned function is called. */
  watch(uri: string): () => void {
    const count = this.#watched.get(uri) ?? 0;
    this.#watched.set(uri, count + 1);
    if (count === 0) void this.#subscribe(uri, "subscribe");
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const left = (this.#watched.get(uri) ?? 1) - 1;
      if (left > 0) this.#watched.set(uri, left);
      else if (this.#watched.delete(uri)) void this.#subscribe(uri, "unsubscribe");
    };
  }

  close(): void {
    this.#unsubscribe();
    for (const stop of this.#heard.values()) stop();
    this.#heard.clear();
    this.#audiences.clear();
  }

  async #subscribe(uri: string, method: "subscribe" | "unsubscribe"): Promise<void> {
    const signal = AbortSignal.timeout(SUBSCRIBE_TIMEOUT_MS);
    try {
      const source = await this.#peers.findResource(uri, signal);
      await source?.[method]?.({ uri }, { signal });
    } catch {
      // Changes of that resource are not announced then; a read of it says why it cannot be read.
    }
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
        source.onNotification((notification) => this.#pass(notification)),
      );
    }
    this.#peers.forget();
  }

  #pass({ method, params }: PeerNotification): void {
    switch (method) {
      case "notifications/message":
        return this.#tell((audience) => audience.logged(params));
      case "notifications/prompts/list_changed":
        this.#peers.forget();
        return this.#tell((audience) => audience.promptsChanged());
      case "notifications/resources/list_changed":
        this.#peers.forget();
        return this.#tell((audience) => audience.resourcesChanged());
      case "notifications/resources/updated": {
        const uri = isJsonObject(params) ? params["uri"] : undefined;
        return typeof uri === "string" ? this.#tell((audience) => audience.resourceUpdated(uri)) : undefined;
      }
      case "notifications/tools/list_changed": // the runtime lists them again and says so itself
    }
  }

  #tell(tell: (audience: Audience) => void): void {
    for (const audience of this.#audiences) tell(audience);
  }
}

const SUBSCRIBE_TIMEOUT_MS = 10_000;
