/** The keys of a configuration, and how they are read. */
import { resolve } from "node:path";
import type { JobLimits } from "../call/jobs/job-table.ts";
import type { JsonLimits } from "../core/base/json-limits.ts";
import type { CallSettings } from "../core/tool.ts";
import type { RuntimeOptions } from "../runtime/runtime-options.ts";
import type { CacheOptions } from "../policy/cache/result-cache.ts";
import type { CircuitSettings } from "../policy/attempts/circuit.ts";
import type { PermissionRules } from "../policy/permission.ts";
import type { RetrySettings } from "../policy/attempts/retry.ts";
import { COUNT, MILLISECONDS } from "../core/base/number-bounds.ts";
import { readMcpTables } from "./descriptor/read-descriptor.ts";
import { readCreatureTools } from "./tools/creature-tools.ts";
import type { ClientTraits, Note } from "./tools/client-formats.ts";
import { findServersKey, readClientServers } from "./tools/mcp-servers.ts";
import { readDocumentationPaths } from "./tables/documentation-config.ts";
import {
  NOT_OF_RETRY,
  readApproval,
  readCache,
  readCircuit,
  readInputLimits,
  readJobs,
  readPermission,
  readRetry,
  type ApprovalConfig,
} from "./tables/policy-config.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { Problems } from "../documents/problems.ts";
import { checkRouting, readToolsBlock, type RegistryEntry, type ToolsBlock } from "./tables/registry-config.ts";
import { readFindTools, type FindToolsConfig } from "./tables/find-tools-config.ts";
import { readLoop, readModel, type LoopConfig, type ModelConfig } from "./tables/model-config.ts";
import { readServe, type ServeConfig } from "./tables/serve-config.ts";
import { readWorker, type WorkerConfig } from "./tables/worker-config.ts";
import { readWebhooks, type WebhookConfig } from "./tables/webhooks-config.ts";
import { readSimulation, type SimulationConfig } from "./tables/simulation-config.ts";
import { readStore, readStoreUrl, type StoreConfig } from "./tables/store-config.ts";
import { readTelemetry, type TelemetryConfig } from "./tables/telemetry-config.ts";
import { TableReader, isTable, kindOf } from "./table-reader.ts";
import type { NamedTrigger } from "../triggers/session-triggers.ts";
import { readChannels, readTriggers, type ChannelConfig } from "./tables/triggers-config.ts";
import { checkToolsetName, readCallSettings, readToolsets, type ToolsetConfig, type ToolsetReadContext } from "./tables/toolset-config.ts";
import { Variables, isVariableName, type Environment, type SentVariable } from "./variables.ts";

/** A configuration that was read. Its registry begins with the servers of `mcp`. */
export interface HaftConfig extends ToolsBlock {
  /** Settings of every call, unless a toolset has its own. */
  readonly runtime: RuntimeConfig;
  /** The waits between the attempts of a call. */
  readonly retry: RetrySettings;
  /** False = no circuits: failing tools are still called. */
  readonly circuit: CircuitSettings | false;
  /** Patterns over qualified names, such as `files::*`. */
  readonly permission: PermissionRules;
  readonly approval: ApprovalConfig;
  /** Limits on the memory of cached results. */
  readonly cache: CacheOptions;
  /** Limits of background jobs, and of what is kept of those that have ended. */
  readonly jobs: JobLimits;
  /** How deep and large the input of a call may be. */
  readonly inputLimits: JsonLimits;
  /** Where sessions are kept; undefined = they are not kept. */
  readonly store: StoreConfig | undefined;
  /** The principals that a server lets in, and their tools; undefined = the file has no such table. */
  readonly serve: ServeConfig | undefined;
  /** How jobs are run by several processes; undefined = the file has no such table. */
  readonly worker: WorkerConfig | undefined;
  /** The services that a server sends webhooks to; undefined = the file has no such key. */
  readonly webhooks: readonly WebhookConfig[] | undefined;
  /** The model of `haft chat`; undefined = none was named. */
  readonly model: ModelConfig | undefined;
  readonly loop: LoopConfig;
  /** Where traces and metrics are sent; undefined = the file has no such table. */
  readonly telemetry: TelemetryConfig | undefined;
  /** Settings of `find_tools`: models and clients are shown a few tools, and find the others; undefined = they are shown all. */
  readonly findTools: FindToolsConfig | undefined;
  /** The engines that answer in place of tools, and the faults to inject; undefined = the file has no such table. */
  readonly simulation: SimulationConfig | undefined;
  /** Modules that add engines and sources, relative to the configuration file and inside its folder. */
  readonly extensions: readonly string[];
  /** For each tool, the absolute path of the file whose text replaces its documentation. */
  readonly documentation: ReadonlyMap<string, string>;
  /** Names of variables that are allowed in paths. */
  readonly allowVariables: readonly string[];
  /** The toolsets by name, in the order of the file. */
  readonly toolsets: ReadonlyMap<string, ToolsetConfig>;
  /** The channels that agents share. */
  readonly channels: readonly ChannelConfig[];
  /** The triggers that every agent of the program has. */
  readonly triggers: readonly NamedTrigger[];
}

