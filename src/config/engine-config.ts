/** Reads the engines that entries of a configuration name, and makes them. */
import type { Engine } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import type { JsonObject } from "../core/json.ts";
import type { CallSettings } from "../core/tool.ts";
import { localEngine } from "../engine/local.ts";
import { perSession } from "../engine/per-session.ts";
import type { SearchOptions } from "../engine/search.ts";
import { COUNT, MILLISECONDS } from "./bounds.ts";
import type { ExtensionContext, ExtensionTable } from "./extensions.ts";
import { factoryError } from "./extensions.ts";
import { filePath } from "./file-path.ts";
import { present } from "./present.ts";
import type { TableReader } from "./table-reader.ts";
import { mcpEngineOf, readConnection, readMcpServer } from "./toolset/mcp.ts";
import type { McpServer } from "./toolset/mcp.ts";
import { readRestService, restEngineOf } from "./toolset/openapi.ts";
import type { RestService } from "./toolset/openapi.ts";
import type { BuildContext, ConnectionConfig, ReadContext } from "./toolset/toolset-type.ts";

export type EngineConfig = (LocalEngineConfig | McpEngineConfig | RestEngineConfig | SearchEngineConfig | OtherEngineConfig) & {
  /** What calls of its toolsets use where these set nothing themselves. */
  readonly defaults: CallSettings;
};

/** `local` runs the handlers of the tools; `multi` is what every runtime does: it stands for nothing of its own. */
interface LocalEngineConfig {
  readonly type: "local" | "multi";
}

interface McpEngineConfig extends ConnectionConfig {
  readonly type: "mcp";
  /** Undefined = it reaches the server of the entry it answers for. */
  readonly server: McpServer | undefined;
}

interface RestEngineConfig {
  readonly type: "rest";
  /** What it leaves open is that of the entry it answers for. */
  readonly service: RestService;
}

interface SearchEngineConfig {
  readonly type: "search";
  /** `documents` is a file of JSON lines: relative to the configuration file and inside its folder, or absolute. */
  readonly search: Omit<SearchOptions, "documents" | "toolName"> & { readonly documents: string };
}

/** An extension's, or one that this program does not know. */
interface OtherEngineConfig {
  readonly type: "other";
  readonly engineType: string;
  readonly isolation?: "session";
  readonly options: JsonObject;
}

/** By name, in the order of the file. */
export function readEngines(table: TableReader, context: ReadContext): ReadonlyMap<string, EngineConfig> {
  const engines = new Map<string, EngineConfig>();
  for (const name of context.problems.inOrder(table.path, table.names())) {
    const entry = table.table(name);
    const engine = entry === undefined ? undefined : readEngine(entry, { ...context, seed: true });
    if (engine !== undefined) engines.set(name, engine);
  }
  return engines;
}

function readEngine(table: TableReader, context: ReadContext): EngineConfig | undefined {
  const type = table.requiredText("type", 'such as "mcp", "rest", or the name of an extension');
  if (type === undefined) return undefined;
  const own = readOwn(type, table, context);
  if (own === undefined) return undefined;
  if (own.type === "other") return { ...own, defaults: {} };
  const timeout = table.number("timeout", { min: 0, max: MILLISECONDS.max / 1000, whole: false });
  table.finish();
  return { ...own, defaults: timeout === undefined ? {} : { timeoutMs: timeout * 1000 } };
}

function readOwn(
  type: string,
  table: TableReader,
  context: ReadContext,
): LocalEngineConfig | McpEngineConfig | RestEngineConfig | SearchEngineConfig | OtherEngineConfig | undefined {
  if (type === "local") return { type };
  if (type === "multi") {
    table.ignoreRest(); // in the seed's code it takes tables of engines, which are routed by name here
    return { type };
  }
  if (type === "mcp") {
    const isReached = ["url", "base_url", "command"].some((key) => table.value(key) !== undefined);
    return { type, server: isReached ? readMcpServer(table, context) : undefined, ...readConnection(table) };
  }
  if (type === "rest" || type === "openapi") return { type: "rest", service: readRestService(table, context) };
  if (type === "search") return readSearch(table, context);
  const isolation = table.choice("isolation", ["session"]);
  return { type: "other", engineType: type, options: table.rest(), ...(isolation === undefined ? {} : { isolation }) };
}

