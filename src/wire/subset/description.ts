/** Builds the description of a schema, with the keywords that the provider does not take. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { countNodes } from "../../schema/schema-part.ts";

const MAX_TEXT = 300;
const MAX_NODES = 100;

export class Description {
  readonly #text: string;
  readonly #more: string[] = [];

  constructor(text: JsonValue | undefined) {
    this.#text = typeof text === "string" ? text : "";
  }

  /** Adds text such as `minLength: 5`. For a value of more than 300 characters, only the keyword is named. */
  addKeyword(name: string, value: JsonValue): void {
    const text = this.hasRoomFor(value) ? `${name}: ${JSON.stringify(value)}` : name;
    if (!this.#more.includes(text)) this.#more.push(text);
  }

  hasRoomFor(value: JsonValue): boolean {
    return countNodes(value, MAX_NODES) <= MAX_NODES && JSON.stringify(value).length <= MAX_TEXT;
  }

  /** Returns the field `description`, or no field if it is empty. @param inner the description of a part, used if this one has no text */
  toField(inner: JsonValue | undefined): JsonObject {
    const text = this.#text === "" && typeof inner === "string" ? inner : this.#text;
    const more = this.#more.length === 0 ? "" : `(${this.#more.join("; ")})`;
    const whole = [text, more].filter((part) => part !== "").join(" ");
    return whole === "" ? {} : { description: whole };
  }
}

/** Constraints that every value satisfies. */
const TRIVIAL: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ["minLength", 0],
  ["minItems", 0],
  ["minProperties", 0],
  ["uniqueItems", false],
  ["additionalItems", true],
  ["unevaluatedItems", true],
  ["unevaluatedProperties", true],
]);

export function isTrivialConstraint(keyword: string, value: JsonValue): boolean {
  if (keyword === "additionalProperties") return typeof value === "boolean";
  if (keyword === "required") return Array.isArray(value) && value.length === 0;
  if (isJsonObject(value) && Object.keys(value).length === 0) return keyword !== "not" && keyword !== "contains";
  return TRIVIAL.has(keyword) && TRIVIAL.get(keyword) === value;
}

/** Whether an allowed keyword may have this value. */
export function isAcceptedValue(
  accepts: Readonly<Record<string, (value: JsonValue) => boolean>> | undefined,
  keyword: string,
  value: JsonValue,
): boolean {
  if (accepts === undefined || !Object.hasOwn(accepts, keyword)) return true;
  return accepts[keyword]?.(value) ?? true;
}
