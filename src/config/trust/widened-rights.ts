/** The rights that a configuration gives tools and models beyond the default ones. */
import { pushAll } from "../../core/collections/push-all.ts";
import { redactUrl } from "../../store/postgres/postgres-settings.ts";
import { resolve } from "node:path";
import type { KeyPath } from "../../documents/key-positions.ts";
import { findProvider } from "../../model/providers.ts";
import type { EngineConfig } from "../tables/engine-config.ts";
import { liesOutside } from "../file-path.ts";
import { listModels } from "../build/configured-models.ts";
import { toRegistryEntries, type HaftConfig } from "../haft-config.ts";
import type { LoadedConfig } from "../load-config.ts";
import type { ModelConfig } from "../tables/model-config.ts";
import { isLoopback, privateRights, rightIf, serverRights, type Right } from "./server-rights.ts";
import type { ToolsetConfig } from "../tables/toolset-config.ts";
import type { CommandConfig } from "../toolset/templates.ts";
import type { WebConfig } from "../toolset/web.ts";
import type { FilesConfig } from "../toolset/files.ts";
import { expandHome } from "../../documents/home-folder.ts";
import type { SandboxConfig } from "../toolset/sandbox.ts";
import type { PythonConfig, ShellConfig } from "../toolset/shell.ts";
import { outsideLine, sentLine } from "./trust-lines.ts";

/** A key, and the right that it gives. */
export interface WidenedRight {
  readonly path: KeyPath;
  readonly what: string;
}

export interface WidenedRights {
  readonly widens: readonly WidenedRight[];
  /** Conversations and keys that are sent elsewhere than to the provider's own address. */
  readonly sends: readonly WidenedRight[];
}

/** Returns the rights that the enabled parts of a configuration give, in the order of its tables. */
export function widenedRights({ config, folder }: LoadedConfig): WidenedRights {
  const widens: WidenedRight[] = [];
  for (const { path, toolset } of toRegistryEntries(config)) {
    if (toolset.enabled) pushAll(widens, prefixKeys(path, toolsetRights(toolset, folder)));
  }
  for (const [name, engine] of config.engines) pushAll(widens, prefixKeys(["engines", name], engineRights(engine, folder)));
  pushAll(widens, ownRights(config, folder));
  const sends = listModels(config).flatMap(({ path, model }) => modelRights(model, path));
  return { widens, sends: [...sends, ...telemetryRights(config), ...webhookSends(config)] };
}

function toolsetRights(toolset: ToolsetConfig, folder: string): readonly Right[] {
  switch (toolset.type) {
    case "files":
      return filesRights(toolset, folder);
    case "mcp":
    case "openapi":
      return [...serverRights(toolset), ...outsideRights(toolset, ["document", "ca", "cwd"], folder)];
    case "http":
      return [...serverRights(toolset), ...outsideRights(toolset, ["ca"], folder)];
    case "command":
      return [...commandRights(toolset, folder), ...sandboxRights(toolset, folder)];
    case "shell":
    case "python":
      return programRights(toolset, folder);
    case "web":
      return webRights(toolset);
    case "memory":
      return rightIf(toolset.sessions === "all", "sessions", "lets models search all sessions of the store");
    case "notebook":
    case "skills":
      return outsideRights(toolset, ["folder"], folder);
    case "file":
    case "descriptors":
      return outsideRights(toolset, ["path"], folder);
    default:
      return [];
  }
}

function webRights({ allowPrivate, search }: WebConfig): readonly Right[] {
  return [...privateRights(allowPrivate), ...rightIf(search?.url !== undefined, "search", `sends searches to ${search?.url}`)];
}

/** Any environment variable counts, since `LD_PRELOAD` or `NODE_OPTIONS` decide which code a program runs. */
function variableRights(env: Readonly<Record<string, string>>, key = "env"): readonly Right[] {
  const names = Object.keys(env);
  return rightIf(names.length > 0, key, `sets variables of the programs that it runs: ${names.join(", ")}`);
}

