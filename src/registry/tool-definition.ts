/** A tool as data: for a model, for MCP, for a file. */
import { CALL_SETTING_NAMES } from "../core/call-settings.ts";
import { DEFAULT_NAMESPACE } from "../core/call.ts";
import { declaresNoWrites, type Effects } from "../core/effects.ts";
import { ToolError } from "../core/error.ts";
import { checkRegistered, checkText } from "../core/check-argument.ts";
import { isJsonObject } from "../core/base/json.ts";
import type { JsonSchema, Tool } from "../core/tool.ts";
import { cacheOfJson } from "./check-cache.ts";
import { keyTemplateFault } from "./check-key-templates.ts";
import { checkToolFields } from "./check-tool-fields.ts";
import { objectSchema } from "./object-input.ts";
import type { RegisteredTool } from "./registered-tool.ts";

/** The effects of a tool, as MCP's hints say them. @see https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** The shape that MCP, a CLI or a model's provider is shown. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  /** `type` is always `object`, as MCP asks for. */
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations: ToolAnnotations;
  readonly tags?: readonly string[];
}

/** The definition of a registered tool as data. */
export function toolDefinition(registered: RegisteredTool): ToolDefinition {
  checkRegistered(registered, "toolDefinition()");
  const { tool } = registered;
  return {
    name: registered.qualifiedName,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    description: tool.description,
    inputSchema: objectSchema(tool.inputSchema),
    ...(tool.outputSchema === undefined ? {} : { outputSchema: tool.outputSchema }),
    annotations: annotationsOf(tool),
    ...(tool.tags === undefined || tool.tags.length === 0 ? {} : { tags: tool.tags }),
  };
}

/** Where a tool does not say what it touches, the hints are MCP's own cautious defaults. That its calls may overlap says nothing of that. */
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

/** The fields that a file holds as they are. */
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

/** A tool in a file: the fields of an fms-dgt tool, its namespace and whatever else of it is data. */
export interface ToolJson extends Pick<Tool, (typeof PLAIN_FIELDS)[number]> {
  readonly name: string;
  readonly namespace: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  readonly output_parameters?: JsonSchema;
  readonly effects?: Omit<Effects, "undo">;
  readonly cache?: Tool["cache"];
  /** Read, and never written: it may hold secrets. */
  readonly environment?: Tool["environment"];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/**
 * Writes what is data of a tool, without its functions; what is empty is left out.
 *
 * `environment` is left out: it may hold secrets. Resource keys that are computed cannot be written: both lists are left out then, and `cache` with them, so that the tool read back
 * is undeclared and never taken for one that only reads.
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
 * Reads what `toolToJson` writes; what is absent is empty. The namespace is the one in the file, else the
 * argument, else `default`. `cacheable`, `cache_scope` and `cache_ttl` (seconds) are read for `cache`; `concurrency_safe: true`, as
 * KohakuTerrarium writes it, says `commutative`: such calls may overlap, and nothing more is believed of them.
 *
 * @throws ToolError `invalid_argument` without a name, or naming the field that has a wrong type
 */
export function toolFromJson(json: unknown, namespace: string = DEFAULT_NAMESPACE): { readonly tool: Tool; readonly namespace: string } {
  checkText(namespace, "toolFromJson(json, namespace)", "a namespace");
  if (!isJsonObject(json)) throw new ToolError("invalid_argument", 'A tool in a file is an object with a "name".');
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
  const cache = cacheOfJson(json);
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
  const fault = keyTemplateFault(tool.name, tool.effects, tool.inputSchema);
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

/** Nothing, `""`, `[]` and `{}`. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}
