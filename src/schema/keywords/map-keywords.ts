/** Changes keywords wherever a schema has them, and only there: not a property, a default or an enum member of the same name. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { SCHEMA_KEYWORDS, SCHEMA_LIST_KEYWORDS } from "../keyword-names.ts";

const MAP_KEYWORDS: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

type Steps = readonly (string | number)[];

/** Returns the new value of a keyword that contains no schemas; undefined removes the keyword. */
type ChangeKeyword = (keyword: string, value: JsonValue, steps: Steps) => JsonValue | undefined;

/**
 * Returns a frozen copy of the schema with every keyword as `change` returns it, or the schema itself if nothing changes.
 *
 * @param schema a copy made by `copySchema`, which limits the depth
 */
export function mapKeywords(schema: JsonObject, change: ChangeKeyword, steps: Steps = []): JsonObject {
  const members: [keyword: string, value: JsonValue][] = [];
  let changed = false;
  for (const [keyword, value] of Object.entries(schema)) {
    const mapped = mapKeyword(keyword, value, change, [...steps, keyword]);
    changed ||= mapped !== value;
    if (mapped !== undefined) members.push([keyword, mapped]);
  }
  return changed ? Object.freeze(Object.fromEntries(members)) : schema;
}

function mapKeyword(keyword: string, value: JsonValue, change: ChangeKeyword, steps: Steps): JsonValue | undefined {
  const mapChild = (child: JsonValue, step: string | number): JsonValue =>
    isJsonObject(child) ? mapKeywords(child, change, [...steps, step]) : child;
  if (isJsonArray(value) && SCHEMA_LIST_KEYWORDS.has(keyword)) {
    const mapped = value.map(mapChild);
    return mapped.some((item, index) => item !== value[index]) ? Object.freeze(mapped) : value;
  }
  if (isJsonObject(value) && SCHEMA_KEYWORDS.has(keyword)) return mapKeywords(value, change, steps);
  if (!isJsonObject(value) || !MAP_KEYWORDS.has(keyword)) return change(keyword, value, steps);
  const members = Object.entries(value).map(([name, child]) => [name, mapChild(child, name)] as const);
  return members.some(([name, child]) => child !== value[name]) ? Object.freeze(Object.fromEntries(members)) : value;
}
