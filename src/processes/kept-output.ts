/** The output of a program as far as it is kept: its beginning and its end. */
import { StringDecoder } from "node:string_decoder";

const HEAD_CHARS = 256 * 1024;
const TAIL_CHARS = 768 * 1024;

export class KeptOutput {
  readonly #decoder = new StringDecoder("utf8");
  readonly #listener: (text: string) => void;
  #head = "";
  /** The newest pieces; together at most twice `TAIL_CHARS`. */
  #tail: string[] = [];
  #tailChars = 0;
  #leftOut = 0;
  /** How many bytes were written in all. */
  bytes = 0;

  /** @param listener is called with all of it as text, as it comes */
  constructor(listener: (text: string) => void = () => undefined) {
    this.#listener = listener;
  }

  push(chunk: Buffer): void {
    this.bytes += chunk.length;
    this.#take(this.#decoder.write(chunk));
  }

  /** A character whose end never came is shown as one that is broken. */
  end(): void {
    this.#take(this.#decoder.end());
  }

  /** All of it, or its beginning and its end with a line between them that says how much is left out. */
  text(): string {
    const tail = this.#tail.join("");
    const kept = tail.slice(Math.max(0, tail.length - TAIL_CHARS));
    const leftOut = this.#leftOut + tail.length - kept.length;
    return leftOut === 0 ? this.#head + kept : `${this.#head}\n[… ${leftOut} characters left out …]\n${kept}`;
  }

  #take(text: string): void {
    if (text === "") return;
    this.#listener(text);
    const free = HEAD_CHARS - this.#head.length;
    if (free > 0) this.#head += text.slice(0, free);
    const rest = free > 0 ? text.slice(free) : text;
    if (rest === "") return;
    this.#tail.push(rest);
    this.#tailChars += rest.length;
    if (this.#tailChars <= 2 * TAIL_CHARS) return;
    const all = this.#tail.join("");
    this.#tail = [all.slice(-TAIL_CHARS)];
    this.#leftOut += all.length - TAIL_CHARS;
    this.#tailChars = TAIL_CHARS;
  }
}
