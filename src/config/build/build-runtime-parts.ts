/** Makes toolsets and sources from a configuration. */
import { DEFAULT_NAMESPACE } from "../../core/call.ts";
import type { Engine } from "../../core/engine.ts";
import { ToolError, formatForOperator } from "../../core/error.ts";
import { checkArgument, hasMethods } from "../../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { FaultPlan } from "../../core/answers/fault.ts";
import type { Clock } from "../../core/ports.ts";
import type { Store } from "../../core/store/store.ts";
import type { ToolSource } from "../../core/source.ts";
import { pickCallSettings } from "../../core/call-settings.ts";
import type { CallSettings } from "../../core/tool.ts";
import type { Toolset } from "../../core/toolset.ts";
import type { UserLogins } from "../../engine/mcp/login/user-logins.ts";
import type { ToolMemory } from "../../engine/known-tools.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import type { Problems } from "../../documents/problems.ts";
import type { EnrichedSource } from "../../generate/enriched-source.ts";
import type { Enrichment } from "../../generate/enrichment.ts";
import { buildLogins, loginOrigin } from "./build-logins.ts";
import { EMBEDDINGS_TYPE, unknownEnrichment } from "../tables/enrichment-config.ts";
import { discoverySource } from "../tools/discovery-source.ts";
import { ExtensionTable, factoryError, loadExtension, type Extensions } from "../extensions.ts";
import type { FindToolsConfig } from "../tables/find-tools-config.ts";
import type { CommonToolset } from "../tools/file-source.ts";
import { toRegistryEntries } from "../haft-config.ts";
import type { LoadedConfig } from "../load-config.ts";
import { makeEngine, type EngineTarget } from "./make-engine.ts";
import { ownPaths } from "../trust/own-paths.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { findEngine, toolRoutes, type RegistryEntry } from "../tables/registry-config.ts";
import { hasServer, matchServer, type ServerToolset } from "../tables/server-match.ts";
import { createTriggers, type Triggers } from "../../triggers/triggers.ts";
import { addConfiguredTriggers } from "../tables/triggers-config.ts";
import { buildToolset, keyAtFault, type ExtensionConfig, type ToolsetConfig } from "../tables/toolset-config.ts";
import type { BuildContext, BuiltToolset, DefaultModel } from "../toolset/toolset-type.ts";
import { resolveVariables, readVariables } from "../variables.ts";
import type { ModelListeners } from "./model-listeners.ts";
import { createRedactor } from "../../core/secrets/redact.ts";

/** Options of `buildRuntimeParts`. */
export interface BuildOptions extends ModelListeners {
  /** The clock of sources that watch files. @default the system's */
  readonly clock?: Clock;
  /** Where the tool lists of servers with `start = "lazy"` are kept. @default nowhere: these servers are started like others */
  readonly memory?: ToolMemory;
  /** Engines and sources in addition to those that `loadConfig` was given. */
  readonly extensions?: Extensions;
  /** The digests of descriptors that may start programs or send variables; others that would do so are left out. @default all may */
  readonly trusted?: ReadonlySet<string>;
  /** The model of delegates that name none. @default the model of the configuration */
  readonly model?: DefaultModel;
  /** Adds `call_tool` to `find_tools`, for clients whose list of tools is fixed. @default the value in the configuration */
  readonly callTool?: boolean;
  /** The triggers of the program's agents, to which the channels and triggers of the configuration are added. @default new ones */
  readonly triggers?: Triggers;
  /** The store of the runtime, for toolsets that search it. @default none */
  readonly store?: Store;
  /** Keeps the logins of users to servers with `auth` of the type `user-login`. @default as in `[serve.logins]`; in memory without a folder */
  readonly logins?: UserLogins;
  /** Absolute paths of files that tools may neither read nor change, such as those of a store that the configuration does not name. @default none */
  readonly hide?: readonly string[];
}

export const BUILD_OPTIONS: OptionNames<BuildOptions> = {
  clock: "object",
  memory: "object",
  onModel: "function",
  onMeter: "function",
  onRetry: "function",
  extensions: "object",
  trusted: true,
  model: true,
  callTool: true,
  triggers: "object",
  store: "object",
  logins: "object",
  hide: "strings",
};

/** The parts of a runtime, made from a configuration. */
export interface RuntimeParts {
  readonly toolsets: readonly Toolset[];
  readonly sources: readonly ToolSource[];
  /** If the configuration has enrichments: the only source, which has their results once the runtime is open. */
  readonly enriched?: EnrichedSource;
  /** For `createAgent`: the given triggers or new ones, with the channels and triggers of the configuration. */
  readonly triggers: Triggers;
  /** For `createServer` and `listenMcp`, which serve the login pages: the given logins or new ones. */
  readonly logins: UserLogins;
}

