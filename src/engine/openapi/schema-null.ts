/** Makes a schema accept null. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";

const NULL: JsonObject = Object.freeze({ type: "null" });

/** Returns the schema itself if it accepts null already, else a new one that is not frozen. */
export function withNull(schema: JsonObject): JsonObject {
  const { type, enum: values, anyOf } = schema;
  const isComposed = ["$ref", "allOf", "anyOf", "not", "const", "if"].some((keyword) => Object.hasOwn(schema, keyword));
  if (type === undefined && values === undefined && !isComposed) return schema;
  if (!isComposed) return plainWithNull(schema, type, values);
  if (isJsonArray(anyOf) && Object.keys(schema).every((keyword) => keyword === "anyOf" || ANNOTATIONS.has(keyword))) {
    const hasNull = anyOf.some((branch) => isJsonObject(branch) && branch["type"] === "null");
    return hasNull ? schema : { ...schema, anyOf: Object.freeze([...anyOf, NULL]) };
  }
  const rest = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !ANNOTATIONS.has(keyword)));
  const annotations = Object.fromEntries(Object.entries(schema).filter(([keyword]) => ANNOTATIONS.has(keyword)));
  return { ...annotations, anyOf: Object.freeze([Object.freeze(rest), NULL]) };
}

const ANNOTATIONS: ReadonlySet<string> = new Set(["title", "description", "deprecated", "examples"]);

function plainWithNull(schema: JsonObject, type: JsonValue | undefined, values: JsonValue | undefined): JsonObject {
  const types = type === undefined || isJsonArray(type) ? type : [type];
  const withTypes = types === undefined || types.includes("null") ? schema : { ...schema, type: Object.freeze([...types, "null"]) };
  return isJsonArray(values) && !values.includes(null) ? { ...withTypes, enum: Object.freeze([...values, null]) } : withTypes;
}
