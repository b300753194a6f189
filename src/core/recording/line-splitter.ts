/** Splits the text of a recording, which comes in chunks of any size, into lines; buffers at most one line. */
import { detachText } from "../base/detach-text.ts";
import type { RecordingDecoder } from "./decoder.ts";
import { MAX_LINE_CHARS } from "./format.ts";

/** Chunks may have one character each, and a string that was joined of them takes thirty times its characters until it is copied. */
const COPIED_CHARS = 4_096;

export class LineSplitter {
  readonly #decoder: RecordingDecoder;
  #line = "";
  /** The end of the line, joined of small chunks. */
  #joined = "";
  #started = false;

  constructor(decoder: RecordingDecoder) {
    this.#decoder = decoder;
  }

  *push(chunk: string): Generator<string, void, undefined> {
    let start = 0;
    if (!this.#started && chunk !== "") {
      this.#started = true;
      if (chunk.startsWith("\ufeff")) start = 1;
    }
    for (let end = chunk.indexOf("\n", start); end >= 0; end = chunk.indexOf("\n", start)) {
      this.#extend(chunk.slice(start, end));
      yield this.#takeLine();
      start = end + 1;
    }
    this.#extend(chunk.slice(start));
  }

  *flush(): Generator<string, void, undefined> {
    if (this.#line !== "" || this.#joined !== "") yield this.#takeLine();
  }

  #extend(text: string): void {
    if (this.#line.length + this.#joined.length + text.length > MAX_LINE_CHARS) throw this.#decoder.tooLongError();
    this.#joined += text;
    if (this.#joined.length < COPIED_CHARS) return;
    this.#line += detachText(this.#joined);
    this.#joined = "";
  }

  #takeLine(): string {
    const line = this.#line + this.#joined;
    this.#line = "";
    this.#joined = "";
    return line.endsWith("\r") ? line.slice(0, -1) : line;
  }
}
