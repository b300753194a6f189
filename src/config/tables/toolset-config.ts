/** Reads the toolsets of a configuration, by type. */
import { OWN_NAMESPACE, checkName } from "../../core/call.ts";
import { describeThrown } from "../../core/error.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { CALL_SETTINGS, CALL_SETTING_NAMES, pickCallSettings } from "../../core/call-settings.ts";
import type { CallSettings } from "../../core/tool.ts";
import { COUNT, SECONDS } from "../../core/base/number-bounds.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { TableReader } from "../table-reader.ts";
import {
  askType,
  memoryType,
  notebookType,
  scratchpadType,
  skillsType,
  type FolderConfig,
  type MemoryConfig,
  type PlainConfig,
} from "../toolset/built-in.ts";
import { chainsType, type ChainsConfig } from "../toolset/chains.ts";
import { delegatesType, type DelegatesConfig } from "../toolset/delegates.ts";
import { descriptorsType, type DescriptorsConfig } from "../toolset/descriptors.ts";
import { fileType, type FileConfig } from "../toolset/file.ts";
import { filesType, type FilesConfig } from "../toolset/files.ts";
import { inlineType, type InlineConfig } from "../toolset/inline.ts";
import { mcpType, type McpConfig } from "../toolset/mcp.ts";
import { moduleType, type ModuleConfig } from "../toolset/module.ts";
import { openApiType, type OpenApiConfig } from "../toolset/openapi.ts";
import { programType, type ProgramConfig } from "../toolset/program.ts";
import { pythonType, shellType, type PythonConfig, type ShellConfig } from "../toolset/shell.ts";
import { commandType, httpType, type CommandConfig, type HttpConfig } from "../toolset/templates.ts";
import { channelsType, triggersType, type TriggersConfig } from "../toolset/triggers.ts";
import { webType, type WebConfig } from "../toolset/web.ts";
import type { BuildContext, BuiltToolset, CommonConfig, ToolsetPlace, ReadContext, ToolsetType } from "../toolset/toolset-type.ts";

/** A toolset of a type that an extension adds. */
export interface ExtensionConfig extends CommonConfig {
  readonly type: "extension";
  readonly extension: string;
  /** The keys besides those of every toolset, as written. */
  readonly options: JsonObject;
}

export type BuiltInConfig =
  | ChainsConfig
  | FilesConfig
  | McpConfig
  | ModuleConfig
  | FileConfig
  | InlineConfig
  | OpenApiConfig
  | DescriptorsConfig
  | PlainConfig<"channels">
  | DelegatesConfig
  | TriggersConfig
  | ProgramConfig
  | ShellConfig
  | PythonConfig
  | CommandConfig
  | HttpConfig
  | WebConfig
  | PlainConfig<"ask">
  | MemoryConfig
  | PlainConfig<"scratchpad">
  | FolderConfig<"notebook">
  | FolderConfig<"skills">;
export type ToolsetConfig = BuiltInConfig | ExtensionConfig;

/** All types. To add one, add a file next to the others and a line here. */
const TYPES: { readonly [Type in BuiltInConfig["type"]]: ToolsetType<Extract<BuiltInConfig, { readonly type: Type }>> } = {
  files: filesType,
  mcp: mcpType,
  module: moduleType,
  file: fileType,
  inline: inlineType,
  openapi: openApiType,
  descriptors: descriptorsType,
  chains: chainsType,
  channels: channelsType,
  delegates: delegatesType,
  triggers: triggersType,
  program: programType,
  shell: shellType,
  python: pythonType,
  command: commandType,
  http: httpType,
  web: webType,
  ask: askType,
  memory: memoryType,
  notebook: notebookType,
  scratchpad: scratchpadType,
  skills: skillsType,
};
export const TYPE_NAMES: readonly string[] = Object.keys(TYPES);

/** Any type, without the relation between the configuration that it reads and the one that it builds. */
interface AnyType {
  readonly keyAtFault: (config: never) => string;
  read(table: TableReader, common: CommonConfig, context: ReadContext): ToolsetConfig | undefined;
  build(place: ToolsetPlace, config: never, context: BuildContext): BuiltToolset | Promise<BuiltToolset>;
}

export interface ToolsetReadContext extends ReadContext {
  /** Types that extensions add; undefined = not known, so any word may be one. */
  readonly extensionTypes: readonly string[] | undefined;
  /** Types of enrichments that extensions add; undefined = not known. */
  readonly enrichmentTypes: readonly string[] | undefined;
}

/** Keys that have no effect in toolsets of other types: these open at once or set their own timeout, and their tools are trusted. */
const NOT_OF_TOOLSET: ReadonlyMap<string, string> = new Map([
  ["openTimeoutMs", 'only a toolset of type "mcp" or "openapi" has it.'],
  ...["trustAnnotations", "isolation", "start"].map((key) => [key, 'only a toolset of type "mcp" has it.'] as const),
  ["engine", "a toolset of this type answers its calls itself."],
  ["namespace", 'only a toolset of type "file" or "inline" has it; the name of this one is its namespace.'],
]);

