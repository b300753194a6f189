/** JSON for parsers that refuse lone surrogates: Python cannot encode them as UTF-8, and Rust does not accept them as text. */

/** Matches an escape of `JSON.stringify`; the group is set for a lone surrogate, as complete pairs are not escaped. */
const ESCAPE = /\\(?:u(d[89a-f][\da-f]{2})|.)/gu;

/**
 * Replaces each lone surrogate by U+FFFD; keys of an object that become equal are all written. @param text output of `JSON.stringify`; returned
 * without copying if it has no lone surrogate
 */
export function replaceLoneSurrogates(text: string): string {
  if (!text.includes(String.raw`\ud`)) return text;
  return text.replaceAll(ESCAPE, (escape, half: string | undefined) => (half === undefined ? escape : String.raw`\ufffd`));
}
