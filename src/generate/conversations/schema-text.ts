/** The canonical JSON of schemas, in which each definition that several schemas share is written only once. */
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { isInstanceOfClass } from "../../core/base/class-instance.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";

const MAX_DEPTH = 1_000;

/** @throws ToolError `not_json`, and `too_large` for a value that is nested too deep */
export function formatCanonicalJson(value: unknown): string {
  return canonicalJson(copyJson(value, { maxDepth: MAX_DEPTH, maxNodes: Infinity, maxChars: Infinity }).value);
}

/** Keeps the texts of definitions: thousands of tools of an OpenAPI document refer to the same objects, whose texts together have hundreds of MB. */
export class SchemaTexts {
  readonly #definitions = new Map<object, string>();

  /** Returns the text that `formatCanonicalJson` returns. @throws ToolError as `formatCanonicalJson` */
  format(schema: unknown): string {
    if (!isPlainObject(schema) || !Object.hasOwn(schema, "$defs") || !isPlainObject(schema["$defs"])) return formatCanonicalJson(schema);
    return formatObject(schema, (name, part) =>
      name === "$defs" && isPlainObject(part) ? this.#formatDefinitions(part) : formatCanonicalJson(part),
    );
  }

  #formatDefinitions(definitions: JsonObject): string {
    return formatObject(definitions, (_name, part) =>
      isPlainObject(part) ? getOrAdd(this.#definitions, part, formatCanonicalJson) : formatCanonicalJson(part),
    );
  }
}

/** Whether a value has the same members as its JSON. */
function isPlainObject(value: unknown): value is JsonObject {
  return isJsonObject(value) && !isInstanceOfClass(value) && typeof value["toJSON"] !== "function";
}

function formatObject(object: JsonObject, formatPart: (name: string, part: JsonValue) => string): string {
  const members: string[] = [];
  for (const name of Object.keys(object).sort()) {
    const part: JsonValue | undefined = object[name];
    if (part !== undefined && name !== "__proto__") members.push(`${JSON.stringify(name)}:${formatPart(name, part)}`);
  }
  return `{${members.join(",")}}`;
}