/**
 * Makes the enabled toolsets and sources of a configuration, in the order of the file, for `createRuntime({ toolsets, sources })`.
 *
 * Modules and extensions are imported here, and recordings and lists of answers are read. Other files are read, servers started and documents fetched
 * only when the runtime opens. If an engine has an unknown type, no key for its model, or an unreadable recording or list of answers, only its own
 * toolsets fail to open, with that reason.
 *
 * If there are enrichments, all toolsets and sources become one source, whose tools are enriched at each load. The tools of an engine, such as an MCP
 * server's, are enriched when it opens and when it lists them again; by default its toolset may take 30 seconds to open.
 *
 * @throws ToolError `invalid_config` with every problem and its place if a folder, module or factory cannot be used
 */
export async function buildRuntimeParts(loaded: LoadedConfig, options: BuildOptions = {}): Promise<RuntimeParts> {
  checkKnownKeys(options, BUILD_OPTIONS, "buildRuntimeParts()");
  checkArgument(hasMethods(loaded, "problems"), "buildRuntimeParts()", "a loaded configuration", loaded, "loadConfig() resolves to one.");
  const builder = new RuntimePartsBuilder(loaded, options);
  return await builder.build();
}

class RuntimePartsBuilder {
  readonly #loaded: LoadedConfig;
  readonly #options: BuildOptions;
  readonly #triggers: Triggers;
  readonly #logins: UserLogins;
  readonly #extensions = new ExtensionTable();
  /** Engines by name; several entries may share one. */
  readonly #engines = new Map<string, Promise<Engine | undefined>>();
  /** The toolset for which an engine lists its tools, by engine. It lists them for only one, so an entry of another toolset gets its own engine. */
  readonly #listingToolsets = new Map<string, string>();
  /** Values of variables that factories have resolved. */
  readonly #secrets: Record<string, string> = {};

  constructor(loaded: LoadedConfig, options: BuildOptions) {
    this.#loaded = loaded;
    this.#options = options;
    this.#triggers = options.triggers ?? createTriggers();
    this.#logins = options.logins ?? buildLogins(loaded, { origin: loginOrigin(loaded) });
  }

