/** The part of a session that a model is shown: paired, limited to the newest turns, trimmed, and no larger than its context. */
import { quoteValue } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";
import type { ModelMessage } from "../core/message.ts";
import { messageBytes } from "./message-bytes.ts";
import { keepFrom, countOldTurns, limitTurns, findTurnStarts } from "./limit-turns.ts";
import { pairMessages } from "./pair-messages.ts";
import { restateResults } from "./restate-results.ts";
import { type TrimOptions, trimResults } from "./trim-results.ts";

export interface ModelHistoryOptions {
  /** Maximum number of turns, the newest; 0 = no limit. @default 50 */
  readonly maxTurns?: number;
  /** Maximum size, in UTF-8 bytes of what the model reads; 0 = no limit. The newest turn is shown however large it is. @default 0 */
  readonly maxBytes?: number;
  /** Leave out results that newer calls supersede; `budgetBytes` defaults to `maxBytes`. @default they stay */
  readonly trim?: Omit<TrimOptions, "budgetBytes"> & { readonly budgetBytes?: number };
}

/**
 * Selects the part of the whole conversation that a model is shown, the oldest first.
 *
 * In this order: calls are paired with results, old turns are dropped (`maxTurns`), superseded results are left out (`trim`). If that is still more
 * than `maxBytes`, the oldest turns are dropped whole until at most three quarters of `maxBytes` are filled, and stay dropped. A result that refers
 * to a dropped one (`sameAs`) gets its content. System messages and the newest turn are always kept. If turns or calls were left out, a system
 * message after those at the beginning says so.
 *
 * Entries are shared with `messages`, which is not changed.
 *
 * @throws ToolError `invalid_argument`
 */
export function modelHistory(messages: readonly ModelMessage[], options: ModelHistoryOptions = {}): readonly ModelMessage[] {
  const paired = pairMessages(messages);
  const { maxTurns } = options;
  return showTurns({ recent: limitTurns(paired, maxTurns), all: paired, oldTurns: countOldTurns(paired, maxTurns) }, options);
}

/** The newest turns of a conversation. */
export interface TurnSelection {
  /** The messages that are kept, paired. */
  readonly recent: readonly ModelMessage[];
  /** The messages among which results are looked up that kept ones refer to. */
  readonly all: readonly ModelMessage[];
  /** How many turns were dropped. */
  readonly oldTurns: number;
}

/** The second part of `modelHistory`, after old turns were dropped: trims, limits the size, restates results and adds the note. */
export function showTurns({ recent, all, oldTurns }: TurnSelection, options: ModelHistoryOptions): readonly ModelMessage[] {
  const { maxBytes = 0, trim } = options;
  if (!(typeof maxBytes === "number" && maxBytes >= 0))
    throw new ToolError("invalid_argument", `maxBytes is ${quoteValue(maxBytes)}; it takes a number of bytes from 0 (0 = no limit).`);
  const trimmed = trim === undefined ? recent : trimResults(recent, { ...trim, budgetBytes: resolveBudget(trim, maxBytes) });
  const isCut = trimmed.length < recent.length;
  const fitting = fitToSize(restateResults(trimmed, all), { all, maxBytes, hasNote: isCut || oldTurns > 0 });
  const note = formatNote(oldTurns + countTurns(trimmed) - countTurns(fitting), isCut);
  return note === "" ? fitting : withNote(fitting, note);
}

interface FitOptions {
  readonly all: readonly ModelMessage[];
  readonly maxBytes: number;
  readonly hasNote: boolean;
}

/** Drops the oldest turns until the rest fits, with the content of dropped results that kept ones refer to. Each recursion has fewer references. */
function fitToSize(messages: readonly ModelMessage[], options: FitOptions): readonly ModelMessage[] {
  if (options.maxBytes === 0) return messages;
  const fitting = dropTurns(messages, options);
  const restated = restateResults(fitting, options.all);
  return restated === fitting ? fitting : fitToSize(restated, { ...options, hasNote: true });
}

function resolveBudget(trim: { readonly budgetBytes?: number }, maxBytes: number): number {
  if (trim.budgetBytes !== undefined) return trim.budgetBytes;
  if (maxBytes > 0) return maxBytes;
  throw new ToolError("invalid_argument", "Trimming needs a budget: set budgetBytes of trim, or maxBytes.");
}

function countTurns(messages: readonly ModelMessage[]): number {
  return findTurnStarts(messages).length;
}

/** Maximum size of the note, in bytes. */
const NOTE_BYTES = 160;
/** Share of `maxBytes` that is kept when turns are dropped, so that the next rounds need not drop a turn each. */
const KEPT_SHARE = 0.75;

/**
 * Drops the oldest turns until the rest fits. Returns `messages` itself if they fit, or if no more can be dropped.
 *
 * Replays how the history grew: a longer history begins like the shorter one did until it does not fit, and then several turns are dropped at once.
 */
function dropTurns(messages: readonly ModelMessage[], { maxBytes, hasNote }: FitOptions): readonly ModelMessage[] {
  const sizes = messages.map(messageBytes);
  const all = sizes.reduce((sum, size) => sum + size, 0);
  if (all + (hasNote ? NOTE_BYTES : 0) <= maxBytes) return messages;
  const starts = findTurnStarts(messages).slice(1);
  let [first, next, bytes] = [0, 0, NOTE_BYTES];
  for (const [index, size] of sizes.entries()) {
    bytes += size;
    if (bytes <= maxBytes) continue;
    for (let start = starts[next]; start !== undefined && start <= index && bytes > maxBytes * KEPT_SHARE; start = starts[++next]) {
      for (let dropped = first; dropped < start; dropped++) if (messages[dropped]?.role !== "system") bytes -= sizes[dropped] ?? 0;
      first = start;
    }
  }
  return first === 0 ? messages : keepFrom(messages, first);
}

/** The note about what was left out. Without a number of calls, it stays the same, and with it the prompt cache, until a turn is dropped. */
function formatNote(turns: number, isCut: boolean): string {
  const sentences: string[] = [];
  if (turns > 0)
    sentences.push(
      `The ${turns === 1 ? "oldest turn of this conversation is" : `${turns} oldest turns of this conversation are`} left out.`,
    );
  if (isCut) sentences.push("Earlier calls whose results newer calls supersede are left out.");
  return sentences.join(" ");
}

function withNote(messages: readonly ModelMessage[], note: string): readonly ModelMessage[] {
  const found = messages.findIndex(({ role }) => role !== "system");
  const place = found < 0 ? messages.length : found;
  const at = messages[place]?.at ?? messages.at(-1)?.at ?? 0;
  return messages.toSpliced(place, 0, Object.freeze({ role: "system", at, content: note }));
}
