/** The requirements for a value, combined from all subschemas of one place. */
import { pushAll } from "../../core/collections/push-all.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { type JsonValue, isJsonArray, isJsonObject } from "../../core/base/json.ts";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { ANY_TYPE, type RawSchema, type SchemaNode, TYPE_BITS } from "../compiled-schema.ts";

/** A subschema; `true` requires nothing and is left out, `false` allows nothing. */
export type Part = SchemaNode | false;

/** The requirements of one subschema for the items of an array. */
export interface ItemRules {
  readonly prefix: readonly unknown[];
  /** For the items after `prefix`; undefined = no requirement. */
  readonly rest: unknown;
}

/** The requirements of one subschema for the properties of an object. */
export interface PropertyRules {
  readonly properties: RawSchema;
  readonly patterns: RawSchema;
  /** For all other properties; undefined = no requirement. */
  readonly additional: unknown;
}

export class Constraints {
  types = ANY_TYPE;
  /** undefined = any value. */
  choices: readonly JsonValue[] | undefined = undefined;
  /** Values given in the schema: examples and the default. */
  readonly exampleValues: JsonValue[] = [];
  minimum = -Infinity;
  maximum = Infinity;
  aboveMinimum = false;
  belowMaximum = false;
  readonly multiplesOf: number[] = [];
  minLength = 0;
  maxLength = Infinity;
  readonly patterns: string[] = [];
  format: string | undefined = undefined;
  description = "";
  minItems = 0;
  maxItems = Infinity;
  unique = false;
  readonly itemRules: ItemRules[] = [];
  readonly contains: { readonly schema: unknown; readonly least: number }[] = [];
  readonly otherItems: unknown[] = [];
  minProperties = 0;
  maxProperties = Infinity;
  readonly propertyRules: PropertyRules[] = [];
  readonly otherProperties: unknown[] = [];
  readonly propertyNames: unknown[] = [];
  readonly required = new Set<string>();
  /** Names that are required if a property is present. */
  readonly dependentNames = new Map<string, readonly string[]>();
  /** Names that are better left out, since they add more rules. */
  readonly avoidedNames = new Set<string>();
  /** Whether some requirements cannot be combined with the others, so that a value must be validated. */
  needsCheck = false;
  /** Whether another attempt can choose other branches. */
  hasChoices = false;

  /** Adds the keywords of one subschema that apply directly to the value. */
  add(raw: RawSchema): void {
    this.#addTypes(raw);
    this.#addExamples(raw);
    this.#addNumbers(raw);
    this.#addTexts(raw);
    this.#addItems(raw);
    this.#addProperties(raw);
  }

