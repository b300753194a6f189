/** Inlines the references of a schema, because many clients show their model schemas without the definitions. */
import { pushAll } from "../../core/collections/push-all.ts";
import { escapePointerStep, unescapePointerStep } from "../../core/base/json-pointer.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { decodePercent } from "../../schema/references/reference-uri.ts";
import { References } from "../../schema/references/references.ts";
import { ANNOTATION_KEYWORDS, SCHEMA_KEYWORDS, SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS } from "../../schema/keyword-names.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

/** Maximum number of subschemas after inlining: a longer schema costs a model more than the references do. */
const MAX_SUBSCHEMAS = 1_000;
const MAX_DEPTH = 100;
/** Maximum length of the JSON of a schema to inline, and of everything inlined into it, in characters. */
const MAX_LENGTH = 100_000;
/** Maximum number of references followed to find recursive ones. */
const MAX_FOLLOWED_REFERENCES = 100_000;
/** Matches keywords that change the base of references, so that a reference would mean something else in another place. */
const SCOPE_KEYWORDS = /"\$(?:id|anchor|dynamicAnchor|dynamicRef|recursiveAnchor|recursiveRef)":/u;
/** A schema with this keyword is not copied: header names are unique, and clients refuse a whole tool if they are not. */
const HEADER_KEYWORD = '"x-mcp-header":';
const DEFINITIONS: readonly string[] = ["$defs", "definitions"];

/**
 * Returns the schema with references inlined as far as possible; the same object if it has none.
 *
 * References to recursive schemas or to an `x-mcp-header` are kept, with their definitions, and so are references with a constraint next to them. A
 * reference to a recursive schema at the root is inlined nevertheless, because clients look for `properties` there. A schema that would have more
 * than 1,000 subschemas is returned unchanged, and so is one of more than 100,000 characters, or with more than that inlined.
 */
export function inlineReferences(schema: JsonObject): JsonObject {
  const text = JSON.stringify(schema);
  if (text.length > MAX_LENGTH || !text.includes('"$ref":') || SCOPE_KEYWORDS.test(text)) return schema;
  const inliner = new Inliner(schema);
  const inlined = inliner.inlineRoot(schema);
  return inliner.exceedsLimits ? schema : removeUnusedDefinitions(inlined);
}

class Inliner {
  exceedsLimits = false;
  readonly #references: References;
  readonly #recursive = new Map<string, boolean>();
  readonly #used = new Map<string, ReadonlySet<string>>();
  readonly #texts = new Map<JsonObject, string>();
  #subschemasLeft = MAX_SUBSCHEMAS;
  #lengthLeft = MAX_LENGTH;
  #followsLeft = MAX_FOLLOWED_REFERENCES;

  constructor(root: JsonObject) {
    this.#references = new References(root);
  }

  inlineRoot(root: JsonObject): JsonObject {
    const { $ref: reference, ...own } = root;
    const target = typeof reference === "string" ? this.#resolve(reference, own) : undefined;
    return this.inline(target === undefined || target === root ? root : { ...target, ...own }, 0);
  }

  /** Inlines a schema. Definitions at the root are inlined too: those that a recursive definition uses may contain references. */
  inline(schema: JsonObject, depth: number): JsonObject {
    if (--this.#subschemasLeft < 0 || depth > MAX_DEPTH) this.exceedsLimits = true;
    if (this.exceedsLimits) return schema;
    const target = this.#targetOf(schema);
    if (target === undefined)
      return Object.fromEntries(
        Object.entries(schema).map(([key, value]) => [key, mapSubschemas(key, value, (part) => this.inline(part, depth + 1))]),
      );
    const { $ref: _, ...siblings } = schema;
    this.#lengthLeft -= this.#textOf(target).length;
    if (this.#lengthLeft < 0) this.exceedsLimits = true;
    return this.inline({ ...target, ...siblings }, depth + 1);
  }

  #targetOf(schema: JsonObject): JsonObject | undefined {
    const { $ref: reference, ...siblings } = schema;
    return typeof reference !== "string" || this.#isRecursive(reference) ? undefined : this.#resolve(reference, siblings);
  }

  /** The schema that can replace a reference; undefined if there is none. */
  #resolve(reference: string, siblings: JsonObject): JsonObject | undefined {
    const target = this.#references.resolve(reference);
    if (!isJsonObject(target) || !Object.keys(siblings).every((key) => isAnnotationOnly(key, siblings[key], target))) return undefined;
    return this.#textOf(target).includes(HEADER_KEYWORD) ? undefined : target;
  }

