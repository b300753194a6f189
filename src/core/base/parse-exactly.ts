/** `JSON.parse` with a workaround for a bug in V8 that gives keys a wrong name. */

const QUOTE = '"';
const BACKSLASH = "\\";

/**
 * Parses JSON like `JSON.parse`, but reads keys with escapes correctly.
 *
 * V8 13 (Node 24) remembers the keys of earlier objects and compares them with the raw text of a key, using its length after unescaping: once
 * `{"a":1,"\\":2}` was parsed, `{"a":1,"\n":2}` is returned with the key `\` instead of the line break. Here such keys are parsed under other names
 * and renamed afterwards.
 *
 * A reviver gets these other names.
 *
 * @throws SyntaxError as `JSON.parse` does; the position may differ if a key has an escape
 */
export function parseExactly(
  text: string,
  reviver?: (key: string, value: unknown, context?: { readonly source?: string }) => unknown,
): unknown {
  const keys = findEscapedKeys(text);
  // oxlint-disable-next-line no-restricted-properties -- the one place
  if (keys.length === 0) return JSON.parse(text, reviver);
  const mark = findUnusedMark(text);
  const names: string[] = [];
  let renamed = "";
  let end = 0;
  for (const key of keys) {
    renamed += `${text.slice(end, key.start)}${QUOTE}${mark}${names.length}${QUOTE}`;
    end = key.end;
    // oxlint-disable-next-line no-restricted-properties -- a string by itself has no key
    names.push(JSON.parse(text.slice(key.start, end)) as string); // quotes around it: a string, or JSON.parse throws
  }
  // oxlint-disable-next-line no-restricted-properties -- see above
  const value: unknown = JSON.parse(renamed + text.slice(end), reviver);
  renameKeys(value, (key) => (key.startsWith(mark) ? names[Number(key.slice(mark.length))] : undefined));
  return value;
}

/** Returns a short string that does not occur in the text, found in one pass. */
function findUnusedMark(text: string): string {
  const used = new Set(Array.from(text.matchAll(/\uE000(\d+)\./gu), ([, number]) => number));
  let number = 0;
  while (used.has(String(number))) number++;
  return `\uE000${number}.`;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Returns the positions of the keys with a backslash, quotes included. */
function findEscapedKeys(text: string): readonly Span[] {
  let backslash = text.indexOf(BACKSLASH);
  if (backslash < 0) return [];
  const keys: Span[] = [];
  for (let start = text.indexOf(QUOTE); start >= 0;) {
    const end = findStringEnd(text, start + 1) + 1;
    if (backslash < start) {
      backslash = text.indexOf(BACKSLASH, start);
      if (backslash < 0) return keys;
    }
    if (backslash < end && isKey(text, end)) keys.push({ start, end });
    start = text.indexOf(QUOTE, end);
  }
  return keys;
}

function isKey(text: string, end: number): boolean {
  let at = end;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at++;
  return text[at] === ":";
}

/** Returns the offset of the closing quote, which is the first quote after an even number of backslashes, or of the end of the text. */
export function findStringEnd(text: string, start: number): number {
  for (let at = text.indexOf(QUOTE, start); at >= 0; at = text.indexOf(QUOTE, at + 1)) {
    let before = at - 1;
    while (before >= start && text[before] === BACKSLASH) before--;
    if ((at - before) % 2 === 1) return at;
  }
  return text.length;
}

/** Renames keys in place; their order is kept. Iterative, because parsed JSON may be nested deeper than the stack allows. */
function renameKeys(value: unknown, nameOf: (key: string) => string | undefined): void {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const container = open.pop();
    if (typeof container !== "object" || container === null) continue;
    for (const item of Object.values(container)) if (typeof item === "object") open.push(item);
    if (Array.isArray(container) || !Object.keys(container).some((key) => nameOf(key) !== undefined)) continue;
    const entries = Object.entries(container);
    for (const [key] of entries) Reflect.deleteProperty(container, key);
    for (const [key, item] of entries)
      Object.defineProperty(container, nameOf(key) ?? key, { value: item, writable: true, enumerable: true, configurable: true });
  }
}
