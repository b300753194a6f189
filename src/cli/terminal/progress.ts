/** How far long work is, for the person who waits for it. */
import { cut, type Screen } from "./terminal-text.ts";

/** Work that is done sooner is not worth a word. */
const QUIET_MS = 1_000;
const STEP_MS = 100;

/** One line of a terminal that is written again and again, and taken away at the end. Nothing where there is no terminal. */
export class Progress {
  readonly #screen: Screen;
  #nextAt: number;
  #shown = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
    this.#nextAt = screen.isTerminal ? performance.now() + QUIET_MS : Infinity;
  }

  /** Call it often; it shows the progress now and then. */
  tell(text: () => string): void {
    if (this.#nextAt === Infinity) return;
    const now = performance.now();
    if (now < this.#nextAt) return;
    this.#nextAt = now + STEP_MS;
    const line = cut(text(), this.#screen.width - 1);
    this.#screen.write(`\r${this.#screen.paint("dim", line.padEnd(this.#shown))}`);
    this.#shown = line.length;
  }

  /** To be called before anything else is written to the terminal. */
  clear(): void {
    if (this.#shown > 0) this.#screen.write(`\r${" ".repeat(this.#shown)}\r`);
    this.#shown = 0;
  }
}

/** The same values, counted as they pass by. */
export async function* counted<Value>(
  values: AsyncIterable<Value>,
  progress: Progress,
  text: (count: number) => string,
): AsyncGenerator<Value, void, undefined> {
  let count = 0;
  for await (const value of values) {
    count++;
    progress.tell(() => text(count));
    yield value;
  }
}
