import { isJsonArray, type JsonValue } from "../../core/base/json.ts";

/**
 * Adds that at least one of the schemas must match. Never uses `oneOf`: many documents write it for overlapping alternatives, such as an id that is a
 * UUID or any string, which services accept; and alternatives may overlap once they are relaxed.
 */
export function addAnyOf(schemas: readonly JsonValue[], members: Record<string, JsonValue>): void {
  const anyOf = Object.freeze(schemas);
  if (members["anyOf"] === undefined) {
    members["anyOf"] = anyOf;
    return;
  }
  const { allOf } = members;
  members["allOf"] = Object.freeze([...(isJsonArray(allOf) ? allOf : []), Object.freeze({ anyOf })]);
}