  #addTypes(raw: RawSchema): void {
    const type = getOwn(raw, "type");
    if (type !== undefined) {
      const names: readonly unknown[] = Array.isArray(type) ? type : [type];
      let bits = 0;
      for (const name of names) bits |= (typeof name === "string" ? TYPE_BITS.get(name) : undefined) ?? 0;
      this.types &= bits;
    }
    if (Object.hasOwn(raw, "const")) this.#narrowChoices([toJson(raw["const"])]);
    const choices = getOwn(raw, "enum");
    if (Array.isArray(choices)) this.#narrowChoices(choices.map(toJson));
  }

  #narrowChoices(choices: readonly JsonValue[]): void {
    const before = this.choices;
    if (before === undefined) {
      this.choices = choices;
      return;
    }
    const texts = new Set(choices.map(canonicalJson));
    this.choices = before.filter((choice) => texts.has(canonicalJson(choice)));
  }

  #addExamples(raw: RawSchema): void {
    const examples = getOwn(raw, "examples");
    if (Array.isArray(examples)) pushAll(this.exampleValues, examples.slice(0, MAX_SHOWN).map(toJson));
    for (const keyword of ["example", "default"]) if (Object.hasOwn(raw, keyword)) this.exampleValues.push(toJson(raw[keyword]));
    const description = getOwn(raw, "description");
    if (typeof description === "string" && this.description === "") this.description = description;
  }

  #addNumbers(raw: RawSchema): void {
    const bound = (keyword: string): number | undefined => numberOf(raw, keyword);
    const minimum = bound("minimum");
    const above = bound("exclusiveMinimum");
    if (minimum !== undefined && minimum > this.minimum) [this.minimum, this.aboveMinimum] = [minimum, false];
    if (above !== undefined && above >= this.minimum) [this.minimum, this.aboveMinimum] = [above, true];
    const maximum = bound("maximum");
    const below = bound("exclusiveMaximum");
    if (maximum !== undefined && maximum < this.maximum) [this.maximum, this.belowMaximum] = [maximum, false];
    if (below !== undefined && below <= this.maximum) [this.maximum, this.belowMaximum] = [below, true];
    const multipleOf = bound("multipleOf");
    if (multipleOf !== undefined) this.multiplesOf.push(multipleOf);
  }

  #addTexts(raw: RawSchema): void {
    this.minLength = Math.max(this.minLength, numberOf(raw, "minLength") ?? 0);
    this.maxLength = Math.min(this.maxLength, numberOf(raw, "maxLength") ?? Infinity);
    const pattern = getOwn(raw, "pattern");
    if (typeof pattern === "string") this.patterns.push(pattern);
    const format = getOwn(raw, "format");
    if (typeof format === "string") this.format = format;
    else if (getOwn(raw, "contentEncoding") === "base64") this.format ??= "byte";
  }

  #addItems(raw: RawSchema): void {
    this.minItems = Math.max(this.minItems, numberOf(raw, "minItems") ?? 0);
    this.maxItems = Math.min(this.maxItems, numberOf(raw, "maxItems") ?? Infinity);
    this.unique ||= getOwn(raw, "uniqueItems") === true;
    const prefixItems = getOwn(raw, "prefixItems");
    const items = getOwn(raw, "items");
    const [prefix, rest] = Array.isArray(items) ? [items, getOwn(raw, "additionalItems")] : [prefixItems, items];
    if (rest !== undefined || Array.isArray(prefix)) this.itemRules.push({ prefix: Array.isArray(prefix) ? prefix : [], rest });
    const contains = getOwn(raw, "contains");
    if (contains !== undefined) this.contains.push({ schema: contains, least: numberOf(raw, "minContains") ?? 1 });
    const others = getOwn(raw, "unevaluatedItems");
    if (others !== undefined) this.otherItems.push(others);
    this.needsCheck ||= contains !== undefined || others !== undefined;
  }

  #addProperties(raw: RawSchema): void {
    this.minProperties = Math.max(this.minProperties, numberOf(raw, "minProperties") ?? 0);
    this.maxProperties = Math.min(this.maxProperties, numberOf(raw, "maxProperties") ?? Infinity);
    const properties = getOwn(raw, "properties");
    const patterns = getOwn(raw, "patternProperties");
    const additional = getOwn(raw, "additionalProperties");
    if (properties !== undefined || patterns !== undefined || additional !== undefined)
      this.propertyRules.push({ properties: toRawSchema(properties), patterns: toRawSchema(patterns), additional });
    const required = getOwn(raw, "required");
    if (Array.isArray(required)) for (const name of required) this.required.add(String(name));
    const names = getOwn(raw, "propertyNames");
    if (names !== undefined) this.propertyNames.push(names);
    const others = getOwn(raw, "unevaluatedProperties");
    if (others !== undefined) this.otherProperties.push(others);
    this.needsCheck ||= others !== undefined || names !== undefined;
    for (const keyword of ["dependentRequired", "dependencies"]) this.#addDependentNames(toRawSchema(getOwn(raw, keyword)));
  }

  #addDependentNames(map: RawSchema): void {
    for (const [name, needed] of Object.entries(map)) {
      if (Array.isArray(needed)) this.dependentNames.set(name, [...(this.dependentNames.get(name) ?? []), ...needed.map(String)]);
    }
  }
}

const MAX_SHOWN = 20;
const NOTHING: RawSchema = Object.freeze({});

export function toRawSchema(value: unknown): RawSchema {
  return isJsonObject(value) ? value : NOTHING;
}

function numberOf(raw: RawSchema, keyword: string): number | undefined {
  const value = getOwn(raw, keyword);
  return typeof value === "number" ? value : undefined;
}

/** Narrows a part of a schema to JSON. */
function toJson(value: unknown): JsonValue {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  const part: JsonValue | undefined = isJsonObject(value) ? value : Array.isArray(value) ? value : undefined;
  return part ?? null;
}

export function typeBitOf(value: JsonValue): number {
  if (value === null) return TYPE_BIT.null;
  if (typeof value === "boolean") return TYPE_BIT.boolean;
  if (typeof value === "number") return Number.isInteger(value) ? TYPE_BIT.integer : TYPE_BIT.fraction;
  if (typeof value === "string") return TYPE_BIT.string;
  return isJsonArray(value) ? TYPE_BIT.array : TYPE_BIT.object;
}

/** Bits as in `TYPE_BITS`, except that non-integer numbers have a bit of their own. */
export const TYPE_BIT = { null: 1, boolean: 2, integer: 4, fraction: 8, string: 16, array: 32, object: 64 } as const;
