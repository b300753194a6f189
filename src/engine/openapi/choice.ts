/** Alternatives of an input or an answer. */
import { isJsonArray, type JsonValue } from "../../core/base/json.ts";

/**
 * Adds that one of the schemas fits, or several of them. Never `oneOf`: many documents write it for alternatives that overlap, such as an id that is a
 * UUID or any string, where no service refuses what fits both; and relaxed alternatives overlap where those of the document do not.
 */
export function addChoice(schemas: readonly JsonValue[], members: Record<string, JsonValue>): void {
  const anyOf = Object.freeze(schemas);
  if (members["anyOf"] === undefined) {
    members["anyOf"] = anyOf;
    return;
  }
  const { allOf } = members;
  members["allOf"] = Object.freeze([...(isJsonArray(allOf) ? allOf : []), Object.freeze({ anyOf })]);
}
