/** Makes the engines that entries of a configuration name. */
import type { Engine } from "../../core/engine.ts";
import { ToolError } from "../../core/error.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { localEngine } from "../../engine/local.ts";
import { perSession } from "../../engine/per-session.ts";
import type { EngineConfig, McpEngineConfig, OtherEngineConfig } from "../tables/engine-config.ts";
import { type ExtensionContext, type ExtensionTable, factoryError } from "../extensions.ts";
import { filePath } from "../file-path.ts";
import { makeExample, makeLm, makeReplay, makeStub } from "./make-stand-in.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { isUnsetOrDefault } from "../tables/server-match.ts";
import { createMcpEngine, type McpServer } from "../toolset/mcp.ts";
import { createRestEngine, type RestService } from "../toolset/openapi.ts";
import type { ModelListeners } from "./model-listeners.ts";
import type { BuildContext } from "../toolset/toolset-type.ts";

/** The server or service of an entry, for an engine that does not name its own. */
export interface EngineTarget {
  readonly server?: McpServer;
  readonly service?: RestService;
}

/** Inputs for making an engine. */
export interface EngineContext extends Pick<BuildContext, "folder" | "memory" | "environment" | "logins"> {
  readonly listeners: ModelListeners;
  readonly extensions: ExtensionTable;
  readonly resolve: (text: string) => string;
  /** Describes an error, without secrets and with the place of the engine's key. */
  readonly problem: (key: string, thrown: unknown) => string;
  readonly target?: EngineTarget;
}

/**
 * Makes an engine, not yet opened.
 *
 * If the type is unknown, the model cannot be made, or the recording or list of answers cannot be read, the returned engine fails to open with that
 * reason. Undefined if neither the engine nor its target names a server.
 */
export async function makeEngine(name: string, config: EngineConfig, context: EngineContext): Promise<Engine | undefined> {
  const { target = {}, folder, environment, listeners } = context;
  switch (config.type) {
    case "local":
    case "multi":
      return localEngine();
    case "mcp": {
      const server = mergeServers(config, target);
      const { isolation, start, openTimeoutMs } = config;
      return server === undefined
        ? undefined
        : createMcpEngine({ ...omitUndefined({ isolation, start, openTimeoutMs }), ...server }, context);
    }
    case "rest": {
      const service = { ...config.service, ...target.service, secrets: { ...config.service.secrets, ...target.service?.secrets } };
      return service.document === undefined ? undefined : await createRestEngine(service, context);
    }
    case "search": {
      const { searchEngine } = await import("../../engine/search.ts");
      return searchEngine({ ...config.search, documents: filePath(config.search.documents, folder) });
    }
    case "lm":
      return await orUnusableEngine({ name, kind: config.type, key: config.modelKey, context }, () =>
        makeLm(config, { environment, name: config.path.join("."), ...listeners }),
      );
    case "example":
      return await makeExample(config.seed);
    case "replay": {
      const recording = filePath(config.recording, folder);
      return await orUnusableEngine({ name, kind: config.type, key: "recording", context }, () => makeReplay({ ...config, recording }));
    }
    case "stub": {
      const stubs = typeof config.stubs === "string" ? filePath(config.stubs, folder) : config.stubs;
      return await orUnusableEngine({ name, kind: config.type, key: "stubs", context }, () => makeStub(stubs));
    }
    default:
      return await makeExtensionEngine(name, config, context);
  }
}

interface EngineDescription {
  readonly name: string;
  readonly kind: string;
  /** The key at fault if the engine cannot be made. */
  readonly key: string;
  readonly context: EngineContext;
}

/** Returns the engine, or one that fails to open, so that tools of other engines are not affected. */
async function orUnusableEngine({ name, kind, key, context }: EngineDescription, make: () => Promise<Engine>): Promise<Engine> {
  try {
    return await make();
  } catch (thrown: unknown) {
    return unusableEngine(name, kind, { reason: context.problem(key, thrown) });
  }
}

async function makeExtensionEngine(
  name: string,
  { engineType, options, isolation }: OtherEngineConfig,
  context: EngineContext,
): Promise<Engine> {
  const make = context.extensions.engine(engineType);
  if (make === undefined)
    return unusableEngine(name, engineType, {
      reason: `its type ${context.extensions.unknownEngine(engineType)}`,
      hint: "Register it under this name in the extensions, or give the engine another type; tools of other engines are not affected.",
    });
  const extensionContext: ExtensionContext = { name, folder: context.folder, resolve: context.resolve, engine: undefined };
  try {
    const engine =
      isolation === undefined ? await make(options, extensionContext) : perSession(toSyncFactory(make, options, extensionContext));
    if (typeof engine?.call !== "function") throw new ToolError("invalid_config", "its factory returned no engine.");
    return engine;
  } catch (thrown: unknown) {
    throw factoryError(engineType, thrown);
  }
}

/** Wraps a factory for sessions, which need their engine synchronously. */
function toSyncFactory(
  make: (options: JsonObject, context: ExtensionContext) => Engine | Promise<Engine>,
  options: JsonObject,
  extensionContext: ExtensionContext,
): () => Engine {
  return () => {
    const engine = make(options, extensionContext);
    if (engine instanceof Promise)
      throw new ToolError("invalid_config", 'isolation = "session" needs a factory that returns its engine at once, not a promise.');
    return engine;
  };
}

function unusableEngine(name: string, kind: string, { reason, hint }: { readonly reason: string; readonly hint?: string }): Engine {
  const throwUnusable = (): never => {
    throw new ToolError("unavailable", `Engine ${JSON.stringify(name)} cannot be used: ${reason}`, {
      outcome: "not_started",
      ...omitUndefined({ operatorHint: hint }),
    });
  };
  return { kind, open: async () => throwUnusable(), call: throwUnusable };
}

/** Merges both servers; keys of the entry win. If both have an address, it is the same. */
function mergeServers({ server: own }: McpEngineConfig, { server: wanted }: EngineTarget): McpServer | undefined {
  if (own === undefined || wanted === undefined) return wanted ?? own;
  const changed = Object.entries(wanted).filter(([, value]) => !isUnsetOrDefault(value));
  return { ...own, ...Object.fromEntries(changed) };
}
