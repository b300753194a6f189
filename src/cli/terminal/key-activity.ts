/** Detects when a terminal has sent all that it sends by itself: text that was typed ahead or pasted arrives in chunks. */
import type { Key } from "node:readline";
import { setImmediate, setTimeout as pause } from "node:timers/promises";

/** Longer than a terminal takes to send the next chunk, and shorter than a person notices, in milliseconds. */
const QUIET_MS = 50;

export class KeyActivity {
  #keys = 0;
  #isPasting = false;

  /** Forgets a paste whose end was not read. */
  reset(): void {
    this.#isPasting = false;
  }

  /** Watches the keys until the returned function is called. */
  watch(input: NodeJS.ReadableStream): () => void {
    const onKey = (_text: string | undefined, { name }: Key): void => {
      this.#keys++;
      if (name === "paste-start") this.#isPasting = true;
      if (name === "paste-end") this.#isPasting = false;
    };
    input.on("keypress", onKey);
    return () => void input.off("keypress", onKey);
  }

  /** Resolves when no key has come for `QUIET_MS` and no marked paste is open. */
  async waitUntilQuiet(): Promise<void> {
    let seen: number;
    do {
      seen = this.#keys;
      await pause(QUIET_MS);
      await setImmediate(); // reads keys that came while this process was busy
    } while (seen !== this.#keys || this.#isPasting);
  }
}
