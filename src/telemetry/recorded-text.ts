/** Arguments and results as attributes: JSON text without secrets, cut to size. */
import type { JsonValue } from "../core/base/json.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { atMost } from "../core/base/short-text.ts";
import { isSecretName, secretsIn } from "../trust/sensitive-text.ts";

/** Maximum length of a text: collectors refuse attributes that are much longer. */
export const MAX_CHARS = 16_384;
/** Number of characters examined: several times MAX_CHARS, since many may be secrets. */
const LOOKED_AT = 4 * MAX_CHARS;
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
export function recordedText(value: unknown, redact: RedactText | undefined): string {
  const written = (most: number): string => {
    const named = new NamedSecrets(most);
    return typeof value === "string" ? named.outOfText(value, 0) : JSON.stringify(named.outOf(value, 0));
  };
  return struckOut(written, redact);
}

/** Like `recordedText`, for a JSON Schema: in a schema, a property with the name of a secret only describes the secret. */
export function recordedSchema(schema: unknown, redact: RedactText | undefined): string {
  return struckOut(() => JSON.stringify(schema) ?? "", redact);
}

/** Cuts a recorded text to `maxChars`. */
export function shortened(recorded: string, maxChars: number): string {
  return atMost(recorded, maxChars).toWellFormed(); // strict JSON readers refuse lone surrogates
}

/**
 * Redacts a text. If a pattern fails, or a value cannot be read, none of it is recorded.
 * @param written makes the text, or at least its first `most` characters
 */
function struckOut(written: (most: number) => string, redact: RedactText | undefined): string {
  try {
    return foundAndStruckOut(written, redact);
  } catch {
    return NOT_REDACTED;
  }
}

function foundAndStruckOut(written: (most: number) => string, redact: RedactText | undefined): string {
  if (redact === undefined) {
    const text = written(LOOKED_AT);
    const start = withoutSecrets(startOf(text));
    if (start.length > MAX_CHARS || text.length < LOOKED_AT) return shortened(start, MAX_CHARS);
  }
  const whole = withoutSecrets(written(Infinity));
  const redacted: unknown = redact === undefined ? whole : redact(whole);
  return typeof redacted === "string" ? shortened(redacted, MAX_CHARS) : NOT_REDACTED;
}

/** The part of a text that is examined. It ends after a character that no secret contains, so the same secrets are found as in the whole text. */
function startOf(text: string): string {
  if (text.length < LOOKED_AT) return text;
  const start = text.slice(0, LOOKED_AT);
  return start.slice(0, 1 + Math.max(...[" ", "\n", '"'].map((sign) => start.lastIndexOf(sign))));
}

class NamedSecrets {
  /** Number of characters still to examine; what follows is omitted. */
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  outOf(value: unknown, depth: number): JsonValue {
    if (depth > MAX_DEPTH) return "…";
    if (typeof value === "string") return this.#outOfString(value, depth);
    if (typeof value !== "object" || value === null) return scalar(value);
    return Array.isArray(value) ? this.#outOfItems(value, depth) : this.#outOfEntries(value, depth);
  }

  /** Redacts JSON within a text: many tools return JSON as text, and models write arguments that way. Either may be a JSON string again. */
  outOfText(text: string, depth: number): string {
    if (!/^\s*(?:[[{]|"\s*\\*[[{"])/u.test(text)) return text;
    try {
      return JSON.stringify(this.outOf(parseJson(text, ANY_SIZE), depth + 1));
    } catch {
      return text.includes("\n") ? this.#outOfLines(text, depth) : text;
    }
  }

  /** Redacts JSON Lines: one value per line. */
  #outOfLines(text: string, depth: number): string {
    const kept: string[] = [];
    for (const line of text.split("\n")) {
      if (this.#left <= 0) break;
      kept.push(this.#outOfString(line, depth));
    }
    return kept.join("\n");
  }

  #outOfString(text: string, depth: number): string {
    const before = this.#left;
    const kept = this.outOfText(text, depth);
    this.#left = before - kept.length; // counts the text once, also if it was JSON
    return kept;
  }

  #outOfItems(items: readonly unknown[], depth: number): JsonValue {
    const kept: JsonValue[] = [];
    for (const item of items) {
      if (this.#left <= 0) break;
      this.#left -= 1; // its comma
      kept.push(this.outOf(item, depth + 1));
    }
    return kept;
  }

  #outOfEntries(value: object, depth: number): JsonValue {
    const kept: (readonly [string, JsonValue])[] = [];
    for (const [key, held] of Object.entries(value)) {
      if (this.#left <= 0) break;
      this.#counted(key);
      kept.push([key, isSecretName(key) && held !== null ? this.#counted(SECRET) : this.outOf(held, depth + 1)]);
    }
    return Object.fromEntries(kept);
  }

  #counted(text: string): string {
    this.#left -= text.length;
    return text;
  }
}

function scalar(value: unknown): JsonValue {
  if (typeof value === "boolean") return value;
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function withoutSecrets(text: string): string {
  const found = secretsIn(text).toSorted((one, other) => one.start - other.start);
  let clean = "";
  let from = 0;
  for (const { start, end } of found) {
    if (start > from) clean += text.slice(from, start);
    if (end > from) clean += SECRET;
    from = Math.max(from, end);
  }
  return clean + text.slice(from);
}
