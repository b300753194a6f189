/** Arrays: how many items, and what each has to be. */
import type { JsonValue } from "../../core/json.ts";
import { canonicalJson } from "../../core/json.ts";
import type { Demand, Part } from "./demand.ts";
import type { Drawing, Manner, Place } from "./drawing.ts";
import { Given, isListOf } from "./given.ts";
import { singular } from "./name-words.ts";

/** Longest array that is made. */
const MAX_LENGTH = 10_000;
const TRIES_FOR_ANOTHER = 10;

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
  for (let index = 0; index < Math.max(length, wanted.length); index++) {
    const parts = itemParts(demand, index, drawing);
    const contained = wanted[index];
    const item = drawItem(contained === undefined ? parts : [...parts, contained], { demand, place, drawing, index, seen });
    if (item === undefined) break;
    items.push(item);
  }
  return items.length < demand.minItems ? undefined : items;
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
  /** The items before it, where all must differ. */
  readonly seen: Set<string>;
}

function drawItem(parts: readonly Part[], { demand, place, drawing, index, seen }: Item): JsonValue | undefined {
  const { subject } = drawing;
  const record = subject !== undefined && isListOf(place.name, subject) ? subject.records?.[index] : undefined;
  const given = record === undefined ? place.given : new Given({ ...place.given.values, ...record });
  const inner = { ...place, name: singular(place.name), depth: place.depth + 1, given, isSubject: record !== undefined, owner: undefined };
  const tries = demand.unique ? TRIES_FOR_ANOTHER : 1;
  for (let attempt = 0; attempt < tries; attempt++) {
    const drawn = drawing.draw(parts, {
      ...inner,
      random: place.random.branch(index + attempt * MAX_LENGTH),
      ...(attempt > 2 && NOTHING_GIVEN),
    });
    if (drawn === undefined || !demand.unique) return drawn;
    const text = canonicalJson(drawn);
    if (seen.has(text)) continue;
    seen.add(text);
    return drawn;
  }
  return undefined;
}

const NOTHING_GIVEN = { given: new Given({}) };
