/** How lists of paths are written for a model. */
import { visibleJson } from "../../core/base/visible-text.ts";

/** A path on a line of its own; one that could be taken for several lines or for another path is quoted, its invisible characters escaped. */
export function pathLine(path: string): string {
  return /[\p{Cc}\p{Cf}\u2028\u2029]/u.test(path) ? visibleJson(JSON.stringify(path)) : path;
}

/** Notes under a list, in parentheses; nothing when there are none. */
export function withNotes(lines: readonly string[], notes: readonly (string | undefined)[]): string {
  const given = notes.filter((note) => note !== undefined);
  return [...lines, ...given.map((note) => `(${note})`)].join("\n");
}
