/** Writes a tool's schema as a provider takes it, and says what was lost. */
import { ToolError } from "../core/error.ts";
import { isJsonArray, isJsonObject } from "../core/json.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { JsonSchema } from "../core/tool.ts";

/** The schemas that a provider takes: `json-schema` is all of JSON Schema with an object at the root. */
export type SchemaSubset = "json-schema";

export interface FittedSchema {
  readonly schema: JsonObject;
  /** What the schema says and this one does not, in the order of the schema. */
  readonly losses: readonly SchemaLoss[];
}

export interface SchemaLoss {
  /** `$` path. */
  readonly path: string;
  readonly note: string;
}

/** @throws ToolError `invalid_schema` for one that no provider can be given, such as one whose root is no object */
export function fitSchema(schema: JsonSchema, _subset: SchemaSubset): FittedSchema {
  return { schema: rootObject(schema), losses: [] };
}

/** With `type: "object"` and `properties`, as every provider wants the root. @throws ToolError `invalid_schema` */
function rootObject(schema: JsonSchema): JsonObject {
  if (schema === true) return { type: "object", properties: {} };
  const json = schema as unknown as JsonValue; // a registered tool's schema is JSON
  if (!isJsonObject(json)) throw new ToolError("invalid_schema", "The schema allows no input at all.");
  const { type } = json;
  const allowsObject = type === undefined || type === "object" || (isJsonArray(type) && type.includes("object"));
  if (!allowsObject) throw new ToolError("invalid_schema", `The root of an input schema is an object, not ${JSON.stringify(type)}.`);
  return { ...json, type: "object", properties: isJsonObject(json["properties"]) ? json["properties"] : {} };
}
