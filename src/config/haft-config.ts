/** What a configuration may say, and the reading of it. */
import { checkName } from "../core/call.ts";
import { describeThrown } from "../core/error.ts";
import type { CallSettings } from "../core/tool.ts";
import type { CacheOptions } from "../policy/result-cache.ts";
import type { CircuitSettings } from "../policy/circuit.ts";
import type { PermissionRules } from "../policy/permission.ts";
import type { RetrySettings } from "../policy/retry.ts";
import type { PathGuard } from "../toolsets/files/workspace-path.ts";
import { COUNT, MILLISECONDS } from "./bounds.ts";
import { readApproval, readCache, readCircuit, readPermission, readRetry } from "./policy-config.ts";
import type { ApprovalConfig } from "./policy-config.ts";
import { present } from "./present.ts";
import type { Problems } from "./problems.ts";
import { readStore } from "./store-config.ts";
import type { StoreConfig } from "./store-config.ts";
import { TableReader, isTable, kindOf } from "./table-reader.ts";
import type { Environment } from "./variables.ts";
import { resolveVariables } from "./variables.ts";

export interface HaftConfig {
  /** Settings of every call, unless a toolset has its own. */
  readonly runtime: RuntimeConfig;
  /** The waits between the attempts of a call. */
  readonly retry: RetrySettings;
  /** False = no tool is left alone for failing. */
  readonly circuit: CircuitSettings | false;
  /** Patterns over qualified names, such as `files::*`. */
  readonly permission: PermissionRules;
  readonly approval: ApprovalConfig;
  /** How much memory kept results may take. */
  readonly cache: CacheOptions;
  /** Where sessions are kept; undefined = nowhere. */
  readonly store: StoreConfig | undefined;
  /** By name, in the order of the file. */
  readonly toolsets: ReadonlyMap<string, ToolsetConfig>;
}

export interface RuntimeConfig extends CallSettings {
  /** Most handlers that run at a time. */
  readonly maxConcurrent?: number;
  /** One toolset that fails to open fails them all. */
  readonly strict?: boolean;
  /** How long an abandoned handler keeps its locks and slots. */
  readonly orphanHoldMs?: number;
  /** `async`: neither calls nor results wait for the store. */
  readonly durability?: Durability;
  /** How many events of a stored session stay in memory, at least. */
  readonly keepEvents?: number;
}

type Durability = (typeof DURABILITIES)[number];

export type ToolsetConfig = FilesConfig | McpConfig | ModuleConfig;

interface CommonConfig extends CallSettings {
  /** False = not built, not started, not imported. @default true */
  readonly enabled: boolean;
  readonly description?: string;
  readonly maxConcurrent?: number;
}

/** The toolset that works on the files of a folder. */
export interface FilesConfig extends CommonConfig {
  readonly type: "files";
  /** The workspace folder, relative to the configuration file. */
  readonly root: string;
  /** What happens to paths outside the workspace. */
  readonly guard?: PathGuard;
  readonly readOnly?: boolean;
  readonly allowSensitive?: readonly string[];
  readonly unchangedReads?: boolean;
}

/** An MCP server, run by a command in the folder of the configuration file. */
export interface McpConfig extends CommonConfig {
  readonly type: "mcp";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly trustAnnotations: boolean;
  readonly openTimeoutMs?: number;
}

/** Tools that a JavaScript or TypeScript file exports. */
export interface ModuleConfig extends CommonConfig {
  readonly type: "module";
  /** Relative to the configuration file, and inside its folder. */
  readonly path: string;
}

/** What the runtime calls the toolset of `read_result`. */
const OWN_TOOLSET = "haft";
const TYPES = ["files", "mcp", "module"] as const;
const DURABILITIES = ["sync", "async"] as const;
const GUARDS = ["block", "warn", "off"] as const satisfies readonly PathGuard[];
/** What would do nothing in another toolset: it opens at once or has its time in the module, and its tools are trusted. */
const NOT_OF_TOOLSET: ReadonlyMap<string, string> = new Map(
  ["openTimeoutMs", "trustAnnotations"].map((key) => [key, 'only a toolset of type "mcp" has it.']),
);

/** Reads a whole file; what cannot be used is reported and left out. Variables of disabled toolsets stay as written. */
export function readHaftConfig(value: unknown, problems: Problems, environment: Environment): HaftConfig {
  if (!isTable(value)) problems.add([], `a configuration must be a table of keys, not ${kindOf(value)}.`);
  const root = new TableReader(isTable(value) ? value : {}, [], problems);
  const runtime = root.table("runtime");
  const retry = root.table("retry");
  const circuit = root.table("circuit");
  const permission = root.table("permission");
  const approval = root.table("approval");
  const cache = root.table("cache");
  const store = root.table("store");
  const toolsets = root.table("toolsets");
  root.finish();
  return {
    runtime: runtime === undefined ? {} : readRuntime(runtime),
    retry: retry === undefined ? {} : readRetry(retry),
    circuit: circuit === undefined ? {} : readCircuit(circuit),
    permission: permission === undefined ? {} : readPermission(permission),
    approval: approval === undefined ? {} : readApproval(approval),
    cache: cache === undefined ? {} : readCache(cache),
    store: store === undefined ? undefined : readStore(store, environment),
    toolsets: toolsets === undefined ? new Map() : readToolsets(toolsets, problems, environment),
  };
}

