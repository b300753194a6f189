/** Random schemas that a random value satisfies: a value is drawn, then keywords that allow it. */
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import { compileSchema } from "../../../src/schema/compile-schema.ts";

/** Returns a number from 0 to 1, without 1. */
type Chance = () => number;
type Draft = Record<string, JsonValue>;

const MAX_DEPTH = 3;
const NAMES = ["id", "name", "x_a", "x_b", "count", "when", "items"];
const TEXTS = ["", "abc", "Oslo", "A-17", "2026-01-02", "user@example.com", "x y z", "ÄÖ", "0042", "0123456789"];
const PATTERNS = [
  "^[A-Za-z]+$",
  "^[A-Z]-\\d{2}$",
  "\\d",
  "^\\S*$",
  "^.{0,20}$",
  "^[a-z ]*$",
  "@",
  "^\\d{4}-\\d{2}-\\d{2}$",
  "^(?!x)",
  "^[^@]*$",
  "o$",
  "^\\p{L}+$",
  "^.+$",
  "^[0-9]+$",
  "^A",
  "z$",
];
const NAME_RULES: readonly JsonObject[] = [{ pattern: "^[a-z_]+$" }, { maxLength: 6 }, { enum: [...NAMES, "other"] }, { minLength: 2 }];

function integer(chance: Chance, from: number, to: number): number {
  return from + Math.floor(chance() * (to - from + 1));
}

function pick<Item>(chance: Chance, items: readonly Item[]): Item {
  const item = items[integer(chance, 0, items.length - 1)];
  if (item === undefined) throw new Error("There is nothing to pick.");
  return item;
}

function allows(schema: JsonValue, value: JsonValue): boolean {
  return compileSchema(schema).check(value);
}

function randomValue(chance: Chance, depth: number): JsonValue {
  const kind = integer(chance, 0, depth > 2 ? 4 : 6);
  if (kind === 0) return integer(chance, -1_000, 1_000);
  if (kind === 1) return integer(chance, -5_000, 5_000) / pick(chance, [10, 100, 4]);
  if (kind === 2) return pick(chance, TEXTS);
  if (kind === 3) return chance() < 0.5;
  if (kind === 4) return null;
  const items = Array.from({ length: integer(chance, 0, 4) }, () => randomValue(chance, depth + 1));
  return kind === 5 ? items : Object.fromEntries(items.map((item) => [pick(chance, NAMES), item]));
}

