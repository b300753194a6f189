/** The repairs that a reader of damaged JSON made, and how certain they are. */

/**
 * How certain a repair is.
 *
 * - `sure`: only one value can be meant.
 * - `guess`: the value is the most likely one, another is possible.
 * - `cut`: the text ends inside the value, so that part of it is missing.
 */
export type Certainty = "sure" | "guess" | "cut";

interface MendInfo {
  readonly certainty: Certainty;
  /** A description for people. */
  readonly note: string;
}

/** Every kind of repair. */
export const MENDS = {
  comma: { certainty: "sure", note: "missing comma added" },
  colon: { certainty: "sure", note: "missing colon added" },
  "extra-comma": { certainty: "sure", note: "extra comma left out" },
  quotes: { certainty: "sure", note: "other quotes read as double quotes" },
  "bare-key": { certainty: "sure", note: "key without quotes" },
  word: { certainty: "sure", note: "word of another language read as JSON's" },
  number: { certainty: "sure", note: "number in another notation" },
  tuple: { certainty: "sure", note: "tuple read as array" },
  comment: { certainty: "sure", note: "comment left out" },
  control: { certainty: "sure", note: "line break or control character in a string kept" },
  escape: { certainty: "sure", note: "unknown escape kept with its backslash" },
  around: { certainty: "sure", note: "text around the JSON left out" },
  encoded: { certainty: "sure", note: "JSON inside a string read" },
  "extra-bracket": { certainty: "sure", note: "extra closing bracket left out" },
  proto: { certainty: "sure", note: 'key "__proto__" left out' },
  "comment-guess": { certainty: "guess", note: "comment that may be a value left out" },
  "comma-guess": { certainty: "guess", note: "missing comma added where another reading is possible" },
  "colon-guess": { certainty: "guess", note: "missing colon added where another reading is possible" },
  "empty-item": { certainty: "guess", note: "empty place in an array left out" },
  "no-value": { certainty: "guess", note: "missing value read as null" },
  "bare-string": { certainty: "guess", note: "string without quotes" },
  "word-guess": { certainty: "guess", note: "word that is not JSON read as null" },
  "number-guess": { certainty: "guess", note: "unfinished number" },
  "quote-missing": { certainty: "guess", note: "missing quote added" },
  "quote-twice": { certainty: "guess", note: "second of two quotes left out" },
  "quote-inside": { certainty: "guess", note: "quote inside a string kept" },
  "quote-escape": { certainty: "guess", note: "backslash before a quote left out" },
  "escape-guess": { certainty: "guess", note: "escape kept with its backslash where another reading is possible" },
  joined: { certainty: "guess", note: "strings joined" },
  pairs: { certainty: "guess", note: "pairs in an array read as object" },
  stray: { certainty: "guess", note: "stray text left out" },
  "bracket-guess": { certainty: "guess", note: "bracket added or left out" },
  "around-guess": { certainty: "guess", note: "text with quotes or brackets around the JSON left out" },
  "key-twice": { certainty: "cut", note: "key that was given twice with the same value" },
  "end-missing": { certainty: "guess", note: "missing closing bracket at the end added" },
  "cut-off": { certainty: "cut", note: "text that was cut off closed where it ends" },
} as const satisfies Record<string, MendInfo>;

export type MendKind = keyof typeof MENDS;

/** The repairs of one text: the number of each kind, and the offset of the first. */
export class Mends {
  readonly #made = new Map<MendKind, { readonly at: number; count: number }>();

  add(kind: MendKind, at: number): void {
    const known = this.#made.get(kind);
    if (known === undefined) this.#made.set(kind, { at, count: 1 });
    else known.count++;
  }

  has(kind: MendKind): boolean {
    return this.#made.has(kind);
  }

  addAll(others: Mends): void {
    for (const [kind, { at, count }] of others.#made) {
      this.add(kind, at);
      const made = this.#made.get(kind);
      if (made !== undefined) made.count += count - 1;
    }
  }

  /** The lowest certainty of all repairs; `sure` if there are none. */
  get certainty(): Certainty {
    let worst: Certainty = "sure";
    for (const kind of this.#made.keys()) {
      const { certainty } = MENDS[kind];
      if (certainty === "cut") return "cut";
      if (certainty === "guess") worst = "guess";
    }
    return worst;
  }

  /** Returns a description such as `missing comma added (3 times), comment left out`; only repairs of `certainty`, if it is given. */
  describe(certainty?: Certainty): string {
    const notes: string[] = [];
    for (const [kind, { count }] of this.#made) {
      const info: MendInfo = MENDS[kind];
      if (certainty === undefined || info.certainty === certainty) notes.push(count === 1 ? info.note : `${info.note} (${count} times)`);
    }
    return notes.join(", ");
  }
}
