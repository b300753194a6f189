/** What `--simulate` lets answer where a tool may not run: nothing is done, and an answer of the right shape says so. */
import { ToolOutput } from "../core/content.ts";
import type { Engine } from "../core/engine.ts";
import { isJsonArray, isJsonObject } from "../core/json.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { JsonSchema } from "../core/tool.ts";

/** Answers every call with the least value that its output schema allows, or with a sentence where it has none. */
export function pretendEngine(): Engine {
  return {
    kind: "pretend",
    call({ tool: { outputSchema } }) {
      const content = [{ type: "text", text: "Pretended: nothing was done." }] as const;
      return outputSchema === undefined ? new ToolOutput({ content }) : exampleOf(outputSchema, 0);
    },
  };
}

/** Schemas that refer to themselves have no least value that can be written down. */
const MAX_DEPTH = 8;
const MAX_ITEMS = 16;
const MAX_LENGTH = 1_024;

/** One that is not right for the schema shows as a broken output, which is kept and said. */
function exampleOf(schema: JsonSchema | JsonValue | undefined, depth: number): JsonValue {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return null;
  const { const: constant, enum: choices, examples, default: usual, anyOf, oneOf } = schema;
  if (constant !== undefined) return constant;
  for (const list of [choices, examples]) if (isJsonArray(list) && list[0] !== undefined) return list[0];
  if (usual !== undefined) return usual;
  for (const list of [anyOf, oneOf]) if (isJsonArray(list) && list.length > 0) return exampleOf(list[0], depth + 1);
  const { type } = schema;
  switch (isJsonArray(type) ? type[0] : type) {
    case "string":
      return "x".repeat(Math.min(numberIn(schema, "minLength"), MAX_LENGTH));
    case "integer":
    case "number":
      return leastNumber(schema);
    case "boolean":
      return false;
    case "array":
      return Array.from({ length: Math.min(numberIn(schema, "minItems"), MAX_ITEMS) }, () => exampleOf(schema["items"], depth + 1));
    case "object":
      return exampleObject(schema, depth);
    default:
      return isJsonObject(schema["properties"]) ? exampleObject(schema, depth) : null;
  }
}

/** Its required properties. */
function exampleObject({ properties, required }: JsonObject, depth: number): JsonObject {
  const names = isJsonArray(required) ? required.filter((name) => typeof name === "string") : [];
  const known = isJsonObject(properties) ? properties : {};
  return Object.fromEntries(names.map((name) => [name, exampleOf(Object.hasOwn(known, name) ? known[name] : undefined, depth + 1)]));
}

function leastNumber(schema: JsonObject): number {
  const { minimum, exclusiveMinimum, maximum } = schema;
  if (typeof minimum === "number") return minimum;
  if (typeof exclusiveMinimum === "number") return Math.floor(exclusiveMinimum) + 1;
  return typeof maximum === "number" && maximum < 0 ? maximum : 0;
}

function numberIn(schema: JsonObject, key: string): number {
  const value = schema[key];
  return typeof value === "number" && value > 0 ? Math.ceil(value) : 0;
}
