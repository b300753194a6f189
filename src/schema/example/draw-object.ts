/** Draws objects: their property names, and each property. */
import type { JsonValue } from "../../core/base/json.ts";
import { agree } from "./agree.ts";
import { own } from "../../core/base/own.ts";
import type { Demand, Part } from "./demand.ts";
import type { Drawing, Manner, Place } from "./drawing.ts";
import { ownIdName } from "./own-ids.ts";
import { isCarrier, isNextPage, isOfPages } from "./given.ts";
import { patternText } from "./pattern-text.ts";
import type { RandomStream } from "./random-stream.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

/** Maximum number of properties that are added to reach `minProperties`. */
const MAX_MADE_UP = 1_000;
const PATTERNS_PER_DRAW = 16;
/** Maximum number of optional properties, by depth. */
const MAX_OPTIONAL = [40, 24, 12, 6];

interface Object {
  readonly demand: Demand;
  readonly plan: ObjectPlan;
  /** Once the object's id is known, its random numbers and given values are those of the thing with this id. */
  place: Place;
  readonly drawing: Drawing;
  readonly manner: Manner;
  readonly entries: Map<string, JsonValue>;
  /** The object's own id, drawn before everything else. */
  id: { readonly name: string; readonly value: JsonValue } | undefined;
}

/** Returns undefined if a required property cannot be drawn. */
export function drawObject(
  demand: Demand,
  place: Place,
  { drawing, manner }: { readonly drawing: Drawing; readonly manner: Manner },
): JsonValue | undefined {
  const plan = getOrAdd(PLANS, demand, (one) => new ObjectPlan(one));
  const object: Object = { demand, plan, place, drawing, manner, entries: new Map(), id: undefined };
  const { required } = plan;
  if (required.size > demand.maxProperties || demand.minProperties > demand.maxProperties || demand.minProperties > MAX_MADE_UP)
    return undefined;
  const names = namesFor(object);
  identify(object, names);
  for (const name of names) {
    if (object.entries.size >= demand.maxProperties) break;
    if (!addProperty(object, name) && required.has(name)) return undefined;
  }
  if (!manner.lean || object.entries.size < demand.minProperties) addMadeUp(object);
  if (object.entries.size < demand.minProperties) return undefined;
  agreeing(object);
  return Object.fromEntries(object.entries);
}

/** Draws the object's id first: it seeds the other values, and the known values of the thing with this id are used as given ones. */
function identify(object: Object, names: readonly string[]): void {
  const { place, drawing } = object;
  const { facts, subject } = drawing;
  if (facts === undefined) return;
  const { properties } = object.plan;
  const outer = place.isSubject || place.kin?.properties !== properties ? undefined : place.kin;
  const name = ownIdName(names, place.name, subject) ?? outer?.idName;
  if (outer !== undefined) object.place = { ...place, given: place.given.without(outer.idName) };
  const parts = name === undefined ? undefined : object.plan.parts(name, drawing);
  if (name !== undefined && parts !== undefined) {
    const value = valueFor(object, { name, parts, random: place.random.branch(name) });
    if (value !== undefined) object.id = { name, value };
    object.place = { ...object.place, kin: { properties, idName: name } };
  }
  const isWhole = place.isSubject && place.depth === 0;
  const id = object.id?.value ?? (isWhole ? subject?.id : undefined);
  if ((typeof id !== "string" && typeof id !== "number") || id === "") return;
  const known = place.isSubject ? undefined : subject?.factsOf?.(String(id));
  const inner = object.place;
  const given = known === undefined ? inner : { ...inner, given: inner.given.with(known), isSubject: true };
  object.place = { ...given, random: facts.branch(String(id)) };
}

function agreeing(object: Object): void {
  const { plan, place, drawing, entries } = object;
  const parts = (name: string): readonly Part[] | undefined => plan.parts(name, drawing);
  agree({
    entries,
    random: place.random,
    isMadeUp(name) {
      const found = place.given.find(name, place.isSubject);
      const value = entries.get(name);
      return found === undefined || (found !== value && String(found) !== String(value));
    },
    replace(name, value) {
      if (parts(name)?.every((part) => drawing.fits(part, value)) === true) entries.set(name, value);
    },
    redraw(name, turn) {
      const found = parts(name);
      return found && valueFor(object, { name, parts: found, random: place.random.branch(`${name} ${turn}`) });
    },
    told: (name) => drawing.told(parts(name) ?? []),
    known: (plain) => place.given.find(plain, true),
  });
}

