/** Checks that the templates in a tool's resource keys name properties of its input. */
import { ToolError } from "../core/error.ts";
import type { Effects } from "../core/resources/effects.ts";
import { isJsonObject } from "../core/base/json.ts";
import { getOwn } from "../core/base/get-own.ts";
import { listTemplatePaths } from "../core/resources/resource-keys.ts";
import { findNearNames } from "../core/base/near-names.ts";

/** Keywords next to which `properties` may not list all properties. */
const OPEN_KEYWORDS = ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "patternProperties"];

/**
 * Returns the first fault of the templates in `reads` and `writes`: one that cannot be parsed, or that names a property that the schema does not
 * have.
 *
 * A schema that lists no properties, allows additional ones or refers to other schemas may have any property.
 */
export function findKeyTemplateError(name: string, effects: Effects<never> | undefined, inputSchema: unknown): ToolError | undefined {
  for (const field of ["reads", "writes"] as const) {
    const keys = effects?.[field];
    if (keys === undefined || typeof keys === "function") continue;
    const where = `effects.${field} of tool ${JSON.stringify(name)}`;
    try {
      for (const path of listTemplatePaths(keys)) {
        const fault = findPathProblem(path, inputSchema);
        if (fault !== undefined) return new ToolError("invalid_argument", `${where} names ${fault.what}.`, { hint: fault.hint });
      }
    } catch (thrown: unknown) {
      const cause = ToolError.fromUnknown(thrown);
      return new ToolError("invalid_argument", `${where}: ${cause.message}`, cause.hint === undefined ? {} : { hint: cause.hint });
    }
  }
  return undefined;
}

/** Describes the property named by a path that no input of this schema can have; undefined if there is none. */
export function findPathProblem(
  path: readonly string[],
  inputSchema: unknown,
): { readonly what: string; readonly hint: string } | undefined {
  let schema = inputSchema;
  for (const [index, name] of path.entries()) {
    const properties = listedProperties(schema);
    if (properties === undefined) return undefined;
    if (!Object.hasOwn(properties, name)) {
      const names = Object.keys(properties);
      const [near] = findNearNames(name, names, 1);
      const known = names.length === 0 ? "It has none." : `It has ${names.slice(0, 20).join(", ")}.`;
      return {
        what: `"{${path.join(".")}}", and the input has no property ${JSON.stringify(path.slice(0, index + 1).join("."))}`,
        hint: near === undefined ? known : `Did you mean ${JSON.stringify(`{${[...path.slice(0, index), near].join(".")}}`)}?`,
      };
    }
    schema = properties[name];
  }
  return undefined;
}

/** The properties of a schema; undefined if an input may have others. */
function listedProperties(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isJsonObject(schema) || OPEN_KEYWORDS.some((keyword) => Object.hasOwn(schema, keyword))) return undefined;
  const additional = getOwn(schema, "additionalProperties");
  if (additional !== undefined && additional !== false) return undefined;
  const properties = getOwn(schema, "properties");
  return isJsonObject(properties) ? properties : undefined;
}
