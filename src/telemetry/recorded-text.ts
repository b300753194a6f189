/** Arguments and results as attributes: JSON text without secrets, cut to size. */
import { maxOf } from "../core/collections/push-all.ts";
import type { JsonValue } from "../core/base/json.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { truncateText } from "../core/base/truncate-text.ts";
import { isSecretName, findSecrets } from "../trust/sensitive-text.ts";

/** Maximum length of a text: collectors refuse attributes that are much longer. */
export const MAX_CHARS = 16_384;
/** Number of characters examined: several times MAX_CHARS, since many may be secrets. */
const MAX_EXAMINED_CHARS = 4 * MAX_CHARS;
const MAX_DEPTH = 64;
const SECRET = "[secret]";
/** Replaces a text in which secrets could not be looked for. */
const NOT_REDACTED = "[not redacted]";
export const ANY_SIZE = { maxChars: Infinity, maxNodes: Infinity, longIntegers: "string" } as const;

export type RedactText = (text: string) => string;

/**
 * Redacts secrets by property names and by their format, and then applies `redact`, which gets the whole text. Without `redact`, a long text is
 * examined only as far as it is kept.
 */
export function toRecordedText(value: unknown, redact: RedactText | undefined): string {
  const written = (most: number): string => {
    const named = new NamedSecretRedactor(most);
    return typeof value === "string" ? named.redactJsonText(value, 0) : JSON.stringify(named.redactJson(value, 0));
  };
  return redactOrOmit(written, redact);
}

/** Like `toRecordedText`, for a JSON Schema: in a schema, a property with the name of a secret only describes the secret. */
export function toRecordedSchema(schema: unknown, redact: RedactText | undefined): string {
  return redactOrOmit(() => JSON.stringify(schema) ?? "", redact);
}

/** Cuts a recorded text to `maxChars`. */
export function shortenText(recorded: string, maxChars: number): string {
  return truncateText(recorded, maxChars).toWellFormed(); // strict JSON readers refuse lone surrogates
}

/**
 * Redacts a text. If a pattern fails, or a value cannot be read, none of it is recorded.
 * @param written makes the text, or at least its first `most` characters
 */
function redactOrOmit(written: (most: number) => string, redact: RedactText | undefined): string {
  try {
    return redactSecrets(written, redact);
  } catch {
    return NOT_REDACTED;
  }
}

function redactSecrets(written: (most: number) => string, redact: RedactText | undefined): string {
  if (redact === undefined) {
    const text = written(MAX_EXAMINED_CHARS);
    const start = redactFoundSecrets(examinedStart(text));
    if (start.length > MAX_CHARS || text.length < MAX_EXAMINED_CHARS) return shortenText(start, MAX_CHARS);
  }
  const whole = redactFoundSecrets(written(Infinity));
  const redacted: unknown = redact === undefined ? whole : redact(whole);
  return typeof redacted === "string" ? shortenText(redacted, MAX_CHARS) : NOT_REDACTED;
}

/** The part of a text that is examined. It ends after a character that no secret contains, so the same secrets are found as in the whole text. */
function examinedStart(text: string): string {
  if (text.length < MAX_EXAMINED_CHARS) return text;
  const start = text.slice(0, MAX_EXAMINED_CHARS);
  return start.slice(0, 1 + maxOf([" ", "\n", '"'].map((sign) => start.lastIndexOf(sign))));
}

class NamedSecretRedactor {
  /** Number of characters still to examine; what follows is omitted. */
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  redactJson(value: unknown, depth: number): JsonValue {
    if (depth > MAX_DEPTH) return "…";
    if (typeof value === "string") return this.#redactString(value, depth);
    if (typeof value !== "object" || value === null) return toScalar(value);
    return Array.isArray(value) ? this.#redactItems(value, depth) : this.#redactEntries(value, depth);
  }

  /** Redacts JSON within a text: many tools return JSON as text, and models write arguments that way. Either may be a JSON string again. */
  redactJsonText(text: string, depth: number): string {
    if (!/^\s*(?:[[{]|"\s*\\*[[{"])/u.test(text)) return text;
    try {
      return JSON.stringify(this.redactJson(parseJson(text, ANY_SIZE), depth + 1));
    } catch {
      return text.includes("\n") ? this.#redactLines(text, depth) : text;
    }
  }

  /** Redacts JSON Lines: one value per line. */
  #redactLines(text: string, depth: number): string {
    const kept: string[] = [];
    for (const line of text.split("\n")) {
      if (this.#left <= 0) break;
      kept.push(this.#redactString(line, depth));
    }
    return kept.join("\n");
  }

  #redactString(text: string, depth: number): string {
    const before = this.#left;
    const kept = this.redactJsonText(text, depth);
    this.#left = before - kept.length; // counts the text once, also if it was JSON
    return kept;
  }

  #redactItems(items: readonly unknown[], depth: number): JsonValue {
    const kept: JsonValue[] = [];
    for (const item of items) {
      if (this.#left <= 0) break;
      this.#left -= 1; // its comma
      kept.push(this.redactJson(item, depth + 1));
    }
    return kept;
  }

  #redactEntries(value: object, depth: number): JsonValue {
    const kept: (readonly [string, JsonValue])[] = [];
    for (const [key, held] of Object.entries(value)) {
      if (this.#left <= 0) break;
      this.#countChars(key);
      kept.push([key, isSecretName(key) && held !== null ? this.#countChars(SECRET) : this.redactJson(held, depth + 1)]);
    }
    return Object.fromEntries(kept);
  }

  #countChars(text: string): string {
    this.#left -= text.length;
    return text;
  }
}

function toScalar(value: unknown): JsonValue {
  if (typeof value === "boolean") return value;
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function redactFoundSecrets(text: string): string {
  const found = findSecrets(text).toSorted((one, other) => one.start - other.start);
  let clean = "";
  let from = 0;
  for (const { start, end } of found) {
    if (start > from) clean += text.slice(from, start);
    if (end > from) clean += SECRET;
    from = Math.max(from, end);
  }
  return clean + text.slice(from);
}
