/** JSON for readers that refuse half a surrogate pair: Python cannot write one as UTF-8, and Rust does not take it for text. */

/** An escape of `JSON.stringify`; the group is there for half a pair, as it writes whole pairs as they are. */
const ESCAPE = /\\(?:u(d[89a-f][\da-f]{2})|.)/gu;

/** The same text with U+FFFD for each half; keys of an object that become equal by it are all written. @param text as `JSON.stringify` writes it, from which nothing is copied where it has none */
export function strictJson(text: string): string {
  if (!text.includes(String.raw`\ud`)) return text;
  return text.replaceAll(ESCAPE, (escape, half: string | undefined) => (half === undefined ? escape : String.raw`\ufffd`));
}
