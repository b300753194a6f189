/** Redacts secrets in text about a server, and from it: the values of the environment variables that the server was given. */
import { causesOf } from "../base/causes.ts";
import { ToolError, pickHints } from "../error.ts";
import { createSecretStriker, secretParts, secretSpellings } from "./secret-spellings.ts";

/** Values shorter than this are not treated as secrets: they would be redacted in ordinary words. */
const MIN_SECRET_LENGTH = 6;

export type Redact = (text: string) => string;

/** A shorter prefix of a secret reveals too little of it, and also begins ordinary words. */
const MIN_PREFIX_LENGTH = 8;
/** The mark for truncated text, as in `truncate-text.ts`. */
const TRUNCATION_MARK = "…";

/**
 * Returns a function that replaces each value of `environment`, even if truncated, by its name in brackets; longest values first. Passwords and keys
 * in a value that is an address are replaced also without the rest of it.
 */
export function createRedactor(environment: Readonly<Record<string, string>> = {}): Redact {
  const secrets = Object.entries(environment)
    .flatMap(([name, value]) => [[name, value] as const, ...Object.entries(addressCredentials(name, value))])
    .filter(([, value]) => value.length >= MIN_SECRET_LENGTH);
  return createLabeller(secrets.map(([name, value]) => [`[${name}]`, value] as const));
}

/**
 * Returns a function that replaces each secret, in each spelling and even if truncated, by its label; longest secrets first. Of a secret with several
 * lines, its long lines are replaced also alone.
 */
export function createLabeller(secrets: readonly (readonly [label: string, secret: string])[]): Redact {
  const parts = secrets
    .flatMap(([label, secret]) => secretParts(secret).map((part) => ({ label, part, strike: createSecretStriker(part) })))
    .toSorted((one, other) => decodedLength(other.part) - decodedLength(one.part));
  let spellings: readonly (readonly [label: string, spelling: string])[] | undefined;
  return (text) => {
    const whole = parts.reduce((left, { label, strike }) => strike(left, label), text);
    if (!whole.includes(TRUNCATION_MARK)) return whole;
    spellings ??= parts.flatMap(({ label, part }) => secretSpellings(part).map((spelling) => [label, spelling] as const));
    return spellings.reduce((left, [label, spelling]) => redactTruncated(left, spelling, label), whole);
  };
}

/** Without the escapes in it, so that a password comes before the same password as it is written in an address. */
function decodedLength(secret: string): number {
  return secret.replaceAll(/%[\da-f]{2}/giu, "x").length;
}

/**
 * Replaces a prefix of `secret` directly before a truncation mark by `label`. Takes linear time: the text may come from a server and consist of such
 * marks.
 */
function redactTruncated(text: string, secret: string, label: string): string {
  if (secret.length <= MIN_PREFIX_LENGTH) return text; // a beginning is shorter than the secret
  const head = secret.slice(0, MIN_PREFIX_LENGTH);
  let clean = "";
  let from = 0;
  for (let start = text.indexOf(head); start >= 0; start = text.indexOf(head, Math.max(from, start + 1))) {
    const end = findPrefixEnd(text, start, secret);
    if (text[end] !== TRUNCATION_MARK) continue;
    clean += text.slice(from, start) + label;
    from = end;
  }
  return from === 0 ? text : clean + text.slice(from);
}

/** Returns where the text stops matching the secret, or is truncated. */
function findPrefixEnd(text: string, start: number, secret: string): number {
  let length = MIN_PREFIX_LENGTH;
  while (length < secret.length && text[start + length] !== TRUNCATION_MARK && text[start + length] === secret[length]) length++;
  return start + length;
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
  if (same && !hasSecretInCauses(error.cause, redact)) return error;
  // The cause is dropped, as it would still contain the secret.
  return new ToolError(error.code, message, {
    details,
    retryable: error.retryable,
    outcome: error.outcome,
    ...pickHints({ hint, operatorHint, toolNames: error.toolNames }),
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
  });
}

/** Whether something in the chain of causes has a text that `redact` removes. */
function hasSecretInCauses(cause: unknown, redact: Redact): boolean {
  for (const each of causesOf(cause)) {
    const text = textsOf(each).join(" ");
    if (redact(text) !== text) return true;
  }
  return false;
}

