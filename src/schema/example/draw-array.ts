/** Arrays: how many items, and what each has to be. */
import { type JsonObject, type JsonValue, isJsonObject } from "../../core/base/json.ts";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { dateOf, dateTextLike, dayOf } from "./date-text.ts";
import type { Demand, Part } from "./demand.ts";
import type { Drawing, Manner, Place } from "./drawing.ts";
import { Given, type Subject, isListOf, isOfOnePerson } from "./given.ts";
import { ownId } from "./own-ids.ts";
import { singular } from "./name-words.ts";

/** Longest array that is made. */
const MAX_LENGTH = 10_000;
const TRIES_FOR_ANOTHER = 10;
/** Strings repeat only where there are few. */
const TRIES_FOR_OTHER_TEXT = 3;

export function drawArray(
  demand: Demand,
  place: Place,
  { drawing, manner }: { readonly drawing: Drawing; readonly manner: Manner },
): JsonValue | undefined {
  const length = lengthOf(demand, place, { drawing, manner });
  if (length === undefined) return undefined;
  const wanted = demand.contains.flatMap(({ schema, least }) =>
    Array.from({ length: Math.min(least, MAX_LENGTH) }, () => drawing.part(schema)),
  );
  const items: JsonValue[] = [];
  const seen = new Set<string>();
  const ids = new Set<string>();
  for (let index = 0; index < Math.max(length, wanted.length); index++) {
    const parts = itemParts(demand, index, drawing);
    const contained = wanted[index];
    const item = drawItem(contained === undefined ? parts : [...parts, contained], { demand, place, drawing, index, seen });
    if (item === undefined) break;
    const id = drawing.facts === undefined || !isJsonObject(item) ? undefined : ownId(item, singular(place.name), drawing.subject);
    if (id !== undefined && ids.has(id) && items.length >= demand.minItems) continue; // one thing is in a list once
    if (id !== undefined) ids.add(id);
    items.push(item);
  }
  if (items.length < demand.minItems) return undefined;
  return DAILY.test(place.name) && !demand.unique ? dayByDay(items, demand, drawing) : items;
}

/** Lists with one item for each day. */
const DAILY = /(?:forecast|daily|days)s?$/iu;
const MAX_DAYS = 31;

/** Items with a date each tell of days in a row. */
function dayByDay(items: readonly JsonValue[], demand: Demand, drawing: Drawing): JsonValue[] {
  const first = items[0];
  const key = isJsonObject(first) ? Object.keys(first).find((name) => dayOf(first[name]) !== undefined) : undefined;
  const from = key === undefined || !isJsonObject(first) ? undefined : first[key];
  const start = dateOf(from);
  return items.map((item, index) => {
    if (key === undefined || start === undefined || !isJsonObject(item) || !Object.hasOwn(item, key)) return item;
    const turned = { ...item, [key]: dateTextLike(from, start.at + index * 86_400_000) };
    return itemParts(demand, index, drawing).every((part) => drawing.fits(part, turned)) ? turned : item;
  });
}

function lengthOf(
  demand: Demand,
  place: Place,
  { drawing, manner }: { readonly drawing: Drawing; readonly manner: Manner },
): number | undefined {
  const { minItems, maxItems } = demand;
  if (minItems > maxItems || minItems > MAX_LENGTH) return undefined;
  if (manner.lean) return minItems;
  const { subject } = drawing;
  const most = Math.min(maxItems, MAX_LENGTH);
  const days = DAILY.test(place.name) ? Number(place.given.find("days", false) ?? Number.NaN) : Number.NaN;
  if (Number.isInteger(days) && days >= 0 && days <= MAX_DAYS) return Math.max(minItems, Math.min(most, days));
  if (subject !== undefined && isListOf(place.name, subject)) {
    const { records = [], atMost = most, more } = subject;
    const wished = records.length + (more ?? (records.length > 0 ? 0 : usualLength(place, drawing)));
    return Math.max(minItems, Math.min(most, atMost, wished));
  }
  const tuple = Math.max(0, ...demand.itemRules.map(({ prefix }) => prefix.length));
  return Math.max(minItems, Math.min(most, Math.max(tuple, usualLength(place, drawing))));
}

function usualLength({ random, depth }: Place, { maxItems }: Drawing): number {
  return random.branch("length").integer(Math.min(maxItems, depth < 3 ? 2 : 1), Math.min(maxItems, depth < 3 ? maxItems : 2));
}

function itemParts({ itemRules, otherItems }: Demand, index: number, drawing: Drawing): readonly Part[] {
  const schemas: unknown[] = [];
  let isCovered = false;
  for (const { prefix, rest } of itemRules) {
    const isTuple = index < prefix.length;
    schemas.push(isTuple ? prefix[index] : rest);
    isCovered ||= isTuple || rest !== undefined;
  }
  if (!isCovered) schemas.push(...otherItems);
  return schemas.map((schema) => drawing.part(schema)).filter((part) => part !== undefined);
}

interface Item {
  readonly demand: Demand;
  readonly place: Place;
  readonly drawing: Drawing;
  readonly index: number;
  /** The items before it that it should differ from. */
  readonly seen: Set<string>;
}

function drawItem(parts: readonly Part[], { demand, place, drawing, index, seen }: Item): JsonValue | undefined {
  const { subject } = drawing;
  const record = subject !== undefined && isListOf(place.name, subject) ? subject.records?.[index] : undefined;
  const given = subject === undefined || !isListOf(place.name, subject) ? place.given : itemGiven(place.given, { subject, record });
  const inner = {
    ...place,
    name: singular(place.name),
    depth: place.depth + 1,
    hint: demand.description === "" ? place.hint : demand.description,
    given,
    isSubject: record !== undefined,
    owner: undefined,
  };
  const tries = demand.unique ? TRIES_FOR_ANOTHER : TRIES_FOR_OTHER_TEXT;
  let last: JsonValue | undefined;
  for (let attempt = 0; attempt < tries; attempt++) {
    const drawn = drawing.draw(parts, {
      ...inner,
      random: place.random.branch(index + attempt * MAX_LENGTH),
      ...(attempt > 2 && NOTHING_GIVEN),
    });
    if (drawn === undefined || (!demand.unique && typeof drawn !== "string")) return drawn;
    last = drawn;
    const text = canonicalJson(drawn);
    if (seen.has(text)) continue;
    seen.add(text);
    return drawn;
  }
  return demand.unique ? undefined : last;
}

/** The given values of the items of the subject's list: not those of the list. */
function itemGiven(
  { values }: Given,
  { subject, record = {} }: { readonly subject: Subject; readonly record: JsonObject | undefined },
): Given {
  const { ofList = {}, isOfPeople = false, named = {} } = subject;
  const own = Object.entries(values).filter(([name]) => !Object.hasOwn(ofList, name) && !(isOfPeople && isOfOnePerson(name)));
  return new Given({ ...Object.fromEntries(own), ...named, ...record }, true);
}

const NOTHING_GIVEN = { given: new Given({}) };
