/** Keeps the end of what a server writes to standard error, to quote it when the server fails. */
import type { Redact } from "../core/secrets/redact.ts";
import { firstChars } from "../core/base/truncate-text.ts";

const TAIL_BYTES = 8 * 1024;
const MAX_QUOTED_LINES = 20;
const QUOTED_LENGTH = 300;

export class StderrTail {
  readonly #redact: Redact;
  #tail = Buffer.alloc(0);
  #isTruncated = false;

  /** @param redact applied to quoted text */
  constructor(redact: Redact) {
    this.#redact = redact;
  }

  push(chunk: Buffer): void {
    const tail = chunk.length >= TAIL_BYTES ? chunk : Buffer.concat([this.#tail, chunk]);
    this.#isTruncated ||= tail.length > TAIL_BYTES;
    this.#tail = Buffer.from(tail.subarray(Math.max(0, tail.length - TAIL_BYTES)));
  }

  /** Returns the last lines, safe to print to a terminal. */
  lines(): readonly string[] {
    const text = this.#tail.toString("utf8");
    const whole = this.#isTruncated ? text.slice(findFirstBreak(text)) : text;
    return this.#redact(stripControlCharacters(this.#redact(whole))) // what could not be seen may have stood within a secret
      .split("\n")
      .filter((line) => line.trim() !== "")
      .slice(-MAX_QUOTED_LINES)
      .map((line) => firstChars(line, QUOTED_LENGTH));
  }
}

/** The end of the line, else of the word, of which a text that was cut has the end only: it may be the end of a secret. */
function findFirstBreak(text: string): number {
  const end = text.search(/\n/u);
  if (end >= 0) return end;
  const space = text.search(/\s/u);
  return space < 0 ? text.length : space;
}

const ESCAPE_SEQUENCE = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)/gu;
const INVISIBLE = /[\p{Cc}\p{Cf}]/gu;

/** Removes everything that could control a terminal or hide text: escape sequences, control and format characters, except newlines and tabs. */
export function stripControlCharacters(text: string): string {
  return text.replace(ESCAPE_SEQUENCE, "").replace(INVISIBLE, (character) => (character === "\n" || character === "\t" ? character : ""));
}
