/** Converts schemas of Swagger 2.0, OpenAPI 3.0 and 3.1 to JSON Schema 2020-12, and keeps their references. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { addAnyOf } from "./add-any-of.ts";
import { definitionName } from "./definition-name.ts";
import { getOwn } from "../../core/base/get-own.ts";
import type { OpenApiDocument } from "./document.ts";
import { isBinary, usablePattern, writeKeywords, type Direction, type SchemaDraft } from "./schema-keywords.ts";
import { withNull } from "./schema-null.ts";
import { childPlace, quote, type Place } from "./warnings.ts";

/** A converted schema, deeply frozen, with facts about it. Parts are shared by all tools of a document. */
export interface SchemaPart {
  readonly schema: boolean | JsonObject;
  /** The names of the definitions that it refers to directly. */
  readonly references: readonly string[];
  /** Its weight without definitions, which counts towards the limits of a schema. */
  readonly weight: number;
  /** The parts of `properties`, by name. */
  readonly fields?: ReadonlyMap<string, SchemaPart>;
  /** The parts of `allOf`. */
  readonly branches?: readonly SchemaPart[];
  /** Properties that are left out in this direction. */
  readonly hidden?: ReadonlySet<string>;
  /** Whether it is bytes, an array of bytes, or a choice with bytes. */
  readonly isBytes?: boolean;
}

interface Definition {
  readonly name: string;
  readonly value: JsonValue;
  readonly place: Place;
  state: "waiting" | "converting" | "done";
  part: SchemaPart;
}

/** The position of the walk in a schema. */
interface Position {
  readonly place: Place;
  readonly depth: number;
  /** Whether it describes the same value as the definition around it. */
  readonly inPlace: boolean;
  /** Properties that an enclosing schema leaves out. */
  readonly hidden: ReadonlySet<string>;
}

interface Walk extends SchemaDraft {
  /** Created for the first reference: most schemas have none. */
  references: Set<string> | undefined;
  readonly position: Position;
  hidden: ReadonlySet<string>;
  isBytes: boolean;
}

/** Accepts any value; written as an object, because some providers do not accept `true`. */
export const ANY_SCHEMA_PART: SchemaPart = Object.freeze({ schema: Object.freeze({}), references: Object.freeze([]), weight: 1 });
const NO_NAMES: ReadonlySet<string> = new Set();
const NO_REFERENCES: readonly string[] = Object.freeze([]);
const NOTHING = Object.freeze({});
const OBJECT_KEYWORDS = [
  "properties",
  "required",
  "allOf",
  "additionalProperties",
  "patternProperties",
  "dependentSchemas",
  "unevaluatedProperties",
  "propertyNames",
] as const;
const MAX_DEPTH = 80;
/** Maximum number of schemas that are read in one document, however they refer to each other. */
const MAX_SCHEMAS = 2_000_000;
/** Maximum number of schemas in one definition, parameter or body, without references. The same object may occur in many places. */
const MAX_PART = 10_000;

/** Converts the schemas of one document in one direction: read-only properties are left out of inputs, write-only ones of outputs. */
export class SchemaConverter {
  readonly #document: OpenApiDocument;
  readonly #direction: Direction;
  readonly #byReference = new Map<string, Definition | undefined>();
  readonly #byName = new Map<string, Definition>();
  readonly #pendingDefinitions: Definition[] = [];
  /** Converted schemas. A schema that many places refer to, such as a parameter's, is converted once. */
  readonly #converted = new WeakMap<JsonObject, SchemaPart>();
  readonly #hidden = new Map<JsonObject, ReadonlySet<string>>();
  #hiddenDepth = 0;
  #schemasLeft = MAX_SCHEMAS;
  #partLeft = MAX_PART;

  constructor(document: OpenApiDocument, direction: Direction) {
    this.#document = document;
    this.#direction = direction;
  }

  /** Converts a schema. Never fails: an unusable part becomes `{}`, with a warning. */
  convert(raw: JsonValue | undefined, place: Place): SchemaPart {
    const known = isJsonObject(raw) ? this.#converted.get(raw) : undefined;
    if (known !== undefined) return known;
    this.#partLeft = MAX_PART;
    const part = this.#convert(raw, { place, depth: 0, inPlace: false, hidden: NO_NAMES });
    for (let next = this.#pendingDefinitions.pop(); next !== undefined; next = this.#pendingDefinitions.pop()) this.#define(next, 0);
    if (isJsonObject(raw)) this.#converted.set(raw, part);
    return part;
  }

  /** The definition that `#/$defs/<name>` in a converted part refers to. */
  getDefinition(name: string): SchemaPart {
    return this.#byName.get(name)?.part ?? ANY_SCHEMA_PART;
  }

  #define(definition: Definition, depth: number): void {
    if (definition.state !== "waiting") return;
    definition.state = "converting";
    const partLeft = this.#partLeft;
    this.#partLeft = MAX_PART;
    definition.part = this.#convert(definition.value, { place: definition.place, depth, inPlace: true, hidden: NO_NAMES });
    definition.state = "done";
    this.#partLeft = partLeft;
  }

