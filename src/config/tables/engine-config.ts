/** Reads the engines that entries of a configuration name. */
import type { FaultPlan } from "../../core/answers/fault.ts";
import type { JsonObject } from "../../core/base/json.ts";
import type { CallSettings } from "../../core/tool.ts";
import type { ReplayOptions } from "../../engine/replay.ts";
import type { SearchOptions } from "../../engine/search.ts";
import type { Stub } from "../../engine/stub.ts";
import type { KeyPath } from "../../documents/key-positions.ts";
import { COUNT, FRACTION, SECONDS } from "../../core/base/number-bounds.ts";
import { readFaultRules } from "./faults-config.ts";
import { readLm, type LmConfig } from "./lm-config.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { readRecording, readSeed, readStubList } from "./stand-in-config.ts";
import { isTable, kindOf, type TableReader } from "../table-reader.ts";
import { readConnection, readMcpServer, type McpServer } from "../toolset/mcp.ts";
import { readRestService, type RestService } from "../toolset/openapi.ts";
import type { ConnectionConfig, ReadContext } from "../toolset/toolset-type.ts";

export type EngineConfig = AnyEngineConfig & {
  /** The place of the engine in the file. */
  readonly path: KeyPath;
  /** Settings of calls that its toolsets do not set themselves. */
  readonly defaults: CallSettings;
  /** Faults that are injected into the calls of its toolsets. */
  readonly faults?: FaultPlan;
};

type AnyEngineConfig =
  | LocalEngineConfig
  | MultiEngineConfig
  | McpEngineConfig
  | RestEngineConfig
  | SearchEngineConfig
  | LmEngineConfig
  | ExampleEngineConfig
  | ReplayEngineConfig
  | StubEngineConfig
  | OtherEngineConfig;

/** Runs the handlers of the tools. */
interface LocalEngineConfig {
  readonly type: "local";
}

/** Routes each entry to another engine, by namespace. */
export interface MultiEngineConfig {
  readonly type: "multi";
  /** The routes by namespace. Empty = as if its entries named no engine. */
  readonly routes: ReadonlyMap<string, EngineRoute>;
}

/** The name of an engine, and whether it is defined inside the `multi`. */
export interface EngineRoute {
  readonly engine: string;
  readonly isOwn: boolean;
}

export interface McpEngineConfig extends ConnectionConfig {
  readonly type: "mcp";
  /** Undefined = the server of the entry that it answers for, whose keys win in any case. */
  readonly server: McpServer | undefined;
}

interface RestEngineConfig {
  readonly type: "rest";
  /** Keys of the entry that it answers for win. */
  readonly service: RestService;
}

interface SearchEngineConfig {
  readonly type: "search";
  /** `documents` is a JSON Lines file: relative to the configuration file and inside its folder, or absolute. */
  readonly search: Omit<SearchOptions, "documents" | "toolName"> & { readonly documents: string };
}

interface LmEngineConfig extends LmConfig {
  readonly type: "lm";
}

interface ExampleEngineConfig {
  readonly type: "example";
  readonly seed?: number | string;
}

interface ReplayEngineConfig extends ReplayOptions {
  readonly type: "replay";
  /** A file: relative to the configuration file and inside its folder, or absolute. */
  readonly recording: string;
}

interface StubEngineConfig {
  readonly type: "stub";
  /** A file, with a path like that of a recording, or its content. */
  readonly stubs: string | readonly Stub[];
}

/** An engine of an extension, or of an unknown type. */
export interface OtherEngineConfig {
  readonly type: "other";
  readonly engineType: string;
  readonly isolation?: "session";
  readonly options: JsonObject;
}

/** Reads the engines by name, in the order of the file. */
export function readEngines(table: TableReader, context: ReadContext): ReadonlyMap<string, EngineConfig> {
  const engines = new Map<string, EngineConfig>();
  for (const name of context.problems.sortKeys(table.path, table.names())) {
    const entry = table.table(name);
    if (entry === undefined) continue;
    const add = (own: string, engine: EngineConfig): void => void engines.set(own, engine);
    engines.set(name, readEngine(entry, { ...context, otherWords: true, name, add }) ?? unreadable(entry));
  }
  return engines;
}

/** The name of an engine, and a function that adds the engines defined inside it. */
interface EngineReadContext extends ReadContext {
  readonly name: string;
  readonly add: (name: string, engine: EngineConfig) => void;
}

/** Replaces an engine that was reported, so that toolsets that name it are not reported as well. */
function unreadable({ path }: TableReader): EngineConfig {
  return { type: "local", path, defaults: {} };
}

