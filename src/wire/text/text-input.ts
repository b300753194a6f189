/** Text that arrives in pieces, read as if it were whole: a reader yields until more text arrives, and reads nothing twice. */
import type { MarkerSet } from "./marker-set.ts";

/** A part of a reader: it yields to wait for more text, and returns what it read. */
export type Reading<T> = Generator<undefined, T, undefined>;

const QUOTES: ReadonlySet<number> = new Set([0x22, 0x27]);
const OPENING: ReadonlySet<number> = new Set([0x28, 0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x29, 0x5d, 0x7d]);
const BACKSLASH = 0x5c;
const MAX_LOOK_AHEAD = 256;
const MAX_SPACE = 64;

export class TextInput {
  #text = "";
  #at = 0;
  #ended = false;
  #piecesSinceMark: string[] = [];
  #markAt = 0;

  feed(text: string): void {
    if (this.#markAt < this.#at) this.#piecesSinceMark.push(this.#text.slice(this.#markAt, this.#at));
    this.#text = this.#text.slice(this.#at) + text;
    this.#at = 0;
    this.#markAt = 0;
  }

  end(): void {
    this.#ended = true;
  }

  /** Puts back the last text, to be read again. A reader does this at most once for each kind of mark, so that the time stays linear. */
  putBack(text: string): void {
    this.#text = text + this.#text.slice(this.#at);
    this.#at = 0;
    this.#piecesSinceMark = [];
    this.#markAt = 0;
  }

  /** Unreads the last text, read since the mark, to be read again. */
  unread(text: string): void {
    if (text.length <= this.#at) {
      this.#at -= text.length;
      return;
    }
    const kept = this.textSinceMark();
    this.putBack(text);
    this.#piecesSinceMark = [kept.slice(0, kept.length - text.length)];
  }

  /** Number of characters that arrived but are not read yet. */
  get unreadLength(): number {
    return this.#text.length - this.#at;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Sets the mark: forgets the text read so far, so that `textSinceMark` begins here. */
  setMark(): void {
    if (this.#piecesSinceMark.length > 0) this.#piecesSinceMark = [];
    this.#markAt = this.#at;
  }

  /** Returns the text read since the mark. */
  textSinceMark(): string {
    return this.#piecesSinceMark.join("") + this.#text.slice(this.#markAt, this.#at);
  }

  /** Returns the character `ahead` of this position without reading it; empty at the end of the text, or beyond the maximum look-ahead. */
  *peek(ahead = 0): Reading<string> {
    if (ahead > MAX_LOOK_AHEAD) return "";
    while (this.#at + ahead >= this.#text.length) {
      if (this.#ended) return "";
      yield;
    }
    return this.#text.charAt(this.#at + ahead);
  }

  /** Returns the same character without waiting, undefined if it has not arrived: cheaper than `peek`. */
  peekArrived(ahead: number): string | undefined {
    const at = this.#at + ahead;
    return at < this.#text.length && ahead <= MAX_LOOK_AHEAD ? this.#text.charAt(at) : undefined;
  }

  /** Returns how many characters of white space are at a position ahead, at most `max`; reads nothing. */
  *countSpaces(from: number, max: number): Reading<number> {
    let count = 0;
    while (count < max && SPACE.test(this.peekArrived(from + count) ?? (yield* this.peek(from + count)))) count++;
    return count;
  }

  /** Whether the next characters, without white space, match these patterns, as far as text and look-ahead go; reads nothing. */
  *matchesNext(kinds: readonly RegExp[]): Reading<boolean> {
    let ahead = 0;
    for (const kind of kinds) {
      ahead += yield* this.countSpaces(ahead, MAX_LOOK_AHEAD - ahead);
      if (ahead >= MAX_LOOK_AHEAD) return true;
      const next = this.peekArrived(ahead) ?? (yield* this.peek(ahead));
      if (next === "") return true;
      if (!kind.test(next)) return false;
      ahead++;
    }
    return true;
  }

  /** Whether a text is at this position. */
  *startsWith(text: string): Reading<boolean> {
    for (let ahead = 0; ahead < text.length; ahead++) if ((yield* this.peek(ahead)) !== text.charAt(ahead)) return false;
    return true;
  }

  /** Whether one of the texts is at this position. */
  *startsWithAny(texts: readonly string[]): Reading<boolean> {
    for (const text of texts) if (yield* this.startsWith(text)) return true;
    return false;
  }

  /** Reads a text if it is at this position. */
  *tryRead(text: string): Reading<boolean> {
    if (!(yield* this.startsWith(text))) return false;
    this.#at += text.length;
    return true;
  }

  /** Reads and returns the first of the texts that is at this position; undefined if none is. */
  *tryReadAny(texts: readonly string[]): Reading<string | undefined> {
    for (const text of texts) if (yield* this.tryRead(text)) return text;
    return undefined;
  }

  /** Reads characters while they match a pattern, at most `max` of them. */
  *readWhile(kind: RegExp, max = Number.POSITIVE_INFINITY): Reading<string> {
    const pieces: string[] = [];
    let count = 0;
    for (;;) {
      const from = this.#at;
      while (this.#at < this.#text.length && count < max && kind.test(this.#text.charAt(this.#at))) {
        this.#at++;
        count++;
      }
      pieces.push(this.#text.slice(from, this.#at));
      if (this.#at < this.#text.length || count >= max || this.#ended) return pieces.join("");
      yield;
    }
  }

  *skipSpace(): Reading<void> {
    yield* this.readWhile(SPACE);
  }

  /** Reads up to the next marker and past it, passing the text before it to `onText` as it arrives. Returns the marker; undefined at the end. */
  *readUntil(markers: MarkerSet, onText: (text: string) => void): Reading<string | undefined> {
    for (;;) {
      const text = this.#text;
      const from = this.#at;
      let found = markers.findNext(text, from);
      while (found >= 0) {
        const { length, mayContinue } = markers.matchAt(text, found);
        if (mayContinue && !this.#ended) break;
        if (length > 0) {
          if (found > from) onText(text.slice(from, found));
          this.#at = found + length;
          return text.slice(found, this.#at);
        }
        found = markers.findNext(text, found + 1);
      }
      this.#at = found < 0 ? text.length : found;
      if (this.#at > from) onText(text.slice(from, this.#at));
      if (this.#ended && found < 0) return undefined;
      yield;
    }
  }

  /** Returns the text up to the next marker, and the marker. */
  *readTextUntil(markers: MarkerSet): Reading<{ readonly text: string; readonly marker: string | undefined }> {
    const pieces: string[] = [];
    const marker = yield* this.readUntil(markers, (piece) => pieces.push(piece));
    return { text: pieces.join(""), marker };
  }

  /**
   * Reads a value in brackets up to its closing bracket, ignoring brackets in strings; undefined if the text ends before.
   *
   * @param alreadyRead the part of it that was already read
   * @param options `quotes`: additional marks that begin and end a string, in which nothing is escaped; `stops`: marks at which an unclosed value is
   * given up, unless they are in a string
   */
  *readBalanced(alreadyRead = "", { quotes, stops }: NestedOptions = {}): Reading<string | undefined> {
    const nest = new BracketTracker(alreadyRead);
    const pieces = [alreadyRead];
    let from = this.#at;
    for (;;) {
      if (this.#at >= this.#text.length) {
        pieces.push(this.#text.slice(from, this.#at));
        if (this.#ended) return undefined;
        yield;
        from = this.#at;
        continue;
      }
      const stop = nest.isQuoted ? undefined : stops?.matchAt(this.#text, this.#at);
      const mark = stop ?? quotes?.matchAt(this.#text, this.#at);
      if (mark?.mayContinue === true && !this.#ended) {
        pieces.push(this.#text.slice(from, this.#at));
        yield;
        from = this.#at;
      } else if (stop !== undefined && stop.length > 0) return undefined;
      else if (mark !== undefined && mark.length > 0) {
        nest.toggleMark(this.#text.slice(this.#at, (this.#at += mark.length)));
      } else if (nest.readChar(this.#text.charCodeAt(this.#at++))) {
        pieces.push(this.#text.slice(from, this.#at));
        return pieces.join("");
      }
    }
  }

  /** Reads the same, and the members after it if a superfluous closing bracket ended it too early: `{"a": {}}, "b": 1}`. */
  *readBalancedObject(alreadyRead = "", options: NestedOptions = {}): Reading<string | undefined> {
    let text = yield* this.readBalanced(alreadyRead, options);
    while (text !== undefined && (yield* this.#hasMember(options.bareKeys === true))) {
      const rest: string | undefined = yield* this.readBalanced("{", options);
      if (rest === undefined) return undefined;
      text += rest.slice(1);
    }
    return text;
  }

  /** Whether an unquoted key and its colon are at a position ahead. */
  *#isBareKey(from: number): Reading<boolean> {
    for (let at = from; ; at++) {
      const next = this.peekArrived(at) ?? (yield* this.peek(at));
      if (!BARE_KEY.test(next)) return next === ":";
    }
  }

  /** Whether a comma, a key and its colon are at this position. */
  *#hasMember(bareKeys: boolean): Reading<boolean> {
    const comma = yield* this.countSpaces(0, MAX_SPACE);
    if ((yield* this.peek(comma)) !== ",") return false;
    let at = comma + 1 + (yield* this.countSpaces(comma + 1, MAX_SPACE));
    const quote = yield* this.peek(at);
    if (bareKeys && BARE_KEY.test(quote)) return yield* this.#isBareKey(at);
    if (quote !== '"' && quote !== "'") return false;
    for (at++; ; at++) {
      const next = this.peekArrived(at) ?? (yield* this.peek(at));
      if (next === "" || next === "\n") return false;
      if (next === quote) break;
    }
    at += 1 + (yield* this.countSpaces(at + 1, MAX_SPACE));
    return (yield* this.peek(at)) === ":";
  }
}

const SPACE = /\s/u;
const BARE_KEY = /[\p{L}\p{N}_-]/u;

export interface NestedOptions {
  readonly quotes?: MarkerSet;
  readonly stops?: MarkerSet;
  /** Whether keys may be unquoted. */
  readonly bareKeys?: boolean;
}

/** Tracks the depth of brackets, and whether the position is in a string. */
class BracketTracker {
  #depth = 0;
  #quote = 0;
  #openMark: string | undefined;
  #escaped = false;

  constructor(alreadyRead: string) {
    for (let at = 0; at < alreadyRead.length; at++) this.readChar(alreadyRead.charCodeAt(at));
  }

  get isQuoted(): boolean {
    return this.#quote !== 0 || this.#openMark !== undefined;
  }

  /** Returns true if the character closes the outermost bracket. */
  readChar(code: number): boolean {
    if (this.#openMark !== undefined) return false;
    if (this.#quote !== 0) {
      if (this.#escaped) this.#escaped = false;
      else if (code === BACKSLASH) this.#escaped = true;
      else if (code === this.#quote) this.#quote = 0;
      return false;
    }
    if (QUOTES.has(code)) this.#quote = code;
    else if (OPENING.has(code)) this.#depth++;
    else if (CLOSING.has(code)) return --this.#depth <= 0;
    return false;
  }

  toggleMark(mark: string): void {
    if (this.#openMark === mark) this.#openMark = undefined;
    else if (this.#quote === 0) this.#openMark ??= mark;
  }
}
