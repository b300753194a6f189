/** Runs a pattern on a linear-time engine, with the meaning ECMAScript gives it. */
import { createRequire } from "node:module";
import { type PatternNode, type SetMember, UnreadablePattern } from "./pattern-syntax.ts";

type Re2Module = typeof import("re2js");

let engine: Re2Module["RE2JS"] | undefined;

/** RE2 writes out counted repeats; past this many states it refuses or crawls. */
export const MAX_RE2_SIZE = 1000;

/**
 * Makes a matcher for a pattern without look-around.
 *
 * The engine is loaded at the first use, which takes some 15 ms, so that programs without such patterns never pay.
 *
 * @throws UnreadablePattern when RE2 has no word for part of the pattern.
 */
export function re2Matcher(tree: PatternNode): (text: string) => boolean {
  engine ??= loadEngine();
  const source = write(tree);
  try {
    const compiled = engine.compile(source);
    return (text) => compiled.test(text);
  } catch (error: unknown) {
    throw new UnreadablePattern("RE2 cannot express it", { cause: error });
  }
}

/** Bundlers include the package at the first `require`. Node has none in a module, so there the package is loaded by the second one. */
function loadEngine(): Re2Module["RE2JS"] {
  let loaded: Re2Module;
  try {
    loaded = require("re2js");
  } catch {
    loaded = createRequire(import.meta.url)("re2js");
  }
  return loaded.RE2JS;
}

function write(tree: PatternNode): string {
  switch (tree.type) {
    case "set":
      return writeSet(tree.members, tree.negated);
    case "edge":
      return EDGES[tree.edge];
    case "sequence":
      return tree.items.map(write).join("");
    case "choice":
      return `(?:${tree.branches.map(write).join("|")})`;
    case "repeat":
      return writeRepeat(tree.body, tree.min, tree.max);
    case "look":
      throw new UnreadablePattern("look-around is only supported right after a leading ^");
  }
}

const EDGES = { start: "\\A", end: "\\z", word: "\\b", "not-word": "\\B" } as const;

function writeRepeat(body: PatternNode, min: number, max: number): string {
  const inner = `(?:${write(body)})`;
  if (max === Infinity) return min === 0 ? `${inner}*` : min === 1 ? `${inner}+` : `${inner}{${min},}`;
  return `${inner}{${min},${max}}`;
}

function writeSet(members: readonly SetMember[], negated: boolean): string {
  if (members.length === 0) return negated ? ANY : NONE;
  return `[${negated ? "^" : ""}${members.map(writeMember).join("")}]`;
}

const ANY = "[\\x{0}-\\x{10FFFF}]";
const NONE = "[^\\x{0}-\\x{10FFFF}]";

function writeMember(member: SetMember): string {
  switch (member.type) {
    case "range":
      return `\\x{${member.from.toString(16)}}-\\x{${member.to.toString(16)}}`;
    case "class":
      return CLASSES[member.name];
    case "property":
      return `\\${member.negated ? "P" : "p"}{${member.name.replace(/^(?:Script|sc|General_Category|gc)=/u, "")}}`;
  }
}

/** RE2's own \s knows ASCII only; ECMAScript's is white space and line ends of all Unicode. */
const CLASSES = {
  d: "0-9",
  D: "\\x{0}-/:-\\x{10FFFF}",
  w: "0-9A-Za-z_",
  W: "\\x{0}-/:-@\\[-\\^`{-\\x{10FFFF}",
  s: "\\x{9}-\\x{d} \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}",
  S: "\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10FFFF}",
} as const;
