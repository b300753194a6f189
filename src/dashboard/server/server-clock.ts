/** The clock of the server, from the `Date` headers of its responses: the clock of the reader's machine may be hours off. */

/** Requests that took longer say too little about the time between them, in milliseconds. */
const MAX_TRIP_MS = 2_000;
/** The header has whole seconds: clocks that differ by less count as equal, and the exact clock of the machine is used. In milliseconds. */
const TOLERANCE_MS = 3_000;

export class ServerClock {
  #offsetMs = 0;
  /** Whether a response had a time. */
  isKnown = false;

  /** Returns the server's time, in wall-clock milliseconds since the epoch; that of this machine while no response had one. */
  now(): number {
    return Date.now() + this.#offsetMs;
  }

  /** Takes the time of a response. @param sentAt when its request was sent, by the clock of this machine */
  observe(date: string | null, sentAt: number): void {
    const receivedAt = Date.now();
    const at = Date.parse(date ?? "");
    const tripMs = receivedAt - sentAt;
    if (Number.isNaN(at) || tripMs < 0 || tripMs > MAX_TRIP_MS) return;
    this.isKnown = true;
    const offsetMs = at + 500 - (sentAt + receivedAt) / 2;
    if (Math.abs(offsetMs - this.#offsetMs) < TOLERANCE_MS) return;
    this.#offsetMs = Math.abs(offsetMs) < TOLERANCE_MS ? 0 : Math.round(offsetMs);
  }
}
