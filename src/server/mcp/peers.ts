/** Resources, prompts and completions of connected MCP servers and of the program, as if they were one server's. */
import { qualifiedName } from "../../core/call.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { mcpPeerOf, type McpPeer, type PeerError, type PeerOptions } from "../../engine/mcp/peer.ts";
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
const NOT_FOUND_CODES: ReadonlySet<number> = new Set([-32_002, -32_602]);

interface Entry {
  readonly source: Source;
  /** As the source calls it. */
  readonly own: string;
  readonly item: JsonObject;
}
/** By the name or URI that our clients know. */
type Entries = ReadonlyMap<string, Entry>;

export class Peers {
  readonly #registry: Registry;
  readonly #settings: Settings;
  readonly #known = new Map<ListMethod, Entries>();
  /** Lists that are being made: a further request meanwhile waits for the same. */
  readonly #loading = new Map<ListMethod, Promise<Entries>>();
  readonly #warned = new Set<string>();
  /** As the registry was at a version. */
  #sources: { readonly version: number; readonly list: readonly Source[] } | undefined;

  constructor(registry: Registry, settings: Settings) {
    this.#registry = registry;
    this.#settings = settings;
  }

  /** The program's own first, then connected servers in the order of their toolsets. */
  sources(): readonly Source[] {
    const { version } = this.#registry;
    if (this.#sources?.version !== version) this.#sources = { version, list: this.#served() };
    return this.#sources.list;
  }

  /** A server whose tools are all denied offers nothing else either. */
  #served(): readonly Source[] {
    const { providers, toolsets } = this.#settings;
    const withTools = new Set(this.#registry.list().map(({ toolset }) => toolset.name));
    const denied = new Set(this.#registry.listDenied().map(({ toolset }) => toolset.name));
    const served = this.#registry
      .toolsets()
      .filter(({ name }) => (toolsets === undefined || toolsets.has(name)) && (withTools.has(name) || !denied.has(name)));
    const peers = served.map(({ engine }) => (engine === undefined ? undefined : mcpPeerOf(engine)));
    return [...providers, ...peers.filter((peer) => peer !== undefined)];
  }

  /** Whether anybody offers such a thing; servers that are not open yet are taken to. */
  has(kind: Kind): boolean {
    return this.sources().some((source) => offers(source, kind));
  }

  /** Everything of a kind, each under a name or URI of its own. */
  async list(method: ListMethod, signal: AbortSignal): Promise<readonly JsonObject[]> {
    const entries = await this.#load(method, signal);
    return Array.from(entries.values(), ({ item }) => item);
  }

  /** Finds the peer behind a prompt's name; `not_found` by rejecting. */
  async findPrompt(name: string, signal: AbortSignal): Promise<{ readonly source: Source; readonly own: string }> {
    const found = this.#known.get("listPrompts")?.get(name) ?? (await this.#load("listPrompts", signal)).get(name);
    if (found === undefined) throw new ToolError("not_found", `No prompt ${JSON.stringify(name)}.`);
    return found;
  }

  /** The server that lists a resource; undefined when none does. */
  async findResource(uri: string, signal: AbortSignal): Promise<Source | undefined> {
    const found = this.#known.get("listResources")?.get(uri) ?? (await this.#load("listResources", signal)).get(uri);
    return found?.source;
  }

  /** The server that lists a template, by the template itself. */
  async findTemplate(uriTemplate: string, signal: AbortSignal): Promise<Source | undefined> {
    const found =
      this.#known.get("listResourceTemplates")?.get(uriTemplate) ?? (await this.#load("listResourceTemplates", signal)).get(uriTemplate);
    return found?.source;
  }

  /** Reads from the server that lists the resource; one that is not listed, as behind a template, from the first that has it. */
  async read(params: JsonObject & { readonly uri: string }, options: PeerOptions): Promise<JsonObject> {
    const owner = await this.findResource(params.uri, options.signal);
    const candidates =
      owner === undefined ? this.sources().filter((source) => source.readResource !== undefined && isUsable(source, "resources")) : [owner];
    let last: unknown;
    for (const source of candidates) {
      try {
        const asked = source.readResource?.(params, options);
        if (asked !== undefined) return await untilAborted(asked, options.signal);
      } catch (error: unknown) {
        if (!isNotFound(error)) throw error;
        last = error;
      }
    }
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
    const entries = new Map<string, Entry>();
    for (const entry of lists.flat()) {
      const [name, shown] = this.#shown(entry, method);
      if (entries.has(name)) this.#warnTwice(name, entry.source, kind);
      else entries.set(name, { ...entry, item: shown });
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

function isNotFound(error: unknown): boolean {
  if (!(error instanceof ToolError)) return false;
  return error.code === "not_found" || (isPeerError(error) && NOT_FOUND_CODES.has(error.rpcCode));
}

export function isPeerError(error: ToolError): error is PeerError {
  return "rpcCode" in error && typeof error.rpcCode === "number";
}
