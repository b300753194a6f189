/** Redacts secrets in text about a server, and from it: the values of the environment variables that the server was given. */
import { causesOf } from "./causes.ts";
import { ToolError, hintsOf } from "../error.ts";

/** Values shorter than this are not treated as secrets: they would be redacted in ordinary words. */
const MIN_SECRET_LENGTH = 6;

export type Redact = (text: string) => string;

/** A shorter prefix of a secret reveals too little of it, and also begins ordinary words. */
const MIN_BEGINNING_LENGTH = 8;
/** The mark for truncated text, as in `short-text.ts`. */
const CUT = "…";

/** Returns a function that replaces each value of `environment`, even if truncated, by its name in brackets; longest values first. */
export function redactor(environment: Readonly<Record<string, string>> = {}): Redact {
  const secrets = Object.entries(environment)
    .filter(([, value]) => value.length >= MIN_SECRET_LENGTH)
    .toSorted(([, one], [, other]) => other.length - one.length);
  return (text) => {
    const whole = secrets.reduce((redacted, [name, value]) => redacted.replaceAll(value, `[${name}]`), text);
    return whole.includes(CUT) ? secrets.reduce((redacted, [name, value]) => withoutBeginning(redacted, value, `[${name}]`), whole) : whole;
  };
}

/** Replaces a prefix of `secret` directly before a truncation mark by `label`. */
export function withoutBeginning(text: string, secret: string, label: string): string {
  let clean = "";
  let from = 0;
  for (let cut = text.indexOf(CUT); cut >= 0; cut = text.indexOf(CUT, cut + 1)) {
    const length = beginningBefore(text, cut, { secret, most: cut - from });
    if (length === 0) continue;
    clean += text.slice(from, cut - length) + label;
    from = cut;
  }
  return from === 0 ? text : clean + text.slice(from);
}

/** Returns the length of the secret's longest prefix that ends at `place`; 0 if there is none. */
function beginningBefore(text: string, place: number, { secret, most }: { readonly secret: string; readonly most: number }): number {
  for (let length = Math.min(secret.length - 1, most); length >= MIN_BEGINNING_LENGTH; length--)
    if (text.startsWith(secret.slice(0, length), place - length)) return length;
  return 0;
}

/** Maximum depth that is redacted; deeper parts of an answer are not kept. */
const MAX_DEPTH = 128;

/** Returns the value with `redact` applied to its texts and keys; the same value if nothing changes. */
export function redactValue<T>(value: T, redact: Redact, depth?: number): T;
export function redactValue(value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => redactValue(item, redact, depth + 1));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const members = Object.entries(value).map(([key, held]) => [redact(key), redactValue(held, redact, depth + 1), key, held] as const);
  return members.every(([key, held, before, heldBefore]) => key === before && held === heldBefore)
    ? value
    : Object.fromEntries(members.map(([key, held]) => [key, held]));
}

/** Returns the error with `redact` applied to message, details and hints. */
export function redactError(error: ToolError, redact: Redact): ToolError {
  const message = redact(error.message);
  const details = error.details.map(redact);
  const hint = error.hint === undefined ? undefined : redact(error.hint);
  const operatorHint = error.operatorHint === undefined ? undefined : redact(error.operatorHint);
  const sameHints = hint === error.hint && operatorHint === error.operatorHint;
  const same = message === error.message && sameHints && details.every((detail, index) => detail === error.details[index]);
  if (same && !isTold(error.cause, redact)) return error;
  // The cause is dropped, as it would still contain the secret.
  return new ToolError(error.code, message, {
    details,
    retryable: error.retryable,
    outcome: error.outcome,
    ...hintsOf({ hint, operatorHint, toolNames: error.toolNames }),
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
  });
}

/** Whether an error in the chain of causes has something in its message or stack that `redact` removes. */
function isTold(cause: unknown, redact: Redact): boolean {
  for (const each of causesOf(cause)) {
    if (!(each instanceof Error)) continue;
    const text = `${each.message} ${each.stack ?? ""}`;
    if (redact(text) !== text) return true;
  }
  return false;
}
