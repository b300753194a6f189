/** Resources, prompts and completions of connected MCP servers and of the program, as if they were one server's. */
import { qualifiedName } from "../../core/call.ts";
import { ToolError } from "../../core/error.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { mcpPeerOf, type PeerError, type PeerOptions } from "../../engine/mcp/peer.ts";
import { INVALID_PARAMS, RESOURCE_NOT_FOUND } from "../../engine/mcp/rpc-codes.ts";
import type { Visibility } from "../../policy/visibility.ts";
import type { Registry } from "../../registry/registry.ts";
import { within } from "../../processes/pause.ts";
import { firstAnswer, firstFound } from "./first-of.ts";
import type { Settings } from "./options.ts";
import { SourceLists, type Entries, type Entry, type ListMethod } from "./source-lists.ts";
import { isUsable, offers, titleOf, type Kind, type Source } from "./source.ts";
import { untilAborted } from "../../core/base/until-aborted.ts";

/** How long a server may take to read a resource that it neither lists nor has a template for. */
const GUESS_MS = 30_000;
const NOT_FOUND_CODES: ReadonlySet<number> = new Set([RESOURCE_NOT_FOUND, INVALID_PARAMS]);

/** On whose behalf something is asked for. */
export interface Asker {
  readonly signal: AbortSignal;
  /** The tools of the caller; undefined = all. */
  readonly visible: Visibility | undefined;
}

export class Peers {
  readonly #registry: Registry;
  readonly #settings: Settings;
  readonly #lists: SourceLists;
  /** As the registry was at a version. */
  #served: Served | undefined;

