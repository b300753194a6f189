/** Grammar for messages: counted nouns, articles, and JSON's names for types. */

/** Formats a count: `1 item`, `2 items`, `3 retries`. */
export function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : nouns}`;
}

/** Puts a text on one line: line ends and other white space become single spaces, and none is left at the ends. */
export function singleLine(text: string): string {
  return text.replaceAll(/\s+/gu, " ").trim();
}

/** Returns the text with its first letter capitalized. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Lists the first few words: `a, b, …`. */
export function formatList(names: readonly (string | number)[], most = 10): string {
  return `${names.slice(0, most).join(", ")}${names.length > most ? ", …" : ""}`;
}

const MAX_COUNTED = 5;

/** Lists the first five words, and how many more there are: `a, b, c, d, e and 3 more`. */
export function formatListWithCount(names: readonly string[]): string {
  return `${names.slice(0, MAX_COUNTED).join(", ")}${names.length > MAX_COUNTED ? ` and ${names.length - MAX_COUNTED} more` : ""}`;
}

/** Letters whose names begin with a vowel sound, for abbreviations that are spelled out: an MCP server, a URL. */
const SPOKEN_WITH_VOWEL = /^[AEFHILMNORSX]/u;
const SPELLED_OUT = /^[A-Z]{1,4}(?![A-Za-z])/u;
const SOUNDS_LIKE_A_CONSONANT = /^(?:uint|uni|use|one\b|eu)/iu;

/** Returns the words with their article: `an array`, `a string`, `an A`, `a User`. */
export function withArticle(words: string): string {
  const isVowel = SPELLED_OUT.test(words)
    ? SPOKEN_WITH_VOWEL.test(words)
    : /^[aeiou]/iu.test(words) && !SOUNDS_LIKE_A_CONSONANT.test(words);
  return `${isVowel ? "an" : "a"} ${words}`;
}

/** Returns the type of a value with its article: `an array`, `a string`, `null`; `a function` and the like for values that are not JSON. */
export function describeValueType(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return withArticle(Array.isArray(value) ? "array" : typeof value);
}

/**
 * Like `describeValueType`, with class names for objects of the language and its platform: `a promise`, `a Map`, `a URL`. For arguments of a program.
 */
export function describeValueKind(value: unknown): string {
  if (typeof value !== "object" || value === null) return describeValueType(value);
  const kind = objectKind(value);
  if (kind === undefined) return UNREADABLE;
  if (kind === "Promise") return "a promise";
  return PLAIN_KINDS.has(kind) ? describeValueType(value) : withArticle(kind);
}

/** Maximum number of characters of a text that a message shows. */
const MAX_QUOTED = 200;
/** Maximum size in bits of a bigint that is written out: formatting its digits takes more than linear time. */
const MAX_QUOTED_BITS = 256;

/**
 * Formats a wrong value for a message: `"x"`, `5`, `5n`, `null`, the kind of any other. Never throws, unlike `String` and `JSON.stringify`; short.
 */
export function quoteValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > MAX_QUOTED ? `${value.slice(0, MAX_QUOTED)}…` : value);
  if (typeof value === "bigint") return BigInt.asIntN(MAX_QUOTED_BITS, value) === value ? `${value}n` : "a large bigint";
  return typeof value === "number" || typeof value === "boolean" ? String(value) : describeValueKind(value);
}

/**
 * Whether a value can be an options object: not an array, and not an object of the language or its platform, such as a promise, a `Map` or a `URL`.
 */
export function isOptionsObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  if (Object.getPrototypeOf(value) === Object.prototype) return true;
  const kind = objectKind(value);
  return kind !== undefined && (PLAIN_KINDS.has(kind) || !isPlatformClass(kind));
}

const PLAIN_KINDS: ReadonlySet<string> = new Set(["Object", "Array", "Module"]);

/** Whether the kind is a class of the language or its platform, not of the program. */
function isPlatformClass(kind: string): boolean {
  return kind in globalThis || /\.|(?:Iterator|Generator|Arguments)$/u.test(kind);
}

const UNREADABLE = "an object that cannot be read";
/** Maximum length of a kind: a class may give its objects a longer name. */
const MAX_KIND = 100;

/** Returns undefined for an object that throws when it is inspected: a revoked proxy, or one with a throwing name getter. */
function objectKind(value: object): string | undefined {
  try {
    return Object.prototype.toString.call(value).slice("[object ".length, -1).slice(0, MAX_KIND);
  } catch {
    return undefined;
  }
}

/** Returns the distinct words of a text, for lists in the code. */
export function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}

/** Returns the words of a text, each with the same value, for tables in the code. */
export function wordEntries<const Value>(value: Value, text: string): readonly (readonly [word: string, value: Value])[] {
  return text.split(" ").map((word) => [word, value] as const);
}
