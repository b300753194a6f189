/** Strikes secrets out of what is said about a server, and by it: the values of the variables that it was given. */
import { causesOf } from "./causes.ts";
import { ToolError, hintsOf } from "../error.ts";

/** A shorter value of a variable is no secret, and would be struck out of ordinary words. */
const MIN_SECRET_LENGTH = 6;

export type Redact = (text: string) => string;

/** A shorter beginning of a secret says too little of it, and is the beginning of ordinary words. */
const MIN_BEGINNING_LENGTH = 8;
/** Where a text was cut, as `short-text.ts` marks it. */
const CUT = "…";

/** Replaces each value of `environment` by its name in brackets, the longest values first, and what a cut has left of one. */
export function redactor(environment: Readonly<Record<string, string>> = {}): Redact {
  const secrets = Object.entries(environment)
    .filter(([, value]) => value.length >= MIN_SECRET_LENGTH)
    .toSorted(([, one], [, other]) => other.length - one.length);
  return (text) => {
    const whole = secrets.reduce((redacted, [name, value]) => redacted.replaceAll(value, `[${name}]`), text);
    return whole.includes(CUT) ? secrets.reduce((redacted, [name, value]) => withoutBeginning(redacted, value, `[${name}]`), whole) : whole;
  };
}

/** The text with `label` in place of a beginning of `secret` that is in front of a cut. */
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

/** The length of the longest beginning of the secret that ends at a place; 0 where none does. */
function beginningBefore(text: string, place: number, { secret, most }: { readonly secret: string; readonly most: number }): number {
  for (let length = Math.min(secret.length - 1, most); length >= MIN_BEGINNING_LENGTH; length--)
    if (text.startsWith(secret.slice(0, length), place - length)) return length;
  return 0;
}

/** No deeper than this: what is deeper is not kept of an answer. */
const MAX_DEPTH = 128;

/** The same value with nothing in its texts and keys that `redact` takes out; the value itself where there is nothing. */
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

/** The same error with nothing in its message, details and hints that `redact` takes out. */
export function redactError(error: ToolError, redact: Redact): ToolError {
  const message = redact(error.message);
  const details = error.details.map(redact);
  const hint = error.hint === undefined ? undefined : redact(error.hint);
  const operatorHint = error.operatorHint === undefined ? undefined : redact(error.operatorHint);
  const sameHints = hint === error.hint && operatorHint === error.operatorHint;
  const same = message === error.message && sameHints && details.every((detail, index) => detail === error.details[index]);
  if (same && !isTold(error.cause, redact)) return error;
  // Without its cause, which would still say it.
  return new ToolError(error.code, message, {
    details,
    retryable: error.retryable,
    outcome: error.outcome,
    ...hintsOf({ hint, operatorHint, toolNames: error.toolNames }),
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
  });
}

/** Whether an error, or one behind it, says in its message or stack what `redact` takes out. */
function isTold(cause: unknown, redact: Redact): boolean {
  for (const each of causesOf(cause)) {
    if (!(each instanceof Error)) continue;
    const text = `${each.message} ${each.stack ?? ""}`;
    if (redact(text) !== text) return true;
  }
  return false;
}