/** Types whose calls an engine of the configuration may answer. Tools of all other types are part of Haft. */
const MAY_HAVE_ENGINE: ReadonlySet<string> = new Set(["mcp", "module", "file", "inline", "openapi", "descriptors"]);

/** Reads the table `toolsets`, by name, in the order of the file. */
export function readToolsets(root: TableReader, context: ToolsetReadContext): ReadonlyMap<string, ToolsetConfig> {
  const table = root.table("toolsets");
  const toolsets = new Map<string, ToolsetConfig>();
  if (table === undefined) return toolsets;
  for (const name of context.problems.sortKeys(table.path, table.names())) {
    checkToolsetName(name, table, name);
    const entry = table.table(name);
    const toolset = entry === undefined ? undefined : readToolset(entry, context);
    if (toolset !== undefined) toolsets.set(name, toolset);
  }
  return toolsets;
}

/** Reports an invalid name of a toolset. @param key undefined = the name belongs to the table itself */
export function checkToolsetName(name: string, table: TableReader, key: string | undefined): void {
  if (name === OWN_NAMESPACE) table.report(key, "is the name of a toolset that is built into Haft; choose another one.");
  try {
    checkName(name, "toolset");
  } catch (error: unknown) {
    table.report(key, describeThrown(error));
  }
}

/** Reads one table with a `type`. Variables of a disabled toolset are kept as written. */
export function readToolset(table: TableReader, context: ToolsetReadContext): ToolsetConfig | undefined {
  const word = readType(table, context);
  if (word === undefined) return undefined;
  const name = word === "rest" ? "openapi" : word;
  const mayHaveEngine = !isBuiltIn(name) || MAY_HAVE_ENGINE.has(name);
  const common = readCommon(table, { otherWords: context.otherWords, mayHaveEngine });
  if (!isBuiltIn(name)) return { type: "extension", extension: name, ...common, options: table.rest() };
  const type: AnyType = TYPES[name];
  const toolset = type.read(table, common, common.enabled ? context : { ...context, variables: context.variables.createUnresolved() });
  table.reportUnknownKeys(NOT_OF_TOOLSET);
  return toolset;
}

/** Whether the table is a source of toolsets, which determines their names. */
export function isSource({ type }: ToolsetConfig): boolean {
  return type === "file" || type === "inline" || type === "descriptors" || type === "extension";
}

/** Builds a toolset of a built-in type. */
export async function buildToolset(place: ToolsetPlace, config: BuiltInConfig, context: BuildContext): Promise<BuiltToolset> {
  const type: AnyType = TYPES[config.type];
  return await type.build(place, config as never, context); // the table maps each type to its own functions
}

/** Returns the key to report if a toolset cannot be made. */
export function keyAtFault(config: ToolsetConfig): string {
  if (config.type === "extension") return "type";
  const type: AnyType = TYPES[config.type];
  return type.keyAtFault(config as never); // the same as in `buildToolset`
}

function readType(table: TableReader, { extensionTypes, otherWords }: ToolsetReadContext): string | undefined {
  const known = [...TYPE_NAMES, ...(extensionTypes ?? []), ...(otherWords ? ["rest"] : [])];
  if (extensionTypes !== undefined) return table.choice("type", known, { required: true });
  return table.requiredText("type", `one of ${known.map((name) => JSON.stringify(name)).join(", ")}, or of an extension`);
}

function isBuiltIn(name: string): name is BuiltInConfig["type"] {
  return Object.hasOwn(TYPES, name);
}

function readCommon(
  table: TableReader,
  { otherWords, mayHaveEngine }: { readonly otherWords: boolean; readonly mayHaveEngine: boolean },
): CommonConfig {
  const enabled = table.flag("enabled");
  const enable = table.flag("enable");
  if (enabled !== undefined && enable !== undefined) table.report("enable", "duplicates enabled; remove one of them.");
  const timeout = otherWords ? table.number("timeout", SECONDS) : undefined;
  return {
    enabled: enabled ?? enable ?? true,
    ...omitUndefined({
      description: table.text("description"),
      maxConcurrent: table.number("maxConcurrent", COUNT),
      shared: table.flag("shared"),
      place: table.text("place"),
      checkFormats: table.flag("checkFormats"),
      engine: mayHaveEngine ? table.text("engine") : undefined,
    }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout * 1000 }),
    ...readCallSettings(table),
  };
}

export function readCallSettings(table: TableReader): CallSettings {
  const values = CALL_SETTING_NAMES.map((name) => [name, table.number(name, CALL_SETTINGS[name])]);
  return pickCallSettings(Object.fromEntries(values));
}
