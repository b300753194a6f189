/** The rights that a configuration gives tools and models beyond those that they have by themselves. */
import { shownUrl } from "../../store/postgres/postgres-settings.ts";
import { resolve } from "node:path";
import type { KeyPath } from "../../documents/key-positions.ts";
import { findProvider } from "../../model/providers.ts";
import type { EngineConfig } from "../tables/engine-config.ts";
import { liesOutside } from "../file-path.ts";
import { modelsOf } from "../build/configured-models.ts";
import { routedOf, type HaftConfig } from "../haft-config.ts";
import type { LoadedConfig } from "../load-config.ts";
import type { ModelConfig } from "../tables/model-config.ts";
import { isLoopback, serverRights, type Right } from "./server-rights.ts";
import type { ToolsetConfig } from "../tables/toolset-config.ts";
import type { WebConfig } from "../toolset/web.ts";
import type { FilesConfig } from "../toolset/files.ts";
import { withHome } from "../../documents/home-folder.ts";
import type { SandboxConfig } from "../toolset/sandbox.ts";
import type { PythonConfig, ShellConfig } from "../toolset/shell.ts";
import { outsideLine, sentLine } from "./trust-lines.ts";

/** One key, and what it allows. */
export interface WidenedRight {
  readonly path: KeyPath;
  readonly what: string;
}

export interface WidenedRights {
  readonly widens: readonly WidenedRight[];
  /** Conversations and keys that go to another place than the provider's own. */
  readonly sends: readonly WidenedRight[];
}