  #convert(raw: JsonValue | undefined, position: Position): SchemaPart {
    if (raw === undefined) return ANY_SCHEMA_PART;
    if (typeof raw === "boolean") return { ...ANY_SCHEMA_PART, schema: raw };
    const { warnings } = this.#document;
    if (!isJsonObject(raw)) {
      warnings.add(position.place, `a schema must be an object, not ${quote(raw)}; any value will do here.`);
      return ANY_SCHEMA_PART;
    }
    if (position.depth > MAX_DEPTH) {
      warnings.add(position.place, "the schema is nested too deeply; any value will do here.");
      return ANY_SCHEMA_PART;
    }
    if (--this.#schemasLeft < 0 || --this.#partLeft < 0) {
      if (this.#schemasLeft === -1 || this.#partLeft === -1)
        warnings.add(position.place, "the schema is too large; any value will do from here on.");
      return ANY_SCHEMA_PART;
    }
    return this.#convertObject(raw, position);
  }

  #convertObject(whole: JsonObject, position: Position): SchemaPart {
    const warn = (problem: string): void => this.#document.warnings.add(position.place, problem);
    const walk: Walk = { members: {}, weight: 1, warn, references: undefined, position, hidden: position.hidden, isBytes: isBinary(whole) };
    const reference = getOwn(whole, "$ref");
    const raw = reference === undefined || this.#document.version === "3.1" ? whole : annotationsOf(whole);
    if (reference !== undefined) this.#writeReference(reference, walk);
    writeKeywords(raw, this.#direction, walk);
    const object = this.#writeObject(raw, walk);
    this.#writeItems(raw, walk);
    const branches = this.#writeBranches(raw, walk);
    const { members } = walk;
    const schema = Object.freeze(getOwn(raw, "nullable") === true ? withNull(members) : members);
    return {
      schema,
      references: walk.references === undefined ? NO_REFERENCES : [...walk.references],
      weight: walk.weight,
      ...object,
      ...(branches === undefined ? {} : { branches }),
      ...(walk.isBytes ? { isBytes: true } : {}),
    };
  }