function readSearch(table: TableReader, { variables }: ReadContext): SearchEngineConfig | undefined {
  const documents = table.requiredText("documents", "the file of JSON lines to search");
  const more = present({
    idField: table.text("idField"),
    textField: table.text("textField"),
    maxDocuments: table.number("maxDocuments", COUNT),
    limit: table.number("limit", { min: 1, max: 1_000, whole: true }),
    threshold: table.number("threshold", { min: 0, max: 1, whole: false }),
    description: table.text("description"),
  });
  if (documents === undefined) return undefined;
  return { type: "search", search: { documents: variables.path(documents, [...table.path, "documents"]), ...more } };
}

/** An engine that reaches what an entry says, where it does not say it itself. */
export interface EngineTarget {
  readonly server?: McpServer;
  readonly service?: RestService;
}

/** Makes an engine, not opened. One of a type that nobody registered is made too, and fails to open with that as the reason. */
export async function makeEngine(
  name: string,
  config: EngineConfig,
  context: Pick<BuildContext, "folder" | "memory"> & {
    readonly extensions: ExtensionTable;
    readonly resolve: (text: string) => string;
    readonly target?: EngineTarget;
  },
): Promise<Engine | undefined> {
  const { target = {} } = context;
  switch (config.type) {
    case "local":
    case "multi":
      return localEngine();
    case "mcp": {
      const server = config.server ?? target.server;
      return server === undefined ? undefined : mcpEngineOf({ ...server, ...connectionOf(config) }, context);
    }
    case "rest": {
      const service = { ...target.service, ...config.service, secrets: { ...target.service?.secrets, ...config.service.secrets } };
      return service.document === undefined ? undefined : await restEngineOf(service, context);
    }
    case "search": {
      const { searchEngine } = await import("../engine/search.ts");
      return searchEngine({ ...config.search, documents: filePath(config.search.documents, context.folder) });
    }
    default:
      return await makeOther(name, config, context);
  }
}

async function makeOther(
  name: string,
  { engineType, options, isolation }: OtherEngineConfig,
  context: { readonly folder: string; readonly extensions: ExtensionTable; readonly resolve: (text: string) => string },
): Promise<Engine> {
  const make = context.extensions.engine(engineType);
  if (make === undefined) return missingEngine(name, engineType, context.extensions);
  const told: ExtensionContext = { name, folder: context.folder, resolve: context.resolve, engine: undefined };
  try {
    const engine = isolation === undefined ? await make(options, told) : perSession(synchronously(make, options, told));
    if (typeof engine?.call !== "function") throw new ToolError("invalid_config", "its factory returned no engine.");
    return engine;
  } catch (thrown: unknown) {
    throw factoryError(engineType, thrown);
  }
}

/** Sessions take their engines at once. */
function synchronously(
  make: (options: JsonObject, context: ExtensionContext) => Engine | Promise<Engine>,
  options: JsonObject,
  told: ExtensionContext,
): () => Engine {
  return () => {
    const engine = make(options, told);
    if (engine instanceof Promise)
      throw new ToolError("invalid_config", 'isolation = "session" needs a factory that returns its engine at once, not a promise.');
    return engine;
  };
}

function missingEngine(name: string, type: string, extensions: ExtensionTable): Engine {
  const missing = (): never => {
    throw new ToolError("unavailable", `Engine ${JSON.stringify(name)} cannot be used: its type ${extensions.unknownEngine(type)}`, {
      hint: "Register it under this name in the extensions, or give the engine another type; tools of other engines are not affected.",
      outcome: "not_started",
    });
  };
  return { kind: type, open: async () => missing(), call: missing };
}

function connectionOf({ isolation, start, openTimeoutMs }: McpEngineConfig): ConnectionConfig {
  return present({ isolation, start, openTimeoutMs });
}