  constructor(registry: Registry, settings: Settings) {
    this.#registry = registry;
    this.#settings = settings;
    this.#lists = new SourceLists(settings);
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

  /** The sources that can be asked for a kind now, as they are connected: others once one of them has come, gone or been connected to again. */
  usable(kind: Kind): readonly unknown[] {
    return this.sources().flatMap((source) => (isUsable(source, kind) ? [source, source.identity] : []));
  }

  /** Everything of a kind, each under a name or URI of its own: of several sources that have one, the first that a caller knows of counts. */
  async list(method: ListMethod, { signal, visible }: Asker): Promise<readonly JsonObject[]> {
    const loading = Promise.all(this.#listing(method).map((source) => this.#lists.load(source, method)));
    const all = new Map<string, Entry[]>();
    for (const [name, entry] of (await untilAborted(loading, signal)).flatMap((entries) => [...entries])) {
      const others = all.get(name);
      if (others === undefined) all.set(name, [entry]);
      else {
        this.#lists.warnTwice(name, entry, method);
        others.push(entry);
      }
    }
    const seen = Array.from(all.values(), (entries) => entries.find(({ source }) => this.isSeen(source, visible)));
    return seen.flatMap((entry) => (entry === undefined ? [] : [entry.item]));
  }

  /** Finds the peer behind a prompt's name; `not_found` by rejecting. */
  async findPrompt(name: string, asker: Asker): Promise<{ readonly source: Source; readonly own: string }> {
    const found = await this.#find([{ method: "listPrompts", pick: (entries) => entries.get(name) }], asker);
    if (found === undefined) throw new ToolError("not_found", `No prompt ${JSON.stringify(name)}.`);
    return found;
  }

  /** The server that lists a resource; undefined when none does. */
  async findResource(uri: string, asker: Asker): Promise<Source | undefined> {
    return (await this.#find([listed(uri)], asker))?.source;
  }

  /** The server that lists a resource, else the first with a template that it fits; undefined when there is none. */
  async findOwner(uri: string, asker: Asker): Promise<Source | undefined> {
    return (await this.#find([listed(uri), behindTemplate(uri)], asker))?.source;
  }

  /** Without the resources that only servers list which the caller does not know of. Others may be behind a template, or be listed later. */
  async withoutHidden(uris: readonly string[], { signal, visible }: Asker): Promise<readonly string[]> {
    if (uris.length === 0) return uris;
    const lists = this.#listing("listResources").map(async (source) => {
      const known = this.#lists.known(source, "listResources");
      const loading = known ?? this.#lists.load(source, "listResources");
      return { source, entries: this.#lists.isLate(source) ? known : await loading };
    });
    const all = await untilAborted(Promise.all(lists), signal);
    return uris.filter((uri) => {
      const owners = all.filter(({ entries }) => entries?.has(uri) === true);
      return owners.length === 0 || owners.some(({ source }) => this.isSeen(source, visible));
    });
  }

  /** The server that lists a template, by the template itself. */
  async findTemplate(uriTemplate: string, asker: Asker): Promise<Source | undefined> {
    const pick: Wanted["pick"] = (entries) => entries.get(uriTemplate);
    return (await this.#find([{ method: "listResourceTemplates", pick }], asker))?.source;
  }

  #listing(method: ListMethod): readonly Source[] {
    return this.sources().filter((source) => this.#lists.canList(source, method));
  }

  /** @param wanted what is preferred first */
  async #find(wanted: readonly [Wanted, ...Wanted[]], { signal, visible }: Asker): Promise<Entry | undefined> {
    const seen = (method: ListMethod): readonly Source[] => this.#listing(method).filter((source) => this.isSeen(source, visible));
    const [{ method, pick }] = wanted;
    for (const source of seen(method)) {
      const known = this.#lists.known(source, method);
      const entry = known === undefined ? undefined : pick(known);
      if (entry !== undefined) return entry;
      if (known === undefined && !this.#lists.isLate(source)) break; // it may have it, and is preferred
    }
    const searches = wanted.flatMap(({ method, pick }) =>
      seen(method).map((source) => ({ isLate: this.#lists.isLate(source), found: this.#search(source, { method, pick }) })),
    );
    return await untilAborted(firstFound(searches), signal);
  }

  /** A list that lacks what is wanted is made again. */
  async #search(source: Source, { method, pick }: Wanted): Promise<Entry | undefined> {
    const known = this.#lists.known(source, method);
    return (known && pick(known)) ?? pick(await this.#lists.load(source, method));
  }

  /**
   * Reads from the server that lists the resource; one that is not listed from the first that has it, beginning with one whose template fits.
   * Servers have many errors for what they do not know, so that an error of one does not keep the next from being asked; neither does one
   * that hangs. While a server that did not hang before has not listed its own, no other is read from: it may be the owner.
   */
  async read(params: JsonObject & { readonly uri: string }, { visible, ...options }: Asker & PeerOptions): Promise<JsonObject> {
    const { signal } = options;
    const { clock } = this.#settings;
    const owner = await this.#find([listed(params.uri), behindTemplate(params.uri)], { visible, signal });
    const isOwned = owner !== undefined && owner.own === params.uri;
    const candidates = isOwned ? [owner.source] : this.#readers(owner?.source, visible);
    const ask = async (source: Source, outer: AbortSignal): Promise<JsonObject> => {
      const read = (signal: AbortSignal): Promise<JsonObject> =>
        untilAborted(
          source.readResource?.(params, { ...options, signal }) ?? Promise.reject(notHere(params.uri)),
          signal,
          () => new ToolError("timeout", `${titleOf(source)} did not answer in time.`),
        );
      return source === owner?.source ? await read(outer) : await within({ clock, limitMs: GUESS_MS, outer }, read);
    };
    try {
      return await untilAborted(firstAnswer(candidates, ask, { clock, outer: signal }), signal);
    } catch (error: unknown) {
      if (signal.aborted || !(error instanceof AggregateError)) throw error;
      const problem: unknown = error.errors.find((one) => !isNotFound(one));
      if (problem !== undefined) throw problem instanceof Error ? problem : ToolError.fromUnknown(problem);
      throw notHere(params.uri, error.errors.at(-1));
    }
  }

  /** Those that may be asked for a resource which none of them lists, the ones that do not answer last. */
  #readers(first: Source | undefined, visible: Visibility | undefined): readonly Source[] {
    const others = this.sources().filter(
      (source) => source !== first && source.readResource !== undefined && isUsable(source, "resources") && this.isSeen(source, visible),
    );
    const isLate = (source: Source): boolean => this.#lists.isLate(source);
    return [...(first === undefined ? [] : [first]), ...others.filter((one) => !isLate(one)), ...others.filter(isLate)];
  }

  /** Forgets the lists of one source, or of all, which may have changed. */
  forget(source?: Source): void {
    this.#lists.forget(source);
  }
}

/** Something in a list of a source. */
interface Wanted {
  readonly method: ListMethod;
  readonly pick: (entries: Entries) => Entry | undefined;
}

function listed(uri: string): Wanted {
  return { method: "listResources", pick: (entries) => entries.get(uri) };
}

function behindTemplate(uri: string): Wanted {
  const pick: Wanted["pick"] = (entries) => [...entries].find(([template]) => fitsTemplate(uri, template))?.[1];
  return { method: "listResourceTemplates", pick };
}

function notHere(uri: string, cause?: unknown): ToolError {
  return new ToolError("not_found", `No resource ${JSON.stringify(uri)}.`, { cause });
}

interface Served {
  readonly version: number;
  readonly list: readonly Source[];
  /** The qualified names of each server's tools; of one that has none a name that rules for all of its tools match. */
  readonly tools: ReadonlyMap<Source, readonly string[]>;
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
