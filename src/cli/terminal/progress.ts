import { truncateToWidth, type Screen } from "./terminal-text.ts";

/** How long work must take before its progress is shown, in milliseconds. */
const QUIET_MS = 1_000;
const STEP_MS = 100;

/** Shows the progress of long work in one line of a terminal, which is rewritten, and cleared at the end. Shows nothing without a terminal. */
export class Progress {
  readonly #screen: Screen;
  #nextAt: number;
  #shown = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
    this.#nextAt = screen.isTerminal ? performance.now() + QUIET_MS : Infinity;
  }

  /** Shows the progress if the last update is long enough ago. Call it often. */
  show(text: () => string): void {
    if (this.#nextAt === Infinity) return;
    const now = performance.now();
    if (now < this.#nextAt) return;
    this.#nextAt = now + STEP_MS;
    const line = truncateToWidth(text(), this.#screen.width - 1);
    this.#screen.write(`\r${this.#screen.paint("dim", line.padEnd(this.#shown))}`);
    this.#shown = line.length;
  }

  /** Clears the line. Call it before anything else is written to the terminal. */
  clear(): void {
    if (this.#shown > 0) this.#screen.write(`\r${" ".repeat(this.#shown)}\r`);
    this.#shown = 0;
  }
}

/** Yields the same values, and shows how many there were so far. */
export async function* withProgress<Value>(
  values: AsyncIterable<Value>,
  progress: Progress,
  text: (count: number) => string,
): AsyncGenerator<Value, void, undefined> {
  let count = 0;
  for await (const value of values) {
    count++;
    progress.show(() => text(count));
    yield value;
  }
}