/** Every right that the enabled parts of a configuration give away, in the order of its tables. */
export function widenedRights({ config, folder }: LoadedConfig): WidenedRights {
  const widens: WidenedRight[] = [];
  for (const { path, toolset } of routedOf(config)) {
    if (toolset.enabled) for (const [key, what] of toolsetRights(toolset, folder)) widens.push({ path: [...path, key], what });
  }
  for (const [name, engine] of config.engines)
    for (const [key, what] of engineRights(engine, folder)) widens.push({ path: ["engines", name, key], what });
  widens.push(...ownRights(config, folder));
  const sends = modelsOf(config).flatMap(({ path, model }) => modelRights(model, path));
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
      return [...variableRights(toolset.env), ...outsideRights(toolset, ["root"], folder), ...sandboxRights(toolset, folder)];
    case "shell":
    case "python":
      return programRights(toolset, folder);
    case "web":
      return webRights(toolset);
    case "memory":
      return toolset.sessions === "all" ? [["sessions", "lets models search all sessions of the store"]] : [];
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

function webRights({ allowPrivate = [], search }: WebConfig): readonly Right[] {
  return [
    ...(allowPrivate.length === 0 ? [] : [["allowPrivate", `reaches private addresses: ${allowPrivate.join(", ")}`] as const]),
    ...(search?.url === undefined ? [] : [["search", `sends searches to ${search.url}`] as const]),
  ];
}

/** Variables such as `LD_PRELOAD` and `NODE_OPTIONS` decide which code a program runs. */
function variableRights(env: Readonly<Record<string, string>>): readonly Right[] {
  const names = Object.keys(env);
  return names.length === 0 ? [] : [["env", `sets variables of the programs that it runs: ${names.join(", ")}`]];
}

function filesRights({ root, guard = "block", allowSensitive = [] }: FilesConfig, folder: string): readonly Right[] {
  const path = resolve(folder, root);
  return [
    ...(liesOutside(folder, path) ? [["root", outsideLine(path)] as const] : []),
    ...(guard === "block" ? [] : [["guard", `lets tools leave the root: ${JSON.stringify(guard)}`] as const]),
    ...(allowSensitive.length === 0
      ? []
      : [
          [
            "allowSensitive",
            `lets tools change files that other programs obey, and read files of credentials: ${allowSensitive.join(", ")}`,
          ] as const,
        ]),
  ];
}

/** A model that runs programs does more than call tools, in a sandbox as well. */
function programRights(config: ShellConfig | PythonConfig, folder: string): readonly Right[] {
  const { type, root, sandbox } = config;
  const interpreter = config.type === "shell" ? (["shell", config.shell] as const) : (["python", config.python] as const);
  return [
    ["type", `runs ${type === "shell" ? "commands" : "Python programs"} that models write`],
    ...(sandbox === "none" ? [["sandbox", "runs them without a sandbox, with all rights of the user"] as const] : []),
    ...outsidePaths([root], "root", folder),
    ...(interpreter[1]?.includes("/") === true ? [[interpreter[0], `runs ${interpreter[1]}`] as const] : []),
    ...sandboxRights(config, folder),
  ];
}

function outsidePaths(paths: readonly string[], key: string, folder: string): readonly Right[] {
  const resolved = paths.map((path) => resolve(folder, withHome(path)));
  return resolved.flatMap((path) => (liesOutside(folder, path) ? [[key, outsideLine(path)] as const] : []));
}

/** The rights of programs in a sandbox beyond its own folder. */
function sandboxRights({ network, read = [], write = [], allowSensitive = [] }: SandboxConfig, folder: string): readonly Right[] {
  return [
    ...(network === true ? [["network", "lets them reach the network"] as const] : []),
    ...outsidePaths(read, "read", folder),
    ...outsidePaths(write, "write", folder),
    ...(allowSensitive.length === 0
      ? []
      : [
          [
            "allowSensitive",
            `lets them change files that other programs obey, and read files of credentials: ${allowSensitive.join(", ")}`,
          ] as const,
        ]),
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

/** Those of these keys that name a file outside the folder of the configuration. */
function outsideRights(table: object, keys: readonly string[], folder: string): readonly Right[] {
  return keys.flatMap((key) => {
    const value: unknown = Reflect.get(table, key);
    if (typeof value !== "string" || /^https?:/iu.test(value) || !liesOutside(folder, resolve(folder, value))) return [];
    return [[key, outsideLine(resolve(folder, value))] as const];
  });
}

function ownRights(
  { runtime, approval, store, serve, webhooks, simulation, enrichments }: HaftConfig,
  folder: string,
): readonly WidenedRight[] {
  const { never = [] } = approval;
  const beside = outsideRights({ stubs: simulation?.stubs, recording: simulation?.recording?.recording }, ["stubs", "recording"], folder);
  return [
    ...(never.length === 0 ? [] : [{ path: ["approval", "never"], what: `runs tools without asking: ${never.join(", ")}` }]),
    ...(typeof runtime.artifacts === "object" && liesOutside(folder, runtime.artifacts.folder)
      ? [{ path: ["runtime", "artifacts"], what: outsideLine(runtime.artifacts.folder) }]
      : []),
    ...outsideRights(serve?.logins ?? {}, ["folder"], folder).map(([key, what]) => ({ path: ["serve", "logins", key], what })),
    ...outsideRights(store ?? {}, ["path"], folder).map(([key, what]) => ({ path: ["store", key], what })),
    ...(store !== undefined && "url" in store ? [{ path: ["store"], what: `keeps sessions in ${shownUrl(store.url)}` }] : []),
    ...(serve?.auth.issuers ?? []).map(({ issuer }, index) => ({
      path: ["serve", "auth", "issuers", index],
      what: `lets senders with tokens of ${issuer} use a server`,
    })),
    ...(serve?.corsOrigins === undefined || serve.corsOrigins.length === 0
      ? []
      : [{ path: ["serve", "corsOrigins"], what: `lets pages of ${serve.corsOrigins.join(", ")} read answers of a server` }]),
    ...(webhooks ?? []).flatMap(({ allowPrivate = [] }, index) =>
      allowPrivate.length === 0
        ? []
        : [{ path: ["webhooks", index, "allowPrivate"], what: `reaches private addresses: ${allowPrivate.join(", ")}` }],
    ),
    ...beside.map(([key, what]) => ({ path: ["simulation", key], what })),
    ...enrichments.flatMap((each) => outsideRights(each, ["cache"], folder).map(([key, what]) => ({ path: [...each.path, key], what }))),
  ];
}

function webhookSends({ webhooks = [] }: HaftConfig): readonly WidenedRight[] {
  return webhooks.flatMap(({ url }, index) =>
    isLoopback(url)
      ? []
      : [
          {
            path: ["webhooks", index, "url"],
            what: `sends which calls wait for approval, and which jobs have ended, to ${new URL(url).origin}`,
          },
        ],
  );
}

function telemetryRights({ telemetry }: HaftConfig): readonly WidenedRight[] {
  const { enabled = true, endpoint, recordInputs = false, recordOutputs = false } = telemetry ?? {};
  if (!enabled || telemetry === undefined) return [];
  const parts = [
    ...(recordInputs ? ["the arguments of calls and what models are sent"] : []),
    ...(recordOutputs ? ["the results of calls and what models answer"] : []),
  ];
  const place = endpoint ?? "the collector of this machine";
  return [
    ...(endpoint === undefined || isLoopback(endpoint)
      ? []
      : [{ path: ["telemetry", "endpoint"], what: `sends the names and times of calls to ${endpoint}` }]),
    ...(parts.length === 0
      ? []
      : [
          {
            path: ["telemetry", recordInputs ? "recordInputs" : "recordOutputs"],
            what: `sends ${parts.join(", ")} to ${place}`,
          },
        ]),
  ];
}

/** Another address gets what is said, and the key; a key that is not the provider's own is a variable that the file chose. */
function modelRights({ name, baseUrl, apiKey }: ModelConfig, path: KeyPath): readonly WidenedRight[] {
  const provider = name.slice(0, Math.max(0, name.indexOf("/")));
  const own = findProvider(provider)?.provider.keyVariables ?? [];
  const elsewhere = baseUrl !== undefined && !isLoopback(baseUrl);
  const variable = apiKey?.slice("env:".length); // what `readKey` lets through begins so
  return [
    ...(elsewhere
      ? [{ path: [...path, "baseUrl"], what: `sends conversations and the key of ${provider} to ${new URL(baseUrl).origin}` }]
      : []),
    ...(variable !== undefined && (elsewhere || !own.includes(variable)) ? [{ path: [...path, "apiKey"], what: sentLine(variable) }] : []),
  ];
}
