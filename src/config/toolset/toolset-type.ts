/** The interface of a toolset type: how its table is read and the toolset is built. */
import type { ModelListeners } from "../build/model-listeners.ts";
import type { Engine } from "../../core/engine.ts";
import type { Model } from "../../core/model.ts";
import type { Store } from "../../core/store/store.ts";
import type { Clock } from "../../core/ports.ts";
import type { ToolSource } from "../../core/source.ts";
import type { CallSettings } from "../../core/tool.ts";
import type { Toolset } from "../../core/toolset.ts";
import type { KeyPath } from "../../documents/key-positions.ts";
import type { Problems } from "../../documents/problems.ts";
import type { ToolMemory } from "../../engine/known-tools.ts";
import type { UserLogins } from "../../engine/mcp/login/user-logins.ts";
import type { Triggers } from "../../triggers/triggers.ts";
import type { CommonToolset } from "../tools/file-source.ts";
import type { FindToolsConfig } from "../tables/find-tools-config.ts";
import type { ModelConfig } from "../tables/model-config.ts";
import type { TableReader } from "../table-reader.ts";
import type { Environment, Variables } from "../variables.ts";

/** The keys that every toolset of a configuration may have. */
export interface CommonConfig extends CallSettings, Pick<Toolset, "description" | "maxConcurrent" | "shared" | "place" | "checkFormats"> {
  /** If false, it is not built, started or imported. @default true */
  readonly enabled: boolean;
  /** The name of the engine under `engines` that answers the calls. */
  readonly engine?: string;
}

/** Settings of a toolset whose engine connects to a server. */
export interface ConnectionConfig {
  /** Longest time to open, in milliseconds. */
  readonly openTimeoutMs?: number;
  /** `session`: one connection per session. */
  readonly isolation?: "session";
  /** `lazy`: a server with a stored list of tools is started only when one is called. */
  readonly start?: "eager" | "lazy";
}

export interface ReadContext {
  readonly variables: Variables;
  readonly problems: Problems;
  /** Whether keys of other systems are accepted as well, such as `bearer_token`. */
  readonly otherWords: boolean;
}

/** The model that is used if a configuration names no other. */
export interface DefaultModel {
  readonly config: ModelConfig;
  /** @default made from its configuration */
  readonly model?: Model;
}

/** The absolute paths of the files of a configuration, whether they exist or not. */
export interface OwnPaths {
  /** Files that tools may not change: the configuration file, its lock, and the programs, code and documents that it names. */
  readonly protect: readonly string[];
  /** Files that tools may neither read nor change: the store, which has the conversations of all users, and the tokens of their logins. */
  readonly hide: readonly string[];
}

export interface BuildContext {
  /** The absolute folder of the configuration. */
  readonly folder: string;
  readonly ownPaths: OwnPaths;
  readonly clock: Clock;
  /** The variables for files that are read later. */
  readonly environment: Environment;
  /** The listeners of models that are made. */
  readonly listeners: ModelListeners;
  /** Names of variables that are allowed in paths. */
  readonly allowVariables: readonly string[];
  /** Where the tool lists of lazy servers are kept; undefined = these servers are started like others. */
  readonly memory: ToolMemory | undefined;
  /** Keeps the logins of users to servers that require them. */
  readonly logins: UserLogins;
  /** The digests of descriptors that may start programs or send variables; undefined = all may. */
  readonly trusted: ReadonlySet<string> | undefined;
  /** The engine that the entry names, or the only one of the configuration; undefined = none. */
  readonly engine: Engine | undefined;
  /** The model of delegates that name none: the configured one, which may not be made yet, or one that the program has chosen. */
  readonly model: DefaultModel | undefined;
  /** The tools that delegates are shown from the beginning; undefined = all. */
  readonly findTools: FindToolsConfig | undefined;
  /** The triggers of the agents that use the tools. */
  readonly triggers: Triggers;
  /** The store of the runtime; undefined = there is none. */
  readonly store: Store | undefined;
  /** The settings shared by the toolsets of a source, including the engine. */
  readonly common: CommonToolset;
  /** Returns these settings for one namespace, for tools that name their namespaces; its engine may differ. */
  readonly commonOf: (namespace: string) => CommonToolset;
}

/** A toolset whose tools are known or come from its engine, or a source of toolsets. */
export type BuiltToolset = { readonly toolset: Partial<Toolset> } | { readonly source: ToolSource };

export interface ToolsetPlace {
  /** The default namespace. */
  readonly name: string;
  readonly path: KeyPath;
}

export interface ToolsetType<Config extends CommonConfig> {
  /** Returns the key to report if a toolset with a valid table cannot be made. */
  readonly keyAtFault: (config: Config) => string;
  /** Undefined if the table is invalid, which is reported. */
  read(table: TableReader, common: CommonConfig, context: ReadContext): Config | undefined;
  /** Builds the toolset, without starting anything. @throws ToolError whose message continues "place.key: …" */
  build(place: ToolsetPlace, config: Config, context: BuildContext): BuiltToolset | Promise<BuiltToolset>;
}
