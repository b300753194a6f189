/** Checks the arguments of a registry, so that errors of the programmer are rejected before anything changes. */
import { quoteValue } from "../core/base/wording.ts";
import { checkName } from "../core/call.ts";
import { CALL_SETTINGS, checkMs, checkCallSettings, hasAnySetting } from "../core/call-settings.ts";
import { pickHints, ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Tool } from "../core/tool.ts";
import { TOOLSET_FIELDS, type Toolset } from "../core/toolset.ts";
import { checkCache } from "./check-cache.ts";
import { findKeyTemplateError } from "./check-key-templates.ts";
import { checkRegisteredFields, isPlainObject, MODEL_FIELDS, toPlainTool, rejectFieldAliases } from "./check-tool-fields.ts";
import { getFaultPolicy } from "./toolset-fault-policy.ts";
import { isJsonObject, isStringArray } from "../core/base/json.ts";
import { checkJsonSchema } from "../schema/check-json-schema.ts";
import { copySchema } from "../schema/import-schema.ts";

/** A tool to register. Its input schema is optional. */
export type NewTool = Omit<Tool, "inputSchema"> & Partial<Pick<Tool, "inputSchema">>;

/** Fields of unknown types: a program may be written in JavaScript, and engines list third-party tools. */
type Unchecked<T> = { readonly [Field in keyof T]?: unknown };

/**
 * Checks every field of a tool that a program declares, whether or not `defineTool` made it. Schemas of libraries are rejected; other schemas are
 * checked at their first use.
 *
 * @returns the tool as a plain object
 * @throws ToolError `invalid_argument` that lists all missing fields, or names the invalid one
 */
export function checkTool(given: Tool): Tool {
  const tool = checkNamedTool(given);
  if (tool.inputSchema === undefined) throw missingFieldsError(tool);
  return checkDeclaredTool(tool);
}

/** As `checkTool`, but a tool without an input schema accepts an object with any keys. */
export function checkNewTool(given: NewTool): Tool {
  checkIsTool(given);
  const tool = toPlainTool(given as Tool); // checked below
  rejectFieldAliases(given, tool);
  return checkDeclaredTool(checkNamedTool(tool.inputSchema === undefined ? { ...tool, inputSchema: { type: "object" } } : tool));
}

function checkDeclaredTool(given: Tool): Tool {
  checkRegisteredFields(given);
  checkCache(given.name, given);
  const tool = withJsonSchema(withJsonSchema(given, "inputSchema"), "outputSchema");
  const fault = findKeyTemplateError(tool.name, tool.effects, tool.inputSchema);
  if (fault !== undefined) throw fault;
  return tool;
}

/** Rejects schemas of libraries, which `defineTool` converts to JSON Schema for the model. A schema with `toJSON` is replaced by its JSON. */
function withJsonSchema(tool: Tool, field: "inputSchema" | "outputSchema"): Tool {
  const schema = tool[field];
  if (schema === undefined) return tool;
  try {
    checkJsonSchema(schema);
    return typeof schema === "object" && schema !== null && typeof Reflect.get(schema, "toJSON") === "function"
      ? { ...tool, [field]: copySchema(schema) }
      : tool;
  } catch (thrown: unknown) {
    const cause = ToolError.fromUnknown(thrown, "invalid_schema");
    throw new ToolError(cause.code, `${field} of tool ${JSON.stringify(tool.name)}: ${cause.message}`, {
      ...pickHints(cause),
      cause: thrown,
    });
  }
}

/** As `checkTool`, for a tool that an engine listed: without a schema it is quarantined, not rejected. */
export function checkListedTool(given: Tool): Tool {
  const tool = checkNamedTool(given);
  const { name, title, tags, execute }: Unchecked<Tool> & Pick<Tool, "name"> = tool;
  if (title !== undefined && typeof title !== "string") throw fieldError(name, "title", "a string");
  if (execute !== undefined && typeof execute !== "function") throw fieldError(name, "execute", "a function");
  if (tags !== undefined && !isStringArray(tags)) throw fieldError(name, "tags", "an array of strings");
  if (tool.requiresReading !== undefined || tool.promptContribution !== undefined || tool.providers !== undefined)
    checkModelFields(name, tool);
  checkCache(name, tool);
  if (hasAnySetting(tool) || tool.maxConcurrent !== undefined) checkCallSettings(tool, `tool ${JSON.stringify(name)}`);
  return tool;
}

