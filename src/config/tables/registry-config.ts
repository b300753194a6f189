/** Reads `tools` and `engines`: entries that say where tools come from, and which engine answers their calls. */
import { formatList } from "../../core/base/wording.ts";
import { DEFAULT_NAMESPACE } from "../../core/call.ts";
import type { KeyPath } from "../../documents/key-positions.ts";
import { readEngines, type EngineConfig, type MultiEngineConfig } from "./engine-config.ts";
import { readEnrichment, type EnrichmentConfig } from "./enrichment-config.ts";
import { nearHint } from "../near-key.ts";
import { hasServer, matchServer } from "./server-match.ts";
import { TableReader, isTable, kindOf, readTables } from "../table-reader.ts";
import { checkToolsetName, readToolset, type ToolsetConfig, type ToolsetReadContext } from "./toolset-config.ts";

/** One source of tools. */
export interface RegistryEntry {
  readonly path: KeyPath;
  /** Undefined = the one in the file, else "default". */
  readonly namespace: string | undefined;
  readonly toolset: ToolsetConfig;
  /** Whether the only engine of the configuration answers for the entry if it names none. */
  readonly defaultEngine: boolean;
}

export interface ToolsBlock {
  /** In the order of the file. */
  readonly registry: readonly RegistryEntry[];
  /** The engines by name; toolsets and entries refer to them. */
  readonly engines: ReadonlyMap<string, EngineConfig>;
  /** In the order of the file; each runs after those that it depends on. */
  readonly enrichments: readonly EnrichmentConfig[];
}

/** Reads `tools`: a table of `registry`, `engines` and `enrichments`, or just a registry. `engines` may also be next to it. */
export function readToolsBlock(root: TableReader, context: ToolsetReadContext): ToolsBlock {
  const topLevelEngines = root.table("engines");
  const tools = root.value("tools");
  const path = [...root.path, "tools"];
  const engines = new Map(topLevelEngines === undefined ? [] : readEngines(topLevelEngines, context));
  if (tools === undefined) return { registry: [], engines, enrichments: [] };
  if (Array.isArray(tools)) {
    const entries = readTables(tools, path, context.problems).filter((entry) => !isCreatureTool(entry, context));
    return { registry: readRegistry(entries, context), engines, enrichments: [] };
  }
  if (!isTable(tools)) {
    root.report("tools", `must be an array of entries, or an object of registry, engines and enrichments, not ${kindOf(tools)}.`);
    return { registry: [], engines, enrichments: [] };
  }
  const block = new TableReader(tools, path, context.problems);
  const blockEngines = block.table("engines");
  for (const [name, engine] of blockEngines === undefined ? [] : readEngines(blockEngines, context)) {
    if (engines.has(name)) blockEngines?.report(name, "is defined twice, here and under engines.");
    engines.set(name, engine);
  }
  const registry = readRegistry(block.tables("registry") ?? [], context);
  const enrichments = (block.tables("enrichments") ?? []).flatMap(
    (table) => readEnrichment(table, { ...context, otherWords: true }, context.enrichmentTypes) ?? [],
  );
  block.reportUnknownKeys();
  return { registry, engines, enrichments };
}

const CREATURE_TYPES: ReadonlySet<unknown> = new Set(["builtin", "trigger", "custom", "package"]);

/** Whether the entry is a tool of a KohakuTerrarium creature: it has one of its types, or a name and no type. */
export function isCreatureTool(entry: TableReader, { extensionTypes }: ToolsetReadContext): boolean {
  const type = entry.peek("type");
  if (type === undefined) return typeof entry.peek("name") === "string";
  const isExtension = extensionTypes === undefined ? type === "custom" || type === "package" : extensionTypes.some((own) => own === type);
  return CREATURE_TYPES.has(type) && !isExtension;
}

function readRegistry(entries: readonly TableReader[], context: ToolsetReadContext): readonly RegistryEntry[] {
  const registry: RegistryEntry[] = [];
  for (const entry of entries) {
    const namespace = entry.text("namespace");
    if (namespace !== undefined) checkToolsetName(namespace, entry, "namespace");
    const toolset = readToolset(entry, { ...context, otherWords: true });
    if (toolset !== undefined) registry.push({ path: entry.path, namespace, toolset, defaultEngine: DESCRIBED_TYPES.has(toolset.type) });
  }
  return registry;
}

/** Types whose tools are only described; all other types bring handlers or an engine. */
const DESCRIBED_TYPES: ReadonlySet<string> = new Set(["mcp", "openapi", "file", "inline"]);

/**
 * Returns the name of the engine that answers for an entry; undefined = its own, or none. If there is only one engine, it answers for every registry
 * entry that names none, and for toolsets whose tools have no handlers. An entry with a server is answered by that server, unless it names an engine
 * to answer instead. A `multi` routes each entry to the engine of its namespace.
 */
export function findEngine({ namespace, toolset, defaultEngine }: RegistryEntry, engines: Engines): string | undefined {
  const named = toolset.engine === undefined ? undefined : resolveRoute(toolset.engine, namespace, engines);
  if (named !== undefined || (toolset.engine !== undefined && !isUnroutedMulti(toolset.engine, engines))) return named;
  const only = defaultEngine ? soleEngine(engines) : undefined;
  const sole = only === undefined ? undefined : resolveRoute(only, namespace ?? DEFAULT_NAMESPACE, engines);
  const engine = sole === undefined ? undefined : engines.get(sole);
  if (engine === undefined || !hasServer(toolset)) return sole;
  const match = matchServer(engine, toolset);
  return match === "same" || match === "adapts" ? sole : undefined;
}

