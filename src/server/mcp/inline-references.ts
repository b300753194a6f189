/** Writes the references of a schema out, for the many clients that show their model a schema without its definitions. */
import { escapeStep, unescapeStep } from "../../core/base/json-pointer.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { decode } from "../../schema/references/reference-uri.ts";
import { References } from "../../schema/references/references.ts";
import { ANNOTATION_KEYWORDS, SCHEMA_KEYWORDS, SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS } from "../../schema/keyword-names.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

/** Most subschemas of a schema with its references written out: a longer one costs a model more than the references do. */
const MAX_SUBSCHEMAS = 1_000;
const MAX_DEPTH = 100;
/** The longest JSON of a schema that is looked through, and of all that is written into it. */
const MAX_LENGTH = 100_000;
/** How many references are followed to find those that lead back to themselves. */
const MAX_FOLLOWED = 100_000;
/** They change where a reference leads, so that it means something else in another place. */
const SCOPES = /"\$(?:id|anchor|dynamicAnchor|dynamicRef|recursiveAnchor|recursiveRef)":/u;
/** An argument with one is not copied to a second place: names of headers are unique, and clients refuse a whole tool where they are not. */
const HEADER = '"x-mcp-header":';
const DEFINITIONS: readonly string[] = ["$defs", "definitions"];

/**
 * The same schema without references, as far as they can be written out; the same object where it has none.
 *
 * References to what holds itself or an `x-mcp-header` stay, with their definitions, and so do those with a constraint beside them. One at the root to
 * what holds itself is written out even so, because clients look for `properties` there. A schema that would have more than 1,000 subschemas stays as it
 * is, and so does one of more than 100,000 characters, or with more written into it.
 */
export function inlineReferences(schema: JsonObject): JsonObject {
  const text = JSON.stringify(schema);
  if (text.length > MAX_LENGTH || !text.includes('"$ref":') || SCOPES.test(text)) return schema;
  const inliner = new Inliner(schema);
  const inlined = inliner.writeRoot(schema);
  return inliner.isOver ? schema : withoutUnused(inlined);
}

class Inliner {
  isOver = false;
  readonly #references: References;
  readonly #recursive = new Map<string, boolean>();
  readonly #used = new Map<string, ReadonlySet<string>>();
  readonly #texts = new Map<JsonObject, string>();
  #left = MAX_SUBSCHEMAS;
  #lengthLeft = MAX_LENGTH;
  #followsLeft = MAX_FOLLOWED;

  constructor(root: JsonObject) {
    this.#references = new References(root);
  }

  writeRoot(root: JsonObject): JsonObject {
    const { $ref: reference, ...own } = root;
    const target = typeof reference === "string" ? this.#followed(reference, own) : undefined;
    return this.write(target === undefined || target === root ? root : { ...target, ...own }, 0);
  }

  /** The definitions at the root are written out as well: those that a recursive one uses may refer to others. */
  write(schema: JsonObject, depth: number): JsonObject {
    if (--this.#left < 0 || depth > MAX_DEPTH) this.isOver = true;
    if (this.isOver) return schema;
    const target = this.#targetOf(schema);
    if (target === undefined)
      return Object.fromEntries(
        Object.entries(schema).map(([key, value]) => [key, mapParts(key, value, (part) => this.write(part, depth + 1))]),
      );
    const { $ref: _, ...beside } = schema;
    this.#lengthLeft -= this.#textOf(target).length;
    if (this.#lengthLeft < 0) this.isOver = true;
    return this.write({ ...target, ...beside }, depth + 1);
  }

  #targetOf(schema: JsonObject): JsonObject | undefined {
    const { $ref: reference, ...beside } = schema;
    return typeof reference !== "string" || this.#isRecursive(reference) ? undefined : this.#followed(reference, beside);
  }

  /** The schema that can be written in the place of a reference; undefined where there is none. */
  #followed(reference: string, beside: JsonObject): JsonObject | undefined {
    const target = this.#references.follow(reference);
    if (!isJsonObject(target) || !Object.keys(beside).every((key) => isBeside(key, beside[key], target))) return undefined;
    return this.#textOf(target).includes(HEADER) ? undefined : target;
  }

