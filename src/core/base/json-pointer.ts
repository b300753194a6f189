/** The steps of JSON pointers (RFC 6901). */

/** Writes a name as one step. */
export function escapeStep(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Reads the name that one step has. */
export function unescapeStep(step: string): string {
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}
