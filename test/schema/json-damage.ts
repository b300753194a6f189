/** Damages the text of JSON values, one kind of damage at a time: what models, templates and copies do to it. */
import { type JsonValue, isJsonArray } from "../../src/core/base/json.ts";
import { type JsonToken, type Written, textOf } from "./json-tokens.ts";

/** A number from 0 up to and without 1. */
export type Random = () => number;

export interface Damage {
  readonly kind: string;
  /** The value can be told from the damaged text: only its form was damaged. */
  readonly recoverable: boolean;
  /** The damaged text; undefined where the value offers nothing to damage so. */
  readonly apply: (written: Written, random: Random) => string | undefined;
}

type Tokens = readonly JsonToken[];

function pick<T>(random: Random, from: readonly T[]): T | undefined {
  return from[Math.floor(random() * from.length)];
}

/** Places of the tokens that a condition holds for. */
function places(tokens: Tokens, fits: (token: JsonToken, at: number) => boolean): readonly number[] {
  return tokens.flatMap((token, at) => (fits(token, at) ? [at] : []));
}

function replaced(tokens: Tokens, at: number, text: string): string {
  return textOf(tokens.map((token, place) => (place === at ? { ...token, text } : token)));
}

/** Changes one token of those that fit. */
function one(fits: (token: JsonToken, at: number, tokens: Tokens) => boolean, change: (text: string, random: Random) => string) {
  return ({ tokens }: Written, random: Random): string | undefined => {
    const at = pick(
      random,
      places(tokens, (token, place) => fits(token, place, tokens)),
    );
    const token = at === undefined ? undefined : tokens[at];
    return at === undefined || token === undefined ? undefined : replaced(tokens, at, change(token.text, random));
  };
}

/** Changes all tokens that fit. */
function all(fits: (token: JsonToken) => boolean, change: (text: string, token: JsonToken) => string) {
  return ({ tokens }: Written): string | undefined =>
    tokens.some(fits) ? textOf(tokens.map((token) => (fits(token) ? { ...token, text: change(token.text, token) } : token))) : undefined;
}

const isString = ({ kind }: JsonToken): boolean => kind === "key" || kind === "string";
const isClose = ({ kind }: JsonToken): boolean => kind === "close";
const inObject = (token: JsonToken): boolean => token.kind === "comma" && token.within === "object";
const IDENTIFIER = /^"[A-Za-z_]\w*"$/u;
const PROSE = ["Here is the call:\n", "Sure. I will use these arguments: ", "Arguments:\n\n"];
const AFTER = ["\nThat is all.", "\n\nLet me know if it's right.", " is what I want to send"];
const WORDS = ["foo", "please", "hm", "undefinedly"];

function unescaped(text: string, pattern: RegExp, by: (escape: string) => string): string {
  return text.replaceAll(/\\(?:u[0-9a-f]{4}|[^u])/gu, (escape) => (pattern.test(escape) ? by(escape) : escape));
}

function requoted(open: string, close: string, mark: string) {
  return (text: string): string => open + text.slice(1, -1).replaceAll('\\"', '"').replaceAll(mark, `\\${mark}`) + close;
}

/** How many tokens at the end only close. */
function closersAtEnd(tokens: Tokens): number {
  let count = 0;
  while (count < tokens.length && tokens.at(-1 - count)?.kind === "close") count++;
  return count;
}

