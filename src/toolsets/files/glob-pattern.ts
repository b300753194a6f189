/** Matches paths against glob patterns in time linear in pattern × path, so that no pattern causes catastrophic backtracking. */
import { ToolError } from "../../core/error.ts";

export const MAX_PATTERN_LENGTH = 1000;
const MAX_ALTERNATIVES = 64;

/** Whether a path, given as its segments, matches. */
export type PathMatcher = (segments: readonly string[]) => boolean;

type NameMatcher = (name: string) => boolean;
type Step = NameMatcher | "any-depth";

/**
 * Compiles a glob: `*` and `?` stay inside a segment, `**` spans segments, `[a-z]` and `[!a]` are classes, `{a,b}` are alternatives, `\` escapes the
 * next character. A leading dot is not special.
 *
 * @throws ToolError `invalid_input` if the pattern is too long or has more than 64 alternatives
 */
export function compileGlob(pattern: string): PathMatcher {
  checkLength(pattern);
  const matchers = expandBraces(pattern).map(compilePlainGlob);
  const [first] = matchers;
  if (matchers.length === 1 && first !== undefined) return first;
  return (segments) => matchers.some((matches) => matches(segments));
}

/** Like `compileGlob`, without `{a,b}`: the syntax of ignore files. */
export function compilePlainGlob(pattern: string): PathMatcher {
  checkLength(pattern);
  const steps: Step[] = [];
  for (const part of pattern.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "**") steps.push(compileName(part));
    else if (steps.at(-1) !== "any-depth") steps.push("any-depth");
  }
  if (steps.at(-1) === "any-depth") steps.push(() => true); // a/** matches the content of a, not a itself
  return (segments) => matchSteps(steps, segments);
}

function checkLength(pattern: string): void {
  if (pattern.length <= MAX_PATTERN_LENGTH) return;
  throw new ToolError("invalid_input", `The pattern has ${pattern.length} characters; ${MAX_PATTERN_LENGTH} is the limit.`);
}

/** Only the last "any-depth" needs backtracking, as with `*` in a name: the steps after an earlier one already match. */
function matchSteps(steps: readonly Step[], segments: readonly string[]): boolean {
  let step = 0;
  let segment = 0;
  let retryStep = -1;
  let retrySegment = 0;
  while (segment < segments.length) {
    const current = steps[step];
    if (current === "any-depth") {
      retryStep = ++step;
      retrySegment = segment;
    } else if (current?.(segments[segment] ?? "") === true) {
      step++;
      segment++;
    } else if (retryStep >= 0) {
      step = retryStep;
      segment = ++retrySegment;
    } else return false;
  }
  return step === steps.length;
}

type Token =
  | { readonly type: "any-text" }
  | { readonly type: "any-character" }
  | { readonly type: "character"; readonly text: string }
  | CharacterClass;

interface CharacterClass {
  readonly type: "class";
  readonly negated: boolean;
  readonly ranges: readonly (readonly [string, string])[];
}

function compileName(pattern: string): NameMatcher {
  const tokens = readTokens(Array.from(pattern));
  if (tokens.length === 1 && tokens[0]?.type === "any-text") return () => true;
  const text = literalText(tokens);
  if (text !== undefined) return (name) => name === text;
  const ending = tokens[0]?.type === "any-text" ? literalText(tokens.slice(1)) : undefined;
  if (ending !== undefined) return (name) => name.endsWith(ending);
  return (name) => matchTokens(tokens, Array.from(name));
}

function literalText(tokens: readonly Token[]): string | undefined {
  let text = "";
  for (const token of tokens) {
    if (token.type !== "character") return undefined;
    text += token.text;
  }
  return text;
}

function readTokens(characters: readonly string[]): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? "";
    if (character === "*") {
      if (tokens.at(-1)?.type !== "any-text") tokens.push({ type: "any-text" });
    } else if (character === "?") tokens.push({ type: "any-character" });
    else if (character === "\\" && at + 1 < characters.length) tokens.push({ type: "character", text: characters[++at] ?? "" });
    else {
      const found = character === "[" ? readClass(characters, at) : undefined;
      tokens.push(found?.token ?? { type: "character", text: character });
      at = found?.end ?? at;
    }
  }
  return tokens;
}

/** Parses `[…]` from its opening bracket. Undefined if it is not closed: the bracket is then literal. */
function readClass(characters: readonly string[], open: number): { readonly token: CharacterClass; readonly end: number } | undefined {
  const negated = characters[open + 1] === "!" || characters[open + 1] === "^";
  const first = open + (negated ? 2 : 1);
  const ranges: (readonly [string, string])[] = [];
  for (let at = first; at < characters.length; at++) {
    let low = characters[at] ?? "";
    if (low === "]" && at > first) return { token: { type: "class", negated, ranges }, end: at };
    if (low === "\\") low = characters[++at] ?? "";
    const high = characters[at + 2];
    if (characters[at + 1] !== "-" || high === undefined || high === "]") ranges.push([low, low]);
    else {
      ranges.push([low, high]);
      at += 2;
    }
  }
  return undefined;
}

function matchTokens(tokens: readonly Token[], name: readonly string[]): boolean {
  let token = 0;
  let at = 0;
  let retryToken = -1;
  let retryAt = 0;
  while (at < name.length) {
    const current = tokens[token];
    if (current?.type === "any-text") {
      retryToken = ++token;
      retryAt = at;
    } else if (current !== undefined && matchCharacter(current, name[at] ?? "")) {
      token++;
      at++;
    } else if (retryToken >= 0) {
      token = retryToken;
      at = ++retryAt;
    } else return false;
  }
  while (tokens[token]?.type === "any-text") token++;
  return token === tokens.length;
}

function matchCharacter(token: Token, character: string): boolean {
  if (token.type === "character") return token.text === character;
  if (token.type !== "class") return true;
  return token.ranges.some(([low, high]) => character >= low && character <= high) !== token.negated;
}

/** Expands `{a,b}`. Braces without a comma or without a counterpart are literal. */
function expandBraces(pattern: string): readonly string[] {
  const done: string[] = [];
  const open = [pattern];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const braces = findBraces(next);
    if (braces === undefined) done.push(next);
    else for (const choice of braces.choices) open.push(next.slice(0, braces.start) + choice + next.slice(braces.end));
    if (done.length + open.length > MAX_ALTERNATIVES) {
      throw new ToolError("invalid_input", `The pattern ${JSON.stringify(pattern)} has more than ${MAX_ALTERNATIVES} alternatives.`, {
        hint: "Use fewer {…} groups.",
      });
    }
  }
  return done;
}

interface Braces {
  readonly start: number;
  readonly end: number;
  readonly choices: readonly string[];
}

/** Returns the first closed pair of braces that contains a comma and no other braces. */
function findBraces(pattern: string): Braces | undefined {
  let start = -1;
  let commas: number[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at];
    if (character === "\\") at++;
    else if (character === "{") {
      start = at;
      commas = [];
    } else if (character === "," && start >= 0) commas.push(at);
    else if (character === "}" && start >= 0) {
      if (commas.length > 0) {
        const bounds = [start, ...commas, at];
        return { start, end: at + 1, choices: bounds.slice(1).map((bound, index) => pattern.slice((bounds[index] ?? 0) + 1, bound)) };
      }
      start = -1;
    }
  }
  return undefined;
}