  #textOf(target: JsonObject): string {
    return getOrAdd(this.#texts, target, () => JSON.stringify(target));
  }

  /** Whether a reference leads back to itself; false for a dangling one. */
  #isRecursive(reference: string): boolean {
    let isRecursive = this.#recursive.get(reference);
    if (isRecursive !== undefined) return isRecursive;
    const seen = new Set<string>();
    const open = [reference];
    const usedBy = (one: string): ReadonlySet<string> => collectReferences(this.#references.resolve(one), () => false);
    for (let next = open.pop(); next !== undefined && !this.exceedsLimits; next = open.pop())
      for (const used of getOrAdd(this.#used, next, usedBy)) {
        if (--this.#followsLeft < 0) this.exceedsLimits = true;
        if (!seen.has(used)) open.push(used);
        seen.add(used);
      }
    isRecursive = seen.has(reference);
    this.#recursive.set(reference, isRecursive);
    return isRecursive;
  }
}

/** Whether a keyword next to a reference leaves the set of valid values unchanged. */
function isAnnotationOnly(key: string, value: JsonValue | undefined, target: JsonObject): boolean {
  if (DEFINITIONS.includes(key) || key === "$schema" || key === "$comment" || key === "description" || key.startsWith("x-")) return true;
  return ANNOTATION_KEYWORDS.has(key) ? key !== "format" : key === "type" && target["type"] === value;
}

/** Returns the value of a keyword with each direct subschema replaced; unchanged if it contains no schemas. */
function mapSubschemas(key: string, value: JsonValue, change: (part: JsonObject) => JsonValue): JsonValue {
  const one = (part: JsonValue): JsonValue => (isJsonObject(part) ? change(part) : part);
  if (isJsonArray(value)) return SCHEMA_LIST_KEYWORDS.has(key) ? value.map(one) : value;
  if (!isJsonObject(value)) return value;
  if (SCHEMA_MAP_KEYWORDS.has(key) || DEFINITIONS.includes(key))
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, one(part)]));
  return SCHEMA_KEYWORDS.has(key) ? change(value) : value;
}

/** The references in a schema. @param hasDefinitions whether to search the definitions of a subschema */
function collectReferences(schema: JsonValue | undefined, hasDefinitions: (schema: JsonObject) => boolean): ReadonlySet<string> {
  const found = new Set<string>();
  const open: JsonValue[] = schema === undefined ? [] : [schema];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (!isJsonObject(next)) continue;
    if (typeof next["$ref"] === "string") found.add(next["$ref"]);
    const isWhole = hasDefinitions(next);
    for (const [key, value] of Object.entries(next))
      if (isWhole || !DEFINITIONS.includes(key)) mapSubschemas(key, value, (part) => (open.push(part), part));
  }
  return found;
}

/** Removes unused definitions from the root. A definition that is referred to in part is kept whole, with everything it refers to. */
function removeUnusedDefinitions(root: JsonObject): JsonObject {
  const references = new References(root);
  const used = new Set<string>();
  const kept = new Set<string>();
  const open: string[] = [];
  const keep = (schema: JsonValue | undefined): void =>
    pushAll(
      open,
      collectReferences(schema, (part) => part !== root),
    );
  keep(root);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (used.has(next)) continue;
    used.add(next);
    keep(references.resolve(next));
    const [start, key = "", name] = decodePercent(next).split("/", 3);
    if (start !== "#" || !DEFINITIONS.includes(key)) continue;
    if (name === undefined) return root;
    const pointer = `${key}/${name}`;
    if (!kept.has(pointer)) keep(getDefinition(root[key], name));
    kept.add(pointer);
  }
  const rest = Object.entries(root).flatMap(([key, value]): (readonly [string, JsonValue])[] => {
    if (!DEFINITIONS.includes(key) || !isJsonObject(value)) return [[key, value]];
    const definitions = Object.entries(value).filter(([name]) => kept.has(`${key}/${escapePointerStep(name)}`));
    return definitions.length === 0 ? [] : [[key, Object.fromEntries(definitions)]];
  });
  return Object.fromEntries(rest);
}

function getDefinition(definitions: JsonValue | undefined, escapedName: string): JsonValue | undefined {
  const name = unescapePointerStep(escapedName);
  return isJsonObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined;
}
