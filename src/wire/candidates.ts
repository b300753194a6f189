/** Several replies to one request: requesting them and collecting them. */
import { COUNT, checkNumber } from "../core/base/number-bounds.ts";
import type { ModelRequest, ReplyCandidate } from "../core/model.ts";
import type { WireNote } from "./wire-format.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";

/** Maximum number of replies read from one message; no provider makes more. */
const MAX_CANDIDATES = 128;

/**
 * Returns how many replies to ask for; undefined for one. Asks for at most `most`, with a note if the request wants more.
 *
 * @param most the maximum number that the provider makes; 1 = it cannot be asked for more
 * @throws ToolError `invalid_argument` for a value that is not a count
 */
export function candidateCount(
  { candidates = 1 }: ModelRequest,
  { format, most }: { readonly format: string; readonly most: number },
  notes: WireNote[],
): number | undefined {
  checkNumber(candidates, "candidates of a request", COUNT);
  if (candidates > most)
    notes.push({
      kind: "unsupported",
      note: most === 1 ? `${format} makes one reply to a request.` : `${format} makes at most ${most} replies to a request.`,
    });
  const asked = Math.min(candidates, most);
  return asked === 1 ? undefined : asked;
}

interface CandidateParts {
  readonly text: string[];
  logProbability: number | undefined;
}

/** Collects the text and the log probability of each reply, by its index. The text of the first is collected by the caller. */
export class Candidates {
  readonly #parts = new Map<number, CandidateParts>();

  /** Adds text to a reply. Returns false, and ignores the text, if `index` is not a valid index of a reply. */
  addText(index: number, text: string): boolean {
    const parts = this.#at(index);
    parts?.text.push(text);
    return parts !== undefined;
  }

  /** Adds the summed log probability of more tokens of a reply. */
  addLogProbability(index: number, sum: number): void {
    const parts = this.#at(index);
    if (parts !== undefined && Number.isFinite(sum)) parts.logProbability = (parts.logProbability ?? 0) + sum;
  }

  /** Returns the replies in the provider's order; undefined if only the first was reported. */
  list(firstText: string): readonly ReplyCandidate[] | undefined {
    if (this.#parts.size === 0 || ![...this.#parts.keys()].some((index) => index > 0)) return undefined;
    this.#at(0);
    return [...this.#parts]
      .toSorted(([one], [other]) => one - other)
      .map(([index, { text, logProbability }]) => omitUndefined({ text: index === 0 ? firstText : text.join(""), logProbability }));
  }

  #at(index: number): CandidateParts | undefined {
    if (!Number.isInteger(index) || index < 0 || index >= MAX_CANDIDATES) return undefined;
    return getOrAdd(this.#parts, index, () => ({ text: [], logProbability: undefined }));
  }
}
