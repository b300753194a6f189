/** Splits bytes into lines: UTF-8 in chunks of any size, without a byte order mark, with CR, LF or CRLF line ends. */
import { ToolError } from "../../core/error.ts";
import { MAX_FRAME } from "./wire-json.ts";

const LINE_END = /[\r\n]/gu;

/** Scans every character once: an incomplete line is kept in pieces. */
export class Lines {
  readonly #decoder = new TextDecoder();
  #pieces: string[] = [];
  #chars = 0;
  /** Whether the text so far ended with CR, so that a following LF belongs to it. */
  #afterReturn = false;

  push(bytes: Uint8Array): readonly string[] {
    return this.#split(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Returns the remaining lines, including a last one without a line end. */
  end(): readonly string[] {
    const lines = this.#split(this.#decoder.decode());
    const rest = this.#pieces.join("");
    this.#pieces = [];
    this.#chars = 0;
    return rest === "" ? lines : [...lines, rest];
  }

  #split(text: string): readonly string[] {
    return this.#afterReturn || text.includes("\r") ? this.#splitAtAnyEnd(text) : this.#splitAtFeeds(text);
  }

  #splitAtFeeds(text: string): readonly string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      lines.push(this.#finishLine(text.slice(start, end)));
      start = end + 1;
    }
    this.#appendPiece(text.slice(start));
    return lines;
  }

  #splitAtAnyEnd(text: string): readonly string[] {
    const lines: string[] = [];
    let start = 0;
    LINE_END.lastIndex = 0;
    for (let end = LINE_END.exec(text); end !== null; end = LINE_END.exec(text)) {
      const isPartOfLast = text[end.index] === "\n" && (end.index > 0 ? text[end.index - 1] === "\r" : this.#afterReturn);
      if (!isPartOfLast) lines.push(this.#finishLine(text.slice(start, end.index)));
      start = end.index + 1;
    }
    if (text !== "") this.#afterReturn = text.endsWith("\r");
    this.#appendPiece(text.slice(start));
    return lines;
  }

  #finishLine(last: string): string {
    if (this.#pieces.length === 0) return last;
    this.#appendPiece(last);
    const line = this.#pieces.join("");
    this.#pieces = [];
    this.#chars = 0;
    return line;
  }

  #appendPiece(piece: string): void {
    if (piece === "") return;
    this.#pieces.push(piece);
    this.#chars += piece.length;
    if (this.#chars > MAX_FRAME) throw new ToolError("too_large", `The provider sent a line of more than ${MAX_FRAME} characters.`);
  }
}
