/** Finds one text in another, in time linear in both. */

/** Longest needle for which the engine's `indexOf` is fast enough in the worst case. */
const MAX_SHORT_NEEDLE = 8;

/**
 * Makes a search for `needle`. The returned function finds the first index at or after `from`, or -1.
 *
 * The engine's `indexOf` takes time in the product of both lengths for adversarial texts, such as many equal letters; longer needles are found
 * with the Knuth–Morris–Pratt algorithm.
 */
export function createFinder(needle: string): (text: string, from: number) => number {
  if (needle.length <= MAX_SHORT_NEEDLE) return (text, from) => text.indexOf(needle, from);
  const borders = findBorders(needle);
  return (text, from) => {
    let matched = 0;
    for (let at = from; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      while (matched > 0 && needle.charCodeAt(matched) !== unit) matched = borders[matched - 1] ?? 0;
      if (needle.charCodeAt(matched) === unit) matched++;
      if (matched === needle.length) return at - matched + 1;
    }
    return -1;
  };
}

/** Returns, for each prefix of the needle, the length of its longest proper prefix that is also its suffix. */
function findBorders(needle: string): Uint32Array {
  const borders = new Uint32Array(needle.length);
  let length = 0;
  for (let at = 1; at < needle.length; at++) {
    while (length > 0 && needle.charCodeAt(at) !== needle.charCodeAt(length)) length = borders[length - 1] ?? 0;
    if (needle.charCodeAt(at) === needle.charCodeAt(length)) length++;
    borders[at] = length;
  }
  return borders;
}
