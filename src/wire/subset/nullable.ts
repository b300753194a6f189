import { isJsonArray, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { stringsOf, omitKeywords } from "./schema-node.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

/** Marks a property as optional in strict subsets: it is required, and null means absent. */
export function withNull(schema: JsonObject): JsonObject {
  const { type, anyOf, enum: members, description } = schema;
  if (isJsonArray(anyOf)) {
    const hasNull = anyOf.some((member) => isJsonObject(member) && member["type"] === "null");
    return hasNull ? schema : { ...schema, anyOf: [...anyOf, { type: "null" }] };
  }
  if (type === "null" || stringsOf(type).includes("null")) {
    return isJsonArray(members) && !members.includes(null) ? { ...schema, enum: [...members, null] } : schema;
  }
  return omitUndefined({ anyOf: [omitKeywords(schema, "description"), { type: "null" }], description });
}
