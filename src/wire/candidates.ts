/** Several replies to one request: asking for them, and putting them together. */
import { COUNT, checkNumber } from "../core/base/number-bounds.ts";
import type { ModelRequest, ReplyCandidate } from "../core/model.ts";
import type { WireNote } from "./wire-format.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";

/** How many replies of one message are read; no provider makes more. */
const MAX_CANDIDATES = 128;

/**
 * How many replies to ask for; undefined for one, and where the provider makes no more, which a note says.
 *
 * @param most what the provider makes at most; 1 = it cannot be asked for more
 * @throws ToolError `invalid_argument` for what is not a count
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

/** The facts of each reply, by its number. The text of the first is kept elsewhere. */
export class Candidates {
  readonly #parts = new Map<number, CandidateParts>();

  /** Says whether the text is kept: a text without the number of a reply is ignored. */
  addText(index: number, text: string): boolean {
    const parts = this.#at(index);
    parts?.text.push(text);
    return parts !== undefined;
  }

  /** Of some more of its tokens. */
  addLogProbability(index: number, sum: number): void {
    const parts = this.#at(index);
    if (parts !== undefined && Number.isFinite(sum)) parts.logProbability = (parts.logProbability ?? 0) + sum;
  }

  /** In the provider's order; undefined where only the first was reported. */
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
