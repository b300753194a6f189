/** The property by which a model sends a call to the background: added to the schema of each tool, and removed from its input. */
import type { ToolCall } from "../../core/call.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from "../../core/base/json.ts";
import type { ModelTool } from "../../core/model.ts";
import type { JsonSchema } from "../../core/tool.ts";
import type { Registry } from "../../registry/registry.ts";
import { References } from "../../schema/references/references.ts";
import { coerceText } from "../../schema/repair/coerce.ts";

/** The name that other agents use. */
const BACKGROUND_FLAG = "run_in_background";

const PROPERTY = {
  type: "boolean",
  description: "True: do not wait for the result; it comes in a later message, and you can continue in the meantime.",
} as const;

/** Returns the tool with the flag, the same object each time; the tool itself if it has a parameter of that name, or if the flag cannot be added. */
export function withBackgroundFlag(tool: ModelTool): ModelTool {
  const known = FLAGGED.get(tool);
  if (known !== undefined) return known;
  const inputSchema = addFlag(tool.inputSchema);
  const flaggedTool = inputSchema === undefined || tool.providerExecuted === true ? tool : { ...tool, inputSchema };
  FLAGGED.set(tool, flaggedTool);
  return flaggedTool;
}

const FLAGGED = new WeakMap<ModelTool, ModelTool>();

function addFlag(schema: JsonSchema): JsonSchema | undefined {
  if (typeof schema !== "object") return schema ? { type: "object", properties: { [BACKGROUND_FLAG]: PROPERTY } } : undefined;
  if (hasFlagProperty(schema)) return undefined;
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  return { type: "object", ...schema, properties: { ...properties, [BACKGROUND_FLAG]: PROPERTY } };
}

/** Whether a schema has a property of this name, including references and alternatives. */
function hasFlagProperty(schema: JsonSchema): boolean {
  return typeof schema === "object" && getOrAdd(HAS_FLAG_PROPERTY, schema, findFlagProperty);
}

const HAS_FLAG_PROPERTY = new WeakMap<object, boolean>();

function findFlagProperty(schema: object): boolean {
  const root = schema as JsonObject; // a schema that compiles is plain JSON
  const references = new References(root);
  const parts = new Set<JsonValue | undefined>([root]);
  for (const part of parts) {
    if (!isJsonObject(part)) continue;
    const { properties, dependentSchemas, $ref: reference } = part;
    if (isJsonObject(properties) && Object.hasOwn(properties, BACKGROUND_FLAG)) return true;
    // Parts added here are visited by this loop too, each once.
    if (typeof reference === "string") parts.add(references.resolve(reference));
    for (const keyword of ["allOf", "anyOf", "oneOf"]) if (isJsonArray(part[keyword])) for (const inner of part[keyword]) parts.add(inner);
    for (const keyword of ["if", "then", "else"]) parts.add(part[keyword]);
    if (isJsonObject(dependentSchemas)) for (const inner of Object.values(dependentSchemas)) parts.add(inner);
  }
  return false;
}

/** The value of a call's flag, and the input without it. */
export interface TakenFlag {
  /** Frozen. */
  readonly input: JsonObject;
  /** Undefined if the tool decides: the flag was null, as strict modes of providers write an absent value, or it was not understood. */
  readonly background: boolean | undefined;
  readonly warning: string | undefined;
}

/**
 * Returns the flag of a call, whatever its value, and the input without it; undefined if the call has no flag, or if it is the tool's own parameter.
 */
export function takeBackgroundFlag(call: ToolCall, registry: Registry): TakenFlag | undefined {
  const { name, input } = call;
  if (!isJsonObject(input) || !Object.hasOwn(input, BACKGROUND_FLAG)) return undefined;
  if (registry.overloads(name).some(({ tool }) => hasFlagProperty(tool.inputSchema))) return undefined;
  const { [BACKGROUND_FLAG]: flag = null, ...rest } = input;
  const background = typeof flag === "string" ? coerceText(flag, ["boolean"]) : flag;
  const isBoolean = typeof background === "boolean";
  return {
    input: Object.freeze(rest),
    background: isBoolean ? background : undefined,
    warning: isBoolean || flag === null ? undefined : `${BACKGROUND_FLAG} is neither true nor false, and was ignored.`,
  };
}

/** Sends the call to the background as its flag says. */
export function applyFlag(
  run: { background: boolean | undefined; warnings: readonly string[] },
  { background, warning }: Pick<TakenFlag, "background" | "warning">,
): void {
  run.background = background;
  if (warning !== undefined) run.warnings = [...run.warnings, warning];
}

/** Whether an input has the flag, or is a text that may have it once it is read as JSON. */
export function mayHaveFlag(input: unknown): boolean {
  if (typeof input === "string") return input.includes(BACKGROUND_FLAG) || input.includes("\\u");
  return isJsonObject(input) && Object.hasOwn(input, BACKGROUND_FLAG);
}