type Engines = ReadonlyMap<string, EngineConfig>;

/** Returns the engine itself, or the one to which a `multi` routes the namespace. */
function resolveRoute(name: string, namespace: string | undefined, engines: Engines): string | undefined {
  const engine = engines.get(name);
  if (engine?.type !== "multi") return name;
  return namespace === undefined ? undefined : engine.routes.get(namespace)?.engine;
}

/**
 * Returns the routes of a `multi` for an entry whose tools name their namespaces themselves: a file or list of tools without a namespace. Undefined
 * for every other entry.
 */
export function toolRoutes(
  { namespace, toolset, defaultEngine }: RegistryEntry,
  engines: Engines,
): ReadonlyMap<string, string> | undefined {
  if (namespace !== undefined || !mayNameNamespaces(toolset)) return undefined;
  const name = toolset.engine ?? (defaultEngine ? soleEngine(engines) : undefined);
  const engine = name === undefined ? undefined : engines.get(name);
  if (engine?.type !== "multi" || engine.routes.size === 0) return undefined;
  return new Map(Array.from(engine.routes, ([routedNamespace, route]) => [routedNamespace, route.engine]));
}

function mayNameNamespaces({ type }: ToolsetConfig): boolean {
  return type === "file" || type === "inline";
}

/** Whether the engine is a `multi` without routes. */
function isUnroutedMulti(name: string, engines: Engines): boolean {
  const engine = engines.get(name);
  return engine?.type === "multi" && engine.routes.size === 0;
}

/** Returns the name of the only engine, if there is exactly one. Engines that are defined in a `multi` count as part of it. */
function soleEngine(engines: Engines): string | undefined {
  const parts = new Set<string>();
  for (const engine of engines.values())
    if (engine.type === "multi") for (const route of engine.routes.values()) if (route.isOwn) parts.add(route.engine);
  const whole = [...engines.keys()].filter((name) => !parts.has(name) && !isUnroutedMulti(name, engines));
  return whole.length === 1 ? whole[0] : undefined;
}

/** Reports undefined engines, and namespaces with two engines. */
export function checkRouting(entries: readonly RegistryEntry[], engines: Engines, report: (path: KeyPath, problem: string) => void): void {
  for (const { path, ...engine } of engines.values()) if (engine.type === "multi") checkRoutes(engine, path);
  const seen = new Map<string, string>();
  entries.forEach((entry, index) => {
    const { path, namespace, toolset } = entry;
    const { engine } = toolset;
    const problem = engine === undefined ? undefined : engineProblem(engine, entry, engines);
    if (problem !== undefined) report([...path, "engine"], problem);
    if (namespace === undefined || !toolset.enabled) return;
    const answering = findSharedEngine(entry, engines) ?? (hasServer(toolset) ? `that of entry ${index + 1}` : "none");
    const before = seen.get(namespace);
    if (before === undefined) seen.set(namespace, answering);
    else if (before !== answering) report(path, twoEngines(namespace, before, answering));
  });

  function checkRoutes({ routes }: MultiEngineConfig, path: KeyPath): void {
    for (const [namespace, { engine }] of routes) {
      const known = engines.get(engine);
      const place = [...path, "engines", namespace];
      if (known === undefined) report(place, undefinedEngine(engine, [...engines.keys()]));
      else if (known.type === "multi")
        report(place, `engine ${JSON.stringify(engine)} is of type multi itself; name an engine that answers calls.`);
    }
  }
}

/** Returns the name of the engine that an entry shares with others. */
function findSharedEngine(entry: RegistryEntry, engines: Engines): string | undefined {
  const name = findEngine(entry, engines);
  const engine = name === undefined ? undefined : engines.get(name);
  if (engine === undefined || !hasServer(entry.toolset)) return name;
  return ["adapts", "none"].includes(matchServer(engine, entry.toolset)) ? undefined : name;
}

function engineProblem(name: string, { namespace, toolset }: RegistryEntry, engines: Engines): string | undefined {
  const named = engines.get(name);
  if (named === undefined) return undefinedEngine(name, [...engines.keys()]);
  const quoted = JSON.stringify(name);
  if (named.type === "multi" && named.routes.size > 0 && toolset.enabled) {
    if (namespace === undefined && !mayNameNamespaces(toolset)) return `engine ${quoted} routes by namespace; give this entry a namespace.`;
    if (namespace !== undefined && !named.routes.has(namespace))
      return `engine ${quoted} routes the namespaces ${[...named.routes.keys()].join(", ")}, but not ${JSON.stringify(namespace)}.`;
  }
  const engine = engines.get(resolveRoute(name, namespace, engines) ?? name);
  if (engine === undefined || !toolset.enabled || !hasServer(toolset) || matchServer(engine, toolset) !== "other") return undefined;
  const key = toolset.type === "openapi" ? "document" : toolset.url === undefined ? "command" : "url";
  return `engine ${quoted} reaches another server than the ${key} of this entry; leave out engine to call the server of the entry.`;
}

/** Maximum number of engines that a message lists. */
const MAX_NAMED = 20;

function undefinedEngine(engine: string, known: readonly string[]): string {
  const knownText = known.length === 0 ? "there are none under engines" : `known engines: ${formatList(known, MAX_NAMED)}`;
  return `no engine ${JSON.stringify(engine)} is defined; ${knownText}.${nearHint(engine, known)}`;
}

function twoEngines(namespace: string, before: string, now: string): string {
  return `the namespace ${JSON.stringify(namespace)} is routed to two engines, ${before} and ${now}; give one of the entries another namespace.`;
}
