/** Opens a runtime from a configuration file, and closes it when the command is done. */
import { relative, resolve } from "node:path";
import type { Approver } from "../../core/approvals/ask.ts";
import { splitName } from "../../core/call.ts";
import { ToolError, pickHints } from "../../core/error.ts";
import type { EventListener } from "../../core/event.ts";
import type { Ports } from "../../core/ports.ts";
import type { Store } from "../../core/store/store.ts";
import type { ToolPins } from "../../core/tool-pins.ts";
import { policyOptions } from "../../config/tables/policy-options.ts";
import { buildArtifacts, buildStore } from "../../config/build/build-store.ts";
import { buildRuntimeParts } from "../../config/build/build-runtime-parts.ts";
import { toolCacheFiles, toolCacheFolder } from "../../config/tools/tool-cache-file.ts";
import { toRegistryEntries } from "../../config/haft-config.ts";
import { emptyConfig, findConfig, loadConfig, loadStoreConfig, type LoadedConfig } from "../../config/load-config.ts";
import { lockPath, readLock } from "../../config/trust/lock-file.ts";
import type { ModelListeners } from "../../config/build/model-listeners.ts";
import type { DefaultModel } from "../../config/toolset/toolset-type.ts";
import type { ModelRetry } from "../../model/http-model.ts";
import type { RegistryEntry } from "../../config/tables/registry-config.ts";
import { isSource } from "../../config/tables/toolset-config.ts";
import type { UserLogins } from "../../engine/mcp/login/user-logins.ts";
import { createLogins } from "../commands/mcp/server-logins.ts";
import { createChannels } from "../../triggers/channels.ts";
import { createTriggers, type Triggers } from "../../triggers/triggers.ts";
import { toolPins } from "../../trust/tool-pins.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../runtime/runtime.ts";
import type { OpenReport } from "../../registry/lifecycle/open-report.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { createInboxApprover } from "../terminal/ask-person.ts";
import { createPersonAsk } from "../terminal/answer-question.ts";
import type { CommandContext } from "../command.ts";
import { buildCommandAnswers, type AnswerChoice } from "./command-answers.ts";
import { addInfoToolset } from "./info-toolset.ts";
import { packageVersion } from "../own-package.ts";
import { formatDuration, toOneLine } from "../terminal/terminal-text.ts";
import { storeFiles } from "../../config/trust/own-paths.ts";
import { isPostgresUrl } from "../../store/postgres/postgres-settings.ts";
import { startTelemetry } from "./start-telemetry.ts";
import { requireTrust } from "../commands/trust/require-trust.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";

export interface OpenRuntime {
  readonly runtime: Runtime;
  readonly config: LoadedConfig;
  readonly report: OpenReport;
  /** Triggers with the channels and triggers of the configuration. They do not run until an agent gets them. */
  readonly triggers: Triggers;
  /** Logins of users to the servers of the configuration. Their pages are not served yet. */
  readonly logins: UserLogins;
}

export interface WithRuntimeOptions extends AnswerChoice {
  /** Called with the configuration before anything is opened or started; an error that it throws ends the command. */
  readonly onConfig?: (config: LoadedConfig) => void;
  readonly onEvent?: EventListener;
  readonly approve?: Approver | undefined;
  /** Whether to continue with an empty configuration if the folder has none. @default false */
  readonly mayLackConfig?: boolean;
  /** Opens only this toolset if the configuration has it, so that no other server is started, and fails if it does not open. */
  readonly only?: string | undefined;
  /** Whether to report on standard error which toolsets did not open. @default true */
  readonly reportFailures?: boolean;
  /** Receives the warnings of the runtime, which then do not go to standard error. */
  readonly onWarning?: (line: string) => void;
  /** The clock of calls, if nothing takes real time. @default the real clock */
  readonly clock?: Ports["clock"] | undefined;
  /** Whether to accept third-party tools that differ from their pins. @default false */
  readonly unpinned?: boolean;
  /** Returns the model that the command asks; delegates that name no model ask it too. @default that of the configuration */
  readonly model?: ((config: LoadedConfig) => DefaultModel | undefined) | undefined;
  /** Whether to add `call_tool` to `find_tools`. @default as the configuration says */
  readonly callTool?: boolean;
  /** Whether to give models the tool `info` if tools have documentation. @default false */
  readonly manual?: boolean;
  /**
   * Returns the store for sessions and results, which is closed with the runtime.
   * @default that of the configuration if a toolset is shared, opened when something needs it; else none
   */
  readonly store?: (config: LoadedConfig) => Store | undefined;
  /** Whether this process starts no jobs and leaves them to others. @default no */
  readonly leavesJobs?: (config: LoadedConfig) => boolean;
  /** Whether the store is opened only when something needs it. A shared toolset needs it for every call. @default false */
  readonly opensStoreLazily?: boolean;
}

const MAX_WARNING_LENGTH = 1_000;

