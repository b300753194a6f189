/** The long texts of a recording: written once under their SHA-256, and referred to from the events. */
import type { SessionEvent } from "../event.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";

/** Text of this many UTF-8 bytes or more is a body; shorter text stays where it is. */
const MIN_BODY_BYTES = 1_024;
const MAX_BODIES = 16_384;
const MAX_BODY_CHARS = 32 * 1024 * 1024;

/** The SHA-256 of text as UTF-8, or of bytes, in hex. Given from outside: browsers have no `node:crypto`. */
export type Sha256 = (data: string | Uint8Array) => string;

/**
 * The SHA-256 of a text's UTF-8 bytes, in hex.
 *
 * Text with half a surrogate pair has no UTF-8: its hash is that of the byte FF, which UTF-8 never has, and its JSON.
 */
export function bodyHash(text: string, sha256: Sha256): string {
  if (text.isWellFormed()) return sha256(text);
  const bytes = new TextEncoder().encode(` ${JSON.stringify(text)}`);
  bytes[0] = 0xff;
  return sha256(bytes);
}

/**
 * The bodies that an event may refer to: those of the event itself and the last of those before it.
 *
 * Writer and reader forget at the same events by the same rule, the oldest first, so that neither needs more memory
 * than the window: 16,384 bodies, 32 Mi characters in all. Bodies that are needed again after that are written again.
 */
export class BodyWindow<Kept> {
  readonly #bodies = new Map<string, { readonly kept: Kept; readonly length: number }>();
  #chars = 0;

  has(hash: string): boolean {
    return this.#bodies.has(hash);
  }

  get(hash: string): Kept | undefined {
    return this.#bodies.get(hash)?.kept;
  }

  add(hash: string, length: number, kept: Kept): void {
    if (this.#bodies.has(hash)) return;
    this.#bodies.set(hash, { kept, length });
    this.#chars += length;
  }

  /** To be called after each event. */
  trim(): void {
    for (const [hash, { length }] of this.#bodies) {
      if (this.#bodies.size <= MAX_BODIES && this.#chars <= MAX_BODY_CHARS) return;
      this.#bodies.delete(hash);
      this.#chars -= length;
    }
  }
}

const REFERENCE = "$body";
/** The key of a reference, and what data has that happens to look like it. */
const LIKE_REFERENCE = /^\$+body$/u;

/** Keeps a body and returns its hash. */
export type KeepBody = (text: string) => string;

/**
 * The event with its long texts replaced by references.
 *
 * Texts in results, inputs, messages and state changes are replaced by size; the data of images and audio, and whatever a
 * system message says, always. A key of the data that looks like a reference's gets one more `$`.
 */
export function detachBodies(event: SessionEvent, keep: KeepBody): JsonValue {
  const bySize = (value: JsonValue): JsonValue => detach(value, (text) => (isLong(text) ? reference(keep(text)) : text));
  const always = (value: JsonValue): JsonValue => detach(value, (text) => reference(keep(text)));
  const part = (value: JsonValue, all: boolean): JsonValue => {
    if (!isJsonObject(value)) return value;
    return mapFields(value, (item, key) => (key === "data" || (all && key === "text") ? always(item) : bySize(item)), escapeKey);
  };
  const content = (value: JsonValue, all: boolean): JsonValue => {
    if (isJsonArray(value)) return mapItems(value, (item) => part(item, all));
    return all ? always(value) : bySize(value);
  };
  const carrier = (value: JsonValue): JsonValue => {
    if (!isJsonObject(value)) return value;
    const all = value["role"] === "system";
    return mapFields(value, (item, key) => (key === "content" ? content(item, all) : bySize(item)), escapeKey);
  };
  const fields = event as unknown as JsonObject; // an event is JSON; its interface only lacks the index
  return mapFields(fields, (item, key) => {
    if (key === "message" || key === "result") return carrier(item);
    return CARRIED.has(key) ? bySize(item) : item;
  });
}

const CARRIED: ReadonlySet<string> = new Set(["call", "input", "patch", "settings"]);

/** The event with its texts in their places. `find` throws for a hash that nothing was kept under. */
export function attachBodies(event: JsonValue, find: (hash: string) => string): JsonValue {
  if (isJsonArray(event)) return mapItems(event, (item) => attachBodies(item, find));
  if (!isJsonObject(event)) return event;
  if (Object.hasOwn(event, REFERENCE)) {
    const hash = event[REFERENCE];
    return find(typeof hash === "string" && Object.keys(event).length === 1 ? hash : "");
  }
  return mapFields(event, (item) => attachBodies(item, find), unescapeKey);
}

function detach(value: JsonValue, replace: (text: string) => JsonValue): JsonValue {
  if (typeof value === "string") return replace(value);
  if (isJsonArray(value)) return mapItems(value, (item) => detach(item, replace));
  if (isJsonObject(value)) return mapFields(value, (item) => detach(item, replace), escapeKey);
  return value;
}

function reference(hash: string): JsonValue {
  return { [REFERENCE]: hash };
}

function isLong(text: string): boolean {
  if (text.length * 3 < MIN_BODY_BYTES) return false;
  return text.length >= MIN_BODY_BYTES || Buffer.byteLength(text) >= MIN_BODY_BYTES;
}

function escapeKey(key: string): string {
  return key.startsWith("$") && LIKE_REFERENCE.test(key) ? `$${key}` : key;
}

function unescapeKey(key: string): string {
  return key.startsWith("$$") && LIKE_REFERENCE.test(key) ? key.slice(1) : key;
}

/** The same list when nothing changes. */
function mapItems(items: readonly JsonValue[], change: (item: JsonValue) => JsonValue): JsonValue {
  const mapped = items.map(change);
  return mapped.some((item, index) => item !== items[index]) ? mapped : items;
}

/** The same object when nothing changes. */
function mapFields(
  fields: JsonObject,
  change: (item: JsonValue, key: string) => JsonValue,
  rename: (key: string) => string = (key) => key,
): JsonValue {
  let mapped: [string, JsonValue][] | undefined;
  const keys = Object.keys(fields);
  for (const [index, key] of keys.entries()) {
    const item = fields[key] ?? null;
    const [newKey, newItem] = [rename(key), change(item, key)];
    if (newKey !== key || newItem !== item) mapped ??= keys.slice(0, index).map((before) => [before, fields[before] ?? null]);
    mapped?.push([newKey, newItem]);
  }
  return mapped === undefined ? fields : Object.fromEntries(mapped);
}
