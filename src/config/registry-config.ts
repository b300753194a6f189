/** Reads `tools` and `engines`: entries that say where tools come from, and which engine answers for them. */
import type { JsonObject } from "../core/base/json.ts";
import type { KeyPath } from "../documents/key-positions.ts";
import { readEngines, type EngineConfig } from "./engine-config.ts";
import { nearKey } from "./near-key.ts";
import { bringsServer, matchServer } from "./server-match.ts";
import { TableReader, isTable, kindOf, readTables } from "./table-reader.ts";
import { checkToolsetName, readToolset, type ToolsetConfig, type ToolsetReadContext } from "./toolset-config.ts";

/** One source of tools. */
export interface RegistryEntry {
  readonly path: KeyPath;
  /** Undefined = the file says it, else it is "default". */
  readonly namespace: string | undefined;
  readonly toolset: ToolsetConfig;
  /** The only engine there is answers for it when it names none. */
  readonly defaultEngine: boolean;
}

export interface ToolsBlock {
  /** In the order of the file. */
  readonly registry: readonly RegistryEntry[];
  /** By name; toolsets and entries name them. */
  readonly engines: ReadonlyMap<string, EngineConfig>;
  /** As they are written; they are for programs that generate data with the tools. */
  readonly enrichments: readonly JsonObject[];
}

/** `tools` is a table of `registry`, `engines` and `enrichments`, or a registry by itself; `engines` may stand beside it as well. */
export function readToolsBlock(root: TableReader, context: ToolsetReadContext): ToolsBlock {
  const beside = root.table("engines");
  const tools = root.value("tools");
  const path = [...root.path, "tools"];
  const engines = new Map(beside === undefined ? [] : readEngines(beside, context));
  if (tools === undefined) return { registry: [], engines, enrichments: [] };
  if (Array.isArray(tools)) return { registry: readRegistry(readTables(tools, path, context.problems), context), engines, enrichments: [] };
  if (!isTable(tools)) {
    root.report("tools", `must be an array of entries, or an object of registry, engines and enrichments, not ${kindOf(tools)}.`);
    return { registry: [], engines, enrichments: [] };
  }
  const block = new TableReader(tools, path, context.problems);
  const inside = block.table("engines");
  for (const [name, engine] of inside === undefined ? [] : readEngines(inside, context)) {
    if (engines.has(name)) inside?.report(name, "is defined twice, here and under engines.");
    engines.set(name, engine);
  }
  const registry = readRegistry(block.tables("registry") ?? [], context);
  const enrichments = (block.tables("enrichments") ?? []).map(readEnrichment);
  block.finish();
  return { registry, engines, enrichments };
}

function readRegistry(entries: readonly TableReader[], context: ToolsetReadContext): readonly RegistryEntry[] {
  const registry: RegistryEntry[] = [];
  for (const entry of entries) {
    const namespace = entry.text("namespace");
    if (namespace !== undefined) checkToolsetName(namespace, entry, "namespace");
    const toolset = readToolset(entry, { ...context, otherWords: true });
    if (toolset !== undefined) registry.push({ path: entry.path, namespace, toolset, defaultEngine: !HANDLED.has(toolset.type) });
  }
  return registry;
}

/** Their tools bring handlers. */
const HANDLED: ReadonlySet<string> = new Set(["files", "module", "descriptors", "extension"]);

function readEnrichment(table: TableReader): JsonObject {
  table.requiredText("type", "which enrichment it is");
  return { type: table.text("type") ?? "", ...table.rest() };
}

/**
 * The name of the engine that answers for an entry; undefined = its own, or none. The only engine there is answers for every entry of
 * the registry that names none, and for toolsets whose tools have no handlers. An entry with a server of its own is answered by that
 * server, unless it names an engine that stands in for it.
 */
export function engineFor({ toolset, defaultEngine }: RegistryEntry, engines: ReadonlyMap<string, EngineConfig>): string | undefined {
  if (toolset.engine !== undefined) return engines.get(toolset.engine)?.type === "multi" ? undefined : toolset.engine;
  const sole = defaultEngine ? soleEngine(engines) : undefined;
  const engine = sole === undefined ? undefined : engines.get(sole);
  if (engine === undefined || !bringsServer(toolset)) return sole;
  const match = matchServer(engine, toolset);
  return match === "same" || match === "adapts" ? sole : undefined;
}

/** The name of the only engine there is, if there is only one. */
function soleEngine(engines: ReadonlyMap<string, EngineConfig>): string | undefined {
  let sole: string | undefined;
  for (const [name, { type }] of engines) {
    if (type === "multi") continue;
    if (sole !== undefined) return undefined;
    sole = name;
  }
  return sole;
}

/** Reports engines that are not defined, and namespaces with two of them. */
export function checkRouting(
  entries: readonly RegistryEntry[],
  engines: ReadonlyMap<string, EngineConfig>,
  report: (path: KeyPath, problem: string) => void,
): void {
  const seen = new Map<string, string>();
  entries.forEach((entry, index) => {
    const { path, namespace, toolset } = entry;
    const { engine } = toolset;
    const problem = engine === undefined ? undefined : engineProblem(engine, toolset, engines);
    if (problem !== undefined) report([...path, "engine"], problem);
    if (namespace === undefined || !toolset.enabled) return;
    const answering = answeringFor(entry, engines) ?? (bringsServer(toolset) ? `that of entry ${index + 1}` : "none");
    const before = seen.get(namespace);
    if (before === undefined) seen.set(namespace, answering);
    else if (before !== answering) report(path, twoEngines(namespace, before, answering));
  });
}

/** The name of the engine that an entry shares with others. */
function answeringFor(entry: RegistryEntry, engines: ReadonlyMap<string, EngineConfig>): string | undefined {
  const name = engineFor(entry, engines);
  const engine = name === undefined ? undefined : engines.get(name);
  if (engine === undefined || !bringsServer(entry.toolset)) return name;
  return ["adapts", "none"].includes(matchServer(engine, entry.toolset)) ? undefined : name;
}

function engineProblem(name: string, toolset: ToolsetConfig, engines: ReadonlyMap<string, EngineConfig>): string | undefined {
  const engine = engines.get(name);
  if (engine === undefined) return undefinedEngine(name, [...engines.keys()]);
  if (!toolset.enabled || !bringsServer(toolset) || matchServer(engine, toolset) !== "other") return undefined;
  const key = toolset.type === "openapi" ? "document" : toolset.url === undefined ? "command" : "url";
  return `engine ${JSON.stringify(name)} reaches another server than the ${key} of this entry; leave out engine to call the server of the entry.`;
}

/** So many engines are named. */
const MAX_NAMED = 20;

function undefinedEngine(engine: string, known: readonly string[]): string {
  const near = nearKey(engine, known);
  const more = known.length > MAX_NAMED ? ", …" : "";
  const there = known.length === 0 ? "there are none under engines" : `there are: ${known.slice(0, MAX_NAMED).join(", ")}${more}`;
  return `no engine ${JSON.stringify(engine)} is defined; ${there}.${near === undefined ? "" : ` Did you mean ${JSON.stringify(near)}?`}`;
}

function twoEngines(namespace: string, before: string, now: string): string {
  return `the namespace ${JSON.stringify(namespace)} is routed to two engines, ${before} and ${now}; give one of the entries another namespace.`;
}