/** Opens the runtime of the configuration, does the work, and always closes it. Stops when the signal aborts. */
export async function withRuntime<T>(
  context: CommandContext,
  options: WithRuntimeOptions,
  work: (open: OpenRuntime) => T | Promise<T>,
): Promise<T> {
  const { signal } = context;
  const config = await readConfigOrEmpty(context, options.mayLackConfig !== true);
  options.onConfig?.(config);
  const store = options.store === undefined ? buildSharedStore(selectToolset(config, options.only)) : options.store(config);
  const trusted = await requireTrust(context, config);
  const triggers = createTriggers({ channels: createChannels(omitUndefined({ store })) });
  const logins = createLogins(context, config, stderrPorts(context));
  const runtime = createRuntime(await runtimeOptions(context, { ...options, config, built: store, trusted, triggers, logins }));
  const reported = new Set<string>();
  let endTelemetry: (() => Promise<void>) | undefined;
  try {
    endTelemetry = await startTelemetry({ config: config.config.telemetry, environment: context.environment, runtime });
    const mayWait = options.opensStoreLazily === true && !isShared(selectToolset(config, options.only));
    if (store !== undefined && options.store !== undefined && !mayWait) {
      await rejectOnAbort(store.open(), signal);
      await store.announce({ role: "cli", version: packageVersion() }).catch(() => {}); // the next use of the store reports the error
    }
    const report = await rejectOnAbort(runtime.open(), signal);
    if (options.manual === true) await addInfoToolset(runtime.registry, config.config);
    if (context.options.watch) runtime.watch();
    warnAboutFailures(context, report, options);
    return await work({ runtime, config, report, triggers, logins });
  } catch (thrown: unknown) {
    reported.add(ToolError.fromUnknown(thrown).message); // printed where it is caught
    throw thrown;
  } finally {
    for (const { message } of await runtime.close()) {
      if (!reported.has(message)) warn(context, message);
      reported.add(message);
    }
    await endTelemetry?.();
  }
}

/** Returns a store if a toolset is shared: shared toolsets need one even if no call is made. */
function buildSharedStore(config: LoadedConfig): Store | undefined {
  return isShared(config) ? buildStore(config) : undefined;
}

function isShared({ config }: LoadedConfig): boolean {
  return config.toolsets.values().some(({ enabled, shared }) => enabled && shared === true);
}

interface RuntimeBuildOptions extends WithRuntimeOptions {
  readonly config: LoadedConfig;
  readonly built: Store | undefined;
  /** The digests of trusted descriptors; undefined = all are trusted. */
  readonly trusted: ReadonlySet<string> | undefined;
  readonly triggers: Triggers;
  readonly logins: UserLogins;
}

/** Returns the cache of tool lists. A user without a home folder has none: servers are asked for their tools each time. */
function toolListCache({ environment }: CommandContext): { readonly memory?: ReturnType<typeof toolCacheFiles> } {
  try {
    return { memory: toolCacheFiles(toolCacheFolder(environment)) };
  } catch {
    return {};
  }
}

async function runtimeOptions(
  context: CommandContext,
  { config, built, trusted, triggers, logins, ...options }: RuntimeBuildOptions,
): Promise<RuntimeOptions> {
  const policies = policyOptions(config.config);
  const artifacts = buildArtifacts(config.config, built);
  const pins = options.unpinned === true ? undefined : await readPins(config);
  const onRetry: ModelListeners["onRetry"] = (retry, name) => warn(context, retryText(name, retry));
  const listeners = { onRetry, ...omitUndefined({ onModel: options.onModel, onMeter: options.onMeter }) };
  const { toolsets, sources } = await rejectOnAbort(
    buildRuntimeParts(selectToolset(config, options.only), {
      triggers,
      logins,
      ...toolListCache(context),
      ...listeners,
      hide: storeOptionFiles(context),
      ...omitUndefined({ store: built, trusted, model: options.model?.(config), callTool: options.callTool }),
    }),
    context.signal,
  );
  return {
    ...policies,
    ...(options.leavesJobs?.(config) === true ? { jobs: { ...policies.jobs, maxRunning: 0 } } : {}),
    toolsets,
    sources,
    places: context.options.place,
    approval: {
      ...policies.approval,
      ...omitUndefined({ approve: options.approve ?? createInboxApprover(context, config.config.approval) }),
    },
    ...omitUndefined({ ask: createPersonAsk(context), pins, store: built, artifacts, onEvent: options.onEvent }),
    ...(await rejectOnAbort(buildCommandAnswers(context, config, { ...options, ...listeners }), context.signal)),
    ports: {
      ...(options.onWarning === undefined ? stderrPorts(context) : { log: { debug() {}, warn: options.onWarning } }),
      ...omitUndefined({ clock: options.clock }),
    },
  };
}

/** Returns the paths of the files of the SQLite store that the option names; empty without one. */
function storeOptionFiles({ options: { store: path } }: CommandContext): readonly string[] {
  return path === undefined || isPostgresUrl(path) ? [] : storeFiles(resolve(path));
}

