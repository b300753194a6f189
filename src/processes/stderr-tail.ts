/** Keeps the end of what a server writes besides its messages, to quote it when the server fails. */
import type { Redact } from "../core/base/redact.ts";
import { beginning } from "../core/base/short-text.ts";

const KEPT_BYTES = 8 * 1024;
const QUOTED_LINES = 20;
const QUOTED_LENGTH = 300;

export class LastWords {
  readonly #redact: Redact;
  #tail = Buffer.alloc(0);

  /** `redact` is applied to what is quoted. */
  constructor(redact: Redact) {
    this.#redact = redact;
  }

  push(chunk: Buffer): void {
    const tail = chunk.length >= KEPT_BYTES ? chunk : Buffer.concat([this.#tail, chunk]);
    this.#tail = Buffer.from(tail.subarray(Math.max(0, tail.length - KEPT_BYTES)));
  }

  /** The last lines, fit for a terminal. */
  lines(): readonly string[] {
    return printable(this.#redact(this.#tail.toString("utf8")))
      .split("\n")
      .filter((line) => line.trim() !== "")
      .slice(-QUOTED_LINES)
      .map((line) => beginning(line, QUOTED_LENGTH));
  }
}

const ESCAPE_SEQUENCE = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)/gu;
const INVISIBLE = /[\p{Cc}\p{Cf}]/gu;

/** Leaves out what could steer a terminal or hide text: escape sequences, control and format characters but newlines. */
export function printable(text: string): string {
  return text.replace(ESCAPE_SEQUENCE, "").replace(INVISIBLE, (character) => (character === "\n" || character === "\t" ? character : ""));
}
