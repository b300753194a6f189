/** Suggests names for a misspelt one. */

/** Longer texts are not treated as misspelt names. */
const MAX_LENGTH = 256;
/** Maximum number of names compared letter by letter; the most similar come first. */
const MAX_COMPARED = 2_000;
/** By how many separators a name's length may differ from that of the misspelt one. */
const MAX_SEPARATORS = 4;

/**
 * Returns the names nearest to `name`, if near enough: those with the fewest edits, in alphabetical order. Swapping two adjacent letters is one edit.
 *
 * Differences in case and separators (`_ - . : /` and white space) are ignored. For up to 3 letters one edit is near, for up to 7 two, otherwise
 * three. Looks at every name once; if thousands are similar, some may be missed.
 */
export function findNearNames(name: string, names: Iterable<string>, max = 3): readonly string[] {
  const text = name.length > MAX_LENGTH ? "" : foldText(name);
  if (text === "") return [];
  let limit = text.length <= 3 ? 1 : text.length <= 7 ? 2 : 3;
  const alike = sortByLetters(text, { edits: limit, length: name.length, names });
  limit = Math.min(limit, text.length - 1);
  const measure = new EditDistance(text, limit);
  let nearest: string[] = [];
  for (const candidate of alike) {
    const distance = measure.distanceTo(foldText(candidate));
    if (distance > limit) continue;
    if (distance < limit) nearest = [];
    limit = distance;
    nearest.push(candidate);
  }
  return nearest.sort().slice(0, max);
}

/** Returns `Did you mean "town"?` for the nearest of the names; undefined if none is near. @param write formats the name. @default quoted */
export function didYouMean(
  name: string,
  names: Iterable<string>,
  write: (near: string) => string = (near) => JSON.stringify(near),
): string | undefined {
  const [near] = findNearNames(name, names, 1);
  return near === undefined ? undefined : `Did you mean ${write(near)}?`;
}

interface Scan {
  readonly edits: number;
  /** The length of the misspelt name, separators included. */
  readonly length: number;
  readonly names: Iterable<string>;
}

/**
 * Returns the names that may be near enough, those with the same letters first.
 *
 * `letters` has one bit for each letter or digit that occurs, shared by both cases of a letter; one edit changes at most two bits. The loop is
 * written out because it runs over every name.
 */
function sortByLetters(asked: string, { edits, length: askedLength, names }: Scan): readonly string[] {
  let askedLetters = 0;
  for (let at = 0; at < asked.length; at++) askedLetters |= 1 << (asked.charCodeAt(at) & 31);
  const byDifference: string[][] = Array.from({ length: 2 * edits + 1 }, () => []);
  for (const candidate of names) {
    const { length } = candidate;
    if (Math.abs(length - askedLength) > edits + MAX_SEPARATORS) continue;
    let letters = 0;
    let count = 0;
    for (let at = 0; at < length; at++) {
      const code = candidate.charCodeAt(at);
      if (isSeparator(code)) continue;
      count++;
      letters |= 1 << (code & 31);
    }
    if (Math.abs(count - asked.length) > edits) continue;
    const bucket = byDifference[countBits(letters ^ askedLetters)];
    if (bucket !== undefined && bucket.length < MAX_COMPARED) bucket.push(candidate);
  }
  return byDifference.flat().slice(0, MAX_COMPARED);
}

function foldText(name: string): string {
  let text = "";
  for (let at = 0; at < name.length; at++) if (!isSeparator(name.charCodeAt(at))) text += name[at];
  return text.toLowerCase();
}

/** Whether a character is one of `_ - . : /` or white space. */
function isSeparator(code: number): boolean {
  return code === 0x5f || code === 0x3a || (code >= 0x2d && code <= 0x2f) || code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

function countBits(bits: number): number {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count++;
  return count;
}

/** Computes Levenshtein distances from one text, each in O(length × limit), without allocating. Swapping two adjacent letters is one edit. */
export class EditDistance {
  readonly #text: string;
  readonly #limit: number;
  #twoAbove: Uint16Array;
  #above: Uint16Array;
  #row: Uint16Array;

  constructor(text: string, limit: number) {
    this.#text = text;
    this.#limit = limit;
    this.#twoAbove = new Uint16Array(text.length + limit + 1);
    this.#above = new Uint16Array(text.length + limit + 1);
    this.#row = new Uint16Array(text.length + limit + 1);
  }

  /** Returns the distance, or any number above the limit if it is greater. */
  distanceTo(other: string): number {
    const limit = this.#limit;
    const { length } = this.#text;
    if (Math.abs(length - other.length) > limit) return limit + 1;
    for (let column = 0; column <= other.length; column++) this.#above[column] = column;
    for (let row = 1; row <= length; row++) {
      if (this.#fillRow(row, other) > limit) return limit + 1;
      [this.#twoAbove, this.#above, this.#row] = [this.#above, this.#row, this.#twoAbove];
    }
    return this.#above[other.length] ?? limit + 1;
  }

  /** Fills the cells near the diagonal; the others count as too far. Returns the smallest of them. */
  #fillRow(row: number, other: string): number {
    const limit = this.#limit;
    const above = this.#above;
    const cells = this.#row;
    const from = Math.max(1, row - limit);
    const to = Math.min(other.length, row + limit);
    const letter = this.#text.charCodeAt(row - 1);
    cells.fill(limit + 1);
    cells[0] = row;
    let least = from === 1 ? row : limit + 1;
    for (let column = from; column <= to; column++) {
      const replaced = (above[column - 1] ?? 0) + (letter === other.charCodeAt(column - 1) ? 0 : 1);
      const added = Math.min(above[column] ?? 0, cells[column - 1] ?? 0) + 1;
      let cost = Math.min(replaced, added);
      if (this.#isSwapped(row, column, other)) cost = Math.min(cost, (this.#twoAbove[column - 2] ?? limit) + 1);
      cells[column] = cost;
      if (cost < least) least = cost;
    }
    return least;
  }

  /** Whether two adjacent letters are swapped, which is one edit: "lsit" is near "list". */
  #isSwapped(row: number, column: number, other: string): boolean {
    if (row < 2 || column < 2) return false;
    const text = this.#text;
    return text.charCodeAt(row - 1) === other.charCodeAt(column - 2) && text.charCodeAt(row - 2) === other.charCodeAt(column - 1);
  }
}
