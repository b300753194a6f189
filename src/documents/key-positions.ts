/** Records the position of each key of a document, so that a problem found later can still name its position. */
import { formatJsonPath } from "../core/base/json.ts";

/** Line and column, both counted from 1; columns in UTF-16 code units. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** The keys and array indexes that lead to a value. */
export type KeyPath = readonly (string | number)[];

/** The value of a document, and the positions of its keys. */
export interface ParsedFile {
  readonly value: unknown;
  readonly positions: KeyPositions;
}

export class KeyPositions {
  readonly #positions = new Map<string, Position>();
  #fill: ((positions: KeyPositions) => void) | undefined;

  /** @param fill adds the positions, called when the first one is looked up: most documents have no problem */
  constructor(fill?: (positions: KeyPositions) => void) {
    this.#fill = fill;
  }

  /** Records the position of a key, unless it has one. */
  add(path: KeyPath, position: Position): void {
    const key = formatJsonPath(path);
    if (!this.#positions.has(key)) this.#positions.set(key, position);
  }

  /** Returns the position of a key, else of its nearest ancestor, else the start of the file. */
  get(path: KeyPath): Position {
    const fill = this.#fill;
    this.#fill = undefined;
    fill?.(this);
    for (let length = path.length; length > 0; length--) {
      const position = this.#positions.get(formatJsonPath(path.slice(0, length)));
      if (position !== undefined) return position;
    }
    return START;
  }
}

const START: Position = { line: 1, column: 1 };

/** Converts offsets in a text to lines and columns. */
export class LineIndex {
  readonly #starts: number[] = [0];

  constructor(text: string) {
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) this.#starts.push(at + 1);
  }

  positionAt(offset: number): Position {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#starts[low] ?? 0) + 1 };
  }
}
