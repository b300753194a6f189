/** The tools that the provider of a conversation runs itself, in addition to the program's own. */
import { ToolError } from "../../core/error.ts";
import { checkArgument, checkString } from "../../core/check-argument.ts";
import { checkKnownKeys } from "../../core/known-keys.ts";
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { Log } from "../../core/ports.ts";
import type { Tool } from "../../core/tool.ts";
import { compileSchema } from "../../schema/compile-schema.ts";
import { isOfferedBy } from "./model-tools.ts";
import { PROVIDER_TOOLS, type ProviderTool } from "./provider-tool-table.ts";

/** Options of `providerTools`. */
export interface ProviderToolsOptions {
  /** Which of the provider's tools to leave out, by name; `true` = all. @default none */
  readonly disable?: boolean | readonly string[];
  /** The settings of each tool, by name, as the provider names them: a patch on its defaults, like that of `patchOptions`. */
  readonly options?: Readonly<Record<string, JsonObject>>;
  /** Called with each tool that is left out because the provider does not run it. */
  readonly log?: Pick<Log, "debug">;
}

/**
 * Returns the tools to register for a conversation in this wire format: the program's own, and those the provider is known to run. A tool of the
 * program, with its own options, replaces the provider's of the same name; a tool that only another provider runs is left out.
 *
 * @throws ToolError `invalid_argument` for options that the tool does not take, for a name in `disable` or `options` that no provider and no tool of the
 * program has, and for another type of `disable`
 */
export function providerTools(tools: readonly Tool[], format: string, options: ProviderToolsOptions = {}): readonly Tool[] {
  checkArgument(Array.isArray(tools), "providerTools(tools, format)", "an array of tools", tools);
  checkString(format, "providerTools(tools, format)", "the name of a wire format");
  checkKnownKeys(options, { disable: true, options: true, log: true }, "providerTools()");
  const { disable = false, log } = options;
  checkArgument(isDisable(disable), 'The option "disable" of providerTools()', "a boolean or an array of names", disable);
  const patches = new Map(Object.entries(options.options ?? {}));
  for (const name of patches.keys()) checkIsKnown(name, tools, "There are options for");
  const disabled = new Set(typeof disable === "boolean" ? [] : disable);
  for (const name of disabled) checkIsKnown(name, tools, 'The option "disable" names');
  const own = tools.filter((tool) => {
    const isOffered = isOfferedBy(tool, format);
    if (!isOffered)
      log?.debug(`The tool ${JSON.stringify(tool.name)} is left out: ${format} does not run it.`, { tool: tool.name, format });
    return isOffered;
  });
  const taken = new Set(own.map(({ name }) => name));
  const advertised = disable === true ? [] : (PROVIDER_TOOLS.get(format) ?? []);
  const added = advertised.filter(({ name }) => !taken.has(name) && !disabled.has(name));
  return [
    ...own,
    ...added.map((known) => toolFor(known, format, patchOptions({ format, name: known.name }, {}, patches.get(known.name) ?? {}))),
  ];
}

/** A provider's tool in one wire format. */
export interface ProviderToolName {
  /** The name of the wire format. */
  readonly format: string;
  readonly name: string;
}

/**
 * Returns new options for a provider's tool: `patch` merged into `current`. `null` removes a key, and an empty patch removes all.
 *
 * Neither argument is changed. A program that lets people set options can store the returned value with its session.
 *
 * @throws ToolError `invalid_argument` with each problem: an unknown key, a wrong type, a value out of range
 */
export function patchOptions(tool: ProviderToolName, current: JsonObject, patch: JsonObject): JsonObject {
  checkKnownKeys(tool, { format: true, name: true }, "patchOptions()");
  const { format, name } = tool;
  const known = PROVIDER_TOOLS.get(format)?.find((offered) => offered.name === name);
  if (known === undefined) throw new ToolError("invalid_argument", `${format} has no tool ${JSON.stringify(name)} of its own.`);
  if (!isJsonObject(patch)) throw new ToolError("invalid_argument", `The options of ${JSON.stringify(name)} must be an object.`);
  const merged = Object.keys(patch).length === 0 ? {} : mergeKeys(current, patch);
  const problems = compileSchema(known.options).problems(merged);
  if (problems.length > 0) {
    throw new ToolError("invalid_argument", `${format} does not accept these options for ${JSON.stringify(name)}.`, {
      details: problems.map(({ path, message }) => `${path}: ${message}`),
    });
  }
  return merged;
}

/** Another value, such as a single name, would leave the tools on. */
function isDisable(value: unknown): value is boolean | readonly string[] {
  return typeof value === "boolean" || (Array.isArray(value) && value.every((name) => typeof name === "string"));
}

function mergeKeys(current: JsonObject, patch: JsonObject): JsonObject {
  const { value } = copyJson({ ...current, ...patch });
  const kept: readonly [string, JsonValue][] = isJsonObject(value) ? Object.entries(value).filter(([, option]) => option !== null) : [];
  return Object.fromEntries(kept);
}

function toolFor({ name, description, declaration, optionsAt }: ProviderTool, format: string, options: JsonObject): Tool {
  const inside = optionsAt === undefined ? undefined : declaration[optionsAt];
  const declared: JsonObject =
    optionsAt === undefined
      ? { ...declaration, ...options }
      : { ...declaration, [optionsAt]: { ...(isJsonObject(inside) ? inside : {}), ...options } };
  return Object.freeze({ name, description, inputSchema: {}, providerExecuted: true, providers: { [format]: declared } });
}

/** A name that no provider has would otherwise do nothing, and leave the tool that was meant on. */
function checkIsKnown(name: string, own: readonly Tool[], problem: string): void {
  const all = new Set([...PROVIDER_TOOLS.values()].flat().map((known) => known.name));
  if (all.has(name) || own.some((tool) => tool.name === name)) return;
  throw new ToolError("invalid_argument", `${problem} ${JSON.stringify(name)}, which is not a provider tool.`, {
    hint: `Provider tools: ${[...all].sort().join(", ")}.`,
  });
}
