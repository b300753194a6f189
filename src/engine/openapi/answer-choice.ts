/** Alternatives of an answer. */
import { isJsonArray, type JsonValue } from "../../core/base/json.ts";

/** Adds that one of the schemas fits. Relaxed, several of them may, so they are never `oneOf`. */
export function addChoice(schemas: readonly JsonValue[], members: Record<string, JsonValue>): void {
  const anyOf = Object.freeze(schemas);
  if (members["anyOf"] === undefined) {
    members["anyOf"] = anyOf;
    return;
  }
  const { allOf } = members;
  members["allOf"] = Object.freeze([...(isJsonArray(allOf) ? allOf : []), Object.freeze({ anyOf })]);
}
