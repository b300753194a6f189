/** Detects calls that repeatedly have the same result: warns the model, then refuses them, then ends the loop. */
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { hash } from "node:crypto";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import { copyJson } from "../core/base/json.ts";
import type { ToolCall } from "../core/call.ts";
import { resultText, type OfferedName, type ToolResult } from "../core/result.ts";
import { truncateText } from "../core/base/truncate-text.ts";

/** Numbers of equal outcomes of one call at which the guard acts. Refused calls count for `stopAt` as well. */
export interface RepeatLimits {
  /** From this number on, the model gets a note. */
  readonly warnAt: number;
  /** From this number on, further calls are refused, with the earlier result. */
  readonly refuseAt: number;
  /** At this number, the loop ends. */
  readonly stopAt: number;
}

/** When a call counts as repeated, and how often that may be. */
export interface RepeatGuardOptions {
  /** Number of the latest calls that are examined. Equal calls need not be adjacent. @default 40 */
  readonly window?: number;
  /** For calls that end with the same error. @default 2, 3, 5 */
  readonly failures?: Partial<RepeatLimits>;
  /** For calls that end with the same answer; higher, because polling is legitimate. @default 4, 8, 12 */
  readonly answers?: Partial<RepeatLimits>;
}

export type RepeatVerdict =
  | { readonly kind: "warn"; readonly note: string }
  | { readonly kind: "stop"; readonly note: string }
  | { readonly kind: "none" };

interface Track {
  result: ToolResult;
  /** The numbers of the calls that had this result. */
  equal: number[];
  refused: number[];
}

const LIMITS: OptionNames<RepeatLimits> = { warnAt: true, refuseAt: true, stopAt: true };
const FAILURES: RepeatLimits = { warnAt: 2, refuseAt: 3, stopAt: 5 };
const ANSWERS: RepeatLimits = { warnAt: 4, refuseAt: 8, stopAt: 12 };
const DEFAULT_WINDOW = 40;
const LONGEST_KEY = 512;
const LONGEST_QUOTE = 500;
const NONE: RepeatVerdict = Object.freeze({ kind: "none" });

/**
 * Tracks the calls of a loop by tool, input and outcome, in a rolling window.
 *
 * A different outcome resets the count. Only the repeated call is refused, all others stay allowed. A successful write with a new outcome resets the
 * counts of all calls.
 */
export class RepeatGuard {
  readonly #window: number;
  readonly #offeredName: OfferedName;
  readonly #failures: RepeatLimits;
  readonly #answers: RepeatLimits;
  readonly #tracks = new Map<string, Track>();
  #calls = 0;
  /** Whether some call has had the same result often enough to be refused. Until then no call needs a look-up. */
  #mayRefuse = false;

  /** @param offeredName returns the name under which the model was offered a tool, for notes. @throws ToolError `invalid_argument` */
  constructor(options: RepeatGuardOptions = {}, offeredName: OfferedName = (name) => name) {
    this.#offeredName = offeredName;
    const { window, failures, answers } = checkRepeatOptions(options);
    this.#window = window;
    this.#failures = failures;
    this.#answers = answers;
  }