function readRuntime(table: TableReader): RuntimeConfig {
  const runtime = {
    ...readCallSettings(table),
    ...present({
      maxConcurrent: table.number("maxConcurrent", COUNT),
      strict: table.flag("strict"),
      orphanHoldMs: table.number("orphanHoldMs", MILLISECONDS),
      durability: table.choice("durability", DURABILITIES),
      keepEvents: table.number("keepEvents", COUNT),
    }),
  };
  table.finish();
  return runtime;
}

function readToolsets(table: TableReader, problems: Problems, environment: Environment): ReadonlyMap<string, ToolsetConfig> {
  const toolsets = new Map<string, ToolsetConfig>();
  for (const name of problems.inOrder(table.path, table.names())) {
    if (name === OWN_TOOLSET) table.report(name, "is the name of the toolset that Haft brings along; take another one.");
    try {
      checkName(name, "toolset");
    } catch (error: unknown) {
      table.report(name, describeThrown(error));
    }
    const entry = table.table(name);
    const toolset = entry === undefined ? undefined : readToolset(entry, problems, environment);
    if (toolset !== undefined) toolsets.set(name, toolset);
  }
  return toolsets;
}

function readToolset(table: TableReader, problems: Problems, environment: Environment): ToolsetConfig | undefined {
  const type = table.choice("type", TYPES, { required: true });
  if (type === undefined) return undefined;
  const common = readCommon(table);
  const resolve = (text: string, ...steps: readonly (string | number)[]): string => {
    if (!common.enabled) return text;
    const resolved = resolveVariables(text, environment);
    if ("text" in resolved) return resolved.text;
    problems.add([...table.path, ...steps], resolved.problem);
    return "";
  };
  const toolset =
    type === "files" ? readFiles(table, common, resolve) : type === "mcp" ? readMcp(table, common, resolve) : readModule(table, common);
  table.finish(NOT_OF_TOOLSET);
  return toolset;
}

type Resolve = (text: string, ...steps: readonly (string | number)[]) => string;

function readFiles(table: TableReader, common: CommonConfig, resolve: Resolve): FilesConfig | undefined {
  const root = table.requiredText("root", "the folder whose files the tools may use");
  const flags = present({
    guard: table.choice("guard", GUARDS),
    readOnly: table.flag("readOnly"),
    allowSensitive: table.texts("allowSensitive"),
    unchangedReads: table.flag("unchangedReads"),
  });
  return root === undefined ? undefined : { type: "files", ...common, root: resolve(root, "root"), ...flags };
}

function readMcp(table: TableReader, common: CommonConfig, resolve: Resolve): McpConfig | undefined {
  const command = table.requiredText("command", "the program that runs the server; its arguments go in args");
  const args = (table.texts("args") ?? []).map((text, index) => resolve(text, "args", index));
  const variables = table.table("env");
  const env: Record<string, string> = {};
  for (const name of variables?.names() ?? []) {
    const value = variables?.text(name);
    if (value !== undefined) env[name] = resolve(value, "env", name);
  }
  const trustAnnotations = table.flag("trustAnnotations") ?? false;
  const openTimeoutMs = table.number("openTimeoutMs", MILLISECONDS);
  return command === undefined
    ? undefined
    : { type: "mcp", ...common, command, args, env, trustAnnotations, ...present({ openTimeoutMs }) };
}

function readModule(table: TableReader, common: CommonConfig): ModuleConfig | undefined {
  const path = table.requiredText("path", "the file that exports the tools");
  return path === undefined ? undefined : { type: "module", ...common, path };
}

function readCommon(table: TableReader): CommonConfig {
  const enabled = table.flag("enabled");
  const enable = table.flag("enable");
  if (enabled !== undefined && enable !== undefined) table.report("enable", "is another word for enabled; keep one of them.");
  return {
    enabled: enabled ?? enable ?? true,
    ...present({
      description: table.text("description"),
      maxConcurrent: table.number("maxConcurrent", COUNT),
    }),
    ...readCallSettings(table),
  };
}

function readCallSettings(table: TableReader): CallSettings {
  return present({
    timeoutMs: table.number("timeoutMs", MILLISECONDS),
    deadlineMs: table.number("deadlineMs", MILLISECONDS),
    maxAttempts: table.number("maxAttempts", { min: 1, max: 100, whole: true }),
    maxResultBytes: table.number("maxResultBytes", { ...COUNT, min: 0 }),
  });
}
