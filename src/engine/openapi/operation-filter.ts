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
export interface Filtered {
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
  readonly fits: (operation: Filtered) => boolean;
  isUsed: boolean;
}

/** One filter, which records the entries that matched an operation. */
export class OperationChoice {
  readonly #entries: ReadonlyMap<Aspect, readonly Entry[]>;

  constructor(filter: OperationFilter) {
    const { tags, paths, operations } = filter;
    this.#entries = new Map(
      (
        [
          ["tags", tags, fitsTag],
          ["paths", paths, fitsPath],
          ["operations", operations, fitsName],
        ] as const
      ).flatMap(([aspect, texts, fit]) =>
        texts === undefined ? [] : [[aspect, texts.map((text) => ({ text, fits: fit(text), isUsed: false }))] as const],
      ),
    );
  }

  /** Whether each given list has an entry that matches. */
  fitsAll(operation: Filtered): boolean {
    const fitting = [...this.#entries.values()].map((entries) => use(entries, operation));
    return fitting.every(Boolean);
  }

  /** Whether any list has an entry that matches. */
  fitsAny(operation: Filtered): boolean {
    const fitting = [...this.#entries.values()].map((entries) => use(entries, operation));
    return fitting.some(Boolean);
  }

  /** One line for each entry that matched nothing, with similar names. */
  unused(which: "include" | "exclude", all: readonly Filtered[]): readonly string[] {
    return [...this.#entries].flatMap(([aspect, entries]) =>
      entries
        .filter(({ isUsed }) => !isUsed)
        .map(({ text }) => {
          const near = nearTexts(
            text,
            all.flatMap((operation) => textsOf(operation, aspect)),
          );
          return `${which}.${aspect}: ${quote(text)} matches no operation of this document.${near.length === 0 ? "" : ` Did you mean ${near.map(quote).join(" or ")}?`}`;
        }),
    );
  }
}

/** Whether an entry matches. All are tried, so that each match is recorded. */
function use(entries: readonly Entry[], operation: Filtered): boolean {
  let isFitting = false;
  for (const entry of entries) {
    if (!entry.fits(operation)) continue;
    entry.isUsed = true;
    isFitting = true;
  }
  return isFitting;
}

function fitsTag(text: string): Entry["fits"] {
  return ({ tags }) => tags.includes(text);
}

function fitsPath(text: string): Entry["fits"] {
  const [, method, pattern = ""] = /^(?:([A-Za-z]+)\s+)?(.*)$/su.exec(text) ?? [];
  const fits = matcher(pattern);
  return (operation) => (method === undefined || method.toUpperCase() === operation.method) && fits(operation.path);
}

function fitsName(text: string): Entry["fits"] {
  const fits = matcher(text);
  return ({ operationId, name }) => fits(name) || (operationId !== undefined && fits(operationId));
}

/** Matches texts against a pattern, `*` for any characters. The parts are searched from left to right, so matching is linear. */
function matcher(pattern: string): (text: string) => boolean {
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

function textsOf({ tags, path, operationId, name }: Filtered, aspect: Aspect): readonly string[] {
  if (aspect === "tags") return tags;
  return aspect === "paths" ? [path] : [name, ...(operationId === undefined ? [] : [operationId])];
}