  #textOf(target: JsonObject): string {
    return getOrAdd(this.#texts, target, () => JSON.stringify(target));
  }

  /** Whether a schema leads back to itself; one that leads nowhere does not. */
  #isRecursive(reference: string): boolean {
    let isRecursive = this.#recursive.get(reference);
    if (isRecursive !== undefined) return isRecursive;
    const seen = new Set<string>();
    const open = [reference];
    const usedBy = (one: string): ReadonlySet<string> => referencesIn(this.#references.follow(one), () => false);
    for (let next = open.pop(); next !== undefined && !this.isOver; next = open.pop())
      for (const used of getOrAdd(this.#used, next, usedBy)) {
        if (--this.#followsLeft < 0) this.isOver = true;
        if (!seen.has(used)) open.push(used);
        seen.add(used);
      }
    isRecursive = seen.has(reference);
    this.#recursive.set(reference, isRecursive);
    return isRecursive;
  }
}

/** Whether a keyword next to a reference changes nothing about which values are allowed. */
function isBeside(key: string, value: JsonValue | undefined, target: JsonObject): boolean {
  if (DEFINITIONS.includes(key) || key === "$schema" || key === "$comment" || key === "description" || key.startsWith("x-")) return true;
  return ANNOTATION_KEYWORDS.has(key) ? key !== "format" : key === "type" && target["type"] === value;
}

/** A value of a keyword with each schema in it changed; one that holds no schemas as it is. */
function mapParts(key: string, value: JsonValue, change: (part: JsonObject) => JsonValue): JsonValue {
  const one = (part: JsonValue): JsonValue => (isJsonObject(part) ? change(part) : part);
  if (isJsonArray(value)) return SCHEMA_LIST_KEYWORDS.has(key) ? value.map(one) : value;
  if (!isJsonObject(value)) return value;
  if (SCHEMA_MAP_KEYWORDS.has(key) || DEFINITIONS.includes(key))
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, one(part)]));
  return SCHEMA_KEYWORDS.has(key) ? change(value) : value;
}

/** The references in a schema. @param hasDefinitions whether the definitions of a subschema are looked through */
function referencesIn(schema: JsonValue | undefined, hasDefinitions: (schema: JsonObject) => boolean): ReadonlySet<string> {
  const found = new Set<string>();
  const open: JsonValue[] = schema === undefined ? [] : [schema];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (!isJsonObject(next)) continue;
    if (typeof next["$ref"] === "string") found.add(next["$ref"]);
    const isWhole = hasDefinitions(next);
    for (const [key, value] of Object.entries(next))
      if (isWhole || !DEFINITIONS.includes(key)) mapParts(key, value, (part) => (open.push(part), part));
  }
  return found;
}

/** Without the definitions at the root that nothing refers to. One that is referred to in part stays whole, with all that it refers to. */
function withoutUnused(root: JsonObject): JsonObject {
  const references = new References(root);
  const used = new Set<string>();
  const kept = new Set<string>();
  const open: string[] = [];
  const keep = (schema: JsonValue | undefined): void => void open.push(...referencesIn(schema, (part) => part !== root));
  keep(root);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (used.has(next)) continue;
    used.add(next);
    keep(references.follow(next));
    const [start, key = "", name] = decode(next).split("/", 3);
    if (start !== "#" || !DEFINITIONS.includes(key)) continue;
    if (name === undefined) return root;
    const pointer = `${key}/${name}`;
    if (!kept.has(pointer)) keep(ownPart(root[key], name));
    kept.add(pointer);
  }
  const rest = Object.entries(root).flatMap(([key, value]): (readonly [string, JsonValue])[] => {
    if (!DEFINITIONS.includes(key) || !isJsonObject(value)) return [[key, value]];
    const definitions = Object.entries(value).filter(([name]) => kept.has(`${key}/${escapeStep(name)}`));
    return definitions.length === 0 ? [] : [[key, Object.fromEntries(definitions)]];
  });
  return Object.fromEntries(rest);
}

function ownPart(definitions: JsonValue | undefined, escapedName: string): JsonValue | undefined {
  const name = unescapeStep(escapedName);
  return isJsonObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined;
}