/** Reads the pins of third-party tools; undefined if nothing was pinned. */
async function readPins({ path }: LoadedConfig): Promise<ToolPins | undefined> {
  const lock = await readLock(lockPath(path));
  return lock === undefined ? undefined : toolPins(lock);
}

/** Reads the configuration that was named, or that of this folder. Prints its warnings on standard error. */
export async function readConfig(context: CommandContext): Promise<LoadedConfig> {
  return printWarnings(context, await loadConfig(configPath(context), { environment: context.environment }));
}

/** Like `readConfig`, for work on the store alone: variables of toolsets, servers and models need not be set. */
export async function readStoreConfig(context: CommandContext): Promise<LoadedConfig> {
  return printWarnings(context, await loadStoreConfig(configPath(context), { environment: context.environment }));
}

function printWarnings(context: CommandContext, config: LoadedConfig): LoadedConfig {
  for (const warning of config.warnings) warn(context, warning);
  return config;
}

/** Like `readConfig`, but returns an empty configuration for a folder without one, unless one is needed. */
async function readConfigOrEmpty(context: CommandContext, isNeeded: boolean): Promise<LoadedConfig> {
  if (isNeeded || context.options.config !== undefined || findConfig(process.cwd()) !== undefined) return await readConfig(context);
  return emptyConfig(process.cwd(), context.environment);
}

/** Returns ports whose warnings go to standard error. */
export function stderrPorts(context: CommandContext): Partial<Ports> {
  return { log: { debug() {}, warn: (message) => warn(context, message) } };
}

function warnAboutFailures(context: CommandContext, report: OpenReport, { only, reportFailures }: WithRuntimeOptions): void {
  for (const { toolset, error } of report.failed) {
    if (toolset === only)
      throw new ToolError("unavailable", failureText(toolset, error), {
        details: error.details,
        ...pickHints(error),
        cause: error,
      });
    if (reportFailures !== false) warn(context, failureWithHint(toolset, error));
  }
}

/** Says why a toolset did not open, with its name. */
function failureText(toolset: string, { message }: ToolError): string {
  const name = JSON.stringify(toolset);
  return message.includes(name) ? message : `The toolset ${name} could not be opened: ${message}`;
}

/** Says why a toolset did not open and what to do, such as to install a package, and adds a line for each detail, such as a server's last output. */
export function failureWithHint(toolset: string, error: ToolError): string {
  const text = failureText(toolset, error);
  const first = error.operatorHint === undefined ? text : `${text} ${error.operatorHint}`;
  return [first, ...error.details.filter((detail) => detail.trim() !== "" && !text.includes(detail))].join("\n");
}

/** Returns the toolset of a qualified name. */
export function namespaceOf(name: string): string | undefined {
  return splitName(name).namespace;
}

function selectToolset(loaded: LoadedConfig, only: string | undefined): LoadedConfig {
  const toolset = only === undefined ? undefined : loaded.config.toolsets.get(only);
  if (only === undefined || toolset === undefined) return loaded;
  if (!toolset.enabled) {
    throw new ToolError("unavailable", `The toolset ${JSON.stringify(only)} is disabled in ${loaded.path}.`, {
      hint: `Set enabled to true in toolsets.${only}.`,
    });
  }
  // These use the tools of other toolsets.
  if (toolset.type === "chains" || toolset.type === "delegates" || toolset.type === "program") return loaded;
  const matching = toRegistryEntries(loaded.config).filter((entry) => mayHaveNamespace(entry, only));
  const toolsets = [...loaded.config.toolsets].filter(([, config]) => matching.some((entry) => entry.toolset === config));
  const registry = loaded.config.registry.filter((entry) => matching.includes(entry));
  return { ...loaded, config: { ...loaded.config, toolsets: new Map(toolsets), registry } };
}

/** Whether an entry may have tools of this namespace. The namespaces of a source are known only once its files are read. */
function mayHaveNamespace({ namespace, toolset }: RegistryEntry, name: string): boolean {
  return isSource(toolset) || namespace === name;
}

/** Returns the path of `--config` as it was given, or the name of the file in this folder. */
function configPath({ options }: CommandContext): string {
  if (options.config !== undefined) return options.config;
  const folder = process.cwd();
  const path = findConfig(folder);
  if (path !== undefined) return relative(folder, path);
  throw new ToolError("invalid_config", `There is no haft.toml, haft.yaml, haft.yml or haft.json in ${folder}.`, {
    hint: 'Name one with --config, or write one with haft init. A minimal one: toolsets.files = { type = "files", root = "." }',
  });
}

/** Formats the retry of a request to a model. */
export function retryText(model: string, { attempt, error, waitMs }: ModelRetry): string {
  return `${model}: attempt ${attempt} failed, next in ${formatDuration(waitMs)}: ${error.message}`;
}

/** Prints a warning on standard error. */
export function warn({ err }: CommandContext, message: string): void {
  err.print(err.paint("yellow", `haft: ${toOneLine(message, MAX_WARNING_LENGTH)}`));
}
