/** A text of its own, which keeps no larger one in memory. */

/** V8 keeps shorter parts of a string as copies. */
const MIN_SLICE_CHARS = 13;

/**
 * The same text, copied. `slice`, `split` and regular expressions give parts that refer to the whole string, so that a kept line of a large
 * answer keeps all of it in memory.
 */
export function detachedText(text: string): string {
  return text.length < MIN_SLICE_CHARS ? text : ` ${text}`.slice(1); // a part of a joined string: joining is done by copying
}
