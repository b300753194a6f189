/** The description of one type of toolset: how its table is read, and what is made of it. */
import type { ModelListeners } from "../build/model-listeners.ts";
import type { Engine } from "../../core/engine.ts";
import type { Model } from "../../core/model.ts";
import type { Store } from "../../core/store.ts";
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
  /** False = not built, not started, not imported. @default true */
  readonly enabled: boolean;
  /** The name of an engine under `engines`, which answers the calls. */
  readonly engine?: string;
}

/** Of a toolset whose engine connects to something. */
export interface ConnectionConfig {
  /** Longest time to open, in milliseconds. */
  readonly openTimeoutMs?: number;
  /** `session`: a connection for each session. */
  readonly isolation?: "session";
  /** `lazy`: a server whose tools are known from before is started when they are needed. */
  readonly start?: "eager" | "lazy";
}

export interface ReadContext {
  readonly variables: Variables;
  readonly problems: Problems;
  /** Words of other systems count as well, such as `bearer_token`. */
  readonly otherWords: boolean;
}

/** The model that is asked where a configuration names no other. */
export interface DefaultModel {
  readonly config: ModelConfig;
  /** @default made of its configuration */
  readonly model?: Model;
}

export interface BuildContext {
  /** The absolute folder of the configuration. */
  readonly folder: string;
  /** The absolute paths that make up the configuration: its file, its store, and the code and documents that it names. */
  readonly ownPaths: readonly string[];
  readonly clock: Clock;
  /** For variables in files that are read later. */
  readonly environment: Environment;
  /** Of the models that are made. */
  readonly listeners: ModelListeners;
  /** Names of variables that are allowed in paths. */
  readonly allowVariables: readonly string[];
  /** Where lazy servers keep what they listed; undefined = they are started like others. */
  readonly memory: ToolMemory | undefined;
  /** Keeps the logins of users to servers that want them. */
  readonly logins: UserLogins;
  /** The digests of descriptors that may run something or send variables; undefined = all may. */
  readonly trusted: ReadonlySet<string> | undefined;
  /** The engine that the entry names, or the only one there is; undefined = none. */
  readonly engine: Engine | undefined;
  /** The model of a program that named none of its own: that of the configuration, where it is not made yet, or the one it has chosen. */
  readonly model: DefaultModel | undefined;
  /** Which tools delegates are shown from the beginning; undefined = all. */
  readonly findTools: FindToolsConfig | undefined;
  /** Those of the agents that use the tools. */
  readonly triggers: Triggers;
  /** The store of the runtime; undefined = there is none. */
  readonly store: Store | undefined;
  /** The settings that the toolsets of a source share, the engine included. */
  readonly common: CommonToolset;
  /** The same of one namespace, where tools say their namespaces themselves: its engine may be another. */
  readonly commonOf: (namespace: string) => CommonToolset;
}

/** A toolset whose tools are known, or come from its engine; or a source of toolsets. */
export type Built = { readonly toolset: Partial<Toolset> } | { readonly source: ToolSource };

export interface Place {
  /** The namespace, where nothing else says one. */
  readonly name: string;
  readonly path: KeyPath;
}

export interface ToolsetType<Config extends CommonConfig> {
  /** The key that is to blame when a toolset that was read without a problem cannot be made. */
  readonly keyAtFault: (config: Config) => string;
  /** Undefined for what cannot be used; it has been reported. */
  read(table: TableReader, common: CommonConfig, context: ReadContext): Config | undefined;
  /** Nothing is started here. @throws ToolError with the rest of "place.key: …" */
  build(place: Place, config: Config, context: BuildContext): Built | Promise<Built>;
}