/** The texts of a cause: of an error its message and stack, and of any object its own texts, such as `input` of an address that cannot be read. */
function textsOf(cause: unknown): readonly string[] {
  if (typeof cause === "string") return [cause];
  if (typeof cause !== "object" || cause === null) return [];
  const own = cause instanceof Error ? [cause.message, cause.stack] : [];
  return [...own, ...Object.values(Object.getOwnPropertyDescriptors(cause)).map(({ value }): unknown => value)].filter(
    (text) => typeof text === "string",
  );
}

/**
 * Names of what only its owner may know; other variables and headers of a server or program hold ordinary words. Authors, authorities, tokenizers,
 * public keys and keys of tables are none; a primary key may be that of a cloud service.
 */
const CREDENTIAL_NAME =
  /token(?!i[sz])|secret|password|passwd|pwd|passphrase|credential|auth(?!or(?!i[sz]))|cookie|(?<!(?:sort|foreign|partition|public)[_.-]?)key$|key (?:value|encoded)$/iu;
/** Names of something about a credential: where it is, or of which kind. */
const CREDENTIAL_METADATA_NAME = /[_.-](?:ur[il]|endpoint|host|domain|issuer|path|file|dir|sock|mode|type|method|limit)$/iu;
/** The folder of a shell, and the one before: a program that passes on its whole environment passes on these. */
const FOLDER_VARIABLES: ReadonlySet<string> = new Set(["PWD", "OLDPWD"]);
/** Shorter ones are ordinary words too, and what is struck out of an answer is lost to the model. */
export const MIN_LENGTH_IN_ANSWER = 8;

/**
 * Returns the values that are credentials, by their names, and the passwords and keys of addresses in any value. They are struck out of answers as
 * well: some repeat their environment or their request.
 */
export function pickCredentials(values: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const found = Object.entries(values).flatMap(([name, value]) => [
    ...(isCredential(name, value) ? [[name, value] as const] : []),
    ...Object.entries(addressCredentials(name, value)),
  ]);
  return Object.fromEntries(found.filter(([, value]) => value.length >= MIN_LENGTH_IN_ANSWER));
}

/** Whether a variable, header or option with this name has a credential. */
export function isCredentialName(name: string): boolean {
  return CREDENTIAL_NAME.test(name) && !CREDENTIAL_METADATA_NAME.test(name);
}

/** An address with a user or a query may hold the credential itself. */
function isCredential(name: string, value: string): boolean {
  if (!CREDENTIAL_NAME.test(name) || FOLDER_VARIABLES.has(name)) return false;
  return !CREDENTIAL_METADATA_NAME.test(name) || /[@?]/u.test(value);
}

const PASSWORD = /:\/\/([^:/?#@\s]*):([^@/\s]+)@/gu;
/** A name without a password is a token if it is as long as one, as in `https://<token>@github.com`. */
const TOKEN = /https?:\/\/([^:/?#@\s]{20,})@/gu;
const PAIR = /(?:^|[?&;\s])([\w.-]+)=([^&;#\s]+)/gu;
/** Narrower than for names of variables: `authSource` and `sslkey` of a connection string are a database and a file. */
const CREDENTIAL_PAIR =
  /(?:token|secret|password|passwd|pwd|passphrase|signature|(?<![a-z])sig|(?<!(?:sort|foreign|partition|public)[_.-]?|ssl)key)$/iu;

/**
 * Returns the passwords, tokens and keys in an address or a connection string, such as `postgres://ann:secret@host/db` or `Server=host;Password=…`, by
 * labels that contain `name`: as they are written and, if percent-encoded, decoded too. A password that is also the user's name is left out: it is no
 * secret, and often an ordinary word, as in `postgres:postgres@localhost`.
 */
export function addressCredentials(name: string, text: string): Readonly<Record<string, string>> {
  if (!text.includes("@") && !text.includes("=")) return {};
  const found: Record<string, string> = {};
  const add = (what: string, value: string): void => {
    const decoded = decodeUrlPart(value);
    let label = `${what} of ${name}`;
    for (let count = 2; found[label] !== undefined && found[label] !== decoded; count++) label = `${what} ${count} of ${name}`;
    found[label] = decoded;
    if (decoded !== value) found[`${label}, encoded`] = value;
  };
  for (const [, user, value = ""] of text.matchAll(PASSWORD)) if (value !== user) add("password", value);
  for (const [, value = ""] of text.matchAll(TOKEN)) add("token", value);
  for (const [, key = "", value = ""] of text.matchAll(PAIR)) if (CREDENTIAL_PAIR.test(key)) add(`credential ${key}`, value);
  return found;
}

/** Decodes a part of an address; returned unchanged if a `%` in it is not an escape. */
export function decodeUrlPart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