/** The settings of the runtime in a configuration. */
export type RuntimeConfig = CallSettings &
  Pick<RuntimeOptions, "maxConcurrent" | "strict" | "orphanHoldMs" | "durability" | "keepEvents" | "agentName" | "workingFolder"> & {
    readonly artifacts?: ArtifactsConfig;
  };

/** Where the files of answers are kept: in the store, nowhere, or in a folder with an absolute path. */
export type ArtifactsConfig = "store" | "none" | { readonly folder: string };

const DURABILITIES = ["sync", "async"] as const;

export interface ReadOptions {
  readonly environment: Environment;
  /** More names of variables that are allowed in paths. */
  readonly allowVariables: readonly string[];
  /** Types of sources that the program adds. */
  readonly extensionTypes: readonly string[];
  /** Types of enrichments that the program adds. */
  readonly enrichmentTypes: readonly string[];
  /** Whether to ignore the top-level keys of another program. */
  readonly foreignKeys: boolean;
  /** Whether the file may be that of another MCP client, judging by its name and format. */
  readonly mayBeOfClient: boolean;
  /** The folder of the file. */
  readonly folder: string;
  /** The client to which the file belongs, judging by its path. */
  readonly client: ClientTraits;
  /** Whether variables outside the store may be unset: see `loadStoreConfig`. */
  readonly onlyStore: boolean;
}

export interface ReadConfig {
  readonly config: HaftConfig;
  /** The values of its variables by name, to be redacted from messages. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The variables whose values are sent to servers. */
  readonly sent: readonly SentVariable[];
  /** Notes on keys that are ignored. */
  readonly notes: readonly Note[];
}

/** Reads a whole file. Invalid parts are reported and left out. Variables of disabled toolsets are not replaced. */
export function readHaftConfig(value: unknown, problems: Problems, options: ReadOptions): ReadConfig {
  if (!isTable(value)) problems.add([], `a configuration must be an object, not ${kindOf(value)}.`);
  const root = new TableReader(isTable(value) ? value : {}, [], problems);
  const policies = readPolicies(root, options);
  const extensions = root.texts("extensions") ?? [];
  const allowVariables = [...readAllowed(root), ...options.allowVariables];
  const { environment, onlyStore: mayBeUnset } = options;
  const variables = new Variables({ environment, allowed: new Set(allowVariables), problems, mayBeUnset });
  const extensionTypes = extensions.length === 0 ? options.extensionTypes : undefined;
  const enrichmentTypes = extensions.length === 0 ? options.enrichmentTypes : undefined;
  const context: ToolsetReadContext = { variables, problems, otherWords: false, extensionTypes, enrichmentTypes };
  const simulation = root.section("simulation", (table) => readSimulation(table, context));
  const toolsets = readToolsets(root, context);
  const block = readToolsBlock(root, context);
  const channels = readChannels(root);
  const triggers = readTriggers(root, channels);
  const creature = readCreatureTools(root, context, options.folder);
  const mcp = root.table("mcp");
  const documentation =
    root.section("documentation", (table) => readDocumentationPaths(table, options.folder)) ?? new Map<string, string>();
  const client = readClientServers(root, context, { ...options.client, folder: options.folder });
  if (options.foreignKeys || (options.mayBeOfClient && isClientFile(root))) root.ignoreRest();
  root.reportUnknownKeys();
  const registry = [...readMcpEntries(mcp, context), ...client.entries, ...block.registry, ...creature.registry];
  const config = {
    ...policies,
    simulation,
    extensions,
    allowVariables,
    documentation: new Map([...creature.documentation, ...documentation]),
    toolsets,
    channels,
    triggers,
    ...block,
    registry,
  };
  checkDependentSettings(config, problems);
  checkRouting(toRegistryEntries(config), block.engines, (path, problem) => problems.add(path, problem));
  return { config, secrets: variables.secrets, sent: variables.sent, notes: [...client.notes, ...creature.notes] };
}

/** Checks settings that depend on each other. */
function checkDependentSettings({ runtime, store, loop, model }: HaftConfig, problems: Problems): void {
  if (runtime.artifacts === "store" && store === undefined)
    problems.add(["runtime", "artifacts"], 'keeps files in the store, and there is no [store]. Name a folder, such as "./artifacts".');
  if (loop.budget?.cost !== undefined && model !== undefined && model.prices === undefined)
    problems.add(["loop", "budget", "cost"], "limits what the model costs, and its prices are not known. Set [model.prices].");
}

