/** The long texts ("bodies") of a recording: each is written once under its SHA-256, and events refer to it. */
import type { SessionEvent } from "../event.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";

/** Text of at least this many UTF-8 bytes becomes a body; shorter text stays in the event. */
const MIN_BODY_BYTES = 1_024;
const MAX_BODIES = 16_384;
const MAX_BODY_CHARS = 32 * 1024 * 1024;

/** Computes the SHA-256 of text as UTF-8, or of bytes, in hex. Passed in, because browsers have no `node:crypto`. */
export type Sha256 = (data: string | Uint8Array) => string;

/**
 * Returns the SHA-256 of a text's UTF-8 bytes, in hex.
 *
 * Text with a lone surrogate has no UTF-8 encoding: the byte FF, which never occurs in UTF-8, and the text's JSON are hashed instead.
 */
export function bodyHash(text: string, sha256: Sha256): string {
  if (text.isWellFormed()) return sha256(text);
  const bytes = new TextEncoder().encode(` ${JSON.stringify(text)}`);
  bytes[0] = 0xff;
  return sha256(bytes);
}

/**
 * The bodies that an event may refer to: its own and the latest ones of earlier events.
 *
 * Writer and reader drop bodies after the same events by the same rule, oldest first, so that neither needs more memory than the window: 16,384
 * bodies, 32 Mi characters in total. A body that is needed again later is written again.
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

  /** Drops the oldest bodies; called after each event. */
  trim(): void {
    for (const [hash, { length }] of this.#bodies) {
      if (this.#bodies.size <= MAX_BODIES && this.#chars <= MAX_BODY_CHARS) return;
      this.#bodies.delete(hash);
      this.#chars -= length;
    }
  }
}

const REFERENCE = "$body";
/** Matches the key of a reference, and keys in the data that look like one. */
const REFERENCE_LIKE = /^\$+body$/u;

/** Stores a body and returns its hash. */
export type StoreBody = (text: string) => string;

/**
 * Returns the event with its long texts replaced by references.
 *
 * Texts in results, inputs, messages and state changes are replaced if they are long; the data of images and audio, and all text of a system message,
 * always. A key in the data that looks like that of a reference gets one more `$`.
 */
export function detachBodies(event: SessionEvent, storeBody: StoreBody): JsonValue {
  const bySize = (value: JsonValue): JsonValue => replaceTexts(value, (text) => (isLong(text) ? createReference(storeBody(text)) : text));
  const always = (value: JsonValue): JsonValue => replaceTexts(value, (text) => createReference(storeBody(text)));
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
    return FIELDS_WITH_BODIES.has(key) ? bySize(item) : item;
  });
}

const FIELDS_WITH_BODIES: ReadonlySet<string> = new Set(["call", "input", "patch", "settings"]);

/** Returns the event with its texts restored. `find` throws for an unknown hash. */
export function attachBodies(event: JsonValue, find: (hash: string) => string): JsonValue {
  if (isJsonArray(event)) return mapItems(event, (item) => attachBodies(item, find));
  if (!isJsonObject(event)) return event;
  if (Object.hasOwn(event, REFERENCE)) {
    const hash = event[REFERENCE];
    return find(typeof hash === "string" && Object.keys(event).length === 1 ? hash : "");
  }
  return mapFields(event, (item) => attachBodies(item, find), unescapeKey);
}

function replaceTexts(value: JsonValue, replace: (text: string) => JsonValue): JsonValue {
  if (typeof value === "string") return replace(value);
  if (isJsonArray(value)) return mapItems(value, (item) => replaceTexts(item, replace));
  if (isJsonObject(value)) return mapFields(value, (item) => replaceTexts(item, replace), escapeKey);
  return value;
}

function createReference(hash: string): JsonValue {
  return { [REFERENCE]: hash };
}

function isLong(text: string): boolean {
  if (text.length * 3 < MIN_BODY_BYTES) return false;
  return text.length >= MIN_BODY_BYTES || Buffer.byteLength(text) >= MIN_BODY_BYTES;
}

function escapeKey(key: string): string {
  return key.startsWith("$") && REFERENCE_LIKE.test(key) ? `$${key}` : key;
}

function unescapeKey(key: string): string {
  return key.startsWith("$$") && REFERENCE_LIKE.test(key) ? key.slice(1) : key;
}

/** Returns the same array if nothing changes. */
function mapItems(items: readonly JsonValue[], change: (item: JsonValue) => JsonValue): JsonValue {
  const mapped = items.map(change);
  return mapped.some((item, index) => item !== items[index]) ? mapped : items;
}

/** Returns the same object if nothing changes. */
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
