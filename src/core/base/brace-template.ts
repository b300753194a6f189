/** Templates with property names in braces: `stock:{item}`. */
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";

/** A literal text, or the path of the property whose value is inserted. */
export type TemplatePart = string | readonly string[];

const BRACES = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g;

/**
 * Reads `{item}` and `{order.id}`; `{{` and `}}` are literal braces. The result has at least one part.
 *
 * @returns the parts, or the reason why the template is invalid
 */
export function parseBraceTemplate(template: string): { readonly parts: readonly TemplatePart[] } | { readonly reason: string } {
  const parts: TemplatePart[] = [];
  let at = 0;
  for (const match of template.matchAll(BRACES)) {
    const [found, name] = match;
    if (match.index > at) parts.push(template.slice(at, match.index));
    at = match.index + found.length;
    if (name !== undefined && name.trim() !== "") parts.push(name.trim().split("."));
    else if (found === "{{" || found === "}}") parts.push(found.charAt(0));
    else return { reason: name === undefined ? `"${found}" has no matching brace` : '"{}" names no property' };
  }
  if (at < template.length || parts.length === 0) parts.push(template.slice(at));
  return { parts };
}

/** Returns the value at a path, own properties only; undefined if there is none. */
export function getValueAtPath(path: readonly string[], input: JsonObject): JsonValue | undefined {
  let value: JsonValue | undefined = input;
  for (const name of path) value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}