  async build(): Promise<RuntimeParts> {
    addConfiguredTriggers(this.#triggers, this.#loaded.config);
    await this.#loadExtensions();
    const problems = this.#loaded.problems();
    const toolsets: Toolset[] = [];
    const sources: ToolSource[] = [];
    for (const entry of toRegistryEntries(this.#loaded.config)) {
      const { path, toolset } = entry;
      if (!toolset.enabled) continue;
      try {
        const name = path[0] === "toolsets" ? String(path[1]) : (entry.namespace ?? DEFAULT_NAMESPACE);
        const built = await this.#buildEntry(name, entry);
        if ("source" in built) sources.push(built.source);
        else {
          const made = { ...withCommon(built.toolset, this.#commonOf(entry)), name };
          if (toolsets.some((other) => other.name === name)) sources.push({ name, load: async () => [made] }); // toolsets of sources may share a name
          else toolsets.push(made);
        }
      } catch (thrown: unknown) {
        const problem = this.#describeError(thrown);
        const key = findNamedKey(toolset, problem) ?? keyAtFault(toolset);
        problems.add([...path, key], problem.startsWith(`${key}: `) ? problem.slice(key.length + 2) : problem);
      }
    }
    if (this.#loaded.config.findTools !== undefined) toolsets.push(await this.#findTools(this.#loaded.config.findTools));
    const enrichments = await this.#enrichments(problems);
    problems.throwIfAny();
    const shared = { triggers: this.#triggers, logins: this.#logins };
    if (enrichments.length === 0) return { toolsets, sources, ...shared };
    const { createEnrichedSource } = await import("./build-enrichments.ts");
    const enriched = createEnrichedSource({ toolsets, sources }, enrichments);
    return { toolsets: [], sources: [enriched], enriched, ...shared };
  }

  async #findTools({ limit, callTool }: FindToolsConfig): Promise<Toolset> {
    const { findToolsToolset } = await import("../../toolsets/find-tools.ts");
    return findToolsToolset(omitUndefined({ limit, callTool: this.#options.callTool ?? callTool }));
  }

  /** Makes the enrichments in the order of the file, without those that cannot be made. */
  async #enrichments(problems: Problems): Promise<readonly Enrichment[]> {
    const { config, folder, environment } = this.#loaded;
    if (config.enrichments.length === 0) return [];
    const { makeEnrichment, removeIncomplete } = await import("./build-enrichments.ts");
    const made: Enrichment[] = [];
    const resolve = (text: string): string => this.#resolve(text);
    const context = { folder, environment, listeners: this.#listeners, extensions: this.#extensions, resolve };
    for (const enrichment of config.enrichments) {
      try {
        const one = await makeEnrichment(enrichment, context);
        if (one !== undefined) made.push(one);
        else if (enrichment.type === "other" && enrichment.enrichmentType !== EMBEDDINGS_TYPE)
          problems.add([...enrichment.path, "type"], unknownEnrichment(enrichment.enrichmentType, this.#extensions.enrichmentNames));
      } catch (thrown: unknown) {
        problems.add([...enrichment.path, "type"], this.#describeError(thrown));
      }
    }
    return removeIncomplete(made);
  }

  async #loadExtensions(): Promise<void> {
    const { config, folder, extensions } = this.#loaded;
    this.#extensions.add(extensions, "the program");
    this.#extensions.add(this.#options.extensions ?? {}, "the program");
    const problems = this.#loaded.problems();
    for (const [index, path] of config.extensions.entries()) {
      try {
        this.#extensions.add(await loadExtension(path, folder), path);
      } catch (thrown: unknown) {
        problems.add(["extensions", index], this.#describeError(thrown));
      }
    }
    problems.throwIfAny();
  }

  async #buildEntry(name: string, entry: RegistryEntry): Promise<BuiltToolset> {
    const { toolset } = entry;
    const engineName = findEngine(entry, this.#loaded.config.engines);
    if (toolset.type === "extension") {
      const { faults } = this.#commonOf(entry);
      return await this.#buildExtension(name, toolset, { engine: await this.#engine(engineName), faults });
    }
    if (hasServer(toolset)) return await this.#buildServer(name, toolset, { engineName, entry });
    const engine = await this.#engine(engineName);
    const routed = await this.#routed(entry);
    const context = this.#context(entry, engine);
    const commonOf = routed === undefined ? context.commonOf : (namespace: string) => routed.get(namespace) ?? context.common;
    const built = await buildToolset({ name, path: entry.path }, toolset, { ...context, commonOf });
    return "source" in built || engine === undefined ? built : { toolset: { ...built.toolset, engine } };
  }

  /** Returns the settings of each namespace that a `multi` engine routes, for tools with their own namespace; undefined for other entries. */
  async #routed(entry: RegistryEntry): Promise<ReadonlyMap<string, CommonToolset> | undefined> {
    const routes = toolRoutes(entry, this.#loaded.config.engines);
    if (routes === undefined) return undefined;
    const routed = new Map<string, CommonToolset>();
    for (const [namespace, name] of routes)
      routed.set(namespace, { ...this.#commonOf({ ...entry, namespace }), ...omitUndefined({ engine: await this.#engine(name) }) });
    return routed;
  }

  /** Builds a toolset whose tools come from a server, which answers them itself, or another engine does. */
  async #buildServer(
    name: string,
    toolset: ServerToolset,
    { engineName, entry }: { readonly engineName: string | undefined; readonly entry: RegistryEntry },
  ): Promise<BuiltToolset> {
    const context = this.#context(entry, undefined);
    const own = async (): Promise<BuiltToolset> => await buildToolset({ name, path: entry.path }, toolset, context);
    const config = engineName === undefined ? undefined : this.#loaded.config.engines.get(engineName);
    const match = config === undefined ? "none" : matchServer(config, toolset);
    if (engineName === undefined || match === "none") return await own();
    const { openTimeoutMs } = toolset;
    if (match === "same" && (this.#listingToolsets.get(engineName) ?? name) === name) {
      this.#listingToolsets.set(engineName, name);
      return { toolset: omitUndefined({ engine: await this.#engine(engineName), openTimeoutMs }) };
    }
    const target: EngineTarget = toolset.type === "mcp" ? { server: toolset } : { service: toolset };
    if (match === "adapts" || match === "same")
      return { toolset: omitUndefined({ engine: await this.#make(engineName, target), openTimeoutMs }) };
    const answering = await this.#engine(engineName);
    const built = await own();
    const lister = "toolset" in built ? built.toolset.engine : undefined;
    if (answering === undefined || lister === undefined) throw new ToolError("invalid_config", unreachable(engineName));
    return { source: discoverySource({ name, lister, toolset: { ...context.common, engine: answering }, clock: context.clock }) };
  }

  async #buildExtension(
    name: string,
    { extension, options }: ExtensionConfig,
    { engine, faults }: { readonly engine: Engine | undefined; readonly faults: FaultPlan | undefined },
  ): Promise<BuiltToolset> {
    const make = this.#extensions.source(extension);
    if (make === undefined) throw new ToolError("invalid_config", this.#extensions.unknownSource(extension));
    try {
      const source = await make(options, { name, folder: this.#loaded.folder, resolve: (text) => this.#resolve(text), engine });
      if (typeof source?.load !== "function") throw new ToolError("invalid_config", "its factory returned no source.");
      return { source: faults === undefined ? source : withFaults(source, faults) };
    } catch (thrown: unknown) {
      throw factoryError(extension, thrown);
    }
  }

  /** Returns the engine with this name, always the same one. */
  async #engine(name: string | undefined): Promise<Engine | undefined> {
    if (name === undefined) return undefined;
    let engine = this.#engines.get(name);
    if (engine === undefined) {
      engine = this.#make(name);
      this.#engines.set(name, engine);
    }
    const made = await engine;
    if (made === undefined) throw new ToolError("invalid_config", unreachable(name));
    return made;
  }

  async #make(name: string, target?: EngineTarget): Promise<Engine | undefined> {
    const config = this.#loaded.config.engines.get(name);
    if (config === undefined) return undefined;
    const { folder, environment } = this.#loaded;
    const problems = this.#loaded.problems();
    return await makeEngine(name, config, {
      folder,
      environment,
      memory: this.#options.memory,
      logins: this.#logins,
      listeners: this.#listeners,
      extensions: this.#extensions,
      resolve: (text) => this.#resolve(text),
      problem: (key, thrown) => problems.formatLine([...config.path, key], this.#describeError(thrown)),
      ...omitUndefined({ target }),
    });
  }

  #context(entry: RegistryEntry, engine: Engine | undefined): BuildContext {
    const { folder, environment, config } = this.#loaded;
    const { clock = systemPorts.clock, memory, trusted } = this.#options;
    const common = { ...this.#commonOf(entry), ...omitUndefined({ engine }) };
    const { allowVariables } = config;
    return {
      folder,
      ownPaths: ownPaths(this.#loaded, this.#options.hide),
      clock,
      memory,
      logins: this.#logins,
      environment,
      listeners: this.#listeners,
      allowVariables,
      trusted,
      engine,
      common,
      commonOf: () => common,
      model: this.#options.model ?? (config.model === undefined ? undefined : { config: config.model }),
      findTools: config.findTools,
      triggers: this.#triggers,
      store: this.#options.store,
    };
  }

  get #listeners(): ModelListeners {
    const { onModel, onMeter, onRetry } = this.#options;
    return { onModel, onMeter, onRetry };
  }

  #commonOf(entry: RegistryEntry): CommonToolset {
    const engineName = findEngine(entry, this.#loaded.config.engines);
    const engine = engineName === undefined ? undefined : this.#loaded.config.engines.get(engineName);
    return { ...commonOf(entry.toolset, engine?.defaults ?? {}), ...omitUndefined({ faults: engine?.faults }) };
  }

  #resolve(text: string): string {
    const { environment } = this.#loaded;
    const resolved = resolveVariables(text, environment);
    if ("problem" in resolved) throw new ToolError("invalid_config", resolved.problem);
    Object.assign(this.#secrets, readVariables(text, environment));
    return resolved.text;
  }

  #describeError(thrown: unknown): string {
    return this.#loaded.redact(createRedactor(this.#secrets)(formatForOperator(thrown)));
  }
}

function commonOf(config: ToolsetConfig, inherited: CallSettings): CommonToolset {
  const { description, maxConcurrent, shared, place, checkFormats } = config;
  const defaults: CallSettings = { ...inherited, ...pickCallSettings(config) };
  return {
    ...omitUndefined({ description, maxConcurrent, shared, place, checkFormats }),
    ...(Object.keys(defaults).length === 0 ? {} : { defaults }),
  };
}

/** Returns the same source, with faults injected into its toolsets. */
function withFaults(source: ToolSource, faults: FaultPlan): ToolSource {
  return {
    name: source.name,
    load: async (context) => (await source.load(context)).map((toolset) => ({ ...toolset, faults })),
    ...(source.watch === undefined ? {} : { watch: (changed) => source.watch?.(changed) ?? (() => {}) }),
  };
}

/** Merges settings; those of the configuration win over the toolset's own. */
function withCommon(toolset: Partial<Toolset>, { defaults, ...common }: CommonToolset): Partial<Toolset> {
  const settings = { ...toolset.defaults, ...defaults };
  return { ...toolset, ...common, ...(Object.keys(settings).length === 0 ? {} : { defaults: settings }) };
}

function unreachable(engine: string): string {
  return `engine ${JSON.stringify(engine)} names no server, and this entry names none that it could reach.`;
}

/** Returns the key that a problem begins with, as in `baseUrl has a query`. */
function findNamedKey(toolset: ToolsetConfig, problem: string): string | undefined {
  const [word = ""] = /^\w+/u.exec(problem) ?? [];
  return Object.hasOwn(toolset, word) ? word : undefined;
}
