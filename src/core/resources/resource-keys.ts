/** The names of the resources that a call uses, fixed or computed from its input. */
import { ToolError } from "../error.ts";
import { parseBraceTemplate, getValueAtPath, type TemplatePart } from "../base/brace-template.ts";
import type { JsonObject } from "../base/json.ts";

/**
 * The names of the resources that a call uses, such as `file:/a/b`. A key is a path of segments split at `/`, with the scheme in the first segment:
 * `file:/a/b` is inside `file:/a`, and `file:/ab` is not.
 *
 * A string is a template: `stock:{item}` becomes `stock:bolt` for the input `{ item: "bolt" }`, `{order.id}` reads a property of an object, and an
 * array gives one key for each of its items. `{{` and `}}` are literal braces. A call whose input has no string, number or boolean there counts as
 * undeclared, and so does one whose function returns a key with `undefined` in it.
 *
 * Keys that begin with `session:` name values in `context.state`: sessions never share them. A call that writes nothing else runs in a simulation as
 * it does live, because the branch is dropped with its state. A template that does not itself begin with `session:` never produces such a key.
 */
export type ResourceKeys<Input = JsonObject> = string | readonly string[] | ((input: Input) => string | readonly string[]);

const MAX_KEYS = 1_000;
const SESSION = "session:";

/**
 * Returns fixed keys as an array, all others as one function of the input.
 *
 * @throws ToolError `invalid_argument` for an invalid template; the returned function throws if the input has no value for it
 */
export function compileKeys(keys: ResourceKeys): readonly string[] | ((input: JsonObject) => unknown) {
  if (typeof keys === "function") return keys;
  const templates = (typeof keys === "string" ? [keys] : keys).map(readTemplate);
  if (templates.every(isFixed)) return templates.map((parts) => parts.join(""));
  const [only] = templates;
  if (templates.length === 1 && only !== undefined) return (input) => fillSafely(only, input);
  return (input) => templates.flatMap((parts) => fillSafely(parts, input));
}

/** Whether the keys depend on the input. */
export function areKeysComputed(keys: ResourceKeys | undefined): boolean {
  if (keys === undefined || typeof keys === "function") return keys !== undefined;
  try {
    return typeof compileKeys(keys) === "function";
  } catch {
    return false; // unusable, whatever the input
  }
}

/** Returns the paths of the properties that templates use, each once: `[["item"], ["order", "id"]]`. @throws ToolError as `compileKeys` */
export function listTemplatePaths(keys: ResourceKeys): readonly (readonly string[])[] {
  if (typeof keys === "function") return [];
  const paths = (typeof keys === "string" ? [keys] : keys).flatMap(readTemplate).filter((part) => typeof part !== "string");
  return [...new Map(paths.map((path) => [path.join("."), path])).values()];
}

function isFixed(parts: readonly TemplatePart[]): boolean {
  return parts.every((part) => typeof part === "string");
}

function readTemplate(template: string): readonly TemplatePart[] {
  const read = parseBraceTemplate(template);
  if ("reason" in read) throw unreadableError(template, read.reason);
  return read.parts;
}

function unreadableError(template: string, reason: string): ToolError {
  return new ToolError("invalid_argument", `The resource key ${JSON.stringify(template)} cannot be read: ${reason}.`, {
    hint: 'Write the name of a property in braces, as in "stock:{item}", and "{{" or "}}" for a brace itself.',
  });
}

/** Like `fill`. @throws ToolError if the input would turn another key into a `session:` key: calls that write only such keys run in a simulation */
function fillSafely(parts: readonly TemplatePart[], input: JsonObject): string | readonly string[] {
  const keys = fill(parts, input);
  const [first] = parts;
  const isOwn = typeof first === "string" && first.startsWith(SESSION);
  if (!isOwn && (typeof keys === "string" ? [keys] : keys).some((key) => key.startsWith(SESSION)))
    throw new ToolError("invalid_input", `the input makes a key of ${JSON.stringify(SESSION)} that the template does not name`);
  return keys;
}

/** Returns one key, or one for each item if a value is an array. */
function fill(parts: readonly TemplatePart[], input: JsonObject): string | readonly string[] {
  let key = "";
  for (const part of parts) {
    if (typeof part === "string") key += part;
    else {
      const value = getValueAtPath(part, input);
      if (Array.isArray(value)) return fillEach(parts, input);
      key += toKeyText(value, part);
    }
  }
  return key;
}

function fillEach(parts: readonly TemplatePart[], input: JsonObject): readonly string[] {
  let keys: readonly string[] = [""];
  for (const part of parts) {
    const value = typeof part === "string" ? part : getValueAtPath(part, input);
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (items.length === 0 && typeof part !== "string") throw noTextError(part); // the resource is unknown
    if (keys.length * items.length > MAX_KEYS) throw new ToolError("too_large", `the template makes more than ${MAX_KEYS} keys`);
    keys = keys.flatMap((key) => items.map((item) => key + (typeof part === "string" ? part : toKeyText(item, part))));
  }
  return keys;
}

function toKeyText(value: unknown, path: readonly string[]): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw noTextError(path);
}

function noTextError(path: readonly string[]): ToolError {
  return new ToolError("invalid_input", `the input has no text for "{${path.join(".")}}"`);
}
