/** The generated records of one session, kept in the toolset's state, so that they fork, roll back and are stored with the session. */
import type { ToolState } from "../../core/context.ts";
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from "../../core/base/json.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

/** A record that was created, read or listed. */
export interface GeneratedRecord {
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
const MAX_RECORD_CHARS = 8_000;

export class Records {
  readonly #state: ToolState;
  /** The records by slot, as far as they were read. */
  readonly #slots: (readonly GeneratedRecord[] | undefined)[] = [];

  constructor(state: ToolState) {
    this.#state = state;
  }

  /** The records known by one of these nouns, the oldest first, including removed ones. */
  listByNouns(nouns: readonly string[]): readonly GeneratedRecord[] {
    const found: GeneratedRecord[] = [];
    for (let slot = 0; slot < SLOTS; slot++)
      for (const thing of this.#readSlot(slot)) if (thing.nouns.some((noun) => nouns.includes(noun))) found.push(thing);
    return found.sort((one, other) => one.at - other.at);
  }

  find(nouns: readonly string[], id: string): GeneratedRecord | undefined {
    return this.#readSlot(slotOf(id)).findLast((thing) => thing.id === id && thing.nouns.some((noun) => nouns.includes(noun)));
  }

  /** The newest record with this id, whatever its noun. */
  findById(id: string): GeneratedRecord | undefined {
    return this.#readSlot(slotOf(id)).findLast((thing) => thing.id === id && !thing.isGone);
  }

  /** Adds the records, each in place of its earlier version. */
  put(things: readonly GeneratedRecord[]): void {
    if (things.length === 0) return;
    let next = 0;
    for (let slot = 0; slot < SLOTS; slot++) for (const { at } of this.#readSlot(slot)) next = Math.max(next, at + 1);
    for (const thing of things) {
      const slot = slotOf(thing.id);
      this.#slots[slot] = undefined;
      this.#state.update(KEYS[slot] ?? "", (before) => withRecord(readRecords(before), thing, next++));
    }
  }

  #readSlot(slot: number): readonly GeneratedRecord[] {
    return (this.#slots[slot] ??= readRecords(this.#state.get(KEYS[slot] ?? "")));
  }
}

function slotOf(id: string): number {
  let hash = 0;
  for (let at = 0; at < id.length; at++) hash = (Math.imul(hash, 31) + id.charCodeAt(at)) >>> 0;
  return hash % SLOTS;
}

function withRecord(before: readonly GeneratedRecord[], thing: GeneratedRecord, next: number): JsonValue {
  const known = before.findIndex(({ id, nouns }) => id === thing.id && nouns.some((noun) => thing.nouns.includes(noun)));
  const at = before[known]?.at ?? next;
  const after = known < 0 ? [...before, { ...thing, at }] : before.with(known, { ...thing, at });
  if (after.length > MAX_IN_SLOT) {
    const madeUp = after.findIndex(({ isNew, isGone }) => !isNew && !isGone);
    after.splice(Math.max(0, madeUp), 1);
  }
  return after.map(toStoredRecord);
}

export interface RecordChange {
  readonly nouns: readonly string[];
  readonly id: string;
  readonly values: JsonObject;
  /** @default unchanged */
  readonly isNew?: boolean;
  /** The search that found it. */
  readonly query?: string;
}

/** Merges a change into a record. */
export function mergeRecord(known: GeneratedRecord | undefined, change: RecordChange): GeneratedRecord {
  const { nouns, id, values, query } = change;
  return {
    nouns: mergeWords(known?.nouns ?? [], nouns).slice(0, MAX_QUERIES),
    id,
    values: withoutLargeValues(known === undefined ? values : { ...known.values, ...values }),
    isGone: false,
    isNew: change.isNew ?? known?.isNew ?? false,
    queries: mergeWords(known?.queries ?? [], query === undefined ? [] : [query]).slice(-MAX_QUERIES),
    at: known?.at ?? 0,
  };
}

function mergeWords(words: readonly string[], others: readonly string[]): readonly string[] {
  const all = [...words];
  for (const word of others) if (!all.includes(word)) all.push(word);
  return all;
}

/** The values without those that are too large to keep or repeat. */
export function withoutLargeValues(values: JsonObject): JsonObject {
  let room = MAX_RECORD_CHARS;
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
function toStoredRecord(thing: GeneratedRecord): JsonValue {
  const { nouns, id, values, isGone, isNew, queries, at } = thing;
  return storedByRecord.get(thing) ?? { nouns, id, values, isGone, isNew, queries, at };
}

/** The records read from values of the state, which are immutable. */
const recordsByStored = new WeakMap<object, readonly GeneratedRecord[]>();
const storedByRecord = new WeakMap<GeneratedRecord, JsonValue>();
const NO_RECORDS: readonly GeneratedRecord[] = [];

function readRecords(stored: JsonValue | undefined): readonly GeneratedRecord[] {
  if (!isJsonArray(stored)) return NO_RECORDS;
  return getOrAdd(recordsByStored, stored, () => stored.flatMap(readRecord));
}

function readRecord(stored: JsonValue): readonly GeneratedRecord[] {
  if (!isJsonObject(stored)) return [];
  const { nouns, id, values, isGone, isNew, queries, at } = stored;
  if (typeof id !== "string" || typeof at !== "number" || !isJsonObject(values)) return [];
  const thing = {
    nouns: readStrings(nouns),
    id,
    values,
    isGone: isGone === true,
    isNew: isNew === true,
    queries: readStrings(queries),
    at,
  };
  storedByRecord.set(thing, stored);
  return [thing];
}

function readStrings(stored: JsonValue | undefined): readonly string[] {
  return isJsonArray(stored) ? stored.filter((text) => typeof text === "string") : [];
}
