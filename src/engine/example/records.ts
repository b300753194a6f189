/** The generated records of one session, kept in the toolset's state, so that they fork, roll back and are stored with the session. */
import type { ToolState } from "../../core/context.ts";
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from "../../core/base/json.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

/** A record that was created, read or listed. */
export interface Thing {
  readonly nouns: readonly string[];
  readonly id: string;
  readonly values: JsonObject;
  readonly isGone: boolean;
  /** Whether a call created it; other records existed before. */
  readonly isNew: boolean;
  /** The searches that found it. */
  readonly queries: readonly string[];
  /** Its position in the order in which records became known. */
  readonly at: number;
}

/** Number of keys of the state over which records are spread, by their ids, so that a change rewrites only a few records. */
const SLOTS = 32;
const KEYS = Array.from({ length: SLOTS }, (_, slot) => `haft:records:${slot}`);
/** Maximum number of records under one key. The oldest is dropped first, generated ones before those that were created or removed. */
const MAX_IN_SLOT = 8;
/** Maximum number of searches that are kept for one record. */
const MAX_QUERIES = 8;
/** Maximum number of characters of JSON that are kept of one record. */
const MAX_THING = 8_000;

export class Records {
  readonly #state: ToolState;
  /** The records by slot, as far as they were read. */
  readonly #slots: (readonly Thing[] | undefined)[] = [];

  constructor(state: ToolState) {
    this.#state = state;
  }

  /** The records known by one of these nouns, the oldest first, including removed ones. */
  of(nouns: readonly string[]): readonly Thing[] {
    const found: Thing[] = [];
    for (let slot = 0; slot < SLOTS; slot++)
      for (const thing of this.#in(slot)) if (thing.nouns.some((noun) => nouns.includes(noun))) found.push(thing);
    return found.sort((one, other) => one.at - other.at);
  }

  find(nouns: readonly string[], id: string): Thing | undefined {
    return this.#in(slotOf(id)).findLast((thing) => thing.id === id && thing.nouns.some((noun) => nouns.includes(noun)));
  }

  /** The newest record with this id, whatever its noun. */
  withId(id: string): Thing | undefined {
    return this.#in(slotOf(id)).findLast((thing) => thing.id === id && !thing.isGone);
  }

  /** Adds the records, each in place of its earlier version. */
  put(things: readonly Thing[]): void {
    if (things.length === 0) return;
    let next = 0;
    for (let slot = 0; slot < SLOTS; slot++) for (const { at } of this.#in(slot)) next = Math.max(next, at + 1);
    for (const thing of things) {
      const slot = slotOf(thing.id);
      this.#slots[slot] = undefined;
      this.#state.update(KEYS[slot] ?? "", (before) => withThing(readThings(before), thing, next++));
    }
  }

  #in(slot: number): readonly Thing[] {
    return (this.#slots[slot] ??= readThings(this.#state.get(KEYS[slot] ?? "")));
  }
}

function slotOf(id: string): number {
  let hash = 0;
  for (let at = 0; at < id.length; at++) hash = (Math.imul(hash, 31) + id.charCodeAt(at)) >>> 0;
  return hash % SLOTS;
}

function withThing(before: readonly Thing[], thing: Thing, next: number): JsonValue {
  const known = before.findIndex(({ id, nouns }) => id === thing.id && nouns.some((noun) => thing.nouns.includes(noun)));
  const at = before[known]?.at ?? next;
  const after = known < 0 ? [...before, { ...thing, at }] : before.with(known, { ...thing, at });
  if (after.length > MAX_IN_SLOT) {
    const madeUp = after.findIndex(({ isNew, isGone }) => !isNew && !isGone);
    after.splice(Math.max(0, madeUp), 1);
  }
  return after.map(writeThing);
}

export interface Change {
  readonly nouns: readonly string[];
  readonly id: string;
  readonly values: JsonObject;
  /** @default unchanged */
  readonly isNew?: boolean;
  /** The search that found it. */
  readonly query?: string;
}

/** Merges a change into a record. */
export function remembered(known: Thing | undefined, change: Change): Thing {
  const { nouns, id, values, query } = change;
  return {
    nouns: withOthers(known?.nouns ?? [], nouns).slice(0, MAX_QUERIES),
    id,
    values: bounded(known === undefined ? values : { ...known.values, ...values }),
    isGone: false,
    isNew: change.isNew ?? known?.isNew ?? false,
    queries: withOthers(known?.queries ?? [], query === undefined ? [] : [query]).slice(-MAX_QUERIES),
    at: known?.at ?? 0,
  };
}

function withOthers(words: readonly string[], others: readonly string[]): readonly string[] {
  const all = [...words];
  for (const word of others) if (!all.includes(word)) all.push(word);
  return all;
}

/** The values without those that are too large to keep or repeat. */
export function bounded(values: JsonObject): JsonObject {
  let room = MAX_THING;
  let kept: [string, JsonValue][] | undefined;
  for (const [index, entry] of Object.entries(values).entries()) {
    const [name, value] = entry;
    const size = sizeOf(value);
    if (name === "__proto__" || size > room) {
      kept ??= Object.entries(values).slice(0, index);
      continue;
    }
    room -= size + name.length;
    kept?.push(entry);
  }
  return kept === undefined ? values : Object.fromEntries(kept);
}

function sizeOf(value: JsonValue): number {
  if (typeof value === "string") return value.length + 2;
  return typeof value === "object" && value !== null ? JSON.stringify(value).length : 8;
}

/** The JSON of a record. An unchanged record is the very value that it was read from, so that the state shares it. */
function writeThing(thing: Thing): JsonValue {
  const { nouns, id, values, isGone, isNew, queries, at } = thing;
  return written.get(thing) ?? { nouns, id, values, isGone, isNew, queries, at };
}

/** The records read from values of the state, which are immutable. */
const read = new WeakMap<object, readonly Thing[]>();
const written = new WeakMap<Thing, JsonValue>();
const NO_THINGS: readonly Thing[] = [];

function readThings(stored: JsonValue | undefined): readonly Thing[] {
  if (!isJsonArray(stored)) return NO_THINGS;
  return getOrAdd(read, stored, () => stored.flatMap(readThing));
}

function readThing(stored: JsonValue): readonly Thing[] {
  if (!isJsonObject(stored)) return [];
  const { nouns, id, values, isGone, isNew, queries, at } = stored;
  if (typeof id !== "string" || typeof at !== "number" || !isJsonObject(values)) return [];
  const thing = { nouns: texts(nouns), id, values, isGone: isGone === true, isNew: isNew === true, queries: texts(queries), at };
  written.set(thing, stored);
  return [thing];
}

function texts(stored: JsonValue | undefined): readonly string[] {
  return isJsonArray(stored) ? stored.filter((text) => typeof text === "string") : [];
}
