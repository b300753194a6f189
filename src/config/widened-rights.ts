/** What a configuration allows tools and models beyond what they may do by themselves. */
import { resolve } from "node:path";
import type { KeyPath } from "../documents/key-positions.ts";
import { findProvider } from "../model/providers.ts";
import type { EngineConfig } from "./engine-config.ts";
import { liesOutside } from "./file-path.ts";
import { routedOf, type HaftConfig } from "./haft-config.ts";
import type { LoadedConfig } from "./load-config.ts";
import type { ModelConfig } from "./model-config.ts";
import { isLoopback, serverRights, type Right } from "./server-rights.ts";
import type { ToolsetConfig } from "./toolset-config.ts";
import type { FilesConfig } from "./toolset/files.ts";
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
  return { widens, sends: modelsOf(config).flatMap(({ path, model }) => modelRights(model, path)) };
}

function toolsetRights(toolset: ToolsetConfig, folder: string): readonly Right[] {
  switch (toolset.type) {
    case "files":
      return filesRights(toolset, folder);
    case "mcp":
    case "openapi":
      return [...serverRights(toolset), ...outsideRights(toolset, ["document", "ca", "cwd"], folder)];
    case "file":
    case "descriptors":
      return outsideRights(toolset, ["path"], folder);
    default:
      return [];
  }
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

function ownRights({ approval, store, simulation }: HaftConfig, folder: string): readonly WidenedRight[] {
  const { never = [] } = approval;
  const beside = outsideRights({ stubs: simulation?.stubs, recording: simulation?.recording?.recording }, ["stubs", "recording"], folder);
  return [
    ...(never.length === 0 ? [] : [{ path: ["approval", "never"], what: `runs tools without asking: ${never.join(", ")}` }]),
    ...outsideRights(store ?? {}, ["path"], folder).map(([key, what]) => ({ path: ["store", key], what })),
    ...beside.map(([key, what]) => ({ path: ["simulation", key], what })),
  ];
}

function modelsOf({ model, simulation, engines }: HaftConfig): readonly { readonly path: KeyPath; readonly model: ModelConfig }[] {
  return [
    ...(model === undefined ? [] : [{ path: ["model"], model }]),
    ...(simulation?.model === undefined ? [] : [{ path: ["simulation", "model"], model: simulation.model }]),
    ...[...engines].flatMap(([name, engine]) =>
      engine.type === "lm" ? [{ path: ["engines", name, engine.modelKey], model: engine.model }] : [],
    ),
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