  /** Returns why this call is refused; undefined if it is allowed. */
  refusal(call: ToolCall): ToolError | undefined {
    if (!this.#mayRefuse) return undefined;
    const key = keyOf(call);
    const track = key === undefined ? undefined : this.#findTrack(key);
    if (track === undefined || track.equal.length < this.#limits(track.result).refuseAt) return undefined;
    return new ToolError(
      "limit_exceeded",
      `${call.name} was not run again: with this input it has had the same result ${formatTimes(track)}.`,
      {
        details: [`It said: ${truncateText(resultText(track.result), LONGEST_QUOTE)}`],
        hint: "Change the input, use another tool, or answer with what you have.",
      },
    );
  }

  /** Records the result of a call. @param changes whether the tool declares writes, so that other calls may have other results now */
  recordResult(call: ToolCall, result: ToolResult, changes: boolean): RepeatVerdict {
    const key = keyOf(call);
    if (key === undefined) return NONE;
    const at = ++this.#calls;
    let track = this.#findTrack(key);
    if (track === undefined || !isSameOutcome(track.result, result)) {
      if (changes && result.status === "ok") this.#tracks.clear();
      track = { result, equal: [at], refused: [] };
      this.#storeTrack(key, track);
    } else {
      track.equal.push(at);
    }
    return this.#verdict(call, track, true);
  }

  /** Records that this guard refused a call. */
  recordRefusal(call: ToolCall): RepeatVerdict {
    const key = keyOf(call);
    const track = key === undefined ? undefined : this.#findTrack(key);
    if (track === undefined) return NONE;
    track.refused.push(++this.#calls);
    return this.#verdict(call, track, false);
  }

  #verdict(call: ToolCall, track: Track, ran: boolean): RepeatVerdict {
    const { warnAt, refuseAt, stopAt } = this.#limits(track.result);
    const count = track.equal.length;
    if (count >= refuseAt) this.#mayRefuse = true;
    if (count + track.refused.length >= stopAt)
      return {
        kind: "stop",
        note: `${call.name} was called ${count + track.refused.length} times with the same input and the same result.`,
      };
    if (!ran || count !== warnAt) return NONE;
    return {
      kind: "warn",
      note: `${this.#offeredName(call.name)} has had the same result ${formatTimes(track)} with the same input. Calling it again will not help: ${ADVICE}`,
    };
  }

  #limits(result: ToolResult): RepeatLimits {
    return result.status === "error" ? this.#failures : this.#answers;
  }

  /** Returns the track of a call, without calls that have left the window. */
  #findTrack(key: string): Track | undefined {
    const track = this.#tracks.get(key);
    if (track === undefined) return undefined;
    const oldest = this.#calls - this.#window;
    track.equal = callsAfter(oldest, track.equal);
    track.refused = callsAfter(oldest, track.refused);
    if (track.equal.length > 0) return track;
    this.#tracks.delete(key);
    return undefined;
  }

  #storeTrack(key: string, track: Track): void {
    this.#tracks.delete(key);
    this.#tracks.set(key, track);
    if (this.#tracks.size > 2 * this.#window) for (const known of this.#tracks.keys()) this.#findTrack(known);
  }
}

/** Returns the numbers of calls after `oldest`. */
function callsAfter(oldest: number, calls: number[]): number[] {
  const [first = Infinity] = calls;
  return first > oldest ? calls : calls.filter((at) => at > oldest);
}

const ADVICE = "change the input, use another tool, or answer with what you have.";

function formatTimes({ equal }: Track): string {
  return equal.length === 1 ? "once" : `${equal.length} times`;
}

/** Undefined if the input is not JSON: such a call never runs. */
function keyOf({ name, input = {} }: ToolCall): string | undefined {
  try {
    const text = canonicalJson(copyJson(input).value);
    return `${name}\u0000${text.length > LONGEST_KEY ? hash("sha256", text) : text}`;
  } catch {
    return undefined;
  }
}

function isSameOutcome(one: ToolResult, other: ToolResult): boolean {
  if (one.status !== other.status) return false;
  if (one.error === undefined || other.error === undefined) return resultText(one) === resultText(other);
  return one.error.code === other.error.code && withoutNumbers(one.error.message) === withoutNumbers(other.error.message);
}

/** Replaces numbers, because different times, ports and counters do not make a different error. */
function withoutNumbers(text: string): string {
  return text.replaceAll(/\d+/gu, "#");
}

export interface CheckedRepeatOptions {
  readonly window: number;
  readonly failures: RepeatLimits;
  readonly answers: RepeatLimits;
}

/** Returns the options with their defaults. @throws ToolError `invalid_argument` */
export function checkRepeatOptions(options: RepeatGuardOptions): CheckedRepeatOptions {
  checkKnownKeys(options, { window: true, failures: true, answers: true }, "createLoop({ limits: { repeat } })");
  for (const name of ["failures", "answers"] as const)
    if (options[name] !== undefined) checkKnownKeys(options[name], LIMITS, `createLoop({ limits: { repeat: { ${name} } } })`);
  const { window = DEFAULT_WINDOW } = options;
  const failures = { ...FAILURES, ...omitUndefined(options.failures ?? {}) };
  const answers = { ...ANSWERS, ...omitUndefined(options.answers ?? {}) };
  const counts = [failures, answers].flatMap(({ warnAt, refuseAt, stopAt }) => [warnAt, refuseAt, stopAt]);
  const ordered = [failures, answers].every(({ warnAt, refuseAt, stopAt }) => warnAt <= refuseAt && refuseAt <= stopAt);
  if (ordered && [window, ...counts].every((count) => (Number.isSafeInteger(count) && count >= 1) || count === Infinity))
    return { window, failures, answers };
  throw new ToolError("invalid_argument", "The counts of the repeat guard must be integers from 1, warnAt ≤ refuseAt ≤ stopAt.");
}
