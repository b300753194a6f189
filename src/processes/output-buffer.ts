/** Keeps the output of a program: the beginning and the end, without its credentials, also where one would be cut. */
import { StringDecoder } from "node:string_decoder";
import { detachText } from "../core/base/detach-text.ts";
import { CredentialFilter } from "./credential-filter.ts";

/** The longest output that is kept whole. */
export const KEPT_CHARS = 1024 * 1024;
const HEAD_CHARS = 256 * 1024;
const TAIL_CHARS = KEPT_CHARS - HEAD_CHARS;
/** A program may write one character at a time, and a string for each takes twenty times its characters: so many are joined and copied. */
const COPIED_CHARS = 4_096;

export class OutputBuffer {
  readonly #decoder = new StringDecoder("utf8");
  readonly #filter: CredentialFilter;
  readonly #listener: (text: string) => void;
  /** The latest characters, of small chunks. */
  #joined = "";
  #head = "";
  /** The latest chunks, together at most twice `TAIL_CHARS`. */
  #tail: string[] = [];
  #tailChars = 0;
  #omittedChars = 0;
  /** Number of bytes written in all. */
  bytes = 0;

  /**
   * @param listener called with all output as text, as it arrives
   * @param variables those that the program was given; see `CredentialFilter`
   */
  constructor(listener: (text: string) => void = () => undefined, variables: Readonly<Record<string, string>> = {}) {
    this.#listener = listener;
    this.#filter = new CredentialFilter(variables, (text) => this.#append(text));
  }

  push(chunk: Buffer): void {
    this.bytes += chunk.length;
    this.#filter.push(this.#decoder.write(chunk));
  }

  /** Ends the output. An incomplete character at the end is shown as U+FFFD. @param isCut whether the program was stopped, maybe while it wrote */
  end(isCut: boolean = false): void {
    this.#filter.push(this.#decoder.end());
    this.#filter.end(isCut);
  }

  /** Number of characters that `text()` leaves out. */
  get leftOutChars(): number {
    this.#keep();
    return this.#omittedChars + Math.max(0, this.#tailChars - TAIL_CHARS);
  }

  /** Returns the whole output, or its beginning and end with a line between them that says how much is left out. */
  text(): string {
    const leftOut = this.leftOutChars;
    const tail = this.#tail.join("");
    const kept = tail.slice(Math.max(0, tail.length - TAIL_CHARS));
    return leftOut === 0 ? this.#head + kept : `${this.#head}\n[… ${leftOut} characters left out …]\n${kept}`;
  }

  #append(text: string): void {
    if (text === "") return;
    this.#listener(text);
    this.#joined += text;
    if (this.#joined.length >= COPIED_CHARS) this.#keep();
  }

  /** Moves the joined characters to the head and the tail. */
  #keep(): void {
    const text = detachText(this.#joined);
    this.#joined = "";
    const free = HEAD_CHARS - this.#head.length;
    if (free > 0) this.#head += text.slice(0, free);
    const rest = free > 0 ? text.slice(free) : text;
    if (rest === "") return;
    this.#tail.push(rest);
    this.#tailChars += rest.length;
    if (this.#tailChars <= 2 * TAIL_CHARS) return;
    const all = this.#tail.join("");
    this.#tail = [all.slice(-TAIL_CHARS)];
    this.#omittedChars += all.length - TAIL_CHARS;
    this.#tailChars = TAIL_CHARS;
  }
}
