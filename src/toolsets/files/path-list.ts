/** Formats lists of paths for a model. */
import { escapeInvisibleJson } from "../../core/base/escape-invisible.ts";

/** Returns a path for a line of its own. An ambiguous one (line breaks, invisible characters) is quoted, with these escaped. */
export function pathLine(path: string): string {
  return /[\p{Cc}\p{Cf}\u2028\u2029]/u.test(path) ? escapeInvisibleJson(JSON.stringify(path)) : path;
}

/** Returns the note about entries whose names are not UTF-8. */
export function unnamedNote({ unnamedCount }: { readonly unnamedCount: number }, verb: "listed" | "searched"): string | undefined {
  return unnamedCount > 0 ? `not ${verb}, as their names are not UTF-8: ${unnamedCount}` : undefined;
}

/** Appends notes to a list, in parentheses. */
export function withNotes(lines: readonly string[], notes: readonly (string | undefined)[]): string {
  const given = notes.filter((note) => note !== undefined);
  return [...lines, ...given.map((note) => `(${note})`)].join("\n");
}