function readEngine(table: TableReader, context: EngineReadContext): EngineConfig | undefined {
  const type = table.requiredText("type", 'such as "lm", "mcp", or the name of an extension');
  if (type === undefined) return undefined;
  const rules = readFaultRules(table, "error_categories", {
    otherTypes: SEARCHES.has(type),
    retryable: false,
    message: "Tool execution failed",
  });
  const own = readOwn(type, table, context);
  const { path } = table;
  const faultsOf = (seed: unknown): Pick<EngineConfig, "faults"> =>
    rules === undefined ? {} : { faults: { rules, ...(typeof seed === "number" || typeof seed === "string" ? { seed } : {}) } };
  if (own?.type === "other") return { ...own, path, defaults: {}, ...faultsOf(own.options["seed"]) };
  const seed = readSeed(table);
  const timeout = table.number("timeout", SECONDS);
  table.reportUnknownKeys(NOT_OF_ENGINE);
  if (own === undefined) return undefined;
  return { ...own, path, defaults: timeout === undefined ? {} : { timeoutMs: timeout * 1000 }, ...faultsOf(seed) };
}

const NOT_OF_ENGINE: ReadonlyMap<string, string> = new Map([
  ["embedding_model", "is not supported: documents are ranked by their words. Leave it out."],
]);

/** The names of `search` in fms-dgt. */
const SEARCHES: ReadonlySet<string> = new Set(["search", "search/file", "search/in_memory"]);

function readOwn(type: string, table: TableReader, context: EngineReadContext): AnyEngineConfig | undefined {
  if (SEARCHES.has(type)) return readSearch(table, context);
  switch (type) {
    case "local":
      return { type };
    case "multi":
      return { type, routes: readRoutes(table, context) };
    case "mcp": {
      const isReached = ["url", "base_url", "command"].some((key) => table.value(key) !== undefined);
      return { type, server: isReached ? readMcpServer(table, context) : undefined, ...readConnection(table) };
    }
    case "rest":
    case "openapi":
      return { type: "rest", service: readRestService(table, context) };
    case "lm": {
      const lm = readLm(table);
      return lm && { type, ...lm };
    }
    case "example":
      return { type, ...omitUndefined({ seed: readSeed(table) }) };
    case "replay": {
      const recording = readRecording(table, context);
      return recording && { type, ...recording };
    }
    case "stub":
      return readStub(table, context);
    default: {
      const isolation = table.choice("isolation", ["session"]);
      return { type: "other", engineType: type, options: table.rest(), ...omitUndefined({ isolation }) };
    }
  }
}

/** Reads `engines` of a `multi`: for each namespace, the name of an engine or an engine defined here. */
function readRoutes(table: TableReader, context: EngineReadContext): MultiEngineConfig["routes"] {
  const routes = new Map<string, EngineRoute>();
  const engines = table.table("engines");
  for (const namespace of engines?.names() ?? []) {
    const value = engines?.value(namespace);
    if (typeof value === "string") routes.set(namespace, { engine: value, isOwn: false });
    else if (isTable(value)) {
      const own = engines?.table(namespace);
      const engine = `${context.name}.${namespace}`;
      if (own === undefined) continue;
      context.add(engine, readEngine(own, { ...context, name: engine }) ?? unreadable(own));
      routes.set(namespace, { engine, isOwn: true });
    } else engines?.report(namespace, `must be the name of an engine, or an engine, not ${kindOf(value)}.`);
  }
  return routes;
}

function readStub(table: TableReader, context: ReadContext): StubEngineConfig | undefined {
  const stubs = readStubList(table, context);
  if (stubs === undefined && !table.has("stubs"))
    table.report(undefined, '"stubs" is missing: the list of answers, or the file that holds it.');
  return stubs === undefined ? undefined : { type: "stub", stubs };
}

function readSearch(table: TableReader, { variables }: ReadContext): SearchEngineConfig | undefined {
  const key = table.firstPresent(["documents", "path"]);
  const documents = table.requiredText(key, "the file of JSON lines to search");
  if (table.value("format") !== undefined && table.value("format") !== "jsonl")
    table.report("format", 'must be "jsonl": the documents are a file of JSON lines, one document each.');
  const more = omitUndefined({
    idField: table.text("idField"),
    textField: table.text("textField"),
    ...readProjection(table),
    maxDocuments: table.number("maxDocuments", COUNT),
    limit: table.number("limit", { min: 1, max: 1_000, integer: true }),
    threshold: table.number(table.firstPresent(["threshold", "relevance_threshold"]), FRACTION),
    description: table.text("description"),
  });
  if (documents === undefined) return undefined;
  return { type: "search", search: { documents: variables.path(documents, [...table.path, key]), ...more } };
}

/** Reads the `projection` of fms-dgt: the meaning of each field of the file. */
function readProjection(table: TableReader): Pick<SearchOptions, "idField" | "textField"> {
  const names = table.textTable("projection") ?? {};
  const fieldOf = (meaning: string): string | undefined => Object.keys(names).find((field) => names[field] === meaning);
  return omitUndefined({ idField: fieldOf("id"), textField: fieldOf("text") });
}
