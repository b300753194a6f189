/** Splits the text of a recording, which comes in chunks of any size, into lines; buffers at most one line. */
import type { RecordingDecoder } from "./decoder.ts";
import { MAX_LINE_CHARS } from "./format.ts";

export class LineSplitter {
  readonly #decoder: RecordingDecoder;
  #line = "";
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
      yield this.#take();
      start = end + 1;
    }
    this.#extend(chunk.slice(start));
  }

  *rest(): Generator<string, void, undefined> {
    if (this.#line !== "") yield this.#take();
  }

  #extend(text: string): void {
    if (this.#line.length + text.length > MAX_LINE_CHARS) throw this.#decoder.tooLong();
    this.#line += text;
  }

  #take(): string {
    const line = this.#line;
    this.#line = "";
    return line.endsWith("\r") ? line.slice(0, -1) : line;
  }
}
