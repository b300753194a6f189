/** Copies strings, so that they do not keep a larger string in memory. */

/** V8 copies parts of a string that are shorter than this. */
const MIN_SLICE_CHARS = 13;

/**
 * Returns a copy of the text. `slice`, `split` and regular expressions return parts that refer to the whole string, so that keeping one line of a
 * large answer keeps all of it in memory.
 */
export function detachText(text: string): string {
  return text.length < MIN_SLICE_CHARS ? text : ` ${text}`.slice(1); // slices a concatenated string: V8 flattens, and so copies, it first
}
