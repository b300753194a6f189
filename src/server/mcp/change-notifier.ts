/** Notifies all connections of changes: changed tools of the runtime, and notifications of connected servers. */
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { PeerNotification } from "../../engine/mcp/peer.ts";
import type { Visibility } from "../../policy/visibility.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Peers } from "./peers.ts";
import type { Source } from "./source.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

/** A caller's subscription to one resource. */
interface Watch {
  readonly uri: string;
  readonly visible: Visibility | undefined;
  /** The server that is subscribed to, and how to leave it; undefined while no server is known to have the resource. */
  active: { readonly source: Source; readonly unsubscribe: () => void } | undefined;
  isSearching: boolean;
  /** Whether the lists have changed since the current search for the server began. */
  isStale: boolean;
}

/** The subscriptions of all callers to one resource of one server. */
interface Watched {
  count: number;
  isSubscribed: boolean;
}

/** Receives announcements: one connection, or all connections of one handler. */
export interface ChangeListener {
  toolsChanged(): void;
  /** @param source the source whose list changed; undefined if sources were added or removed */
  promptsChanged(source?: Source): void;
  resourcesChanged(source?: Source): void;
  resourceUpdated(uri: string, source: Source): void;
  messageLogged(params: JsonObject, source: Source): void;
}

export class ChangeNotifier {
  readonly #runtime: Runtime;
  readonly #peers: Peers;
  readonly #listeners = new Set<ChangeListener>();
  /** Functions that stop listening to each source. */
  readonly #sourceListeners = new Map<Source, () => void>();
  readonly #watches = new Set<Watch>();
  readonly #watched = new Map<Source, Map<string, Watched>>();
  readonly #unsubscribe: () => void;
  #version: number;
  #usable: Readonly<Record<"prompts" | "resources", readonly unknown[]>>;

