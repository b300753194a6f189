/** Keeps the end of what a server writes beside its messages, to quote it when the server fails. */

const KEPT_BYTES = 8 * 1024;
const QUOTED_LINES = 20;
const QUOTED_LENGTH = 300;
/** A shorter value of a variable is no secret, and would be struck out of ordinary words. */
const MIN_SECRET_LENGTH = 6;

export class LastWords {
  readonly #secrets: readonly (readonly [name: string, value: string])[];
  #tail = Buffer.alloc(0);

  /** The values of `environment` are struck out of what is quoted. */
  constructor(environment: Readonly<Record<string, string>> = {}) {
    this.#secrets = Object.entries(environment).filter(([, value]) => value.length >= MIN_SECRET_LENGTH);
  }

  push(chunk: Buffer): void {
    const tail = chunk.length >= KEPT_BYTES ? chunk : Buffer.concat([this.#tail, chunk]);
    this.#tail = Buffer.from(tail.subarray(Math.max(0, tail.length - KEPT_BYTES)));
  }

  /** The last lines, fit for a terminal. */
  lines(): readonly string[] {
    let text = this.#tail.toString("utf8");
    for (const [name, value] of this.#secrets) text = text.replaceAll(value, `[${name}]`);
    return printable(text)
      .split("\n")
      .filter((line) => line.trim() !== "")
      .slice(-QUOTED_LINES)
      .map((line) => (line.length > QUOTED_LENGTH ? `${line.slice(0, QUOTED_LENGTH)}…` : line));
  }
}

const ESCAPE_SEQUENCE = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)/gu;
const INVISIBLE = /[\p{Cc}\p{Cf}]/gu;

/** Leaves out what could steer a terminal or hide text: escape sequences, control and format characters but newlines. */
export function printable(text: string): string {
  return text.replace(ESCAPE_SEQUENCE, "").replace(INVISIBLE, (character) => (character === "\n" || character === "\t" ? character : ""));
}
