/** Damages the text of a valid file in one of the ways that editors, transfers and attackers do, the same way for the same seed. */
import { seededRandom } from "../../src/core/base/seeded-random.ts";
import type { Finished } from "./run-haft.ts";

interface Draw {
  below(count: number): number;
  of<Item>(items: readonly [Item, ...(readonly Item[])]): Item;
}

/** Values that readers do not expect, as JSON and mostly as YAML and TOML. */
const VALUES = [
  "null",
  "true",
  "-1",
  "0.5",
  "1e400",
  "-0",
  "12345678901234567890",
  '""',
  "[]",
  "{}",
  "[[]]",
  '[{"name": {}}]',
  '{"__proto__": {"polluted": 1}}',
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '"../../../../../etc/passwd"',
  '"/dev/zero"',
  '"/proc/self/environ"',
  '"."',
  '"::"',
  '"\\u0000"',
  '"\\ud800"',
  '"\\u001b[2J\\u202e"',
  '"${HOME}"',
  '"{a.b[0]}"',
  '"(a+)+$"',
  '"1970-13-45"',
  `"${"a".repeat(10_000)}"`,
  `${"[".repeat(5_000)}${"]".repeat(5_000)}`,
  `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`,
] as const;

const TOKEN = /"(?:[^"\\\n]|\\.)*"|(?<![\w."-])-?\d+(?:\.\d+)?|[A-Za-z_][\w-]*/gu;

type Mutation = (text: string, draw: Draw) => string | Buffer;

const replaceToken: Mutation = (text, draw) => {
  const tokens = [...text.matchAll(TOKEN)];
  const token = tokens[draw.below(tokens.length)];
  if (token === undefined) return draw.of(VALUES);
  return text.slice(0, token.index) + draw.of(VALUES) + text.slice(token.index + token[0].length);
};

const onLines =
  (change: (lines: string[], at: number, draw: Draw) => void): Mutation =>
  (text, draw) => {
    const lines = text.split("\n");
    change(lines, draw.below(lines.length), draw);
    return lines.join("\n");
  };

const insert =
  (piece: (draw: Draw) => string): Mutation =>
  (text, draw) => {
    const at = draw.below(text.length + 1);
    return text.slice(0, at) + piece(draw) + text.slice(at);
  };

const MUTATIONS: readonly [Mutation, ...(readonly Mutation[])] = [
  replaceToken,
  replaceToken,
  replaceToken,
  replaceToken,
  (text, draw) => replaceToken(String(replaceToken(text, draw)), draw),
  (text, draw) => text.slice(0, draw.below(text.length)),
  () => "",
  (text) => `\uFEFF${text}`,
  (text) => `\uFEFF\uFEFF${text}`,
  (text) => text.replaceAll("\n", "\r\n"),
  (text) => text.replaceAll("\n", "\r"),
  (text) => Buffer.from(`\uFEFF${text}`, "utf16le"),
  (text) => Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xc0])]),
  (text) => text + text,
  (text) => text.replaceAll(/"?\bversion"?\s*[:=]\s*\d+/gu, (found) => found.replace(/\d+$/u, "99")),
  insert(() => "\0"),
  insert((draw) => draw.of([...VALUES])),
  insert((draw) => draw.of(["{", "}", "[", "]", '"', ",", ":", "=", "#", "&a ", "*a ", "!!js/function ", "<<: ", "- ", "\t", "\u2028"])),
  onLines((lines, at) => void lines.splice(at, 1)),
  onLines((lines, at) => void lines.splice(at, 0, lines[at] ?? "")),
  onLines((lines, at, draw) => void lines.splice(draw.below(lines.length), 0, ...lines.splice(at, 1))),
];

/** The text with one to three damages. */
export function mutatedFile(text: string, seed: number): Buffer {
  const random = seededRandom(seed);
  const below = (count: number): number => Math.floor(random.next() * count);
  const draw: Draw = { below, of: (items) => items[below(items.length)] ?? items[0] };
  let mutated: string | Buffer = text;
  for (let times = 1 + below(2); times > 0 && typeof mutated === "string"; times--) mutated = draw.of(MUTATIONS)(mutated, draw);
  return Buffer.from(mutated as string);
}

/** Texts of JavaScript's own errors and values, and lines of stack traces. */
const INTERNALS =
  /^\s+at .+:\d+:\d+|\b(?:Type|Range|Reference|Syntax)Error\b|Cannot (?:read propert|set propert|convert undefined|destructure|mix BigInt)|is not (?:a function|iterable|a constructor)|\[object |\bundefined\b|Maximum call stack|\bNaN\b|Invalid Date|\bERR_|haft: execution_failed: (?!The kitchen is closed)/mu;

/** What of the program's inside its user is shown; undefined where there is nothing. */
export function internalsIn({ exitCode, stdout, stderr }: Finished): string | undefined {
  if (exitCode === null || exitCode > 7) return `exit code ${exitCode}`;
  if (exitCode !== 0 && (stdout + stderr).trim() === "") return "a failure without a word";
  return (INTERNALS.exec(stderr) ?? INTERNALS.exec(stdout))?.[0];
}
