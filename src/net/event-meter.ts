/** Counts the bytes of the current event of an event stream. */

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export class EventMeter {
  #bytes = 0;
  /** The last byte if it ended a line, else 0. */
  #lineEnd = 0;

  /**
   * Takes the next bytes and returns the size of the largest event that they belong to. An event ends with an empty line; each line ending,
   * including CRLF, counts as one byte.
   */
  add(chunk: Uint8Array): number {
    let largest = 0;
    for (const byte of chunk) {
      const isSecondHalf = byte === LINE_FEED && this.#lineEnd === CARRIAGE_RETURN;
      if (!isSecondHalf) this.#bytes++;
      if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) this.#lineEnd = 0;
      else {
        if (this.#lineEnd !== 0 && !isSecondHalf) {
          largest = Math.max(largest, this.#bytes);
          this.#bytes = 0;
        }
        this.#lineEnd = byte;
      }
    }
    return Math.max(largest, this.#bytes);
  }
}
