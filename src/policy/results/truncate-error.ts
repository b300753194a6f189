/** Truncates the texts of an error to the size of a result that a model is shown. */
import type { ErrorInfo } from "../../core/error.ts";
import { plural } from "../../core/base/wording.ts";

/** An error may have this many bytes more than an answer, as a truncated answer has its note: its message must stay readable. */
const SPARE_BYTES = 1_000;

/**
 * Limits message, hint and details to `maxBytes` UTF-8 bytes and 1,000 more; 0 = no limit. The message is kept before the hint, and the hint before the
 * details, of which the last line says how many are missing. Returns the same error if it fits.
 */
export function truncateError(error: ErrorInfo, maxBytes: number): ErrorInfo {
  const { message, hint, details = [] } = error;
  const most = maxBytes + SPARE_BYTES;
  if (maxBytes === 0 || [message, hint ?? "", ...details].reduce((sum, text) => sum + text.length * 3, 0) <= most) return error;
  const texts = new TextRoom(most);
  const shown = { message: texts.take(message), ...(hint === undefined || !texts.isOpen ? {} : { hint: texts.take(hint) }) };
  const kept: string[] = [];
  for (const detail of details) {
    if (!texts.fits(detail)) break;
    kept.push(texts.take(detail));
  }
  const missing = details.length - kept.length;
  if (missing > 0) kept.push(`${plural(missing, "more line")} left out`);
  const { hint: _hint, ...rest } = error;
  return { ...rest, ...shown, ...(details.length === 0 ? {} : { details: Object.freeze(kept) }) };
}

/** The bytes that are left for texts. */
class TextRoom {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  get isOpen(): boolean {
    return this.#left > 0;
  }

  fits(text: string): boolean {
    return Buffer.byteLength(text) <= this.#left;
  }

  /** Returns the text, or its beginning up to a whole code point and an ellipsis. */
  take(text: string): string {
    const bytes = Buffer.from(text);
    const left = this.#left;
    this.#left = Math.max(0, left - bytes.length);
    return bytes.length <= left ? text : `${new TextDecoder().decode(bytes.subarray(0, left), { stream: true })}…`;
  }
}
