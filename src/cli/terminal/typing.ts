/** Tells when a terminal has sent all that it sends by itself: text that was typed ahead, or is pasted, comes in pieces. */
import type { Key } from "node:readline";
import { setImmediate, setTimeout as pause } from "node:timers/promises";

/** Longer than a terminal needs to send the next piece, and shorter than a person notices. */
const QUIET_MS = 50;

export class Typing {
  #keys = 0;
  #isPasting = false;

  /** Forgets a paste whose end was not read. */
  reset(): void {
    this.#isPasting = false;
  }

  /** Watches the keys that come until the returned function is called. */
  watch(input: NodeJS.ReadableStream): () => void {
    const onKey = (_text: string | undefined, { name }: Key): void => {
      this.#keys++;
      if (name === "paste-start") this.#isPasting = true;
      if (name === "paste-end") this.#isPasting = false;
    };
    input.on("keypress", onKey);
    return () => void input.off("keypress", onKey);
  }

  /** Resolves when no key has come for `QUIET_MS`; a paste that the terminal marks has to be over as well. */
  async quiet(): Promise<void> {
    let seen: number;
    do {
      seen = this.#keys;
      await pause(QUIET_MS);
      await setImmediate(); // keys that came while this process was busy are read before it
    } while (seen !== this.#keys || this.#isPasting);
  }
}