const STRUCTURE: readonly Damage[] = [
  {
    kind: "comma missing",
    recoverable: true,
    apply: one(
      ({ kind }) => kind === "comma",
      () => " ",
    ),
  },
  { kind: "comma doubled in an object", recoverable: true, apply: one(inObject, () => ",,") },
  {
    kind: "comma doubled in an array",
    recoverable: true,
    apply: one(
      (token) => token.kind === "comma" && !inObject(token),
      () => ",,",
    ),
  },
  {
    kind: "comma trailing",
    recoverable: true,
    apply: one(
      (token, at, tokens) => isClose(token) && tokens[at - 1]?.kind !== "open",
      (text) => `,${text}`,
    ),
  },
  {
    kind: "comma leading",
    recoverable: true,
    apply: one(
      (token, at, tokens) => token.kind === "open" && tokens[at + 1]?.kind !== "close",
      (text) => `${text},`,
    ),
  },
  {
    kind: "colon missing",
    recoverable: true,
    apply: one(
      ({ kind }) => kind === "colon",
      () => " ",
    ),
  },
  {
    kind: "value missing",
    recoverable: false,
    apply: one(
      (token, at, tokens) => tokens[at - 1]?.kind === "colon" && token.kind !== "open",
      () => "",
    ),
  },
  {
    kind: "value a lone sign",
    recoverable: false,
    apply: one(
      (token, at, tokens) => tokens[at - 1]?.kind === "colon" && token.kind !== "open",
      () => "-",
    ),
  },
  { kind: "bracket doubled", recoverable: true, apply: one(isClose, (text) => text + text) },
  { kind: "bracket doubled at the end", recoverable: true, apply: ({ tokens }) => textOf(tokens) + (tokens.at(-1)?.text ?? "") },
  {
    kind: "bracket missing inside",
    recoverable: false,
    apply: one(
      (token, at, tokens) => isClose(token) && at < tokens.length - closersAtEnd(tokens),
      () => "",
    ),
  },
  { kind: "bracket of the wrong kind", recoverable: true, apply: one(isClose, (text) => (text === "}" ? "]" : "}")) },
  {
    kind: "bracket opened twice",
    recoverable: false,
    apply: one(
      ({ kind }) => kind === "open",
      (text) => text + text,
    ),
  },
  {
    kind: "brackets missing at the end",
    recoverable: true,
    apply: ({ tokens }, random) => textOf(tokens.slice(0, tokens.length - 1 - Math.floor(random() * closersAtEnd(tokens)))),
  },
  {
    kind: "cut off anywhere",
    recoverable: false,
    apply: ({ tokens }, random) => {
      const text = textOf(tokens);
      return text.slice(0, 1 + Math.floor(random() * (text.length - 1)));
    },
  },
  {
    kind: "stray word",
    recoverable: true,
    apply: one(
      ({ kind }) => kind === "comma",
      (text, random) => (random() < 0.5 ? `${text} ${pick(random, WORDS)} ` : ` ${pick(random, WORDS)}${text}`),
    ),
  },
  {
    kind: "comment",
    recoverable: true,
    apply: one(
      ({ kind }) => kind !== "key",
      (text, random) => `${text} ${pick(random, ["/* a, note */", "// see: it's [1]\n", "# ok\n"])} `,
    ),
  },
];

