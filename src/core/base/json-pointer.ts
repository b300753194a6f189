/** The steps of JSON pointers (RFC 6901). */

/** Escapes a name as one step. */
export function escapePointerStep(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Returns the name of one step. */
export function unescapePointerStep(step: string): string {
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}
