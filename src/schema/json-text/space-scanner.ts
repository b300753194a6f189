/** White space, comments and the ends of words in damaged JSON. */
import type { ReadBudget } from "./read-budget.ts";

const SPACE = /\s/u;
const ZERO_WIDTH = /[\u200b\u2060\u180e\ufeff]/u;
const HASHED_WORD = /^#[^\s#!]/u;
const CLOSER = /[}\]]/u;
const ADDRESS = /[a-z][a-z\d+.-]{1,16}:\/\/[^\s,"'`<>}\])]*/iuy;

export class SpaceScanner {
  readonly #source: string;
  readonly #budget: ReadBudget;
  readonly #lastLine: number;
  #comment: "comment" | "comment-guess" | undefined;

  constructor(source: string, budget: ReadBudget) {
    this.#source = source;
    this.#budget = budget;
    this.#lastLine = source.lastIndexOf("\n");
  }

  /** Returns the offset of the next character that is neither white space, nor in a comment, nor one of `also`. */
  skip(start: number, also = ""): number {
    let at = start;
    for (; at < this.#source.length; at++) {
      const code = this.#source.charCodeAt(at);
      if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) continue;
      const char = this.#source[at] ?? "";
      if ((code > 0x7f && SPACE.test(char)) || ZERO_WIDTH.test(char) || (also !== "" && also.includes(char))) continue;
      const end = char === "/" || char === "#" ? this.#findCommentEnd(at) : -1;
      if (end < 0) return at;
      this.#budget.spend(end - at);
      this.#markComment(at, end);
      at = end - 1;
    }
    return at;
  }

  /** Records a comment. It may be part of the value if a bracket on its line ends it, if it contains quotes, or if it is like `#general`. */
  #markComment(start: number, end: number): void {
    const comment = this.#source.slice(start, end);
    const unsure = CLOSER.test(this.#source[end] ?? "") || comment.includes('"') || HASHED_WORD.test(comment);
    if (unsure) this.#comment = "comment-guess";
    else this.#comment ??= "comment";
  }

  /** Returns the kind of comments that were skipped since the last call. */
  takeCommentKind(): "comment" | "comment-guess" | undefined {
    const found = this.#comment;
    if (found !== undefined) this.#comment = undefined;
    return found;
  }

  /** Returns the end of a word: white space or a delimiter. */
  findWordEnd(start: number, colonEnds: boolean): number {
    return this.#findEnd(start, colonEnds, true);
  }

  /** Returns the end of text without quotes: a delimiter, a quote, a comment or the end of the line. */
  findTextEnd(start: number, colonEnds: boolean): number {
    return this.#findEnd(start, colonEnds, false);
  }

  #findEnd(start: number, colonEnds: boolean, spaceEnds: boolean): number {
    ADDRESS.lastIndex = start;
    const address = ADDRESS.exec(this.#source);
    let at = start + (address?.[0].length ?? 0);
    for (; at < this.#source.length; at++) {
      const char = this.#source[at] ?? "";
      if (',{}[]()\n"“”`'.includes(char) || (colonEnds && char === ":")) break;
      if (SPACE.test(char) && (spaceEnds || this.#findCommentEnd(at + 1) >= 0)) break;
      if (char === "'" && !isApostrophe(this.#source, at)) break;
      if (char === "/" && this.#source[at + 1] === "*") break;
    }
    this.#budget.spend(at - start);
    return at;
  }

  /** Returns the offset after the comment that begins here; -1 if none does. */
  #findCommentEnd(at: number): number {
    const source = this.#source;
    if (source.startsWith("/*", at)) {
      const end = source.indexOf("*/", at + 2);
      return end < 0 ? source.length : end + 2;
    }
    if (source[at] !== "#" && !source.startsWith("//", at)) return -1;
    if (at < this.#lastLine) return source.indexOf("\n", at);
    let end = at; // on the last line, closing brackets may follow the comment
    while (end < source.length && !CLOSER.test(source[end] ?? "")) end++;
    return end;
  }
}

/** Whether this is an apostrophe, as in `it's`. */
function isApostrophe(source: string, at: number): boolean {
  return /\p{L}/u.test(source[at - 1] ?? "") && /\p{L}/u.test(source[at + 1] ?? "");
}
