/** How lists of paths are written for a model. */

/** A path on a line of its own; one that could be taken for several lines is quoted. */
export function pathLine(path: string): string {
  return /[\p{Cc}\u2028\u2029]/u.test(path) ? JSON.stringify(path) : path;
}

/** Notes under a list, in parentheses; nothing when there are none. */
export function withNotes(lines: readonly string[], notes: readonly (string | undefined)[]): string {
  const given = notes.filter((note) => note !== undefined);
  return [...lines, ...given.map((note) => `(${note})`)].join("\n");
}
