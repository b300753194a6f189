/** Limits how long the server waits for a body: slow clients must not accumulate, but long bodies may take long. */
import type { Clock } from "../../core/ports.ts";
import { HttpError } from "./http-error.ts";

/** The total time that a client may spend sending nothing. Received bytes give time back, at MIN_BYTES_PER_MS. */
const MAX_SILENT_MS = 30_000;
const MIN_BYTES_PER_MS = 4;

export class BodyTimeout {
  readonly #clock: Clock;
  #leftMs = MAX_SILENT_MS;
  /** When the current wait for the client began. */
  #since = 0;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins to wait for the client. @param late called with HttpError 408 if it is too slow, unless `stop` is called first */
  start(late: (error: HttpError) => void): void {
    this.#since = this.#clock.now();
    this.#startTimer(late);
  }

  recordBytes(bytes: number): void {
    const now = this.#clock.now();
    this.#leftMs = Math.min(MAX_SILENT_MS, this.#leftMs - (now - this.#since) + bytes / MIN_BYTES_PER_MS);
    this.#since = now;
  }

  /** Stops waiting: the body is complete, or the server does not want more yet. */
  stop(): void {
    this.recordBytes(0);
    this.#cancel?.();
  }

  #startTimer(late: (error: HttpError) => void): void {
    this.#cancel = this.#clock.timer(
      () => {
        this.recordBytes(0);
        if (this.#leftMs > 0) this.#startTimer(late);
        else late(tooSlow());
      },
      Math.max(0, this.#leftMs),
    );
  }
}

function tooSlow(): HttpError {
  return new HttpError(408, "timeout", "The body of the request arrived too slowly.", {
    outcome: "not_started",
    hint: `Send ${MIN_BYTES_PER_MS * 1_000} bytes a second or more, without a pause of ${MAX_SILENT_MS / 1_000} seconds.`,
  });
}
