/** Resources, prompts and completions of connected MCP servers and of the program, as if they were one server's. */
import { qualifiedName } from "../../core/call.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { mcpPeerOf, type McpPeer, type PeerError, type PeerOptions } from "../../engine/mcp/peer.ts";
import { INVALID_PARAMS, RESOURCE_NOT_FOUND } from "../../engine/mcp/rpc-codes.ts";
import type { Visibility } from "../../policy/visibility.ts";
import type { Registry } from "../../registry/registry.ts";
import { providerName } from "../../wire/provider-name.ts";
import type { Settings } from "./options.ts";
import type { McpProvider } from "./provider.ts";
import { untilAborted } from "../../core/base/until-aborted.ts";

export type Kind = "resources" | "prompts" | "completions";
type ListMethod = "listResources" | "listResourceTemplates" | "listPrompts";
export type Source = McpProvider & Partial<Pick<McpPeer, "identity" | "subscribe" | "unsubscribe" | "setLogLevel">>;

const METHODS: Readonly<Record<Kind, readonly (keyof McpProvider)[]>> = {
  resources: ["listResources", "listResourceTemplates", "readResource"],
  prompts: ["listPrompts"],
  completions: ["complete"],
};
const LISTS = {
  listResources: { kind: "resources", field: "resources", key: "uri" },
  listResourceTemplates: { kind: "resources", field: "resourceTemplates", key: "uriTemplate" },
  listPrompts: { kind: "prompts", field: "prompts", key: "name" },
} as const;
const MAX_PAGES = 100;
const MAX_ENTRIES = 10_000;
/** One server that says nothing must not keep the others' lists from the client. */
const LIST_TIMEOUT_MS = 10_000;
const NOT_FOUND_CODES: ReadonlySet<number> = new Set([RESOURCE_NOT_FOUND, INVALID_PARAMS]);

interface Entry {
  readonly source: Source;
  /** As the source calls it. */
  readonly own: string;
  readonly item: JsonObject;
}
/** By the name or URI that our clients know: of several servers that have one, the first that a caller knows of counts. */
type Entries = ReadonlyMap<string, readonly [Entry, ...Entry[]]>;

/** On whose behalf something is asked for. */
export interface Asker {
  readonly signal: AbortSignal;
  /** The tools of the caller; undefined = all. */
  readonly visible: Visibility | undefined;
}

export class Peers {
  readonly #registry: Registry;
  readonly #settings: Settings;
  readonly #known = new Map<ListMethod, Entries>();
  /** Lists that are being made: a further request meanwhile waits for the same. */
  readonly #loading = new Map<ListMethod, Promise<Entries>>();
  readonly #warned = new Set<string>();
  /** As the registry was at a version. */
  #served: Served | undefined;

  constructor(registry: Registry, settings: Settings) {
    this.#registry = registry;
    this.#settings = settings;
  }

  /** The program's own first, then connected servers in the order of their toolsets. */
  sources(): readonly Source[] {
    return this.#current().list;
  }

  /**
   * Whether a caller may know of a source: it may use any of its tools, or could use one where it has none. The program's own are known
   * to every caller.
   */
  isSeen(source: Source, visible: Visibility | undefined): boolean {
    if (visible === undefined || !("identity" in source)) return true;
    return (
      this.#current()
        .tools.get(source)
        ?.some((name) => visible.permits(name)) === true
    );
  }

  #current(): Served {
    const { version } = this.#registry;
    if (this.#served?.version !== version) this.#served = this.#serve(version);
    return this.#served;
  }

  /** A server whose tools are all denied offers nothing else either. */
  #serve(version: number): Served {
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

  /** Whether anybody offers such a thing; servers that are not open yet are taken to. */
  has(kind: Kind): boolean {
    return this.sources().some((source) => offers(source, kind));
  }