/** Returns the names and all that are required if they are present. */
function closure(names: Iterable<string>, { needs }: Demand): Set<string> {
  const all = new Set<string>();
  const open = [...names];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (all.has(name)) continue;
    all.add(name);
    open.push(...(needs.get(name) ?? []));
  }
  return all;
}

const PLANS = new WeakMap<Demand, ObjectPlan>();

/** The properties of a demand that are the same for every object drawn from it. */
class ObjectPlan {
  /** The required names, and those that are required because of them. */
  readonly required: ReadonlySet<string>;
  readonly declared: ReadonlySet<string>;
  /** The declared names as one string, equal for objects of the same kind. */
  readonly properties: string;
  /** Cached names, by the number of optional properties that are allowed. */
  readonly names = new Map<number, readonly string[]>();
  readonly #demand: Demand;
  readonly #parts = new Map<string, readonly Part[] | undefined>();

  constructor(demand: Demand) {
    this.#demand = demand;
    this.required = closure(demand.required, demand);
    this.declared = new Set(demand.propertyRules.flatMap(({ properties }) => Object.keys(properties)));
    this.properties = JSON.stringify([...this.declared].sort());
  }

  /** Returns the subschemas of a property; undefined if the property is not allowed. */
  parts(name: string, drawing: Drawing): readonly Part[] | undefined {
    const known = this.#parts.get(name);
    if (known !== undefined) return known;
    const parts = propertyParts(this.#demand, name, drawing);
    if (this.declared.has(name)) this.#parts.set(name, parts);
    return parts;
  }
}

/** Returns the required names and as many optional ones as allowed, in the order of the schema. */
function namesFor(object: Object): readonly string[] {
  const { demand, plan, place, manner } = object;
  const room = manner.lean ? 0 : Math.max(0, Math.min(MAX_OPTIONAL[place.depth] ?? 3, demand.maxProperties - plan.required.size));
  let names = plan.names.get(room);
  if (names !== undefined) return names;
  names = namesWithin(object, room);
  if (demand.propertyNames.length === 0) plan.names.set(room, names);
  return names;
}

function namesWithin({ demand, plan: { required, declared }, drawing }: Object, room: number): readonly string[] {
  const optional = [...declared].filter((name) => !required.has(name) && !demand.avoided.has(name) && name !== "__proto__");
  const chosen = new Set(required);
  for (const name of optional.slice(0, room)) {
    if (!mayBeNamed(name, demand, drawing)) continue;
    const together = closure([name], demand);
    if (![...together].some((other) => demand.avoided.has(other))) for (const other of together) chosen.add(other);
  }
  return [...[...declared].filter((name) => chosen.has(name)), ...[...chosen].filter((name) => !declared.has(name))];
}

function mayBeNamed(name: string, { propertyNames }: Demand, drawing: Drawing): boolean {
  return propertyNames.every((schema) => {
    const part = drawing.part(schema);
    return part === undefined || drawing.fits(part, name);
  });
}

function addProperty(object: Object, name: string): boolean {
  const { demand, plan, place, drawing, entries } = object;
  if (entries.has(name)) return true;
  const parts = plan.parts(name, drawing);
  if (parts === undefined) return false;
  if (drawing.subject?.isLastPage === true && isNextPage(name)) {
    if (endPage(object, name, parts)) return true;
    if (!demand.required.has(name)) return false;
  }
  const value = object.id?.name === name ? object.id.value : valueFor(object, { name, parts, random: place.random.branch(name) });
  if (value === undefined) return false;
  entries.set(name, value);
  return true;
}

interface Property {
  readonly name: string;
  readonly parts: readonly Part[];
  readonly random: RandomStream;
}

function nameIn(entries: ReadonlyMap<string, JsonValue>): string | undefined {
  const name = entries.get("name") ?? entries.get("title");
  return typeof name === "string" ? name : undefined;
}

function valueFor({ place, drawing, entries }: Object, { name, parts, random }: Property): JsonValue | undefined {
  const isSubject = place.isSubject && (isCarrier(name, drawing.subject) || isOfPages(name, drawing.subject));
  const owner = place.isSubject ? "subject" : "other";
  const whose = place.name === "" && place.isSubject ? (drawing.subject?.noun ?? "") : place.name;
  const at: Place = { ...place, name, whose, hint: "", depth: place.depth + 1, random, isSubject, owner, called: nameIn(entries) };
  return drawing.draw(parts, at);
}

/** Sets the property that leads to the next page to an empty value; false if no empty value is allowed. */
function endPage({ demand, drawing, entries }: Object, name: string, parts: readonly Part[]): boolean {
  for (const value of [null, "", 0]) {
    if (value !== null && !demand.required.has(name)) break;
    if (!parts.every((part) => drawing.fits(part, value))) continue;
    entries.set(name, value);
    return true;
  }
  return false;
}

/** Returns undefined if the property is not allowed. */
function propertyParts({ propertyRules, otherProperties }: Demand, name: string, drawing: Drawing): readonly Part[] | undefined {
  const schemas: unknown[] = [];
  let isCovered = false;
  for (const { properties, patterns, additional } of propertyRules) {
    let isNamed = Object.hasOwn(properties, name);
    if (isNamed) schemas.push(properties[name]);
    const byPattern = Object.entries(patterns);
    drawing.spend(byPattern.length / PATTERNS_PER_DRAW);
    for (const [pattern, schema] of byPattern) {
      if (!drawing.matches(pattern, name)) continue;
      schemas.push(schema);
      isNamed = true;
    }
    if (!isNamed && additional !== undefined) schemas.push(additional);
    isCovered ||= isNamed || additional !== undefined;
  }
  if (!isCovered) schemas.push(...otherProperties);
  const parts = schemas.map((schema) => drawing.part(schema)).filter((part) => part !== undefined);
  return parts.includes(false) ? undefined : parts;
}

/** Adds properties that the schema does not name: as many as required, and two to a map that would be empty. */
function addMadeUp(object: Object): void {
  const { demand, plan, place, manner, entries } = object;
  const isOpen = plan.declared.size === 0 && demand.required.size === 0 && !manner.lean;
  if (isOpen && place.isSubject && place.depth === 0 && demand.propertyNames.length === 0) echo(object);
  const least = Math.max(demand.minProperties, isOpen && entries.size === 0 ? Math.min(2, demand.maxProperties) : 0);
  if (entries.size >= least) return;
  let tries = 2 * least + 5;
  for (const name of madeUpNames(object)) {
    if (entries.size >= least || tries-- <= 0) return;
    if (!demand.avoided.has(name) && mayBeNamed(name, demand, object.drawing)) addProperty(object, name);
  }
}

/** Copies the given values into an answer without declared properties. */
function echo({ demand, plan, place, drawing, entries }: Object): void {
  for (const [name, value] of Object.entries(place.given.values)) {
    const parts = plan.parts(name, drawing);
    if (
      parts !== undefined &&
      entries.size < demand.maxProperties &&
      name !== "__proto__" &&
      parts.every((part) => drawing.fits(part, value))
    )
      entries.set(name, value);
  }
}

function* madeUpNames({ demand, place, drawing }: Object): Generator<string> {
  for (const schema of demand.propertyNames) {
    const part = drawing.part(schema);
    for (let index = 0; part !== undefined && index < 10; index++) {
      const name = drawing.draw([part], {
        ...place,
        name: "key",
        whose: "",
        hint: "",
        depth: place.depth + 1,
        random: place.random.branch(`name ${index}`),
        isSubject: false,
        owner: undefined,
      });
      if (typeof name === "string") yield name;
    }
  }
  for (const { properties, patterns } of demand.propertyRules) {
    yield* Object.keys(properties).filter((name) => own(properties, name) !== false && name !== "__proto__");
    for (const pattern of Object.keys(patterns))
      for (let index = 0; index < 3; index++) yield patternText(pattern, place.random.branch(`${pattern} ${index}`), index) ?? pattern;
  }
  yield* ["name", "value"];
  for (let index = 1; index <= 2 * MAX_MADE_UP; index++) yield `key_${index}`;
}
