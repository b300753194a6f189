/** Draws arrays: the number of items, and each item. */
import { maxOf, pushAll } from "../../core/collections/push-all.ts";
import { type JsonValue, isJsonObject } from "../../core/base/json.ts";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { parseIsoDate, formatDateLike, isoDayOf } from "./date-text.ts";
import type { Constraints, Part } from "./constraints.ts";
import type { DrawContext, DrawMode, ValuePlace } from "./draw-context.ts";
import { GivenValues, type Subject, isSubjectList, isPersonSpecificName } from "./given-values.ts";
import { findId } from "./object-ids.ts";
import { toSingular } from "./name-words.ts";

/** Maximum length of an array. */
const MAX_LENGTH = 10_000;
const TRIES_FOR_ANOTHER = 10;
/** Fewer tries for strings that need not be unique: they repeat only if there are few values. */
const TRIES_FOR_OTHER_TEXT = 3;

export function drawArray(
  constraints: Constraints,
  place: ValuePlace,
  { context, mode }: { readonly context: DrawContext; readonly mode: DrawMode },
): JsonValue | undefined {
  const list = context.subject !== undefined && isSubjectList(place.name, context.subject) ? context.subject : undefined;
  const known = list?.lists?.get(place.random.seed);
  if (known !== undefined) return known;
  const items = drawItems(constraints, place, { context, mode, list });
  if (items !== undefined) list?.lists?.set(place.random.seed, items);
  return items;
}

interface ArrayContext {
  readonly context: DrawContext;
  readonly mode: DrawMode;
  /** The subject, if this is its list. */
  readonly list: Subject | undefined;
}

function drawItems(constraints: Constraints, place: ValuePlace, { context, mode, list }: ArrayContext): readonly JsonValue[] | undefined {
  const length = chooseLength(constraints, place, { context, mode, list });
  if (length === undefined) return undefined;
  const inner = itemPlace(constraints, place, list);
  const wanted = containedParts(constraints, { context, mode });
  const items: JsonValue[] = [];
  const seen = new Set<string>();
  const ids = new Set<string>();
  for (let index = 0; index < Math.max(length, wanted.length); index++) {
    const contained = wanted[index] ?? [];
    // in draft 2019-09, `unevaluatedItems` applies to contained items too
    const isEvaluated = contained.length > 0 && mode.attempt % 4 !== 3;
    const item = drawItem([...itemParts(constraints, index, { context, isEvaluated }), ...contained], {
      constraints,
      place: inner(index),
      context,
      index,
      seen,
    });
    if (item === undefined) break;
    const id = context.facts === undefined || !isJsonObject(item) ? undefined : findId(item, toSingular(place.name), context.subject);
    if (id !== undefined && ids.has(id) && items.length >= constraints.minItems) continue; // an object with the same id is in a list only once
    if (id !== undefined) ids.add(id);
    items.push(item);
  }
  if (items.length < constraints.minItems) return undefined;
  return DAILY.test(place.name) && !constraints.unique ? withConsecutiveDays(items, constraints, context) : items;
}

/**
 * Returns, for each item, the subschemas of `contains` that it must match: each in an item of its own, from the first one on. Later attempts begin
 * after the items of the tuple, then earlier and earlier in it, and every second one lets an item match several of them. If no other items are
 * allowed, further ones that the length requires match them too.
 */
function containedParts(
  { contains, itemRules, otherItems, minItems }: Constraints,
  { context, mode }: Pick<ArrayContext, "context" | "mode">,
): readonly Part[][] {
  if (contains.length === 0) return [];
  const tuple = Math.max(0, maxOf(itemRules.map(({ prefix }) => prefix.length)));
  const start = mode.attempt === 0 ? 0 : Math.min(tuple - ((Math.ceil(mode.attempt / 2) - 1) % (tuple + 1)), MAX_LENGTH);
  const isShared = mode.attempt > 0 && mode.attempt % 2 === 0;
  const wanted: Part[][] = Array.from({ length: start }, () => []);
  const parts = contains.map(({ schema }) => context.findSubschema(schema));
  for (const [place, { least }] of contains.entries()) {
    const part = parts[place];
    const first = isShared ? start : wanted.length;
    for (let index = first; index < first + Math.min(least, MAX_LENGTH); index++) {
      const here = (wanted[index] ??= []);
      if (part !== undefined) here.push(part);
    }
  }
  if (otherItems.includes(false))
    while (wanted.length < minItems) wanted.push([parts[wanted.length % parts.length]].filter((part) => part !== undefined));
  return wanted;
}

/** Names of lists with one item per day. */
const DAILY = /(?:forecast|daily|days)s?$/iu;
const MAX_DAYS = 31;

