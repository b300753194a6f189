/** Merges the resources, prompts and completions of connected MCP servers and of the program into one server's. */
import { qualifiedName } from "../../core/call.ts";
import { ToolError } from "../../core/error.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { isPeerError, mcpPeerOf, type PeerOptions } from "../../engine/mcp/peer.ts";
import { INVALID_PARAMS, RESOURCE_NOT_FOUND } from "../../engine/mcp/rpc-codes.ts";
import type { Visibility } from "../../policy/visibility.ts";
import type { Registry } from "../../registry/registry.ts";
import { withTimeLimit } from "../../processes/sleep.ts";
import { firstAnswer, firstFound } from "./first-of.ts";
import type { Settings } from "./options.ts";
import { SourceLists, type Entries, type Entry, type ListMethod } from "./source-lists.ts";
import { isUsable, mayOffer, mayOfferSubscriptions, titleOf, type Kind, type Source } from "./source.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";

/** How long a server may take to read a resource that it neither lists nor has a template for, in milliseconds. */
const UNLISTED_READ_MS = 30_000;
const NOT_FOUND_CODES: ReadonlySet<number> = new Set([RESOURCE_NOT_FOUND, INVALID_PARAMS]);

/** The caller of a request. */
export interface Asker {
  readonly signal: AbortSignal;
  /** The tools of the caller; undefined for all. */
  readonly visible: Visibility | undefined;
}

export class Peers {
  readonly #registry: Registry;
  readonly #settings: Settings;
  readonly #lists: SourceLists;
  /** The sources, cached for one version of the registry. */
  #served: SourceSet | undefined;

  constructor(registry: Registry, settings: Settings) {
    this.#registry = registry;
    this.#settings = settings;
    this.#lists = new SourceLists(settings);
  }

  /** All sources: the program's own first, then connected servers in the order of their toolsets. */
  sources(): readonly Source[] {
    return this.#current().list;
  }

  /**
   * Whether a caller may see a source: it may use any of the source's tools or, if there are none, its rules would permit one. The program's own
   * sources are visible to every caller.
   */
  isVisible(source: Source, visible: Visibility | undefined): boolean {
    if (visible === undefined || !("identity" in source)) return true;
    return (
      this.#current()
        .tools.get(source)
        ?.some((name) => visible.permits(name)) === true
    );
  }

  #current(): SourceSet {
    const { version } = this.#registry;
    if (this.#served?.version !== version) this.#served = this.#collectSources(version);
    return this.#served;
  }