function typeName(value: JsonValue): string {
  if (value === null || Array.isArray(value)) return value === null ? "null" : "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

/** Returns a random schema, and a value that it allows. */
export function satisfiableSchema(chance: Chance): { readonly schema: JsonObject; readonly value: JsonValue } {
  const value = randomValue(chance, 0);
  const schema = schemaOf(chance, value, 0);
  if (chance() > 0.15) return { schema, value };
  const node = { $ref: "#/$defs/node" };
  const tree = {
    type: "object",
    properties: { value: schema, children: { type: "array", items: node }, left: { anyOf: [node, { type: "null" }] } },
    required: chance() < 0.5 ? ["value", "children"] : ["value", "left"],
  };
  return { schema: { $defs: { node: tree }, ...node }, value: { value, children: [], left: null } };
}

function schemaOf(chance: Chance, value: JsonValue, depth: number): JsonObject {
  const draft: Draft = {};
  const type = typeName(value);
  if (chance() < 0.8) draft["type"] = chance() < 0.2 ? [...new Set([type, pick(chance, ["string", "null", "boolean"])])] : type;
  if (typeof value === "number") addNumbers(draft, chance, value);
  else if (typeof value === "string") addTexts(draft, chance, value);
  else if (Array.isArray(value)) addItems(draft, chance, { value, depth });
  else if (typeof value === "object" && value !== null) {
    addProperties(draft, chance, { value: value as JsonObject, depth });
    addNameRules(draft, chance, { value: value as JsonObject, depth });
  }
  if (chance() < 0.1) draft["enum"] = [randomValue(chance, 3), randomValue(chance, 3), value];
  if (chance() < 0.05) draft["const"] = value;
  if (depth < MAX_DEPTH) addBranches(draft, chance, { value, depth });
  return draft;
}

function addNumbers(draft: Draft, chance: Chance, value: number): void {
  const below = value - pick(chance, [0, 0.5, 1, 3, 100]);
  const above = value + pick(chance, [0, 0.5, 1, 3, 100]);
  if (chance() < 0.5) draft[below < value && chance() < 0.5 ? "exclusiveMinimum" : "minimum"] = below;
  if (chance() < 0.5) draft[above > value && chance() < 0.5 ? "exclusiveMaximum" : "maximum"] = above;
  const factors = [1, 2, 3, 5, 7, 0.5, 0.1, 0.01, 0.25].filter((factor) => allows({ multipleOf: factor }, value));
  if (chance() < 0.4 && factors.length > 0) draft["multipleOf"] = pick(chance, factors);
}

function addTexts(draft: Draft, chance: Chance, value: string): void {
  const { length } = Array.from(value);
  if (chance() < 0.4) draft["minLength"] = Math.max(0, length - integer(chance, 0, 2));
  if (chance() < 0.4) draft["maxLength"] = length + integer(chance, 0, 3);
  if (chance() < 0.4)
    draft["pattern"] = pick(
      chance,
      PATTERNS.filter((pattern) => allows({ pattern }, value)),
    );
}

interface Place<Value> {
  readonly value: Value;
  readonly depth: number;
}

function addItems(draft: Draft, chance: Chance, { value, depth }: Place<readonly JsonValue[]>): void {
  const inner = (item: JsonValue): JsonObject => schemaOf(chance, item, depth + 1);
  const { length } = value;
  if (chance() < 0.4) draft["minItems"] = Math.max(0, length - integer(chance, 0, 1));
  if (chance() < 0.4) draft["maxItems"] = length + integer(chance, 0, 2);
  if (chance() < 0.3 && allows({ uniqueItems: true }, value)) draft["uniqueItems"] = true;
  if (length === 0) return;
  const kind = integer(chance, 0, 3);
  if (kind === 0) draft["items"] = { anyOf: value.map(inner) };
  if (kind === 1) {
    const prefix = value.slice(0, integer(chance, 1, length));
    draft["prefixItems"] = prefix.map(inner);
    if (prefix.length === length && chance() < 0.5) draft[pick(chance, ["items", "unevaluatedItems"])] = false;
  }
  if (chance() > 0.3) return;
  const contains = inner(pick(chance, value));
  const count = value.filter((item) => allows(contains, item)).length;
  draft["contains"] = contains;
  if (chance() < 0.5) draft["minContains"] = integer(chance, 0, count);
  if (chance() < 0.4) draft["maxContains"] = count;
}

function addProperties(draft: Draft, chance: Chance, { value, depth }: Place<JsonObject>): void {
  const inner = (item: JsonValue | undefined): JsonObject => schemaOf(chance, item ?? null, depth + 1);
  const names = Object.keys(value);
  const declared = chance() < 0.8 ? names.filter(() => chance() < 0.8) : [];
  const rest = names.filter((name) => !declared.includes(name));
  if (declared.length > 0)
    draft["properties"] = {
      ...Object.fromEntries(declared.map((name) => [name, inner(value[name])])),
      ...(chance() < 0.3 ? { extra: { type: "string" } } : {}),
    };
  if (chance() < 0.6) draft["required"] = names.filter(() => chance() < 0.6);
  const kind = integer(chance, 0, 4);
  if (kind === 0) {
    draft["patternProperties"] = { "^x_": true };
    if (rest.every((name) => name.startsWith("x_"))) draft["additionalProperties"] = false;
  }
  if (kind === 1 && rest.length === 0) draft[pick(chance, ["additionalProperties", "unevaluatedProperties"])] = false;
  if (kind === 2 && rest.length > 0) draft["additionalProperties"] = { anyOf: rest.map((name) => inner(value[name])) };
}

function addNameRules(draft: Draft, chance: Chance, { value, depth }: Place<JsonObject>): void {
  const names = Object.keys(value);
  if (chance() < 0.3) draft["minProperties"] = Math.max(0, names.length - integer(chance, 0, 1));
  if (chance() < 0.3) draft["maxProperties"] = names.length + integer(chance, 0, 2);
  if (chance() < 0.2)
    draft["propertyNames"] = pick(
      chance,
      NAME_RULES.filter((rule) => allows({ propertyNames: rule }, value)),
    );
  const name = pick(chance, [...NAMES, "other"]);
  if (chance() < 0.25)
    draft["dependentRequired"] = { [name]: Object.hasOwn(value, name) ? names.filter(() => chance() < 0.5) : ["absent"] };
  else if (chance() < 0.15) draft["dependentSchemas"] = { [name]: Object.hasOwn(value, name) ? schemaOf(chance, value, depth + 2) : false };
}

function addBranches(draft: Draft, chance: Chance, { value, depth }: Place<JsonValue>): void {
  const good = (): JsonObject => schemaOf(chance, value, depth + 1);
  const other = (): JsonObject => schemaOf(chance, randomValue(chance, 2), depth + 1);
  const refuses = (schema: JsonObject): boolean => !allows(schema, value);
  const kind = integer(chance, 0, 12);
  if (kind === 0) draft["allOf"] = [good(), good()];
  if (kind === 1) draft["anyOf"] = chance() < 0.5 ? [other(), good()] : [good(), other()];
  if (kind === 2) draft["oneOf"] = [...[other(), other(), good()].filter(refuses), good()];
  if (kind === 3) {
    const refused = other();
    if (refuses(refused)) draft["not"] = refused;
  }
  if (kind !== 4) return;
  const condition = chance() < 0.5 ? good() : other();
  const [then, otherwise] = refuses(condition) ? [other(), good()] : [good(), other()];
  Object.assign(draft, { if: condition, then, else: otherwise });
}
