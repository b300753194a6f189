/** Finds integers in JSON text whose digits a number cannot keep. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NUMBER = /-?\d[\d.eE+-]*/uy;

/**
 * The text with every such integer replaced; strings are left alone. What is no JSON comes out as no JSON.
 *
 * @param replace gives the JSON that stands in for the digits
 */
export function replaceLongIntegers(text: string, replace: (digits: string) => string): string {
  if (!/\d{16}/u.test(text)) return text;
  const pieces: string[] = [];
  let kept = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at + 1);
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      NUMBER.lastIndex = at;
      const digits = NUMBER.exec(text)?.[0] ?? "-";
      if (losesDigits(digits)) {
        pieces.push(text.slice(kept, at), replace(digits));
        kept = at + digits.length;
      }
      at += digits.length - 1;
    }
  }
  return pieces.length === 0 ? text : pieces.join("") + text.slice(kept);
}

function losesDigits(literal: string): boolean {
  if (literal.length < 16 || !/^-?\d+$/u.test(literal)) return false;
  const number = Number(literal);
  return !Number.isSafeInteger(number) && String(number) !== literal;
}

/** The offset of the closing quote, or of the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start); at >= 0; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (before >= start && text.charCodeAt(before) === BACKSLASH) before--;
    if ((at - before) % 2 === 1) return at;
  }
  return text.length;
}
