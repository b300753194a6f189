/** JSON for readers that refuse half a surrogate pair: Python cannot write one as UTF-8, and Rust does not take it for text. */

/** An escape of `JSON.stringify`; the group is there for half a pair, as it writes whole pairs as they are. */
const ESCAPE = /\\(?:u(d[89a-f][\da-f]{2})|.)/gu;
/** Written here for a half; `JSON.stringify` itself writes U+FFFD as it is. */
const REPLACEMENT = String.raw`\ufffd`;
const REPLACED = /\\(?:(ufffd)|.)/gu;

/**
 * The same text with U+FFFD for each half. Keys of one object that become equal by it get a number.
 *
 * @param text as `JSON.stringify` writes it, from which nothing is copied where it has none
 */
export function strictJson(text: string): string {
  if (!text.includes(String.raw`\ud`)) return text;
  let isChanged = false;
  const whole = text.replaceAll(ESCAPE, (escape, half: string | undefined) => {
    isChanged ||= half !== undefined;
    return half === undefined ? escape : REPLACEMENT;
  });
  return isChanged ? withDistinctKeys(whole) : text;
}

/** Readers refuse a key that is given twice, or lose what one of them has. */
function withDistinctKeys(text: string): string {
  const open: Map<string, number>[] = [];
  let written = "";
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === "{" || char === "[") open.push(new Map());
    else if (char === "}" || char === "]") open.pop();
    else if (char === '"') {
      const end = endOfString(text, at);
      if (text[end + 1] === ":") {
        written += text.slice(from, at + 1) + distinctKey(text.slice(at + 1, end), open.at(-1));
        from = end;
      }
      at = end;
    }
  }
  return written + text.slice(from);
}

/** @param taken the keys that the object has so far, each with the number for the next that is equal to it */
function distinctKey(key: string, taken: Map<string, number> | undefined): string {
  const name = key.replaceAll(REPLACED, (escape, replaced: string | undefined) => (replaced === undefined ? escape : "\u{FFFD}"));
  let number = taken?.get(name);
  if (taken === undefined || number === undefined) {
    taken?.set(name, 2);
    return key;
  }
  while (taken.has(`${name}${number}`)) number++;
  taken.set(name, number + 1).set(`${name}${number}`, 2);
  return `${key}${number}`;
}

/** Where its closing quote is, by the place of the opening one. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at;
  }
  return text.length;
}