const STRINGS: readonly Damage[] = [
  { kind: "single quotes", recoverable: true, apply: all(isString, requoted("'", "'", "'")) },
  { kind: "smart quotes", recoverable: true, apply: all(isString, (text) => `“${text.slice(1, -1)}”`) },
  { kind: "backticks", recoverable: true, apply: one(({ kind }) => kind === "string", requoted("`", "`", "`")) },
  {
    kind: "keys unquoted",
    recoverable: true,
    apply: all(
      ({ kind, text }) => kind === "key" && IDENTIFIER.test(text),
      (text) => text.slice(1, -1),
    ),
  },
  {
    kind: "key quote missing at its end",
    recoverable: true,
    apply: one(
      ({ kind }) => kind === "key",
      (text) => text.slice(0, -1),
    ),
  },
  {
    kind: "key quote missing at its start",
    recoverable: true,
    apply: one(
      ({ kind }) => kind === "key",
      (text) => text.slice(1),
    ),
  },
  {
    kind: "quote missing at its end",
    recoverable: true,
    apply: one(
      ({ kind }) => kind === "string",
      (text) => text.slice(0, -1),
    ),
  },
  {
    kind: "quote missing at its start",
    recoverable: true,
    apply: one(
      ({ kind }) => kind === "string",
      (text) => text.slice(1),
    ),
  },
  {
    kind: "quotes inside",
    recoverable: true,
    apply: one(
      (token) => isString(token) && token.text.includes('\\"'),
      (text) => unescaped(text, /^\\"$/u, () => '"'),
    ),
  },
  {
    kind: "one quote inside",
    recoverable: true,
    apply: one(
      (token) => isString(token) && token.text.includes('\\"'),
      (text) => text.replace('\\"', '"'),
    ),
  },
  {
    kind: "raw line breaks and tabs",
    recoverable: true,
    apply: one(
      (token) => isString(token) && /\\[nrt]/u.test(token.text),
      (text) => unescaped(text, /^\\[nrt]$/u, (escape) => JSON.parse(`"${escape}"`) as string),
    ),
  },
  {
    kind: "backslashes single",
    recoverable: true,
    apply: one(
      (token) => isString(token) && token.text.includes("\\\\"),
      (text) => unescaped(text, /^\\\\$/u, () => "\\"),
    ),
  },
  {
    kind: "one backslash single",
    recoverable: true,
    apply: one(
      (token) => isString(token) && token.text.includes("\\\\"),
      (text) => text.replace("\\\\", "\\"),
    ),
  },
];

/** What stands on the wrong side of a quote, or between two of different kinds. */
const MISPLACED: readonly Damage[] = [
  {
    kind: "comma inside the string before it",
    recoverable: false,
    apply: ({ tokens }, random) => swappedIn(tokens, random, "string", "comma"),
  },
  { kind: "colon inside its key", recoverable: false, apply: ({ tokens }, random) => swappedIn(tokens, random, "key", "colon") },
  {
    kind: "smart quote closed by a straight one",
    recoverable: true,
    apply: ({ tokens }, random) => {
      const smart = tokens.map((token) => (isString(token) ? { ...token, text: `“${token.text.slice(1, -1)}”` } : token));
      const at = pick(random, places(smart, isString));
      const text = at === undefined ? undefined : smart[at]?.text;
      return at === undefined || text === undefined ? undefined : replaced(smart, at, `${text.slice(0, -1)}"`);
    },
  },
  {
    kind: "number split by a space",
    recoverable: false,
    apply: one(
      ({ kind, text }) => kind === "number" && /^\d{2,}$/u.test(text),
      (text) => `${text.slice(0, 1)} ${text.slice(1)}`,
    ),
  },
];

/** Moves a separator into the string that it stands behind. */
function swappedIn(tokens: Tokens, random: Random, string: JsonToken["kind"], separator: JsonToken["kind"]): string | undefined {
  const at = pick(
    random,
    places(tokens, ({ kind }, place) => kind === string && tokens[place + 1]?.kind === separator),
  );
  const [token, behind] = at === undefined ? [] : tokens.slice(at, at + 2);
  if (at === undefined || token === undefined || behind === undefined) return undefined;
  const moved = { ...token, text: `${token.text.slice(0, -1)}${behind.text}"` };
  return textOf(tokens.map((each, place) => (place === at ? moved : place === at + 1 ? { ...behind, text: " " } : each)));
}

const WORDS_AND_NUMBERS: readonly Damage[] = [
  {
    kind: "Python's words",
    recoverable: true,
    apply: all(
      ({ kind }) => kind === "word",
      (text) => ({ true: "True", false: "False", null: "None" })[text] ?? text,
    ),
  },
  {
    kind: "upper case words",
    recoverable: true,
    apply: all(
      ({ kind }) => kind === "word",
      (text) => text.toUpperCase(),
    ),
  },
  {
    kind: "null undefined",
    recoverable: true,
    apply: one(
      ({ text, kind }) => kind === "word" && text === "null",
      () => "undefined",
    ),
  },
  {
    kind: "number with a plus",
    recoverable: true,
    apply: one(
      ({ kind, text }) => kind === "number" && !text.startsWith("-"),
      (text) => `+${text}`,
    ),
  },
  {
    kind: "number in hex",
    recoverable: true,
    apply: one(
      ({ kind, text }) => kind === "number" && /^\d+$/u.test(text),
      (text) => `0x${Number(text).toString(16)}`,
    ),
  },
  {
    kind: "number without its zero",
    recoverable: true,
    apply: one(
      ({ kind, text }) => kind === "number" && /^-?0\.\d+$/u.test(text),
      (text) => text.replace("0.", "."),
    ),
  },
  {
    kind: "number with a space",
    recoverable: true,
    apply: one(
      ({ kind, text }) => kind === "number" && text.startsWith("-"),
      (text) => text.replace("-", "- "),
    ),
  },
];

const AROUND: readonly Damage[] = [
  {
    kind: "fence",
    recoverable: true,
    apply: ({ tokens }, random) => `\`\`\`${pick(random, ["json", "", "JSON"])}\n${textOf(tokens)}\n\`\`\``,
  },
  {
    kind: "fence among prose",
    recoverable: true,
    apply: ({ tokens }, random) => `${pick(random, PROSE)}\`\`\`json\n${textOf(tokens)}\n\`\`\`${pick(random, AFTER)}`,
  },
  { kind: "prose before", recoverable: true, apply: ({ tokens }, random) => pick(random, PROSE) + textOf(tokens) },
  { kind: "prose behind", recoverable: true, apply: ({ tokens }, random) => textOf(tokens) + pick(random, AFTER) },
  {
    kind: "garbage around",
    recoverable: true,
    apply: ({ tokens }, random) =>
      `${pick(random, ["json\n", "= ", "> ", ""])}${textOf(tokens)}${pick(random, [";", "</tool_call>", "\n---", ","])}`,
  },
  { kind: "encoded twice", recoverable: true, apply: ({ tokens }) => JSON.stringify(textOf(tokens)) },
  { kind: "quotes escaped", recoverable: true, apply: ({ tokens }) => JSON.stringify(textOf(tokens)).slice(1, -1) },
];

export const DAMAGES: readonly Damage[] = [...STRUCTURE, ...STRINGS, ...MISPLACED, ...WORDS_AND_NUMBERS, ...AROUND];

const WORDS_OF_TEXT = [
  "city",
  "Köln",
  "user",
  "naïve",
  "the",
  "it's",
  "日本",
  "🙂",
  "a b",
  'say "yes"',
  '"',
  '"quoted"',
  "x, y",
  "a: b",
  "[1, 2]",
  "{x}",
  "}",
  "]",
  ",",
];
const TEXTS = [
  "",
  "Paris",
  "bob@x.com",
  "2026-11-23T10:00:00Z",
  "https://example.com/a?b=c,d#e",
  "C:\\Users\\ada\\new file.txt",
  "\\\\server\\share\\temp",
  "^\\d+\\s*$",
  "\\bfoo\\b(\\w+)",
  "line one\nline two\n",
  "\tindented\r\n",
  'if (a == "x") { return "y"; }',
  'console.log("hi, there");',
  "SELECT * FROM t WHERE name = 'ada' AND n > 5;",
  "print('a', \"b\")",
  '{"k": "v", "n": [1, 2]}',
  '["a", "b"]',
  'she said "no", and left',
  'a "b" c "d" e',
  'size 10" x 12"',
  "“smart” quotes",
  "true",
  "null",
  "12",
  "```js\nlet a = {};\n```",
  "# not a comment",
  "// neither",
  "50% /* or */ so",
  '<a href="x">y</a>',
  "key: value, other: 2",
  "it's o'clock",
  "don't, won't",
  "ends with backslash\\",
  "tab\tand \\t",
  "\u0001\u001f",
  "\u2028",
  "a".repeat(300),
];
const KEYS = [
  "a",
  "b",
  "id",
  "name",
  "to",
  "cc",
  "amount",
  "path",
  "pattern",
  "items",
  "dry_run",
  "a-b",
  "with space",
  "ключ",
  "k.v",
  "$ref",
  "1",
  'say "hi"',
  "C:\\x",
  "",
  "it's",
];

/** A value as a tool's arguments have it. */
export function randomArguments(random: Random): JsonValue {
  return Object.fromEntries(Array.from({ length: 1 + Math.floor(random() * 4) }, () => [randomKey(random), randomValue(random, 3)]));
}

function randomKey(random: Random): string {
  return pick(random, KEYS.slice(0, random() < 0.8 ? 11 : KEYS.length)) ?? "a";
}

function randomValue(random: Random, depth: number): JsonValue {
  const kind = random();
  if (kind < 0.45) return randomText(random);
  if (kind < 0.6) return randomNumber(random);
  if (kind < 0.72 || depth === 0) return pick(random, [true, false, null]) ?? null;
  const length = Math.floor(random() * 4);
  if (kind < 0.86) return Array.from({ length }, () => randomValue(random, depth - 1));
  return Object.fromEntries(Array.from({ length }, () => [randomKey(random), randomValue(random, depth - 1)]));
}

function randomText(random: Random): string {
  if (random() < 0.6) return pick(random, TEXTS) ?? "";
  return Array.from({ length: 1 + Math.floor(random() * 5) }, () => pick(random, WORDS_OF_TEXT)).join(random() < 0.8 ? " " : "");
}

function randomNumber(random: Random): number {
  return pick(random, [0, 1, 5, 42, 1234567, -3, 0.5, -0.25, 12.75, 1e21, 2.5e-7, Math.floor(random() * 1e6)]) ?? 0;
}

/** Whether two values are the same, the order of keys aside. */
export function isSame(one: JsonValue | undefined, other: JsonValue): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || one === null || typeof other !== "object" || other === null) return false;
  if (isJsonArray(one) || isJsonArray(other))
    return (
      isJsonArray(one) && isJsonArray(other) && one.length === other.length && one.every((item, at) => isSame(item, other[at] ?? null))
    );
  const keys = Object.keys(other);
  return keys.length === Object.keys(one).length && keys.every((key) => Object.hasOwn(one, key) && isSame(one[key], other[key] ?? null));
}
