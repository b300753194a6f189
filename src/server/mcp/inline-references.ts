/** Writes the references of a schema out, for the many clients that show their model a schema without its definitions. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { References } from "../../schema/references/references.ts";
import { ANNOTATION_KEYWORDS, SCHEMA_KEYWORDS, SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS } from "../../wire/subset/keywords.ts";

/** Most subschemas of a schema with its references written out: a longer one costs a model more than the references do. */
const MAX_SUBSCHEMAS = 1_000;
const MAX_DEPTH = 100;
/** The longest JSON of a schema that is looked through. */
const MAX_LENGTH = 100_000;
/** They change where a reference leads, so that it means something else in another place. */
const SCOPES = /"\$(?:id|anchor|dynamicAnchor|dynamicRef|recursiveAnchor|recursiveRef)":/u;
const DEFINITIONS: readonly string[] = ["$defs", "definitions"];

/**
 * The same schema without references, as far as they can be written out; the same object where it has none.
 *
 * References to what holds itself stay, with their definitions, and so do those with a constraint beside them. One at the root is written out
 * even so, because clients look for `properties` there. A schema that would have more than 1,000 subschemas stays as it is, and so does one of more than 100,000 characters.
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
  #left = MAX_SUBSCHEMAS;

  constructor(root: JsonObject) {
    this.#references = new References(root);
  }

  writeRoot(root: JsonObject): JsonObject {
    const { $ref: reference, ...own } = root;
    const target = typeof reference === "string" ? this.#references.follow(reference) : undefined;
    const isWhole = isJsonObject(target) && target !== root && Object.keys(own).every((key) => isBeside(key, own[key], target));
    return this.write(isWhole ? { ...target, ...own } : root, 0);
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
    return this.write({ ...target, ...beside }, depth + 1);
  }

  #targetOf(schema: JsonObject): JsonObject | undefined {
    const { $ref: reference, ...beside } = schema;
    if (typeof reference !== "string" || this.#isRecursive(reference)) return undefined;
    const target = this.#references.follow(reference);
    return isJsonObject(target) && Object.keys(beside).every((key) => isBeside(key, beside[key], target)) ? target : undefined;
  }

  /** Whether a schema leads back to itself; one that leads nowhere does not. */
  #isRecursive(reference: string): boolean {
    let isRecursive = this.#recursive.get(reference);
    if (isRecursive !== undefined) return isRecursive;
    const seen = new Set<string>();
    const open = [reference];
    for (let next = open.pop(); next !== undefined; next = open.pop())
      for (const used of this.#usedBy(next)) {
        if (!seen.has(used)) open.push(used);
        seen.add(used);
      }
    isRecursive = seen.has(reference);
    this.#recursive.set(reference, isRecursive);
    return isRecursive;
  }

  #usedBy(reference: string): ReadonlySet<string> {
    let used = this.#used.get(reference);
    if (used === undefined) this.#used.set(reference, (used = referencesIn(this.#references.follow(reference))));
    return used;
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

/** The references in a schema, without those in its definitions. */
function referencesIn(schema: JsonValue | undefined): ReadonlySet<string> {
  const found = new Set<string>();
  const open: JsonValue[] = schema === undefined ? [] : [schema];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (!isJsonObject(next)) continue;
    if (typeof next["$ref"] === "string") found.add(next["$ref"]);
    for (const [key, value] of Object.entries(next))
      if (!DEFINITIONS.includes(key)) mapParts(key, value, (part) => (open.push(part), part));
  }
  return found;
}

/** Without the definitions that nothing refers to. One that is referred to in part stays whole. */
function withoutUnused(root: JsonObject): JsonObject {
  const references = new References(root);
  const used = new Set<string>();
  const open = [...referencesIn(root)];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (used.has(next)) continue;
    used.add(next);
    open.push(...referencesIn(references.follow(next)));
  }
  const rest = Object.entries(root).flatMap(([key, value]): (readonly [string, JsonValue])[] => {
    if (!DEFINITIONS.includes(key) || !isJsonObject(value)) return [[key, value]];
    const kept = Object.entries(value).filter(([name]) => isUsed(`#/${key}/${escaped(name)}`, used));
    return kept.length === 0 ? [] : [[key, Object.fromEntries(kept)]];
  });
  return Object.fromEntries(rest);
}

function isUsed(pointer: string, used: ReadonlySet<string>): boolean {
  for (const reference of used) {
    const plain = decoded(reference);
    if (plain === undefined || plain === pointer || plain.startsWith(`${pointer}/`)) return true;
  }
  return false;
}

function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function decoded(reference: string): string | undefined {
  try {
    return decodeURIComponent(reference);
  } catch {
    return undefined; // it leads nowhere: what it was meant for stays
  }
}