function commandRights(config: CommandConfig, folder: string): readonly Right[] {
  const root = resolve(folder, config.root ?? ".");
  return [
    ...variableRights(config.env),
    ...outsideRights(config, ["root"], folder),
    ...config.tools.flatMap(({ tool: { environment = {}, workingFolder } }) => [
      ...variableRights(environment, "tools"),
      ...(workingFolder === undefined ? [] : outsidePaths([resolve(root, workingFolder)], "tools", folder)),
    ]),
  ];
}

function filesRights({ root, guard = "block", allowSensitive }: FilesConfig, folder: string): readonly Right[] {
  const path = resolve(folder, root);
  return [
    ...rightIf(liesOutside(folder, path), "root", outsideLine(path)),
    ...rightIf(guard !== "block", "guard", `lets tools leave the root: ${JSON.stringify(guard)}`),
    ...sensitiveRights("tools", allowSensitive),
  ];
}

function sensitiveRights(who: "tools" | "them", allowSensitive: readonly string[] = []): readonly Right[] {
  const what = `lets ${who} change files that other programs obey, and read files of credentials: ${allowSensitive.join(", ")}`;
  return rightIf(allowSensitive.length > 0, "allowSensitive", what);
}

/** Running programs is a right of its own, even in a sandbox. */
function programRights(config: ShellConfig | PythonConfig, folder: string): readonly Right[] {
  const { type, root, sandbox } = config;
  const interpreter = config.type === "shell" ? config.shell : config.python;
  return [
    ["type", `runs ${type === "shell" ? "commands" : "Python programs"} that models write`],
    ...rightIf(sandbox === "none", "sandbox", "runs them without a sandbox, with all rights of the user"),
    ...outsidePaths([root], "root", folder),
    ...rightIf(interpreter?.includes("/") === true, type, `runs ${interpreter}`),
    ...sandboxRights(config, folder),
  ];
}

function outsidePaths(paths: readonly string[], key: string, folder: string): readonly Right[] {
  const resolved = paths.map((path) => resolve(folder, expandHome(path)));
  return resolved.flatMap((path) => rightIf(liesOutside(folder, path), key, outsideLine(path)));
}

/** Returns the rights of programs in a sandbox beyond its own folder. */
function sandboxRights({ network, read = [], write = [], allowSensitive }: SandboxConfig, folder: string): readonly Right[] {
  return [
    ...rightIf(network === true, "network", "lets them reach the network"),
    ...outsidePaths(read, "read", folder),
    ...outsidePaths(write, "write", folder),
    ...sensitiveRights("them", allowSensitive),
  ];
}

function engineRights(engine: EngineConfig, folder: string): readonly Right[] {
  switch (engine.type) {
    case "mcp":
      return engine.server === undefined ? [] : [...serverRights(engine.server), ...outsideRights(engine.server, ["ca", "cwd"], folder)];
    case "rest":
      return [...serverRights(engine.service), ...outsideRights(engine.service, ["document", "ca"], folder)];
    case "search":
      return outsideRights(engine.search, ["documents"], folder);
    case "replay":
      return outsideRights(engine, ["recording"], folder);
    case "stub":
      return outsideRights(engine, ["stubs"], folder);
    default:
      return [];
  }
}

/** Returns a right for each of the keys that names a file outside the folder of the configuration. */
function outsideRights(table: object, keys: readonly string[], folder: string): readonly Right[] {
  return keys.flatMap((key) => {
    const value: unknown = Reflect.get(table, key);
    if (typeof value !== "string" || /^https?:/iu.test(value) || !liesOutside(folder, resolve(folder, value))) return [];
    return [[key, outsideLine(resolve(folder, value))] as const];
  });
}

