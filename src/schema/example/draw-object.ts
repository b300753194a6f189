/** Draws objects: their property names, and each property. */
import { pushAll } from "../../core/collections/push-all.ts";
import type { JsonValue } from "../../core/base/json.ts";
import { makeConsistent } from "./make-consistent.ts";
import { getOwn } from "../../core/base/get-own.ts";
import type { Constraints, Part } from "./constraints.ts";
import type { DrawContext, DrawMode, ValuePlace } from "./draw-context.ts";
import { findIdName } from "./object-ids.ts";
import { holdsSubject, isNextPageName, isPageInfoName } from "./given-values.ts";
import { patternText } from "./pattern-text.ts";
import type { RandomStream } from "./random-stream.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

/** Maximum number of properties that are added to reach `minProperties`. */
const MAX_INVENTED = 1_000;
const PATTERNS_PER_DRAW = 16;
const NAMES_PER_PATTERN = 3;
/** Maximum number of optional properties, by depth. */
const MAX_OPTIONAL = [40, 24, 12, 6];

interface ObjectDraft {
  readonly constraints: Constraints;
  readonly plan: ObjectPlan;
  /** Once the object's id is known, its random numbers and given values are those of the thing with this id. */
  place: ValuePlace;
  readonly context: DrawContext;
  readonly mode: DrawMode;
  readonly entries: Map<string, JsonValue>;
  /** The object's own id, drawn before everything else. */
  id: { readonly name: string; readonly value: JsonValue } | undefined;
}

/** Returns undefined if a required property cannot be drawn. */
export function drawObject(
  constraints: Constraints,
  place: ValuePlace,
  { context, mode }: { readonly context: DrawContext; readonly mode: DrawMode },
): JsonValue | undefined {
  const plan = getOrAdd(PLANS, constraints, (one) => new ObjectPlan(one));
  const object: ObjectDraft = { constraints, plan, place, context, mode, entries: new Map(), id: undefined };
  const { required } = plan;
  if (
    required.size > constraints.maxProperties ||
    constraints.minProperties > constraints.maxProperties ||
    constraints.minProperties > MAX_INVENTED
  )
    return undefined;
  const names = choosePropertyNames(object);
  drawId(object, names);
  for (const name of names) {
    if (object.entries.size >= constraints.maxProperties) break;
    if (!addProperty(object, name) && required.has(name)) return undefined;
  }
  if (!mode.isMinimal || object.entries.size < constraints.minProperties) addInventedProperties(object);
  if (object.entries.size < constraints.minProperties) return undefined;
  makeEntriesConsistent(object);
  return Object.fromEntries(object.entries);
}

/** Draws the object's id first: it seeds the other values, and the known values of the thing with this id are used as given ones. */
function drawId(object: ObjectDraft, names: readonly string[]): void {
  const { place, context } = object;
  const { facts, subject } = context;
  if (facts === undefined) return;
  const { properties } = object.plan;
  const outer = place.isSubject || place.identifiedObject?.properties !== properties ? undefined : place.identifiedObject;
  const name = findIdName(names, place.name, subject) ?? outer?.idName;
  if (outer !== undefined) object.place = { ...place, given: place.given.withoutValue(outer.idName) };
  const parts = name === undefined ? undefined : object.plan.parts(name, context);
  if (name !== undefined && parts !== undefined) {
    const value = drawProperty(object, { name, parts, random: place.random.branch(name) });
    if (value !== undefined) object.id = { name, value };
    object.place = { ...object.place, identifiedObject: { properties, idName: name } };
  }
  const isWhole = place.isSubject && place.depth === 0;
  const id = object.id?.value ?? (isWhole ? subject?.id : undefined);
  if ((typeof id !== "string" && typeof id !== "number") || id === "") return;
  const known = place.isSubject ? undefined : subject?.readFacts?.(String(id));
  const inner = object.place;
  const given = known === undefined ? inner : { ...inner, given: inner.given.withValues(known), isSubject: true };
  object.place = { ...given, random: facts.branch(String(id)) };
}

function makeEntriesConsistent(object: ObjectDraft): void {
  const { plan, place, context, entries } = object;
  const parts = (name: string): readonly Part[] | undefined => plan.parts(name, context);
  makeConsistent({
    entries,
    random: place.random,
    isGenerated(name) {
      const found = place.given.find(name, place.isSubject);
      const value = entries.get(name);
      return found === undefined || (found !== value && String(found) !== String(value));
    },
    replace(name, value) {
      if (parts(name)?.every((part) => context.matchesSchema(part, value)) === true) entries.set(name, value);
    },
    redraw(name, turn) {
      const found = parts(name);
      return found && drawProperty(object, { name, parts: found, random: place.random.branch(`${name} ${turn}`) });
    },
    parsedDescription: (name) => context.parseDescriptions(parts(name) ?? []),
    valueFromCall: (plain) => place.given.find(plain, true),
  });
}

