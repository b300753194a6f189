/** Selects operations by tag, path and name, and reports entries of a filter that match none. */
import { nearTexts } from "../near-texts.ts";
import { quote } from "./warnings.ts";

/** Selects operations of a document. */
export interface OperationFilter {
  readonly tags?: readonly string[];
  /** Path patterns, `*` for any characters: `/admin/*`, or with a method: `DELETE /users/*`. */
  readonly paths?: readonly string[];
  /** operationIds or tool names, `*` for any characters. */
  readonly operations?: readonly string[];
}

/** The properties of an operation that filters use. */
export interface FilterableOperation {
  readonly method: string;
  readonly path: string;
  readonly operationId: string | undefined;
  /** The name of the tool. */
  readonly name: string;
  readonly tags: readonly string[];
}

type Aspect = keyof OperationFilter;

interface Entry {
  readonly text: string;
  readonly matches: (operation: FilterableOperation) => boolean;
  isUsed: boolean;
}

/** One filter, which records the entries that matched an operation. */
export class OperationMatcher {
  readonly #entries: ReadonlyMap<Aspect, readonly Entry[]>;

  constructor(filter: OperationFilter) {
    const { tags, paths, operations } = filter;
    this.#entries = new Map(
      (
        [
          ["tags", tags, matchTag],
          ["paths", paths, matchPath],
          ["operations", operations, matchName],
        ] as const
      ).flatMap(([aspect, texts, fit]) =>
        texts === undefined ? [] : [[aspect, texts.map((text) => ({ text, matches: fit(text), isUsed: false }))] as const],
      ),
    );
  }

  /** Whether each given list has an entry that matches. */
  matchesAll(operation: FilterableOperation): boolean {
    const fitting = [...this.#entries.values()].map((entries) => markMatches(entries, operation));
    return fitting.every(Boolean);
  }

  /** Whether any list has an entry that matches. */
  matchesAny(operation: FilterableOperation): boolean {
    const fitting = [...this.#entries.values()].map((entries) => markMatches(entries, operation));
    return fitting.some(Boolean);
  }

  /** One line for each entry that matched nothing, with similar names. */
  describeUnused(which: "include" | "exclude", all: readonly FilterableOperation[]): readonly string[] {
    return [...this.#entries].flatMap(([aspect, entries]) =>
      entries
        .filter(({ isUsed }) => !isUsed)
        .map(({ text }) => {
          const near = nearTexts(
            text,
            all.flatMap((operation) => aspectValues(operation, aspect)),
          );
          return `${which}.${aspect}: ${quote(text)} matches no operation of this document.${near.length === 0 ? "" : ` Did you mean ${near.map(quote).join(" or ")}?`}`;
        }),
    );
  }
}

/** Whether an entry matches. All are tried, so that each match is recorded. */
function markMatches(entries: readonly Entry[], operation: FilterableOperation): boolean {
  let isFitting = false;
  for (const entry of entries) {
    if (!entry.matches(operation)) continue;
    entry.isUsed = true;
    isFitting = true;
  }
  return isFitting;
}

function matchTag(text: string): Entry["matches"] {
  return ({ tags }) => tags.includes(text);
}

function matchPath(text: string): Entry["matches"] {
  const [, method, pattern = ""] = /^(?:([A-Za-z]+)\s+)?(.*)$/su.exec(text) ?? [];
  const matches = compilePattern(pattern);
  return (operation) => (method === undefined || method.toUpperCase() === operation.method) && matches(operation.path);
}

function matchName(text: string): Entry["matches"] {
  const matches = compilePattern(text);
  return ({ operationId, name }) => matches(name) || (operationId !== undefined && matches(operationId));
}

/** Matches texts against a pattern, `*` for any characters. The parts are searched from left to right, so matching is linear. */
function compilePattern(pattern: string): (text: string) => boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return (text) => text === pattern;
  return (text) => {
    if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
    let at = first.length;
    for (const part of rest) {
      const found = text.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at <= text.length - last.length;
  };
}

function aspectValues({ tags, path, operationId, name }: FilterableOperation, aspect: Aspect): readonly string[] {
  if (aspect === "tags") return tags;
  return aspect === "paths" ? [path] : [name, ...(operationId === undefined ? [] : [operationId])];
}
