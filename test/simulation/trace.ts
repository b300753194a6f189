/** What happened in a run as one hash: two runs are the same when their hashes are. */
import { createHash } from "node:crypto";

export class Trace {
  readonly #hash = createHash("sha256");
  readonly #onLine: ((line: string) => void) | undefined;
  #length = 0;
  #digest: string | undefined;

  constructor(onLine?: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** Everything in it must come from the seed alone. */
  add(now: number, kind: string, value: unknown): void {
    const line = `${now} ${kind} ${JSON.stringify(value)}`;
    this.#length++;
    this.#hash.update(line).update("\n");
    this.#onLine?.(line);
  }

  get length(): number {
    return this.#length;
  }

  /** Ends the trace. */
  get digest(): string {
    return (this.#digest ??= this.#hash.digest("hex"));
  }
}