/** Returns the tool as a plain object, with a valid name and description. */
function checkNamedTool(given: Tool): Tool {
  checkIsTool(given);
  const tool = toPlainTool(given);
  rejectFieldAliases(given, tool);
  const { name, description }: Unchecked<Tool> = tool;
  if (name === undefined || typeof description !== "string") throw missingFieldsError(tool);
  checkName(name, "tool");
  return tool;
}

function checkModelFields(name: string, tool: Tool): void {
  for (const [field, { isValid, expected }] of Object.entries(MODEL_FIELDS)) {
    const value: unknown = Reflect.get(tool, field);
    if (value !== undefined && !isValid(value)) throw fieldError(name, field, expected);
  }
}

/**
 * Checks a toolset's name, engine and settings.
 *
 * A name that ends in a colon is rejected: `a:` with the tool `b` would be `a:::b`, as would `a` with the tool `:b`.
 */
export function checkToolset(toolset: Toolset): void {
  checkIsObject(toolset, "A toolset must be an object with a name.");
  if (isPlainObject(toolset)) checkKnownKeys(toolset, TOOLSET_FIELDS, `The toolset ${quoteValue(toolset.name)}`);
  const { name, engine, promptContribution }: Unchecked<Toolset> = toolset;
  checkName(name, "toolset");
  if (name.endsWith(":"))
    throw new ToolError("invalid_argument", `The toolset name ${JSON.stringify(name)} ends in a colon, which "::" after it would hide.`);
  const owner = `toolset ${JSON.stringify(name)}`;
  if (engine !== undefined && typeof toolset.engine?.call !== "function")
    throw new ToolError("invalid_argument", `The engine of ${owner} has no function call().`);
  if (promptContribution !== undefined && !MODEL_FIELDS.promptContribution.isValid(promptContribution))
    throw new ToolError("invalid_argument", `promptContribution of ${owner} must be ${MODEL_FIELDS.promptContribution.expected}.`);
  if (toolset.defaults !== undefined) checkKnownKeys(toolset.defaults, CALL_SETTINGS, `defaults of ${owner}`);
  checkCallSettings(
    { ...toolset.defaults, ...(toolset.maxConcurrent === undefined ? {} : { maxConcurrent: toolset.maxConcurrent }) },
    owner,
  );
  const { checkFormats, shared, place }: Unchecked<Toolset> = toolset;
  if (place !== undefined && (typeof place !== "string" || place === ""))
    throw new ToolError("invalid_argument", `place of ${owner} must be a name.`);
  if (shared !== undefined && typeof shared !== "boolean") throw new ToolError("invalid_argument", `shared of ${owner} must be a boolean.`);
  if (checkFormats !== undefined && typeof checkFormats !== "boolean")
    throw new ToolError("invalid_argument", `checkFormats of ${owner} must be a boolean.`);
  checkMs(toolset.openTimeoutMs, "openTimeoutMs", owner);
  getFaultPolicy(toolset);
}

function checkIsTool(given: unknown): void {
  if (typeof given === "function" && isJsonObject(Reflect.get(given, "tool")))
    throw new ToolError("invalid_argument", "A tool must be an object, not the function of toolFunction().", {
      hint: "Give its property tool.",
    });
  checkIsObject(given, "A tool must be an object with name, description and inputSchema.");
}

function checkIsObject(value: unknown, otherwise: string): void {
  if (typeof value !== "object" || value === null) throw new ToolError("invalid_argument", otherwise);
}

function missingFieldsError(tool: Unchecked<Tool>): ToolError {
  const missing = [
    ...(tool.name === undefined ? ["name"] : []),
    ...(typeof tool.description === "string" ? [] : ["description"]),
    ...(tool.inputSchema === undefined ? ["inputSchema"] : []),
  ];
  const which = typeof tool.name === "string" ? `The tool ${JSON.stringify(tool.name)}` : "A tool";
  return new ToolError("invalid_argument", `${which} lacks ${missing.join(", ")}.`, {
    hint: "A tool without parameters has the input schema {}; a description may be empty.",
  });
}

function fieldError(tool: string, field: string, expected: string): ToolError {
  return new ToolError("invalid_argument", `${field} of tool ${JSON.stringify(tool)} must be ${expected}.`);
}

/** @throws ToolError `invalid_argument` with this message unless the value is an array */
export function checkArray(value: unknown, message: string): void {
  if (!Array.isArray(value)) throw new ToolError("invalid_argument", message);
}
