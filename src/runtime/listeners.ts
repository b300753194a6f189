/** The listeners of a runtime's events. */
import { ToolError } from "../core/error.ts";
import type { EventListener, RuntimeEvent } from "../core/event.ts";
import type { Log } from "../core/ports.ts";
import { safeListener } from "./safe-listener.ts";

export class Listeners {
  readonly #log: Log;
  /** Replaced, never changed: an event goes to those who listened when it happened. */
  #listeners: readonly EventListener[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  get any(): boolean {
    return this.#listeners.length > 0;
  }

  /** The returned function ends it. @throws ToolError `invalid_argument` for what is not a function */
  add(listener: EventListener): () => void {
    if (typeof listener !== "function") throw new ToolError("invalid_argument", "A listener of events is a function.");
    const safe = safeListener(listener, this.#log);
    this.#listeners = [...this.#listeners, safe];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== safe);
    };
  }

  tell(event: RuntimeEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