/** If the items have a date each, sets them to consecutive days. */
function withConsecutiveDays(items: readonly JsonValue[], constraints: Constraints, context: DrawContext): JsonValue[] {
  const first = items[0];
  const key = isJsonObject(first) ? Object.keys(first).find((name) => isoDayOf(first[name]) !== undefined) : undefined;
  const from = key === undefined || !isJsonObject(first) ? undefined : first[key];
  const start = parseIsoDate(from);
  return items.map((item, index) => {
    if (key === undefined || start === undefined || !isJsonObject(item) || !Object.hasOwn(item, key)) return item;
    const turned = { ...item, [key]: formatDateLike(from, start.at + index * 86_400_000) };
    return itemParts(constraints, index, { context, isEvaluated: false }).every((part) => context.matchesSchema(part, turned))
      ? turned
      : item;
  });
}

function chooseLength(constraints: Constraints, place: ValuePlace, { context, mode, list }: ArrayContext): number | undefined {
  const { minItems, maxItems } = constraints;
  if (minItems > maxItems || minItems > MAX_LENGTH) return undefined;
  if (mode.isMinimal) return minItems;
  const most = Math.min(maxItems, MAX_LENGTH);
  const days = DAILY.test(place.name) ? Number(place.given.find("days", false) ?? Number.NaN) : Number.NaN;
  if (Number.isInteger(days) && days >= 0 && days <= MAX_DAYS) return Math.max(minItems, Math.min(most, days));
  if (list !== undefined) {
    const { records = [], atMost = most, more } = list;
    const preferred = records.length + (more ?? (records.length > 0 ? 0 : usualLength(place, context)));
    return Math.max(minItems, Math.min(most, atMost, preferred));
  }
  const tuple = Math.max(0, maxOf(constraints.itemRules.map(({ prefix }) => prefix.length)));
  return Math.max(minItems, Math.min(most, Math.max(tuple, usualLength(place, context))));
}

function usualLength({ random, depth }: ValuePlace, { maxItems }: DrawContext): number {
  return random.branch("length").integer(Math.min(maxItems, depth < 3 ? 2 : 1), Math.min(maxItems, depth < 3 ? maxItems : 2));
}

interface ItemContext extends Pick<ArrayContext, "context"> {
  /** Whether the item matches a subschema of `contains`, so that `unevaluatedItems` does not apply to it. */
  readonly isEvaluated: boolean;
}

function itemParts({ itemRules, otherItems }: Constraints, index: number, { context, isEvaluated }: ItemContext): readonly Part[] {
  const schemas: unknown[] = [];
  let isCovered = isEvaluated;
  for (const { prefix, rest } of itemRules) {
    const isTuple = index < prefix.length;
    schemas.push(isTuple ? prefix[index] : rest);
    isCovered ||= isTuple || rest !== undefined;
  }
  if (!isCovered) pushAll(schemas, otherItems);
  return schemas.map((schema) => context.findSubschema(schema)).filter((part) => part !== undefined);
}

/** Returns the place of each item. Items of the subject's list get the given values of its records. */
function itemPlace(constraints: Constraints, place: ValuePlace, list: Subject | undefined): (index: number) => ValuePlace {
  const inner: ValuePlace = {
    ...place,
    name: toSingular(place.name),
    depth: place.depth + 1,
    hint: constraints.description === "" ? place.hint : constraints.description,
    given: list === undefined ? place.given : givenForItems(place.given, list),
    isSubject: false,
    owner: undefined,
  };
  return (index) => {
    const record = list?.records?.[index];
    return record === undefined ? inner : { ...inner, given: inner.given.withValues(record), isSubject: true };
  };
}

/** Returns the given values that apply to the items of the subject's list, without those of the list itself. */
function givenForItems({ values }: GivenValues, { ofList = {}, isAboutPeople = false, named = {} }: Subject): GivenValues {
  const own: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(values))
    if (!Object.hasOwn(ofList, name) && !(isAboutPeople && isPersonSpecificName(name))) own[name] = value;
  return new GivenValues(Object.assign(own, named), { isList: true });
}

const NOTHING_GIVEN = { given: new GivenValues({}) };

interface Item {
  readonly constraints: Constraints;
  readonly place: ValuePlace;
  readonly context: DrawContext;
  readonly index: number;
  /** Canonical texts of the items that this one should differ from. */
  readonly seen: Set<string>;
}

function drawItem(parts: readonly Part[], { constraints, place, context, index, seen }: Item): JsonValue | undefined {
  const tries = constraints.unique ? TRIES_FOR_ANOTHER : TRIES_FOR_OTHER_TEXT;
  let last: JsonValue | undefined;
  for (let attempt = 0; attempt < tries; attempt++) {
    const drawn = context.draw(parts, {
      ...place,
      random: place.random.branch(index + attempt * MAX_LENGTH),
      ...(attempt > 2 && NOTHING_GIVEN),
    });
    if (drawn === undefined || (!constraints.unique && typeof drawn !== "string")) return drawn;
    last = drawn;
    const text = canonicalJson(drawn);
    if (seen.has(text)) continue;
    seen.add(text);
    return drawn;
  }
  return constraints.unique ? undefined : last;
}