/** The top-level keys of our own configuration files. */
const OWN_KEYS =
  "runtime retry circuit permission approval cache jobs inputLimits store serve worker webhooks model loop telemetry findTools extensions documentation variables simulation toolsets tools engines mcp channels triggers".split(
    " ",
  );

/** Whether the file belongs to another MCP client: it has servers and none of our keys. Its other keys are then ignored. */
function isClientFile(root: TableReader): boolean {
  return findServersKey(root) !== undefined && !OWN_KEYS.some((key) => root.has(key));
}

/** Returns every toolset and registry entry in the form that routing uses. */
export function toRegistryEntries({ toolsets, registry }: Pick<HaftConfig, "toolsets" | "registry">): readonly RegistryEntry[] {
  const own = Array.from(toolsets, ([name, toolset]) => {
    const namespace = toolset.type === "file" || toolset.type === "inline" ? toolset.namespace : name;
    return { path: ["toolsets", name], namespace, toolset, defaultEngine: toolset.type === "file" || toolset.type === "inline" };
  });
  return [...own, ...registry];
}

/** Returns the servers of `mcp` as registry entries, like those of descriptors. */
function readMcpEntries(table: TableReader | undefined, context: ToolsetReadContext): readonly RegistryEntry[] {
  const entries: RegistryEntry[] = [];
  for (const { name, enabled, server } of readMcpTables(table, context.variables, context.problems)) {
    if (table !== undefined) checkToolsetName(name, table, name);
    if (server === undefined) continue;
    entries.push({ path: ["mcp", name], namespace: name, toolset: { type: "mcp", enabled, ...server }, defaultEngine: false });
  }
  return entries;
}

type Policies = Pick<
  HaftConfig,
  | "runtime"
  | "retry"
  | "circuit"
  | "permission"
  | "approval"
  | "cache"
  | "jobs"
  | "inputLimits"
  | "store"
  | "serve"
  | "worker"
  | "webhooks"
  | "model"
  | "loop"
  | "telemetry"
  | "findTools"
>;

function readPolicies(root: TableReader, { environment, folder }: ReadOptions): Policies {
  return {
    runtime: root.section("runtime", (table) => readRuntime(table, folder)) ?? {},
    retry: root.section("retry", readRetry, NOT_OF_RETRY) ?? {},
    circuit: root.section("circuit", readCircuit) ?? {},
    permission: root.section("permission", readPermission) ?? {},
    approval: root.section("approval", readApproval) ?? {},
    cache: root.section("cache", readCache) ?? {},
    jobs: root.section("jobs", readJobs) ?? {},
    inputLimits: root.section("inputLimits", readInputLimits) ?? {},
    store:
      typeof root.peek("store") === "string"
        ? readStoreUrl(root, "store", environment)
        : root.section("store", (table) => readStore(table, environment)),
    serve: root.section("serve", (table) => readServe(table, folder)),
    worker: root.section("worker", readWorker),
    webhooks: readWebhooks(root),
    model: root.section("model", readModel),
    loop: root.section("loop", readLoop) ?? {},
    telemetry: root.section("telemetry", readTelemetry),
    findTools: root.section("findTools", readFindTools),
  };
}

function readAllowed(root: TableReader): readonly string[] {
  const fault = (name: string): string | undefined => (isVariableName(name) ? undefined : "is not a name of an environment variable.");
  return root.section("variables", (table) => table.texts("allow", fault)) ?? [];
}

function readRuntime(table: TableReader, folder: string): RuntimeConfig {
  const startsAt = (path: string | undefined): string | undefined => path && resolve(folder, path);
  return {
    ...readCallSettings(table),
    ...omitUndefined({
      maxConcurrent: table.number("maxConcurrent", COUNT),
      strict: table.flag("strict"),
      orphanHoldMs: table.number("orphanHoldMs", MILLISECONDS),
      durability: table.choice("durability", DURABILITIES),
      keepEvents: table.number("keepEvents", COUNT),
      agentName: readName(table, "agentName"),
      workingFolder: startsAt(readName(table, "workingFolder")),
      artifacts: readArtifacts(table, folder),
    }),
  };
}

function readArtifacts(table: TableReader, folder: string): ArtifactsConfig | undefined {
  const written = readName(table, "artifacts");
  return written === undefined || written === "store" || written === "none" ? written : { folder: resolve(folder, written) };
}

function readName(table: TableReader, key: string): string | undefined {
  const text = table.text(key);
  if (text !== "") return text;
  table.report(key, "must not be empty.");
  return undefined;
}