  /** Collects the sources. A server whose tools are all denied offers nothing else either. */
  #collectSources(version: number): SourceSet {
    const { providers, toolsets } = this.#settings;
    const offered = Map.groupBy(this.#registry.list(), ({ toolset }) => toolset.name);
    const denied = new Set(this.#registry.listDenied().map(({ toolset }) => toolset.name));
    const tools = new Map<Source, readonly string[]>();
    for (const { name, engine } of this.#registry.toolsets()) {
      const own = offered.get(name)?.map((tool) => tool.qualifiedName);
      if ((toolsets !== undefined && !toolsets.has(name)) || (own === undefined && denied.has(name))) continue;
      const peer = engine === undefined ? undefined : mcpPeerOf(engine);
      if (peer !== undefined) tools.set(peer, own ?? [qualifiedName(name, "*")]);
    }
    return { version, list: [...providers, ...tools.keys()], tools };
  }

  /** Whether any source offers this kind; servers that are not open yet count as offering it. */
  offersKind(kind: Kind): boolean {
    return this.sources().some((source) => mayOffer(source, kind));
  }

  /** Whether any source announces changes of single resources; servers that are not open yet count as doing so. */
  offersSubscriptions(): boolean {
    return this.sources().some(mayOfferSubscriptions);
  }

  /** The sources that can be asked for a kind now, with their connections; differs after one was added, removed or reconnected. */
  listUsable(kind: Kind): readonly unknown[] {
    return this.sources().flatMap((source) => (isUsable(source, kind) ? [source, source.identity] : []));
  }

  /** Lists all entries of a kind, each name or URI once: of several sources with the same one, the first that the caller may see is used. */
  async list(method: ListMethod, { signal, visible }: Asker): Promise<readonly JsonObject[]> {
    const loading = Promise.all(this.#listableSources(method).map((source) => this.#lists.load(source, method)));
    const all = new Map<string, Entry[]>();
    for (const [name, entry] of (await rejectOnAbort(loading, signal)).flatMap((entries) => [...entries])) {
      const others = all.get(name);
      if (others === undefined) all.set(name, [entry]);
      else {
        this.#lists.warnDuplicate(name, entry, method);
        others.push(entry);
      }
    }
    const seen = Array.from(all.values(), (entries) => entries.find(({ source }) => this.isVisible(source, visible)));
    return seen.flatMap((entry) => (entry === undefined ? [] : [entry.item]));
  }

  /** Finds the source of a prompt. @throws ToolError `not_found`, as a rejection */
  async findPrompt(name: string, asker: Asker): Promise<{ readonly source: Source; readonly own: string }> {
    const found = await this.#find([{ method: "listPrompts", pick: (entries) => entries.get(name) }], asker);
    if (found === undefined) throw new ToolError("not_found", `No prompt ${JSON.stringify(name)}.`);
    return found;
  }

  /** The source that lists a resource; undefined if none does. */
  async findResource(uri: string, asker: Asker): Promise<Source | undefined> {
    return (await this.#find([byUri(uri)], asker))?.source;
  }

  /** The source that lists a resource, otherwise the first with a matching template; undefined if there is none. */
  async findOwner(uri: string, asker: Asker): Promise<Source | undefined> {
    return (await this.#find([byUri(uri), byTemplate(uri)], asker))?.source;
  }

  /** Removes the resources that are listed only by servers hidden from the caller. Others are kept: they may have a template, or be listed later. */
  async withoutHidden(uris: readonly string[], { signal, visible }: Asker): Promise<readonly string[]> {
    if (uris.length === 0) return uris;
    const lists = this.#listableSources("listResources").map(async (source) => {
      const known = this.#lists.findCached(source, "listResources");
      const loading = known ?? this.#lists.load(source, "listResources");
      return { source, entries: this.#lists.isLate(source) ? known : await loading };
    });
    const all = await rejectOnAbort(Promise.all(lists), signal);
    return uris.filter((uri) => {
      const owners = all.filter(({ entries }) => entries?.has(uri) === true);
      return owners.length === 0 || owners.some(({ source }) => this.isVisible(source, visible));
    });
  }

  /** The source that lists a template; undefined if none does. */
  async findTemplate(uriTemplate: string, asker: Asker): Promise<Source | undefined> {
    const pick: EntryQuery["pick"] = (entries) => entries.get(uriTemplate);
    return (await this.#find([{ method: "listResourceTemplates", pick }], asker))?.source;
  }

  #listableSources(method: ListMethod): readonly Source[] {
    return this.sources().filter((source) => this.#lists.canList(source, method));
  }

  /** @param wanted what to look for, in order of preference */
  async #find(wanted: readonly [EntryQuery, ...EntryQuery[]], { signal, visible }: Asker): Promise<Entry | undefined> {
    const seen = (method: ListMethod): readonly Source[] =>
      this.#listableSources(method).filter((source) => this.isVisible(source, visible));
    const [{ method, pick }] = wanted;
    for (const source of seen(method)) {
      const known = this.#lists.findCached(source, method);
      const entry = known === undefined ? undefined : pick(known);
      if (entry !== undefined) return entry;
      if (known === undefined && !this.#lists.isLate(source)) break; // it may have the entry, and is preferred
    }
    const searches = wanted.flatMap(({ method, pick }) =>
      seen(method).map((source) => ({ isLate: this.#lists.isLate(source), found: this.#search(source, { method, pick }) })),
    );
    return await rejectOnAbort(firstFound(searches), signal);
  }

  /** Searches one list. A cached list without the entry is loaded again. */
  async #search(source: Source, { method, pick }: EntryQuery): Promise<Entry | undefined> {
    const known = this.#lists.findCached(source, method);
    return (known && pick(known)) ?? pick(await this.#lists.load(source, method));
  }

  /**
   * Reads a resource from the server that lists it. If none does, servers are asked in turn, one with a matching template first. Servers use many
   * errors for unknown resources, so neither an error nor a server that hangs keeps the next one from being asked. Until every server that did not
   * hang before has listed its resources, no other is read from: one of them may be the owner.
   */
  async read(params: JsonObject & { readonly uri: string }, { visible, ...options }: Asker & PeerOptions): Promise<JsonObject> {
    const { signal } = options;
    const { clock } = this.#settings;
    const owner = await this.#find([byUri(params.uri), byTemplate(params.uri)], { visible, signal });
    const isOwned = owner !== undefined && owner.own === params.uri;
    const candidates = isOwned ? [owner.source] : this.#readCandidates(owner?.source, visible);
    const ask = async (source: Source, outer: AbortSignal): Promise<JsonObject> => {
      const read = (signal: AbortSignal): Promise<JsonObject> =>
        rejectOnAbort(
          source.readResource?.(params, { ...options, signal }) ?? Promise.reject(notFoundError(params.uri)),
          signal,
          () => new ToolError("timeout", `${titleOf(source)} did not answer in time.`),
        );
      return source === owner?.source ? await read(outer) : await withTimeLimit({ clock, limitMs: UNLISTED_READ_MS, outer }, read);
    };
    try {
      return await rejectOnAbort(firstAnswer(candidates, ask, { clock, outer: signal }), signal);
    } catch (error: unknown) {
      if (signal.aborted || !(error instanceof AggregateError)) throw error;
      const problem: unknown = error.errors.find((one) => !isNotFound(one));
      if (problem !== undefined) throw problem instanceof Error ? problem : ToolError.fromUnknown(problem);
      throw notFoundError(params.uri, error.errors.at(-1));
    }
  }

  /** The sources to ask for a resource that none of them lists; sources that did not answer in time are last. */
  #readCandidates(first: Source | undefined, visible: Visibility | undefined): readonly Source[] {
    const others = this.sources().filter(
      (source) => source !== first && source.readResource !== undefined && isUsable(source, "resources") && this.isVisible(source, visible),
    );
    const isLate = (source: Source): boolean => this.#lists.isLate(source);
    return [...(first === undefined ? [] : [first]), ...others.filter((one) => !isLate(one)), ...others.filter(isLate)];
  }

  /** Clears the cached lists of one source, or of all, because they may have changed. */
  clearLists(source?: Source): void {
    this.#lists.clear(source);
  }
}

/** An entry to find in a list of a source. */
interface EntryQuery {
  readonly method: ListMethod;
  readonly pick: (entries: Entries) => Entry | undefined;
}

function byUri(uri: string): EntryQuery {
  return { method: "listResources", pick: (entries) => entries.get(uri) };
}

function byTemplate(uri: string): EntryQuery {
  const pick: EntryQuery["pick"] = (entries) => [...entries].find(([template]) => matchesTemplate(uri, template))?.[1];
  return { method: "listResourceTemplates", pick };
}

function notFoundError(uri: string, cause?: unknown): ToolError {
  return new ToolError("not_found", `No resource ${JSON.stringify(uri)}.`, { cause });
}

interface SourceSet {
  readonly version: number;
  readonly list: readonly Source[];
  /** The qualified names of each server's tools; for a server without tools, a wildcard name that rules for all its tools match. */
  readonly tools: ReadonlyMap<Source, readonly string[]>;
}

/** Whether a template may produce the URI: the URI contains its literal parts in order. */
function matchesTemplate(uri: string, template: string): boolean {
  const [first = "", ...others] = template.split(/\{[^{}]*\}/u);
  const last = others.pop();
  if (last === undefined) return uri === template;
  let at = uri.startsWith(first) ? first.length : -1;
  for (const part of others) {
    const found = at < 0 ? -1 : uri.indexOf(part, at);
    at = found < 0 ? -1 : found + part.length;
  }
  return at >= 0 && uri.length - last.length >= at && uri.endsWith(last);
}

function isNotFound(error: unknown): boolean {
  if (!(error instanceof ToolError)) return false;
  return error.code === "not_found" || (isPeerError(error) && NOT_FOUND_CODES.has(error.rpcCode));
}