  /** Everything of a kind, each under a name or URI of its own. */
  async list(method: ListMethod, { signal, visible }: Asker): Promise<readonly JsonObject[]> {
    const all = await this.#load(method, signal);
    const seen = Array.from(all.values(), (entries) => this.#firstSeen(entries, visible));
    return seen.flatMap((entry) => (entry === undefined ? [] : [entry.item]));
  }

  /** Finds the peer behind a prompt's name; `not_found` by rejecting. */
  async findPrompt(name: string, asker: Asker): Promise<{ readonly source: Source; readonly own: string }> {
    const found = await this.#find("listPrompts", name, asker);
    if (found === undefined) throw new ToolError("not_found", `No prompt ${JSON.stringify(name)}.`);
    return found;
  }

  /** The server that lists a resource; undefined when none does. */
  async findResource(uri: string, asker: Asker): Promise<Source | undefined> {
    return (await this.#find("listResources", uri, asker))?.source;
  }

  /** The server that lists a resource, else the first with a template that it fits; undefined when there is none. */
  async findOwner(uri: string, asker: Asker): Promise<Source | undefined> {
    return (await this.findResource(uri, asker)) ?? (await this.#withTemplateFor(uri, asker));
  }

  async #withTemplateFor(uri: string, asker: Asker): Promise<Source | undefined> {
    const templates = await this.#load("listResourceTemplates", asker.signal);
    const fitting = [...templates].filter(([template]) => fitsTemplate(uri, template));
    return fitting.map(([, entries]) => this.#firstSeen(entries, asker.visible)).find((entry) => entry !== undefined)?.source;
  }

  /** Without the resources that only servers list which the caller does not know of. Others may be behind a template, or be listed later. */
  async withoutHidden(uris: readonly string[], { signal, visible }: Asker): Promise<readonly string[]> {
    if (uris.length === 0) return uris;
    const all = this.#known.get("listResources") ?? (await this.#load("listResources", signal));
    return uris.filter((uri) => {
      const entries = all.get(uri);
      return entries === undefined || this.#firstSeen(entries, visible) !== undefined;
    });
  }

  /** The server that lists a template, by the template itself. */
  async findTemplate(uriTemplate: string, asker: Asker): Promise<Source | undefined> {
    return (await this.#find("listResourceTemplates", uriTemplate, asker))?.source;
  }

  async #find(method: ListMethod, name: string, { signal, visible }: Asker): Promise<Entry | undefined> {
    const entries = this.#known.get(method)?.get(name) ?? (await this.#load(method, signal)).get(name);
    return entries === undefined ? undefined : this.#firstSeen(entries, visible);
  }

  #firstSeen(entries: readonly Entry[], visible: Visibility | undefined): Entry | undefined {
    return entries.find(({ source }) => this.isSeen(source, visible));
  }

  /**
   * Reads from the server that lists the resource; one that is not listed from the first that has it, beginning with one whose template fits.
   * Servers have many errors for what they do not know, so that an error of one does not keep the next from being asked.
   */
  async read(params: JsonObject & { readonly uri: string }, { visible, ...options }: Asker & PeerOptions): Promise<JsonObject> {
    const asker = { visible, signal: options.signal };
    const owner = await this.findResource(params.uri, asker);
    const isAsked = (source: Source): boolean =>
      source.readResource !== undefined && isUsable(source, "resources") && this.isSeen(source, visible);
    const first = owner ?? (await this.#withTemplateFor(params.uri, asker));
    const others = owner === undefined ? this.sources().filter((source) => source !== first && isAsked(source)) : [];
    const candidates = first === undefined ? others : [first, ...others];
    let last: unknown;
    const problems: unknown[] = [];
    for (const source of candidates) {
      try {
        const asked = source.readResource?.(params, options);
        if (asked !== undefined) return await untilAborted(asked, options.signal);
      } catch (error: unknown) {
        if (options.signal.aborted) throw error;
        if (isNotFound(error)) last = error;
        else problems.push(error);
      }
    }
    if (problems.length > 0) throw problems[0];
    throw new ToolError("not_found", `No resource ${JSON.stringify(params.uri)}.`, { cause: last });
  }

  /** Forgets the lists, which may have changed. */
  forget(): void {
    this.#known.clear();
    this.#loading.clear();
  }

  /** Not ended by the signal of one who asks: others may wait for it. */
  #load(method: ListMethod, signal: AbortSignal): Promise<Entries> {
    const known = this.#loading.get(method);
    if (known !== undefined) return untilAborted(known, signal);
    const loading = this.#list(method);
    this.#loading.set(method, loading);
    void this.#keep(method, loading);
    return untilAborted(loading, signal);
  }

  /** A list that was forgotten while it was being made is out of date. */
  async #keep(method: ListMethod, loading: Promise<Entries>): Promise<void> {
    const entries = await loading;
    if (this.#loading.get(method) !== loading) return;
    this.#loading.delete(method);
    this.#known.set(method, entries);
  }

  async #list(method: ListMethod): Promise<Entries> {
    const { kind } = LISTS[method];
    const sources = this.sources().filter((source) => source[method] !== undefined && isUsable(source, kind));
    const lists = await Promise.all(sources.map((source) => this.#listOf(source, method)));
    const entries = new Map<string, [Entry, ...Entry[]]>();
    for (const entry of lists.flat()) {
      const [name, shown] = this.#shown(entry, method);
      const item = { ...entry, item: shown };
      const others = entries.get(name);
      if (others === undefined) entries.set(name, [item]);
      else this.#warnTwice(name, entry.source, kind);
      if (others?.at(-1)?.source !== entry.source) others?.push(item);
    }
    return entries;
  }

  /** All pages of one source; what fails is left out with a warning. */
  async #listOf(source: Source, method: ListMethod): Promise<readonly Entry[]> {
    const { field, key } = LISTS[method];
    const stop = new AbortController();
    const { clock } = this.#settings;
    const late = (): void => stop.abort(new ToolError("timeout", `no answer within ${LIST_TIMEOUT_MS / 1_000} s`));
    const forget = clock.timer(late, LIST_TIMEOUT_MS);
    const { signal } = stop;
    const entries: Entry[] = [];
    try {
      let cursor: unknown;
      for (let page = 0; page < MAX_PAGES && entries.length < MAX_ENTRIES; page++) {
        const asked = source[method]?.(typeof cursor === "string" ? { cursor } : {}, { signal });
        const answer = (asked === undefined ? undefined : await untilAborted(asked, signal)) ?? {};
        const items = answer[field];
        for (const item of isJsonArray(items) ? items : []) {
          const own = isJsonObject(item) ? item[key] : undefined;
          if (isJsonObject(item) && typeof own === "string") entries.push({ source, own, item });
        }
        cursor = answer["nextCursor"];
        if (typeof cursor !== "string" || cursor === "") break;
      }
    } catch (error: unknown) {
      this.#settings.log.warn(`The ${field} of ${titleOf(source)} are not listed: ${describeThrown(error)}`);
    } finally {
      forget();
    }
    return entries;
  }

  /** Prompts are distinguished by their toolset; URIs stay as they are. */
  #shown({ source, own, item }: Entry, method: ListMethod): readonly [string, JsonObject] {
    if (method !== "listPrompts" || source.name === undefined || source.name === "") return [own, item];
    const name = providerName(qualifiedName(source.name, own));
    return [name, { ...item, name }];
  }

  #warnTwice(name: string, source: Source, kind: Kind): void {
    const text = `${titleOf(source)} lists ${JSON.stringify(name)} of the ${kind}, which another lists already: only the first is served.`;
    if (this.#warned.has(text) || this.#warned.size >= MAX_ENTRIES) return;
    this.#warned.add(text);
    this.#settings.log.warn(text);
  }
}

interface Served {
  readonly version: number;
  readonly list: readonly Source[];
  /** The qualified names of each server's tools; of one that has none a name that rules for all of its tools match. */
  readonly tools: ReadonlyMap<Source, readonly string[]>;
}

/** Whether a source has such things, or may have them once it is open. */
function offers(source: Source, kind: Kind): boolean {
  return "identity" in source && source.identity === undefined ? true : isUsable(source, kind);
}

/** Whether a source can be asked for such things now. */
function isUsable(source: Source, kind: Kind): boolean {
  if ("identity" in source) return source.identity?.capabilities[kind] !== undefined;
  return METHODS[kind].some((method) => source[method] !== undefined);
}

function titleOf({ name }: Source): string {
  return name === undefined || name === "" ? "the program" : `MCP server ${JSON.stringify(name)}`;
}

/** Whether a template may give the URI: its literal parts are in it, in order. */
function fitsTemplate(uri: string, template: string): boolean {
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

export function isPeerError(error: ToolError): error is PeerError {
  return "rpcCode" in error && typeof error.rpcCode === "number";
}
