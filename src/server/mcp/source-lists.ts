/** Loads and caches the lists of resources, templates and prompts of each source. A source that hangs does not delay those of the others. */
import { qualifiedName } from "../../core/call.ts";
import { ToolError, describeThrown, isToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import { isPeerError } from "../../engine/mcp/peer.ts";
import { METHOD_NOT_FOUND } from "../../engine/mcp/rpc-codes.ts";
import { providerName } from "../../wire/provider-name.ts";
import type { Settings } from "./options.ts";
import { isUsable, titleOf, type Source } from "./source.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

export type ListMethod = "listResources" | "listResourceTemplates" | "listPrompts";

export interface Entry {
  readonly source: Source;
  /** The source's own name of the entry. */
  readonly own: string;
  readonly item: JsonObject;
}
/** Entries by the name or URI that clients of this server use. */
export type Entries = ReadonlyMap<string, Entry>;

const LISTS = {
  listResources: { kind: "resources", field: "resources", key: "uri" },
  listResourceTemplates: { kind: "resources", field: "resourceTemplates", key: "uriTemplate" },
  listPrompts: { kind: "prompts", field: "prompts", key: "name" },
} as const;
const MAX_PAGES = 100;
const MAX_ENTRIES = 10_000;
/** Maximum time for one source to list, in milliseconds. */
const LIST_TIMEOUT_MS = 10_000;

interface LoadedList {
  readonly entries: Entries;
  /** Whether it was loaded completely. */
  readonly isComplete: boolean;
}

export class SourceLists {
  readonly #settings: Settings;
  readonly #cached = new Map<ListMethod, Map<Source, Entries>>();
  /** Lists being loaded, so that concurrent requests share one. */
  readonly #loading = new Map<ListMethod, Map<Source, Promise<LoadedList>>>();
  /** Sources that did not list in time when they were last asked. */
  readonly #late = new WeakSet<Source>();
  readonly #warned = new Set<string>();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  canList(source: Source, method: ListMethod): boolean {
    return source[method] !== undefined && isUsable(source, LISTS[method].kind);
  }

  /** The cached list; undefined if there is none, or it may have changed. */
  findCached(source: Source, method: ListMethod): Entries | undefined {
    return this.#cached.get(method)?.get(source);
  }

  isLate(source: Source): boolean {
    return this.#late.has(source);
  }

  /**
   * Loads the list of a source. Never rejects: a list that fails contains the entries loaded before that, with a warning, and is loaded again for the
   * next request. A waiting caller cannot cancel it, since others may wait for it too.
   */
  async load(source: Source, method: ListMethod): Promise<Entries> {
    const loading = getOrAdd(this.#loading, method, () => new Map<Source, Promise<LoadedList>>());
    const underWay = loading.get(source);
    if (underWay !== undefined) return (await underWay).entries;
    const list = this.#loadList(source, method);
    loading.set(source, list);
    void this.#cacheComplete(source, method, list);
    return (await list).entries;
  }

  /** Clears the lists of one source, or of all, because they may have changed. */
  clear(source?: Source): void {
    for (const lists of [...this.#cached.values(), ...this.#loading.values()]) {
      if (source === undefined) lists.clear();
      else lists.delete(source);
    }
  }

  /** Warns once about a name that two entries of a kind have. */
  warnDuplicate(name: string, { source }: Entry, method: ListMethod): void {
    const text = `${titleOf(source)} lists ${JSON.stringify(name)} in its ${LISTS[method].kind}, which another lists already: only the first is served.`;
    this.#warnOnce(text);
  }

  #warnOnce(text: string): void {
    if (this.#warned.has(text) || this.#warned.size >= MAX_ENTRIES) return;
    this.#warned.add(text);
    this.#settings.log.warn(text);
  }

  /** Caches a list when it is complete, unless it was cleared while being loaded. */
  async #cacheComplete(source: Source, method: ListMethod, list: Promise<LoadedList>): Promise<void> {
    const { entries, isComplete } = await list;
    const loading = this.#loading.get(method);
    if (loading?.get(source) !== list) return;
    loading.delete(source);
    if (!isComplete) return;
    getOrAdd(this.#cached, method, () => new Map()).set(source, entries);
  }

  async #loadList(source: Source, method: ListMethod): Promise<LoadedList> {
    const stop = new AbortController();
    const { clock } = this.#settings;
    const forget = clock.timer(() => {
      this.#late.add(source);
      stop.abort(new ToolError("timeout", `no answer within ${LIST_TIMEOUT_MS / 1_000} s`));
    }, LIST_TIMEOUT_MS);
    const entries = new Map<string, Entry>();
    try {
      await this.#addPages(entries, source, { method, signal: stop.signal });
      this.#late.delete(source);
      return { entries, isComplete: true };
    } catch (error: unknown) {
      // servers with resources need not have templates
      if (isToolError(error) && isPeerError(error) && error.rpcCode === METHOD_NOT_FOUND) return { entries, isComplete: true };
      this.#warnOnce(`The ${LISTS[method].field} of ${titleOf(source)} could not be listed: ${describeThrown(error)}`);
      return { entries, isComplete: false };
    } finally {
      forget();
    }
  }

  async #addPages(
    entries: Map<string, Entry>,
    source: Source,
    { method, signal }: { readonly method: ListMethod; readonly signal: AbortSignal },
  ): Promise<void> {
    const { field, key } = LISTS[method];
    let cursor: unknown;
    for (let page = 0; page < MAX_PAGES && entries.size < MAX_ENTRIES; page++) {
      const asked = source[method]?.(typeof cursor === "string" ? { cursor } : {}, { signal });
      const answer = (asked === undefined ? undefined : await rejectOnAbort(asked, signal)) ?? {};
      const items = answer[field];
      for (const item of isJsonArray(items) ? items : []) {
        const own = isJsonObject(item) ? item[key] : undefined;
        if (!isJsonObject(item) || typeof own !== "string") continue;
        const [name, shown] = toClientEntry(source, own, { item, method });
        const entry = { source, own, item: shown };
        if (entries.has(name)) this.warnDuplicate(name, entry, method);
        else entries.set(name, entry);
      }
      cursor = answer["nextCursor"];
      if (typeof cursor !== "string" || cursor === "") break;
    }
  }
}

/** The name and entry for clients: prompts are prefixed with their toolset; URIs are unchanged. */
function toClientEntry(
  source: Source,
  own: string,
  { item, method }: { readonly item: JsonObject; readonly method: ListMethod },
): readonly [string, JsonObject] {
  if (method !== "listPrompts" || source.name === undefined || source.name === "") return [own, item];
  const name = providerName(qualifiedName(source.name, own));
  return [name, { ...item, name }];
}