  constructor(runtime: Runtime, peers: Peers) {
    this.#runtime = runtime;
    this.#peers = peers;
    this.#version = runtime.registry.version;
    this.#usable = listUsableSources(peers);
    this.#listenToSources();
    this.#unsubscribe = runtime.subscribe((event) => {
      if (event.type.startsWith("toolset-")) this.announceChanges();
    });
  }

  /** Adds a listener. Returns a function that removes it. */
  add(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Announces whether tools, or sources of prompts or resources, were added, removed or changed since the last check. */
  announceChanges(): void {
    const { version } = this.#runtime.registry;
    const before = this.#usable;
    this.#usable = listUsableSources(this.#peers);
    const [prompts, resources] = [!isSame(before.prompts, this.#usable.prompts), !isSame(before.resources, this.#usable.resources)];
    const tools = version !== this.#version;
    if (!tools && !prompts && !resources) return;
    this.#version = version;
    this.#listenToSources();
    if (tools) this.#notifyAll((audience) => audience.toolsChanged());
    if (prompts) this.#notifyAll((audience) => audience.promptsChanged());
    if (resources) this.#notifyAll((audience) => audience.resourcesChanged());
  }

  /**
   * Subscribes to a resource for a caller with these tools, at the server that lists it or has a template for it, until the returned function is
   * called. If no server has the resource yet, or the server refuses, it is tried again when servers or their lists change. If another server lists
   * the resource first by then, the subscription moves there.
   */
  watch(uri: string, visible: Visibility | undefined): () => void {
    const watch: Watch = { uri, visible, active: undefined, isSearching: false, isStale: false };
    this.#watches.add(watch);
    void this.#findSource(watch);
    return () => {
      if (this.#watches.delete(watch)) watch.active?.unsubscribe();
    };
  }

  /** Searches the server of each watch again, and repeats subscriptions that servers did not take. */
  #refreshSubscriptions(): void {
    const sources = new Set(this.#peers.sources());
    for (const watch of this.#watches) {
      if (watch.active !== undefined && !sources.has(watch.active.source)) {
        watch.active.unsubscribe();
        watch.active = undefined;
      }
      void this.#findSource(watch);
    }
    for (const [source, resources] of this.#watched)
      for (const [uri, watched] of resources) if (!watched.isSubscribed) void subscribe(source, uri, watched);
  }

  /** Finds the server of a watched resource; moves the subscription if another server has the resource now. */
  async #findSource(watch: Watch): Promise<void> {
    watch.isStale = watch.isSearching;
    if (watch.isSearching) return;
    const { uri, visible } = watch;
    watch.isSearching = true;
    const asker = { signal: AbortSignal.timeout(SEEK_TIMEOUT_MS), visible };
    const source = await this.#peers.findOwner(uri, asker).catch(() => undefined); // like no server
    watch.isSearching = false;
    if (!this.#watches.has(watch)) return;
    if (watch.isStale) return await this.#findSource(watch); // the server found may be gone
    if (source === undefined || source === watch.active?.source) return;
    const before = watch.active;
    watch.active = { source, unsubscribe: this.#subscribeShared(source, uri) };
    if (before === undefined) return;
    before.unsubscribe();
    this.#notifyAll((audience) => audience.resourceUpdated(uri, source)); // another server may have other contents
  }

  #subscribeShared(source: Source, uri: string): () => void {
    const resources = getOrAdd(this.#watched, source, () => new Map<string, Watched>());
    const watched = getOrAdd(resources, uri, () => ({ count: 0, isSubscribed: false }));
    if (watched.count++ === 0) void subscribe(source, uri, watched);
    return () => {
      if (--watched.count > 0) return;
      resources.delete(uri);
      if (resources.size === 0) this.#watched.delete(source);
      void unsubscribe(source, uri);
    };
  }

  close(): void {
    this.#unsubscribe();
    for (const stop of this.#sourceListeners.values()) stop();
    this.#sourceListeners.clear();
    this.#listeners.clear();
    for (const watch of this.#watches) watch.active?.unsubscribe();
    this.#watches.clear();
  }

  #listenToSources(): void {
    const sources = new Set(this.#peers.sources());
    for (const [source, stop] of this.#sourceListeners) {
      if (sources.has(source)) continue;
      stop();
      this.#sourceListeners.delete(source);
    }
    for (const source of sources) {
      if (source.onNotification === undefined || this.#sourceListeners.has(source)) continue;
      this.#sourceListeners.set(
        source,
        source.onNotification((notification) => this.#handleNotification(notification, source)),
      );
    }
    this.#peers.clearLists();
    this.#refreshSubscriptions();
  }

  #handleNotification({ method, params }: PeerNotification, source: Source): void {
    switch (method) {
      case "notifications/message":
        return this.#notifyAll((audience) => audience.messageLogged(params, source));
      case "notifications/prompts/list_changed":
        this.#peers.clearLists(source);
        return this.#notifyAll((audience) => audience.promptsChanged(source));
      case "notifications/resources/list_changed":
        this.#peers.clearLists(source);
        this.#refreshSubscriptions();
        return this.#notifyAll((audience) => audience.resourcesChanged(source));
      case "notifications/resources/updated": {
        const uri = isJsonObject(params) ? params["uri"] : undefined;
        return typeof uri === "string" ? this.#notifyAll((audience) => audience.resourceUpdated(uri, source)) : undefined;
      }
      case "notifications/tools/list_changed": // the runtime lists the tools again and announces the change itself
    }
  }

  #notifyAll(notify: (listener: ChangeListener) => void): void {
    for (const listener of this.#listeners) notify(listener);
  }
}

const SUBSCRIBE_TIMEOUT_MS = 10_000;
/** Maximum time to find the server of a resource, in milliseconds: longer than one server may take to list. */
const SEEK_TIMEOUT_MS = 30_000;

async function subscribe(source: Source, uri: string, watched: Watched): Promise<void> {
  watched.isSubscribed = true; // set first, so that concurrent calls do not subscribe twice
  try {
    await source.subscribe?.({ uri }, { signal: AbortSignal.timeout(SUBSCRIBE_TIMEOUT_MS) });
  } catch {
    watched.isSubscribed = false; // its changes are not announced until a later attempt succeeds; reading the resource reports why it cannot be read
  }
}

async function unsubscribe(source: Source, uri: string): Promise<void> {
  try {
    await source.unsubscribe?.({ uri }, { signal: AbortSignal.timeout(SUBSCRIBE_TIMEOUT_MS) });
  } catch {
    // further updates are sent to no client
  }
}

function listUsableSources(peers: Peers): Readonly<Record<"prompts" | "resources", readonly unknown[]>> {
  return { prompts: peers.listUsable("prompts"), resources: peers.listUsable("resources") };
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index]);
}
