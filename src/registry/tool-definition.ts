/** A tool as data: for a model, for MCP, or for a file. */
import { CALL_SETTING_NAMES } from "../core/call-settings.ts";
import { DEFAULT_NAMESPACE } from "../core/call.ts";
import { declaresNoWrites, type Effects } from "../core/resources/effects.ts";
import { ToolError } from "../core/error.ts";
import { checkRegistered, checkString } from "../core/check-argument.ts";
import { isJsonObject } from "../core/base/json.ts";
import type { JsonSchema, Tool } from "../core/tool.ts";
import { readCacheFromJson } from "./check-cache.ts";
import { findKeyTemplateError } from "./check-key-templates.ts";
import { checkToolFields } from "./check-tool-fields.ts";
import { toObjectSchema } from "./object-input.ts";
import type { RegisteredTool } from "./registered-tool.ts";

/** The effects of a tool as MCP's hints. @see https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** A tool as it is shown to MCP clients, a CLI or a model's provider. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  /** Its `type` is always `object`, as MCP requires. */
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations: ToolAnnotations;
  readonly tags?: readonly string[];
}

/** Returns the definition of a registered tool as data. */
export function toolDefinition(registered: RegisteredTool): ToolDefinition {
  checkRegistered(registered, "toolDefinition()");
  const { tool } = registered;
  return {
    name: registered.qualifiedName,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    description: tool.description,
    inputSchema: toObjectSchema(tool.inputSchema),
    ...(tool.outputSchema === undefined ? {} : { outputSchema: tool.outputSchema }),
    annotations: annotationsOf(tool),
    ...(tool.tags === undefined || tool.tags.length === 0 ? {} : { tags: tool.tags }),
  };
}

/** If a tool does not declare its effects, the hints are MCP's own cautious defaults. `commutative` alone declares no effects. */
function annotationsOf({ effects }: Tool): ToolAnnotations {
  const declared = effects?.reads !== undefined || effects?.writes !== undefined;
  const writesNothing = declaresNoWrites(effects);
  return {
    readOnlyHint: writesNothing,
    destructiveHint: effects?.destructive ?? !declared,
    idempotentHint: writesNothing || effects?.idempotent === true,
    openWorldHint: effects?.external ?? Object.keys(effects ?? {}).every((field) => field === "commutative"),
  };
}

/** The fields that are stored in a file unchanged. */
export const PLAIN_FIELDS = [
  "title",
  "tags",
  "category",
  "documentation",
  "requiresReading",
  "promptContribution",
  "providers",
  "requires",
  "unknownKeys",
  "oncePerTurn",
  "endsTurn",
  "mode",
  "notify",
  "providerExecuted",
  "enabled",
  "maxConcurrent",
  "workingFolder",
  ...CALL_SETTING_NAMES,
] as const satisfies readonly (keyof Tool)[];

/** A tool in a file: the fields of an fms-dgt tool, its namespace, and all other fields that are data. */
export interface ToolJson extends Pick<Tool, (typeof PLAIN_FIELDS)[number]> {
  readonly name: string;
  readonly namespace: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  readonly output_parameters?: JsonSchema;
  readonly effects?: Omit<Effects, "undo">;
  readonly cache?: Tool["cache"];
  /** Read, but never written, because it may contain secrets. */
  readonly environment?: Tool["environment"];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/**
 * Writes the fields of a tool that are data, without its functions. Empty fields are left out.
 *
 * `environment` is left out, because it may contain secrets. Computed resource keys cannot be written: then both arrays are left out, and `cache`
 * with them, so that the tool counts as undeclared when it is read back, and never as a read.
 */
export function toolToJson(registered: RegisteredTool): ToolJson {
  checkRegistered(registered, "toolToJson()");
  const { tool, toolset } = registered;
  const { outputSchema, metadata, cache } = tool;
  const effects = plainEffects(tool.effects ?? {});
  return {
    name: tool.name,
    namespace: toolset.name,
    description: tool.description,
    parameters: tool.inputSchema,
    ...(isEmpty(outputSchema) || outputSchema === undefined ? {} : { output_parameters: outputSchema }),
    ...plainFields(tool),
    ...(isEmpty(effects) ? {} : { effects }),
    ...(cache === undefined || !declaresNoWrites(effects) ? {} : { cache }),
    ...(isEmpty(metadata) || metadata === undefined ? {} : { metadata }),
  };
}

/**
 * Reads a tool that `toolToJson` wrote; missing fields are empty. The namespace is the one in the file, or else the argument, or else `default`.
 * `cacheable`, `cache_scope` and `cache_ttl` (seconds) are read for `cache`. `concurrency_safe: true`, as KohakuTerrarium writes it, means
 * `commutative`: the calls may overlap, and nothing else is assumed.
 *
 * @throws ToolError `invalid_argument` if the name is missing, or with the field that has a wrong type
 */
export function toolFromJson(json: unknown, namespace: string = DEFAULT_NAMESPACE): { readonly tool: Tool; readonly namespace: string } {
  checkString(namespace, "toolFromJson(json, namespace)", "a namespace");
  if (!isJsonObject(json)) throw new ToolError("invalid_argument", 'A tool in a file must be an object with a "name".');
  const {
    namespace: own = namespace,
    name,
    description = "",
    parameters = {},
    output_parameters: output,
    effects,
    metadata,
    environment,
  } = json;
  if (typeof own !== "string") throw new ToolError("invalid_argument", `The namespace of tool ${JSON.stringify(name)} must be a string.`);
  const cache = readCacheFromJson(json);
  const tool: unknown = {
    name,
    description,
    inputSchema: parameters,
    ...(isEmpty(output) ? {} : { outputSchema: output }),
    ...plainFields(json),
    ...effectsOf(name, effects, json["concurrency_safe"]),
    ...(cache === undefined ? {} : { cache }),
    ...(isEmpty(environment) ? {} : { environment }),
    ...(isEmpty(metadata) ? {} : { metadata }),
  };
  checkToolFields(tool);
  const fault = findKeyTemplateError(tool.name, tool.effects, tool.inputSchema);
  if (fault !== undefined) throw fault;
  return { tool, namespace: own };
}

function effectsOf(name: unknown, effects: unknown, concurrencySafe: unknown): { readonly effects?: unknown } {
  if (concurrencySafe !== undefined && concurrencySafe !== null && typeof concurrencySafe !== "boolean")
    throw new ToolError("invalid_argument", `concurrency_safe of tool ${JSON.stringify(name)} must be a boolean.`);
  if (concurrencySafe === true && (isEmpty(effects) || isJsonObject(effects)))
    return { effects: { commutative: true, ...(isJsonObject(effects) ? effects : {}) } };
  return isEmpty(effects) ? {} : { effects };
}

function plainFields(from: Tool | Readonly<Record<string, unknown>>): Pick<Tool, (typeof PLAIN_FIELDS)[number]> {
  const fields: [name: string, value: unknown][] = [];
  for (const name of PLAIN_FIELDS) {
    const value: unknown = Reflect.get(from, name);
    if (!isEmpty(value)) fields.push([name, value]);
  }
  return Object.fromEntries(fields);
}

function plainEffects(effects: Effects): Omit<Effects, "undo"> {
  const computed = typeof effects.reads === "function" || typeof effects.writes === "function"; // templates are plain
  const left = computed ? ["undo", "reads", "writes"] : ["undo"];
  return Object.fromEntries(Object.entries(effects).filter(([field, value]) => value !== undefined && !left.includes(field)));
}

/** Whether a value is undefined, null, `""`, `[]` or `{}`. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}
