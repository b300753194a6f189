/** Waits for a store that takes a session in. */
import { ToolError } from "../core/error.ts";

export class Readiness {
  #ready: Promise<void> | undefined;
  /** Tries again what was waited for: the store could not be used then. */
  #tryAgain: (() => Promise<void>) | undefined;

  /** Undefined when there is nothing to wait for. A store that could not be used is tried again whenever this is asked for. */
  get whenReady(): Promise<void> | undefined {
    const tryAgain = this.#tryAgain;
    if (tryAgain !== undefined) this.waitFor(tryAgain);
    return this.#ready;
  }

  waitFor(begin: () => Promise<void>): void {
    this.#tryAgain = undefined;
    const ready = begin();
    this.#ready = ready;
    ready.then(
      () => (this.#ready = undefined),
      (thrown: unknown) => {
        // Callers get the error. A session that another process has, or that is damaged, stays so.
        if (ToolError.fromUnknown(thrown, "store_failed").code === "store_failed") this.#tryAgain = begin;
      },
    );
  }
}
