/** Maps moments to places on a timeline. Long stretches in which nothing began or ended are folded. */
import { SortedTimes } from "./sorted-times.ts";

/** A piece of the axis between two moments. */
export interface AxisPiece {
  readonly from: number;
  readonly to: number;
  /** Its place, from 0 to 1. */
  readonly start: number;
  readonly end: number;
  /** Whether nothing began or ended in it. If so, it is drawn short, with its real length as text. */
  readonly folded: boolean;
}

export interface TimeAxis {
  readonly from: number;
  readonly to: number;
  readonly pieces: readonly AxisPiece[];
  /** Returns the place of a moment, from 0 to 1. */
  readonly at: (time: number) => number;
  /** Returns the moment at a place. */
  readonly timeAt: (place: number) => number;
}

interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** A stretch is folded if it is longer than this, in milliseconds, and longer than `FOLD_MEDIAN_FACTOR` times the median stretch. */
const MIN_FOLD_MS = 2_000;
const FOLD_MEDIAN_FACTOR = 6;
/** The width of a fold as a part of the whole; all folds together take at most `MAX_FOLDED_SHARE`. */
const FOLD_WIDTH = 0.06;
const MAX_FOLDED_SHARE = 0.4;

/** Number of buckets for each doubling of the length. No stretch is as long as the last bucket. */
const BUCKETS_PER_DOUBLING = 8;
const LENGTH_BUCKETS = 64 * BUCKETS_PER_DOUBLING;

/** The moments at which something began or ended, and the stretches between them. */
export class AxisBuilder {
  readonly #times = new SortedTimes();
  /** Number of stretches in each bucket of lengths. */
  readonly #lengthCounts = new Uint32Array(LENGTH_BUCKETS);
  #stretchCount = 0;
  /** Stretches that may be folded. */
  #foldable: Stretch[] = [];
  /** Number of moments that were counted. `#sortCount`: the result of `sort()` at that time. */
  #countedTimes = 0;
  #sortCount = 0;

  add(time: number): void {
    this.#times.add(time);
  }

  /** Returns the axis. @param now where the axis ends; undefined = at the last moment */
  axis(now?: number): TimeAxis {
    this.#countNewStretches();
    const { length } = this.#times;
    if (length === 0) return createTimeAxis([], now ?? 0, now ?? 0);
    const last = this.#times.at(length - 1);
    const to = Math.max(last, now ?? last);
    const limit = this.#getFoldLimit(to - last);
    const folds = this.#foldable.filter((stretch) => stretch.to - stretch.from > limit);
    if (to - last > limit) folds.push({ from: last, to });
    return createTimeAxis(folds, this.#times.at(0), to);
  }

  #countNewStretches(): void {
    const sorts = this.#times.sort();
    if (sorts !== this.#sortCount) {
      this.#sortCount = sorts;
      this.#lengthCounts.fill(0);
      this.#stretchCount = this.#countedTimes = 0;
      this.#foldable = [];
    }
    for (; this.#countedTimes < this.#times.length; this.#countedTimes++) {
      const to = this.#times.at(this.#countedTimes);
      const from = this.#countedTimes === 0 ? to : this.#times.at(this.#countedTimes - 1);
      if (to === from) continue;
      const index = bucketIndex(to - from);
      this.#lengthCounts[index] = (this.#lengthCounts[index] ?? 0) + 1;
      this.#stretchCount++;
      if (to - from > MIN_FOLD_MS) this.#foldable.push({ from, to });
    }
  }

  /** Returns the length above which a stretch is folded, from the median length: if every call takes a minute, a minute is not long. */
  #getFoldLimit(lastMs: number): number {
    const lastIndex = lastMs > 0 ? bucketIndex(lastMs) : -1;
    let left = (this.#stretchCount + (lastIndex < 0 ? 0 : 1) + 1) >> 1;
    for (const [index, count] of this.#lengthCounts.entries()) {
      left -= index === lastIndex ? count + 1 : count;
      if (left <= 0) return Math.max(MIN_FOLD_MS, FOLD_MEDIAN_FACTOR * 2 ** (index / BUCKETS_PER_DOUBLING));
    }
    return MIN_FOLD_MS;
  }
}

function bucketIndex(ms: number): number {
  return Math.min(LENGTH_BUCKETS - 1, Math.max(0, Math.floor(Math.log2(ms) * BUCKETS_PER_DOUBLING)));
}

function createTimeAxis(folds: readonly Stretch[], from: number, to: number): TimeAxis {
  const pieces = splitIntoPieces(folds, from, to);
  const last = (start: (piece: AxisPiece) => boolean): AxisPiece | undefined => findLastPiece(pieces, start);
  return {
    from,
    to,
    pieces,
    at(time) {
      const piece = last((one) => one.from <= time) ?? pieces[0];
      return piece === undefined ? 0 : interpolate(time, [piece.from, piece.to], [piece.start, piece.end]);
    },
    timeAt(place) {
      const piece = last(({ start }) => start <= place) ?? pieces[0];
      return piece === undefined ? from : interpolate(place, [piece.start, piece.end], [piece.from, piece.to]);
    },
  };
}

/** Returns the folds, and the pieces between them. */
function splitIntoPieces(folds: readonly Stretch[], from: number, to: number): readonly AxisPiece[] {
  const raw: (Stretch & { readonly folded: boolean })[] = [];
  let done = from;
  for (const fold of folds) {
    if (fold.from > done || raw.length === 0) raw.push({ from: done, to: fold.from, folded: false });
    raw.push({ ...fold, folded: true });
    done = fold.to;
  }
  if (to > done || raw.length === 0) raw.push({ from: done, to, folded: false });
  const foldWidth = folds.length === 0 ? 0 : Math.min(FOLD_WIDTH, MAX_FOLDED_SHARE / folds.length);
  const open = raw.reduce((sum, piece) => sum + (piece.folded ? 0 : lengthMs(piece)), 0);
  let place = 0;
  return raw.map((piece) => {
    const start = place;
    place += piece.folded ? foldWidth : ((1 - folds.length * foldWidth) * lengthMs(piece)) / open;
    return { ...piece, start, end: place };
  });
}

function lengthMs({ from, to }: Stretch): number {
  return Math.max(1, to - from);
}

/** Returns the last piece for which `startsBefore` is true. */
function findLastPiece(pieces: readonly AxisPiece[], startsBefore: (piece: AxisPiece) => boolean): AxisPiece | undefined {
  let low = 0;
  let high = pieces.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const piece = pieces[middle];
    if (piece !== undefined && startsBefore(piece)) low = middle + 1;
    else high = middle;
  }
  return pieces[low - 1];
}

type Range = readonly [from: number, to: number];

function interpolate(value: number, [from, to]: Range, [start, end]: Range): number {
  const share = to === from ? 0 : (value - from) / (to - from);
  return start + Math.min(1, Math.max(0, share)) * (end - start);
}
