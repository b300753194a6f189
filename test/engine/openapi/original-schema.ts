/** What an OpenAPI document itself says of a value, as JSON Schema 2020-12: nothing is opened, dropped or bounded. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../src/core/base/json.ts";

const MAPS = new Set(["properties", "patternProperties", "dependentSchemas"]);
const LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const SINGLE = new Set(["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"]);
const ALONE = new Set(["unevaluatedProperties", "unevaluatedItems"]);
const PLAIN = new Set(
  (
    "type enum const minimum maximum multipleOf minLength maxLength minItems maxItems uniqueItems minContains maxContains " +
    "minProperties maxProperties required dependentRequired pattern format"
  ).split(" "),
);

/** Reads one schema of a document, with the definitions that it reaches. */
export class OriginalSchema {
  readonly #document: JsonObject;
  readonly #isOld: boolean;
  readonly #definitions: Record<string, JsonValue> = {};

  constructor(document: JsonObject) {
    this.#document = document;
    this.#isOld = !String(document["openapi"]).startsWith("3.1");
  }

  read(raw: JsonValue): JsonObject {
    const schema = this.#schema(raw);
    return { allOf: [schema], $defs: this.#definitions };
  }

  /** What a pointer of the document leads to. */
  target(reference: string): JsonValue | undefined {
    let at: JsonValue | undefined = this.#document;
    for (const step of reference.slice(2).split("/").map(decode)) {
      at = isJsonArray(at) ? at[Number(step)] : isJsonObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
    }
    return at;
  }

  #schema(raw: JsonValue): JsonValue {
    if (!isJsonObject(raw)) return typeof raw === "boolean" ? raw : {};
    const schema: Record<string, JsonValue> = {};
    const reference = raw["$ref"];
    if (typeof reference === "string") {
      schema["$ref"] = `#/$defs/${this.#define(reference)}`;
      if (this.#isOld) return schema;
    }
    for (const [keyword, value] of Object.entries(raw)) this.#write(keyword, value, schema);
    for (const [bound, exclusive] of [
      ["minimum", "exclusiveMinimum"],
      ["maximum", "exclusiveMaximum"],
    ] as const) {
      const beyond = raw[exclusive];
      const limit = raw[bound];
      if (typeof beyond === "number") schema[exclusive] = beyond;
      else if (beyond === true && limit !== undefined) schema[exclusive] = limit;
    }
    return this.#isOld && raw["nullable"] === true ? { anyOf: [schema, { type: "null" }] } : schema;
  }

  #write(keyword: string, value: JsonValue, schema: Record<string, JsonValue>): void {
    if (MAPS.has(keyword) && isJsonObject(value)) {
      schema[keyword] = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.#schema(each)]));
    } else if (LISTS.has(keyword) && isJsonArray(value)) schema[keyword] = value.map((each) => this.#schema(each));
    // Before 2020-12, an array of schemas stood there for what is now prefixItems.
    else if (keyword === "items" && isJsonArray(value)) schema["prefixItems"] = value.map((each) => this.#schema(each));
    else if (SINGLE.has(keyword) || (!this.#isOld && ALONE.has(keyword))) schema[keyword] = this.#schema(value);
    else if (PLAIN.has(keyword)) schema[keyword] = value;
  }

  #define(reference: string): string {
    const name = reference.replaceAll(/[^A-Za-z0-9]/gu, (char) => `_${char.codePointAt(0)}_`);
    if (!Object.hasOwn(this.#definitions, name)) {
      this.#definitions[name] = {};
      this.#definitions[name] = this.#schema(this.target(reference) ?? {});
    }
    return name;
  }
}

function decode(step: string): string {
  return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
}
