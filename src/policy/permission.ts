/** Decides which tools models and clients may use, by patterns over qualified names. */
import { DEFAULT_NAMESPACE, qualifiedName } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import { describeValueType, quoteValue } from "../core/base/wording.ts";

/** Patterns over qualified names; `*` matches any text: `files::*`, `*::delete`, `*`. A name without `::` is in toolset `default`. */
export interface PermissionRules {
  /** If set, every tool that matches none of these is denied; an empty array denies everything. */
  readonly allow?: readonly string[];
  /** Wins over `allow`. */
  readonly deny?: readonly string[];
}

/** Returns the first pattern that the name matches. */
export type NameMatcher = (qualifiedName: string) => string | undefined;

const MAX_PATTERN_LENGTH = 1024;
/** Maximum number of cached verdicts, then the cache is cleared: some names come from other programs. */
export const MAX_CACHED_NAMES = 10_000;

export const RULE_NAMES: OptionNames<PermissionRules> = { allow: true, deny: true };

/** Returns why the rules deny a tool, for the operator; undefined if the tool is allowed. */
export type Permission = (qualifiedName: string) => string | undefined;

/**
 * Makes the outermost layer of rules: a denied tool is not shown to any model or client, and never runs.
 *
 * @throws ToolError `invalid_argument` for a pattern that cannot be used
 */
export function createPermission(rules: PermissionRules): Permission {
  checkKnownKeys(rules, RULE_NAMES, "permission");
  const denied = rules.deny === undefined ? undefined : createFastMatcher(rules.deny, "deny");
  const allowed = rules.allow === undefined ? undefined : createFastMatcher(rules.allow, "allow");
  return (qualifiedName) => {
    const pattern = denied?.(qualifiedName);
    if (pattern !== undefined) return `The permission rules deny ${qualifiedName} by the pattern ${JSON.stringify(pattern)}.`;
    if (allowed === undefined || allowed(qualifiedName) !== undefined) return undefined;
    return `The permission rules allow only certain tools, and ${qualifiedName} is not one of them.`;
  };
}

/**
 * Compiles patterns over qualified names. Matching takes time linear in the name for each pattern.
 *
 * A pattern without `::` and `*` names a tool of the toolset `default` if `bareNames` is "default"; else it is refused.
 *
 * @throws ToolError `invalid_argument`
 */
export function createNameMatcher(
  patterns: readonly string[],
  where: string,
  { bareNames = "refuse" }: { readonly bareNames?: "refuse" | "default" } = {},
): NameMatcher {
  if (!Array.isArray(patterns))
    throw new ToolError("invalid_argument", `"${where}" must be an array of name patterns, not ${describeValueType(patterns)}.`);
  const compiled = patterns.map((pattern: unknown) => compilePattern(pattern, where, bareNames === "default"));
  return (qualifiedName) => compiled.find((pattern) => matchesPieces(qualifiedName, pattern.pieces))?.text;
}

/** Like `createNameMatcher`, but looks up full names, of which there may be thousands, in a Map and tries only patterns one after the other. */
export function createFastMatcher(patterns: readonly string[], where: string): NameMatcher {
  const matches = createNameMatcher(patterns, where, { bareNames: "default" });
  const names = new Map(
    patterns.filter((pattern) => !pattern.includes("*")).map((name) => [isUnqualified(name) ? withDefaultNamespace(name) : name, name]),
  );
  if (names.size === 0) return matches;
  const inPattern = createNameMatcher(
    patterns.filter((pattern) => pattern.includes("*")),
    where,
  );
  return (name) => names.get(name) ?? inPattern(name);
}

/** True for a pattern that is a tool's name without its toolset. */
export function isUnqualified(pattern: string): boolean {
  return !pattern.includes("::") && !pattern.includes("*");
}

function withDefaultNamespace(name: string): string {
  return qualifiedName(DEFAULT_NAMESPACE, name);
}

interface NamePattern {
  readonly text: string;
  /** The literal text before, between and after the stars. */
  readonly pieces: readonly string[];
}

function compilePattern(pattern: unknown, where: string, takesBareNames: boolean): NamePattern {
  if (typeof pattern !== "string")
    throw new ToolError("invalid_argument", `"${where}" has a pattern that is not a string: ${quoteValue(pattern)}.`);
  if (pattern === "") throw new ToolError("invalid_argument", `"${where}" has an empty pattern.`);
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw new ToolError(
      "invalid_argument",
      `"${where}" has a pattern of ${pattern.length} characters; ${MAX_PATTERN_LENGTH} is the limit.`,
    );
  }
  if (isUnqualified(pattern)) {
    if (takesBareNames) return { text: pattern, pieces: [withDefaultNamespace(pattern)] };
    throw new ToolError(
      "invalid_argument",
      `"${where}" has the pattern ${JSON.stringify(pattern)}, which matches no tool: names are toolset::tool.`,
      {
        hint: `Write ${JSON.stringify(`*::${pattern}`)} for this tool in every toolset, or ${JSON.stringify(`${pattern}::*`)} for the whole toolset.`,
      },
    );
  }
  return { text: pattern, pieces: pattern.split("*") };
}

/** True if the name consists of the pieces in order, with any text between them and nothing before or after. */
export function matchesPieces(name: string, pieces: readonly string[]): boolean {
  const first = pieces[0] ?? "";
  if (pieces.length === 1) return name === first;
  const last = pieces[pieces.length - 1] ?? "";
  const end = name.length - last.length;
  if (end < first.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (let index = 1; index < pieces.length - 1; index++) {
    const piece = pieces[index] ?? "";
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
    if (at > end) return false;
  }
  return true;
}

/** True if every name that a pattern matches is one that another pattern matches. */
export function coversPattern(outer: string, pattern: string): boolean {
  // a star of the pattern is text like any other, which only a star of the outer pattern can match
  return matchesPieces(qualifyPattern(pattern), qualifyPattern(outer).split("*"));
}

/** True if two patterns may match the same name; false only if the texts at their beginnings or ends differ. */
export function mayOverlap(one: string, other: string): boolean {
  const [a, b] = [qualifyPattern(one).split("*"), qualifyPattern(other).split("*")];
  const isEitherWay = (first = "", second = "", isPart: (text: string, part: string) => boolean): boolean =>
    isPart(first, second) || isPart(second, first);
  return (
    isEitherWay(a[0], b[0], (text, part) => text.startsWith(part)) && isEitherWay(a.at(-1), b.at(-1), (text, part) => text.endsWith(part))
  );
}

/** The pattern with the toolset `default` if it names a tool without its toolset. */
export function qualifyPattern(pattern: string): string {
  return isUnqualified(pattern) ? withDefaultNamespace(pattern) : pattern;
}