function ownRights(config: HaftConfig, folder: string): readonly WidenedRight[] {
  const { runtime, approval, store, serve, webhooks = [], simulation, enrichments } = config;
  const { never = [] } = approval;
  const { artifacts } = runtime;
  const { issuers = [] } = serve?.auth ?? {};
  const { corsOrigins = [], allowedOrigins = [] } = serve ?? {};
  const artifactsLine = typeof artifacts === "object" && liesOutside(folder, artifacts.folder) ? outsideLine(artifacts.folder) : undefined;
  const simulationFiles = { stubs: simulation?.stubs, recording: simulation?.recording?.recording };
  return [
    ...prefixKeys(["approval"], rightIf(never.length > 0, "never", `runs tools without asking: ${never.join(", ")}`)),
    ...(artifactsLine === undefined ? [] : [{ path: ["runtime", "artifacts"], what: artifactsLine }]),
    ...prefixKeys(["serve", "logins"], outsideRights(serve?.logins ?? {}, ["folder"], folder)),
    ...prefixKeys(["store"], outsideRights(store ?? {}, ["path"], folder)),
    ...(store !== undefined && "url" in store ? [{ path: ["store"], what: `keeps sessions in ${redactUrl(store.url)}` }] : []),
    ...issuers.map(({ issuer }, index) => ({
      path: ["serve", "auth", "issuers", index],
      what: `lets senders with tokens of ${issuer} use a server`,
    })),
    ...prefixKeys(
      ["serve"],
      [
        ...rightIf(allowedOrigins.length > 0, "allowedOrigins", `lets pages of ${allowedOrigins.join(", ")} send requests to a server`),
        ...rightIf(corsOrigins.length > 0, "corsOrigins", `lets pages of ${corsOrigins.join(", ")} read answers of a server`),
      ],
    ),
    ...webhooks.flatMap(({ allowPrivate }, index) => prefixKeys(["webhooks", index], privateRights(allowPrivate))),
    ...prefixKeys(["simulation"], outsideRights(simulationFiles, ["stubs", "recording"], folder)),
    ...enrichments.flatMap((each) => prefixKeys(each.path, outsideRights(each, ["cache"], folder))),
  ];
}

/** Prefixes the keys of rights with the path of their table. */
function prefixKeys(path: KeyPath, rights: readonly Right[]): readonly WidenedRight[] {
  return rights.map(([key, what]) => ({ path: [...path, key], what }));
}

function webhookSends({ webhooks = [] }: HaftConfig): readonly WidenedRight[] {
  const what = "sends which calls wait for approval, and which jobs have ended, to";
  return webhooks.flatMap(({ url }, index) =>
    prefixKeys(["webhooks", index], rightIf(!isLoopback(url), "url", `${what} ${new URL(url).origin}`)),
  );
}

function telemetryRights({ telemetry }: HaftConfig): readonly WidenedRight[] {
  const { enabled = true, endpoint, recordInputs = false, recordOutputs = false } = telemetry ?? {};
  if (!enabled || telemetry === undefined) return [];
  const parts = [
    ...(recordInputs ? ["the arguments of calls and what models are sent"] : []),
    ...(recordOutputs ? ["the results of calls and what models answer"] : []),
  ];
  const isRemote = endpoint !== undefined && !isLoopback(endpoint);
  const place = endpoint ?? "the collector of this machine";
  return prefixKeys(
    ["telemetry"],
    [
      ...rightIf(isRemote, "endpoint", `sends the names and times of calls to ${endpoint}`),
      ...rightIf(parts.length > 0, recordInputs ? "recordInputs" : "recordOutputs", `sends ${parts.join(", ")} to ${place}`),
    ],
  );
}

/** Another address receives the conversation and the key. An API key that is not the provider's own is a variable that the file chose. */
function modelRights({ name, baseUrl, apiKey }: ModelConfig, path: KeyPath): readonly WidenedRight[] {
  const provider = name.slice(0, Math.max(0, name.indexOf("/")));
  const own = findProvider(provider)?.provider.keyVariables ?? [];
  const isRemote = baseUrl !== undefined && !isLoopback(baseUrl);
  const variable = apiKey?.slice("env:".length); // `readKey` only accepts values that begin with `env:`
  const place = isRemote ? new URL(baseUrl).origin : "";
  const isChosen = variable !== undefined && (isRemote || !own.includes(variable));
  return prefixKeys(path, [
    ...rightIf(isRemote, "baseUrl", `sends conversations and the key of ${provider} to ${place}`),
    ...(isChosen ? ([["apiKey", sentLine(variable)]] as const) : []),
  ]);
}
