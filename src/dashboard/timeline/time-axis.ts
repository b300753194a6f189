/** Maps moments to places on a timeline. Long stretches in which nothing began or ended are folded. */
import { Moments } from "./moments.ts";

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

/** A stretch is folded if it is longer than this, in milliseconds, and longer than `FOLD_OF_USUAL` times the median stretch. */
const LEAST_FOLD_MS = 2_000;
const FOLD_OF_USUAL = 6;
/** The width of a fold as a part of the whole; all folds together take at most `MAX_FOLDED`. */
const FOLD_WIDTH = 0.06;
const MAX_FOLDED = 0.4;

/** Number of buckets for each doubling of the length. No stretch is as long as the last bucket. */
const LENGTHS_PER_DOUBLING = 8;
const LENGTHS = 64 * LENGTHS_PER_DOUBLING;

/** The moments at which something began or ended, and the stretches between them. */
export class AxisTimes {
  readonly #moments = new Moments();
  /** Number of stretches in each bucket of lengths. */
  readonly #lengths = new Uint32Array(LENGTHS);
  #stretches = 0;
  /** Stretches that may be folded. */
  #long: Stretch[] = [];
  /** Number of moments that were counted. `#sorts`: the result of `sort()` at that time. */
  #seen = 0;
  #sorts = 0;

  add(time: number): void {
    this.#moments.add(time);
  }

  /** Returns the axis. @param now where the axis ends; undefined = at the last moment */
  axis(now?: number): TimeAxis {
    this.#look();
    const { length } = this.#moments;
    if (length === 0) return axisOf([], now ?? 0, now ?? 0);
    const last = this.#moments.at(length - 1);
    const to = Math.max(last, now ?? last);
    const limit = this.#foldLimit(to - last);
    const folds = this.#long.filter((stretch) => stretch.to - stretch.from > limit);
    if (to - last > limit) folds.push({ from: last, to });
    return axisOf(folds, this.#moments.at(0), to);
  }

  #look(): void {
    const sorts = this.#moments.sort();
    if (sorts !== this.#sorts) {
      this.#sorts = sorts;
      this.#lengths.fill(0);
      this.#stretches = this.#seen = 0;
      this.#long = [];
    }
    for (; this.#seen < this.#moments.length; this.#seen++) {
      const to = this.#moments.at(this.#seen);
      const from = this.#seen === 0 ? to : this.#moments.at(this.#seen - 1);
      if (to === from) continue;
      const index = lengthIndex(to - from);
      this.#lengths[index] = (this.#lengths[index] ?? 0) + 1;
      this.#stretches++;
      if (to - from > LEAST_FOLD_MS) this.#long.push({ from, to });
    }
  }

  /** Returns the length above which a stretch is folded, from the median length: if every call takes a minute, a minute is not long. */
  #foldLimit(lastMs: number): number {
    const lastIndex = lastMs > 0 ? lengthIndex(lastMs) : -1;
    let left = (this.#stretches + (lastIndex < 0 ? 0 : 1) + 1) >> 1;
    for (const [index, count] of this.#lengths.entries()) {
      left -= index === lastIndex ? count + 1 : count;
      if (left <= 0) return Math.max(LEAST_FOLD_MS, FOLD_OF_USUAL * 2 ** (index / LENGTHS_PER_DOUBLING));
    }
    return LEAST_FOLD_MS;
  }
}

function lengthIndex(ms: number): number {
  return Math.min(LENGTHS - 1, Math.max(0, Math.floor(Math.log2(ms) * LENGTHS_PER_DOUBLING)));
}

function axisOf(folds: readonly Stretch[], from: number, to: number): TimeAxis {
  const pieces = piecesOf(folds, from, to);
  const last = (start: (piece: AxisPiece) => boolean): AxisPiece | undefined => lastPiece(pieces, start);
  return {
    from,
    to,
    pieces,
    at(time) {
      const piece = last((one) => one.from <= time) ?? pieces[0];
      return piece === undefined ? 0 : mapped(time, [piece.from, piece.to], [piece.start, piece.end]);
    },
    timeAt(place) {
      const piece = last(({ start }) => start <= place) ?? pieces[0];
      return piece === undefined ? from : mapped(place, [piece.start, piece.end], [piece.from, piece.to]);
    },
  };
}

/** Returns the folds, and the pieces between them. */
function piecesOf(folds: readonly Stretch[], from: number, to: number): readonly AxisPiece[] {
  const raw: (Stretch & { readonly folded: boolean })[] = [];
  let done = from;
  for (const fold of folds) {
    if (fold.from > done || raw.length === 0) raw.push({ from: done, to: fold.from, folded: false });
    raw.push({ ...fold, folded: true });
    done = fold.to;
  }
  if (to > done || raw.length === 0) raw.push({ from: done, to, folded: false });
  const foldWidth = folds.length === 0 ? 0 : Math.min(FOLD_WIDTH, MAX_FOLDED / folds.length);
  const open = raw.reduce((sum, piece) => sum + (piece.folded ? 0 : openMs(piece)), 0);
  let place = 0;
  return raw.map((piece) => {
    const start = place;
    place += piece.folded ? foldWidth : ((1 - folds.length * foldWidth) * openMs(piece)) / open;
    return { ...piece, start, end: place };
  });
}

function openMs({ from, to }: Stretch): number {
  return Math.max(1, to - from);
}

/** Returns the last piece for which `begins` is true. */
function lastPiece(pieces: readonly AxisPiece[], begins: (piece: AxisPiece) => boolean): AxisPiece | undefined {
  let low = 0;
  let high = pieces.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const piece = pieces[middle];
    if (piece !== undefined && begins(piece)) low = middle + 1;
    else high = middle;
  }
  return pieces[low - 1];
}

type Range = readonly [from: number, to: number];

function mapped(value: number, [from, to]: Range, [start, end]: Range): number {
  const share = to === from ? 0 : (value - from) / (to - from);
  return start + Math.min(1, Math.max(0, share)) * (end - start);
}
