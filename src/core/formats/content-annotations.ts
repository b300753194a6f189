/** Reads the annotations of content parts, which have the form of MCP. */
import { isJsonArray, isJsonObject, type JsonValue } from "../base/json.ts";
import type { ContentPart } from "../content.ts";

type ContentAnnotations = NonNullable<ContentPart["annotations"]>;

const CHECKS: Readonly<Record<keyof ContentAnnotations, (value: JsonValue) => boolean>> = {
  audience: (value) => isJsonArray(value) && value.every((one) => one === "user" || one === "assistant"),
  priority: (value) => typeof value === "number" && value >= 0 && value <= 1,
  lastModified: (value) => typeof value === "string",
};

/** Whether the value is an object whose known fields are as they should be. */
export function areAnnotations(value: JsonValue): boolean {
  return isJsonObject(value) && Object.entries(CHECKS).every(([name, check]) => value[name] === undefined || check(value[name]));
}

/** Returns the known fields of what a server sent that are as they should be; undefined if there are none. */
export function readAnnotations(value: JsonValue | undefined): ContentAnnotations | undefined {
  if (!isJsonObject(value)) return undefined;
  const fields = Object.entries(CHECKS).flatMap(([name, check]) => {
    const field = value[name];
    return field !== undefined && check(field) ? [[name, field] as const] : [];
  });
  return fields.length === 0 ? undefined : Object.fromEntries(fields);
}