  #writeReference(reference: JsonValue, walk: Walk): void {
    const { position } = walk;
    if (typeof reference !== "string") return walk.warn(`$ref must be a string, not ${quote(reference)}; it is left out.`);
    const definition = this.#findDefinition(reference);
    if (definition === undefined) return this.#document.warnMissingTarget(reference, position.place);
    if (position.inPlace) {
      if (definition.state === "converting") return walk.warn(`${quote(reference)} leads back to itself; any value will do here.`);
      this.#define(definition, position.depth + 1);
    } else if (definition.state === "waiting") this.#pendingDefinitions.push(definition);
    walk.members["$ref"] = `#/$defs/${definition.name}`;
    (walk.references ??= new Set()).add(definition.name);
  }

  #findDefinition(reference: string): Definition | undefined {
    if (!this.#byReference.has(reference)) this.#byReference.set(reference, this.#createDefinition(reference));
    return this.#byReference.get(reference);
  }

  #createDefinition(reference: string): Definition | undefined {
    const target = this.#document.resolveReference(reference);
    if (target === undefined) return undefined;
    const name = definitionName(target.place);
    const known = this.#byName.get(name);
    if (known !== undefined) return known; // the same place, in another spelling
    const definition: Definition = { name, ...target, state: "waiting", part: ANY_SCHEMA_PART };
    this.#byName.set(name, definition);
    return definition;
  }

  #convertChild(raw: JsonValue | undefined, walk: Walk, steps: readonly string[], inPlace: boolean = false): SchemaPart {
    const { place, depth } = walk.position;
    const part = this.#convert(raw, {
      place: childPlace(place, ...steps),
      depth: depth + 1,
      inPlace: inPlace && walk.position.inPlace,
      hidden: inPlace ? walk.hidden : NO_NAMES,
    });
    for (const name of part.references) (walk.references ??= new Set()).add(name);
    walk.weight += part.weight;
    return part;
  }

  /** Writes `properties` and the other keywords about an object's fields. */
  #writeObject(raw: JsonObject, walk: Walk): Pick<SchemaPart, "fields" | "hidden"> {
    if (!OBJECT_KEYWORDS.some((keyword) => Object.hasOwn(raw, keyword))) return NOTHING;
    const hidden = new Set(walk.position.hidden);
    const fields = this.#writeProperties(raw, walk, hidden);
    if (isJsonArray(getOwn(raw, "allOf"))) for (const name of this.#hiddenIn(raw)) if (fields?.has(name) !== true) hidden.add(name);
    walk.hidden = hidden;
    this.#writeRequired(raw, walk);
    this.#writeMap(raw, "dependentSchemas", walk);
    const isWhole = this.#writePatternProperties(raw, walk) && (this.#direction === "input" || hidden.size === 0);
    for (const keyword of ["additionalProperties", "unevaluatedProperties", "propertyNames"]) {
      const value = getOwn(raw, keyword);
      if (value === undefined || (keyword === "additionalProperties" && !isWhole)) continue;
      // answers get new fields without a new version, which a closed object would refuse
      if (this.#direction === "output" && (value === false || keyword === "unevaluatedProperties")) continue;
      walk.members[keyword] = this.#convertChild(value, walk, [keyword]).schema;
    }
    return { ...(fields === undefined ? {} : { fields }), ...(hidden.size === 0 ? {} : { hidden }) };
  }

  #writeProperties(raw: JsonObject, walk: Walk, hidden: Set<string>): ReadonlyMap<string, SchemaPart> | undefined {
    const properties = this.#readMap(raw, "properties", walk);
    if (properties === undefined) return undefined;
    const fields = new Map<string, SchemaPart>();
    const flag = this.#direction === "input" ? "readOnly" : "writeOnly";
    const required = this.#direction === "output" ? requiredNames(raw) : NO_NAMES;
    const schemas: Record<string, boolean | JsonObject> = {};
    for (const [name, value] of Object.entries(properties)) {
      if (name === "__proto__" || this.#isFlagged(value, flag)) {
        hidden.add(name);
        continue;
      }
      const part = this.#convertChild(value, walk, ["properties", name]);
      // an optional field is often sent as null, whatever the document says
      const mayBeNull = this.#direction === "output" && !required.has(name) && isJsonObject(part.schema);
      const schema = mayBeNull ? Object.freeze(withNull(part.schema)) : part.schema;
      schemas[name] = schema;
      fields.set(name, schema === part.schema ? part : { ...part, schema });
    }
    walk.members["properties"] = Object.freeze(schemas);
    return fields;
  }

  #writeRequired(raw: JsonObject, walk: Walk): void {
    const required = [...requiredNames(raw)].filter((name) => !walk.hidden.has(name));
    if (required.length === 0) return;
    walk.members["required"] = Object.freeze(required);
    walk.weight += required.length;
  }

  /** The properties that a schema and the parts of its allOf leave out. */
  #hiddenIn(raw: JsonValue): ReadonlySet<string> {
    const found = this.#resolveSchema(raw);
    if (found === undefined) return NO_NAMES;
    const known = this.#hidden.get(found);
    if (known !== undefined) return known;
    const names = new Set<string>();
    this.#hidden.set(found, names); // set before its parts are read, which may refer back to it
    if (this.#hiddenDepth >= MAX_DEPTH) return names;
    this.#hiddenDepth++;
    const properties = getOwn(found, "properties");
    const allOf = getOwn(found, "allOf");
    const flag = this.#direction === "input" ? "readOnly" : "writeOnly";
    if (isJsonObject(properties)) {
      for (const [name, value] of Object.entries(properties)) if (this.#isFlagged(value, flag)) names.add(name);
    }
    if (isJsonArray(allOf)) for (const branch of allOf) for (const name of this.#hiddenIn(branch)) names.add(name);
    this.#hiddenDepth--;
    return names;
  }

  #isFlagged(raw: JsonValue, flag: string): boolean {
    if (!isJsonObject(raw)) return false;
    if (getOwn(raw, flag) === true) return true;
    const found = Object.hasOwn(raw, "$ref") ? this.#resolveSchema(raw) : undefined;
    return found !== undefined && getOwn(found, flag) === true;
  }

  /** The schema that a chain of references leads to; undefined, without a warning, if it leads nowhere. */
  #resolveSchema(raw: JsonValue): JsonObject | undefined {
    let at: JsonValue | undefined = raw;
    for (let count = 0; count < 20 && isJsonObject(at); count++) {
      const reference: JsonValue | undefined = getOwn(at, "$ref");
      if (typeof reference !== "string") return at;
      at = this.#findDefinition(reference)?.value;
    }
    return undefined;
  }

  /** @returns false if a pattern was left out: its fields must then not be checked as additional ones */
  #writePatternProperties(raw: JsonObject, walk: Walk): boolean {
    const map = this.#readMap(raw, "patternProperties", walk);
    if (map === undefined) return true;
    const schemas: Record<string, boolean | JsonObject> = {};
    const sources = Object.entries(map);
    for (const [source, value] of sources) {
      const pattern = usablePattern(source, walk);
      if (pattern !== undefined && pattern !== "__proto__")
        schemas[pattern] = this.#convertChild(value, walk, ["patternProperties", source]).schema;
    }
    walk.members["patternProperties"] = Object.freeze(schemas);
    return Object.keys(schemas).length === sources.length;
  }

  #writeMap(raw: JsonObject, keyword: string, walk: Walk): void {
    const map = this.#readMap(raw, keyword, walk);
    if (map === undefined) return;
    const schemas = Object.entries(map).map(
      ([name, value]) => [name, this.#convertChild(value, walk, [keyword, name], true).schema] as const,
    );
    walk.members[keyword] = Object.freeze(Object.fromEntries(schemas));
  }

  #readMap(raw: JsonObject, keyword: string, walk: Walk): JsonObject | undefined {
    const map = getOwn(raw, keyword);
    if (map === undefined || isJsonObject(map)) return map;
    walk.warn(`${keyword} must be an object, not ${quote(map)}; it is left out.`);
    return undefined;
  }

  /** Writes `items`. Before 2020-12, an array under `items` was what is now `prefixItems`. */
  #writeItems(raw: JsonObject, walk: Walk): void {
    const { members } = walk;
    const items = getOwn(raw, "items");
    const prefix = getOwn(raw, "prefixItems") ?? items;
    if (isJsonArray(prefix) && prefix.length > 0) {
      members["prefixItems"] = Object.freeze(
        prefix.map((item, index) => this.#convertChild(item, walk, ["prefixItems", String(index)]).schema),
      );
    }
    if (items !== undefined && !isJsonArray(items)) {
      const part = this.#convertChild(items, walk, ["items"]);
      members["items"] = part.schema;
      walk.isBytes ||= part.isBytes === true;
    }
    // for an answer, `contains` and `unevaluatedItems` are left out, as they depend on relaxed schemas
    for (const keyword of this.#direction === "input" ? ["contains", "unevaluatedItems"] : []) {
      const value = getOwn(raw, keyword);
      if (value !== undefined) members[keyword] = this.#convertChild(value, walk, [keyword]).schema;
    }
  }

  /** Writes `allOf`, `anyOf`, `oneOf` and conditions. @returns the parts of `allOf` */
  #writeBranches(raw: JsonObject, walk: Walk): readonly SchemaPart[] | undefined {
    let all: readonly SchemaPart[] | undefined;
    for (const keyword of ["allOf", "anyOf", "oneOf"]) {
      const list = getOwn(raw, keyword);
      if (list === undefined) continue;
      if (!isJsonArray(list) || list.length === 0) {
        walk.warn(`${keyword} must be an array of at least one schema, not ${quote(list)}; it is left out.`);
        continue;
      }
      const parts = list.map((branch, index) => this.#convertChild(branch, walk, [keyword, String(index)], true));
      const schemas = parts.map(({ schema }) => schema);
      if (keyword === "oneOf") addAnyOf(schemas, walk.members);
      else walk.members[keyword] = Object.freeze(schemas);
      if (keyword === "allOf") all = parts;
      walk.isBytes ||= parts.some(({ isBytes }) => isBytes === true);
    }
    if (this.#direction === "output") this.#writeConsequences(raw, walk);
    else {
      for (const keyword of ["not", "if", "then", "else"]) {
        const value = getOwn(raw, keyword);
        if (value !== undefined) walk.members[keyword] = this.#convertChild(value, walk, [keyword], true).schema;
      }
    }
    return all;
  }

  /**
   * For an answer, a condition is left out, as its relaxed form could match where the original does not; one of its consequences holds in any case.
   * `not` is left out for the same reason.
   */
  #writeConsequences(raw: JsonObject, walk: Walk): void {
    if (["if", "then", "else"].some((keyword) => getOwn(raw, keyword) === undefined)) return;
    addAnyOf(
      ["then", "else"].map((keyword) => this.#convertChild(getOwn(raw, keyword), walk, [keyword], true).schema),
      walk.members,
    );
  }
}

/** The keywords to keep next to a `$ref`, where versions before 3.1 ignore all: only those that describe. */
function annotationsOf(raw: JsonObject): JsonObject {
  const kept = ["description", "title", "deprecated", "nullable"].filter((keyword) => Object.hasOwn(raw, keyword));
  return Object.fromEntries(kept.map((keyword) => [keyword, raw[keyword] ?? null]));
}

function requiredNames(raw: JsonObject): ReadonlySet<string> {
  const list = getOwn(raw, "required");
  if (!isJsonArray(list)) return NO_NAMES;
  return new Set(list.filter((name) => typeof name === "string").filter((name) => name !== "__proto__"));
}
