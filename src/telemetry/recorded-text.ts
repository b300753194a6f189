/** Arguments and results as attributes: JSON text without secrets, cut to size. */
import type { JsonValue } from "../core/base/json.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { atMost } from "../core/base/short-text.ts";
import { isSecretName, secretsIn } from "../trust/sensitive-text.ts";

/** Longer texts are cut; collectors refuse attributes that are much longer. */
export const MAX_CHARS = 16_384;
const MAX_DEPTH = 64;
const SECRET = "[secret]";
export const ANY_SIZE = { maxChars: Infinity, maxNodes: Infinity, longIntegers: "string" } as const;

export type RedactText = (text: string) => string;

/** Strikes out secrets by the names of properties and by their form, and then what `redact` strikes out. */
export function recordedText(value: unknown, redact: RedactText | undefined, maxChars = MAX_CHARS): string {
  const text = typeof value === "string" ? textWithoutNamedSecrets(value, 0) : JSON.stringify(withoutNamedSecrets(value, 0));
  return struckOut(text ?? "", redact, maxChars);
}

/** The same for a JSON Schema: a property of it that has the name of a secret says what the secret looks like. */
export function recordedSchema(schema: unknown, redact: RedactText | undefined, maxChars = MAX_CHARS): string {
  return struckOut(JSON.stringify(schema) ?? "", redact, maxChars);
}

function struckOut(text: string, redact: RedactText | undefined, maxChars: number): string {
  const plain = withoutSecrets(text);
  const redacted = redact === undefined ? plain : redactedSafely(plain, redact);
  return atMost(redacted, maxChars).toWellFormed(); // as JSON, half a character is refused by strict readers
}

/** Where `redact` fails, nothing of the text is sent. */
function redactedSafely(text: string, redact: RedactText): string {
  try {
    const redacted: unknown = redact(text);
    return typeof redacted === "string" ? redacted : "[not redacted]";
  } catch {
    return "[not redacted]";
  }
}

function withoutNamedSecrets(value: unknown, depth: number): JsonValue {
  if (depth > MAX_DEPTH) return "…";
  if (Array.isArray(value)) return value.map((item) => withoutNamedSecrets(item, depth + 1));
  if (typeof value === "string") return textWithoutNamedSecrets(value, depth);
  if (typeof value !== "object" || value === null) return scalar(value);
  return Object.fromEntries(
    Object.entries(value).map(([key, held]) => [key, isSecretName(key) && held !== null ? SECRET : withoutNamedSecrets(held, depth + 1)]),
  );
}

/** Many tools answer with JSON as text, and models write arguments so. */
function textWithoutNamedSecrets(text: string, depth: number): string {
  if (!/^\s*[[{]/u.test(text)) return text;
  try {
    return JSON.stringify(withoutNamedSecrets(parseJson(text, ANY_SIZE), depth + 1));
  } catch {
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