/** Returns the names and all that are required if they are present. */
function withDependentNames(names: Iterable<string>, { dependentNames }: Constraints): Set<string> {
  const all = new Set<string>();
  const open = [...names];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (all.has(name)) continue;
    all.add(name);
    pushAll(open, dependentNames.get(name) ?? []);
  }
  return all;
}

const PLANS = new WeakMap<Constraints, ObjectPlan>();

/** The properties of an object that follow from its constraints alone, and are the same for every draw. */
class ObjectPlan {
  /** The required names, and those that are required because of them. */
  readonly required: ReadonlySet<string>;
  readonly declared: ReadonlySet<string>;
  /** The declared names as one string, equal for objects of the same kind. */
  readonly properties: string;
  /** Cached names, by the number of optional properties that are allowed. */
  readonly names = new Map<number, readonly string[]>();
  readonly #constraints: Constraints;
  readonly #parts = new Map<string, readonly Part[] | undefined>();

  constructor(constraints: Constraints) {
    this.#constraints = constraints;
    this.required = withDependentNames(constraints.required, constraints);
    this.declared = new Set(constraints.propertyRules.flatMap(({ properties }) => Object.keys(properties)));
    this.properties = JSON.stringify([...this.declared].sort());
  }

  /** Returns the subschemas of a property; undefined if the property is not allowed. */
  parts(name: string, context: DrawContext): readonly Part[] | undefined {
    const known = this.#parts.get(name);
    if (known !== undefined) return known;
    const parts = propertyParts(this.#constraints, name, context);
    if (this.declared.has(name)) this.#parts.set(name, parts);
    return parts;
  }
}

/** Returns the required names and as many optional ones as allowed, in the order of the schema. */
function choosePropertyNames(object: ObjectDraft): readonly string[] {
  const { constraints, plan, place, mode } = object;
  const room = mode.isMinimal ? 0 : Math.max(0, Math.min(MAX_OPTIONAL[place.depth] ?? 3, constraints.maxProperties - plan.required.size));
  let names = plan.names.get(room);
  if (names !== undefined) return names;
  names = selectPropertyNames(object, room);
  if (constraints.propertyNames.length === 0) plan.names.set(room, names);
  return names;
}

function selectPropertyNames({ constraints, plan: { required, declared }, context }: ObjectDraft, room: number): readonly string[] {
  const optional = [...declared].filter((name) => !required.has(name) && !constraints.avoidedNames.has(name) && name !== "__proto__");
  const chosen = new Set(required);
  for (const name of optional.slice(0, room)) {
    if (!isAllowedName(name, constraints, context)) continue;
    const together = withDependentNames([name], constraints);
    if ([...together].some((other) => constraints.avoidedNames.has(other))) continue;
    if (new Set([...chosen, ...together]).size <= constraints.maxProperties) for (const other of together) chosen.add(other);
  }
  return [...[...declared].filter((name) => chosen.has(name)), ...[...chosen].filter((name) => !declared.has(name))];
}

function isAllowedName(name: string, { propertyNames }: Constraints, context: DrawContext): boolean {
  return propertyNames.every((schema) => {
    const part = context.findSubschema(schema);
    return part === undefined || context.matchesSchema(part, name);
  });
}

function addProperty(object: ObjectDraft, name: string): boolean {
  const { constraints, plan, place, context, entries } = object;
  if (entries.has(name)) return true;
  const parts = plan.parts(name, context);
  if (parts === undefined) return false;
  if (context.subject?.isLastPage === true && isNextPageName(name)) {
    if (clearNextPage(object, name, parts)) return true;
    if (!constraints.required.has(name)) return false;
  }
  const value = object.id?.name === name ? object.id.value : drawProperty(object, { name, parts, random: place.random.branch(name) });
  if (value === undefined) return false;
  entries.set(name, value);
  return true;
}

interface Property {
  readonly name: string;
  readonly parts: readonly Part[];
  readonly random: RandomStream;
}

function findDisplayName(entries: ReadonlyMap<string, JsonValue>): string | undefined {
  const name = entries.get("name") ?? entries.get("title");
  return typeof name === "string" ? name : undefined;
}

function drawProperty({ place, context, entries }: ObjectDraft, { name, parts, random }: Property): JsonValue | undefined {
  const isSubject = place.isSubject && (holdsSubject(name, context.subject) || isPageInfoName(name, context.subject));
  const owner = place.isSubject ? "subject" : "other";
  const ownerName = place.name === "" && place.isSubject ? (context.subject?.noun ?? "") : place.name;
  const at: ValuePlace = {
    ...place,
    name,
    ownerName,
    hint: "",
    depth: place.depth + 1,
    random,
    isSubject,
    owner,
    ownerTitle: findDisplayName(entries),
  };
  return context.draw(parts, at);
}

/** Sets the property that leads to the next page to an empty value; false if no empty value is allowed. */
function clearNextPage({ constraints, context, entries }: ObjectDraft, name: string, parts: readonly Part[]): boolean {
  for (const value of [null, "", 0]) {
    if (value !== null && !constraints.required.has(name)) break;
    if (!parts.every((part) => context.matchesSchema(part, value))) continue;
    entries.set(name, value);
    return true;
  }
  return false;
}

/** Returns undefined if the property is not allowed. */
function propertyParts({ propertyRules, otherProperties }: Constraints, name: string, context: DrawContext): readonly Part[] | undefined {
  const schemas: unknown[] = [];
  let isCovered = false;
  for (const { properties, patterns, additional } of propertyRules) {
    let isNamed = Object.hasOwn(properties, name);
    if (isNamed) schemas.push(properties[name]);
    const byPattern = Object.entries(patterns);
    context.spend(byPattern.length / PATTERNS_PER_DRAW);
    for (const [pattern, schema] of byPattern) {
      if (!context.matchesPattern(pattern, name)) continue;
      schemas.push(schema);
      isNamed = true;
    }
    if (!isNamed && additional !== undefined) schemas.push(additional);
    isCovered ||= isNamed || additional !== undefined;
  }
  if (!isCovered) pushAll(schemas, otherProperties);
  const parts = schemas.map((schema) => context.findSubschema(schema)).filter((part) => part !== undefined);
  return parts.includes(false) ? undefined : parts;
}

/** Adds properties that the schema does not name: as many as required, and two to a map that would be empty. */
function addInventedProperties(object: ObjectDraft): void {
  const { constraints, plan, place, mode, entries } = object;
  const isOpen = plan.declared.size === 0 && constraints.required.size === 0 && !mode.isMinimal;
  if (isOpen && place.isSubject && place.depth === 0 && constraints.propertyNames.length === 0) copyGivenValues(object);
  const least = Math.max(constraints.minProperties, isOpen && entries.size === 0 ? Math.min(2, constraints.maxProperties) : 0);
  if (entries.size >= least) return;
  const patterns = constraints.propertyRules.reduce((sum, rule) => sum + Object.keys(rule.patterns).length, 0);
  let tries = 2 * least + 5 + NAMES_PER_PATTERN * patterns;
  for (const name of inventNames(object)) {
    if (entries.size >= least || tries-- <= 0) return;
    const together = [...withDependentNames([name], constraints)].filter((other) => !entries.has(other));
    if (entries.size + together.length > constraints.maxProperties) continue;
    if (together.every((other) => !constraints.avoidedNames.has(other) && isAllowedName(other, constraints, object.context)))
      for (const other of together) addProperty(object, other);
  }
}

/** Copies the given values into an answer without declared properties. */
function copyGivenValues({ constraints, plan, place, context, entries }: ObjectDraft): void {
  for (const [name, value] of Object.entries(place.given.values)) {
    const parts = plan.parts(name, context);
    if (
      parts !== undefined &&
      entries.size < constraints.maxProperties &&
      name !== "__proto__" &&
      parts.every((part) => context.matchesSchema(part, value))
    )
      entries.set(name, value);
  }
}

function* inventNames({ constraints, place, context }: ObjectDraft): Generator<string> {
  for (const schema of constraints.propertyNames) {
    const part = context.findSubschema(schema);
    for (let index = 0; part !== undefined && index < 10; index++) {
      const name = context.draw([part], {
        ...place,
        name: "key",
        ownerName: "",
        hint: "",
        depth: place.depth + 1,
        random: place.random.branch(`name ${index}`),
        isSubject: false,
        owner: undefined,
      });
      if (typeof name === "string") yield name;
    }
  }
  for (const { properties, patterns } of constraints.propertyRules) {
    yield* Object.keys(properties).filter((name) => getOwn(properties, name) !== false && name !== "__proto__");
    for (const pattern of Object.keys(patterns))
      for (let index = 0; index < NAMES_PER_PATTERN; index++)
        yield patternText(pattern, place.random.branch(`${pattern} ${index}`), index) ?? pattern;
  }
  yield* ["name", "value"];
  const beginnings = isClosed(constraints) ? openPatternTexts(constraints, place) : [];
  for (let index = 1; index <= 2 * MAX_INVENTED; index++) {
    for (const beginning of beginnings) yield `${beginning}${index}`;
    if (beginnings.length === 0) yield `key_${index}`;
  }
}

/** Whether only names that match a pattern are allowed. */
function isClosed({ propertyRules }: Constraints): boolean {
  return propertyRules.some(({ patterns, additional }) => additional === false && Object.keys(patterns).length > 0);
}

/** Returns a text for each pattern that may be followed by any other, such as `^S_`: it has too few texts of its own. */
function openPatternTexts({ propertyRules }: Constraints, place: ValuePlace): readonly string[] {
  const patterns = propertyRules.flatMap((rule) => Object.keys(rule.patterns)).filter((pattern) => !pattern.endsWith("$"));
  return patterns.map((pattern) => patternText(pattern, place.random.branch(`${pattern} 0`), 0) ?? pattern);
}
