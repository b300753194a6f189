/** The rules of .gitignore files: which entries of a folder a listing or search leaves out. */
import { type PathMatcher, MAX_PATTERN_LENGTH, compilePlainGlob } from "./glob-pattern.ts";

/** Left out everywhere, with or without a .gitignore. */
const ALWAYS_IGNORED: ReadonlySet<string> = new Set([".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"]);
/** Maximum number of rules read from one file; longer files are not written by hand. */
const MAX_RULES = 1000;
/** Maximum number of rules that apply in a folder, including those of the folders above: each entry is compared with all of them. */
const MAX_RULES_TOGETHER = 2000;

interface Rule {
  readonly negated: boolean;
  readonly foldersOnly: boolean;
  /** Whether the pattern has a slash: then it matches the path below the rule's folder, else only the name. */
  readonly anchored: boolean;
  readonly matches: PathMatcher;
}

/** The rules that apply in one folder: its own, and those of the folders above. */
export interface IgnoreRules {
  readonly own: readonly Rule[];
  readonly parent: IgnoreRules | undefined;
  /** Total number of rules that apply in the folder. */
  readonly count: number;
}

/** Reads the rules of a folder from the text of its .gitignore. Invalid lines are ignored, as git does. */
export function createIgnoreRules(parent: IgnoreRules | undefined, gitignore: string): IgnoreRules {
  const before = parent?.count ?? 0;
  const own = gitignore === "" ? NO_RULES : parseRules(gitignore, Math.min(MAX_RULES, MAX_RULES_TOGETHER - before));
  return { own, parent, count: before + own.length };
}

const NO_RULES: readonly Rule[] = [];

/**
 * Whether an entry of the rules' folder is left out. The last matching rule of the nearest file decides.
 *
 * `folderNames` leads from the outermost folder with rules to this one.
 */
export function isIgnored(
  nearest: IgnoreRules,
  entry: { readonly name: string; readonly isFolder: boolean },
  folderNames: readonly string[],
): boolean {
  if (ALWAYS_IGNORED.has(entry.name)) return true;
  let names: readonly string[] = [entry.name];
  let depth = folderNames.length;
  for (let rules: IgnoreRules | undefined = nearest; rules !== undefined; rules = rules.parent) {
    const verdict = matchRules(rules.own, names, entry.isFolder);
    if (verdict !== undefined) return verdict;
    names = [folderNames[--depth] ?? "", ...names];
  }
  return false;
}

function matchRules(rules: readonly Rule[], names: readonly string[], isFolder: boolean): boolean | undefined {
  const nameOnly = names.slice(-1);
  for (let index = rules.length - 1; index >= 0; index--) {
    const rule = rules[index];
    if (rule === undefined || (rule.foldersOnly && !isFolder)) continue;
    if (rule.matches(rule.anchored ? names : nameOnly)) return !rule.negated;
  }
  return undefined;
}

function parseRules(gitignore: string, most: number): readonly Rule[] {
  if (most <= 0) return NO_RULES;
  const rules: Rule[] = [];
  for (const line of gitignore.split(/\r?\n/u)) {
    const rule = parseRule(line);
    if (rule !== undefined && rules.push(rule) >= most) break;
  }
  return rules;
}

function parseRule(line: string): Rule | undefined {
  let pattern = withoutTrailingSpaces(line.startsWith("\ufeff") ? line.slice(1) : line);
  if (pattern === "" || pattern.startsWith("#") || pattern.length > MAX_PATTERN_LENGTH) return undefined;
  const negated = pattern.startsWith("!");
  if (negated) pattern = pattern.slice(1);
  const foldersOnly = pattern.endsWith("/");
  if (foldersOnly) pattern = pattern.slice(0, -1);
  if (pattern === "") return undefined;
  return { negated, foldersOnly, anchored: pattern.includes("/"), matches: compilePlainGlob(pattern) };
}

/** Removes trailing spaces that are not escaped by a backslash. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === " " && line[end - 2] !== "\\") end--;
  return line.slice(0, end);
}
