/** The place of each moment on a timeline: long stretches in which nothing began or ended are folded. */
import type { Entry } from "./session-log.ts";

/** A piece of the axis between two moments. */
export interface AxisPiece {
  readonly from: number;
  readonly to: number;
  /** Its place, from 0 to 1. */
  readonly start: number;
  readonly end: number;
  /** Nothing began or ended in it: it is drawn short, and says how long it was. */
  readonly folded: boolean;
}

export interface TimeAxis {
  readonly from: number;
  readonly to: number;
  readonly pieces: readonly AxisPiece[];
  /** The place of a moment, from 0 to 1. */
  readonly at: (time: number) => number;
}

/** A stretch is folded when it is longer than this, and than most stretches are by far. */
const LEAST_FOLD_MS = 2_000;
const FOLD_OF_USUAL = 6;
/** How wide one is drawn, as a part of the whole; all of them together take at most `MAX_FOLDED`. */
const FOLD_WIDTH = 0.06;
const MAX_FOLDED = 0.4;

/** @param now the end of what has not ended */
export function timeAxis(entries: readonly Entry[], now: number): TimeAxis {
  const moments = momentsOf(entries, now);
  const pieces = piecesOf(moments, foldLimit(moments));
  const first = moments[0] ?? now;
  return { from: first, to: moments.at(-1) ?? first, pieces, at: (time) => placeOf(pieces, time) };
}

/** All beginnings and ends, in order. */
function momentsOf(entries: readonly Entry[], now: number): Float64Array {
  const moments = new Float64Array(entries.length * 2);
  let length = 0;
  for (const entry of entries) {
    moments[length++] = entry.at;
    moments[length++] = entry.kind === "message" ? entry.at : Math.max(entry.at, entry.endedAt ?? now);
  }
  return moments.sort();
}

/** By the stretches that are usual here: where every call takes a minute, a minute is not long. */
function foldLimit(moments: Float64Array): number {
  const gaps = moments.slice(1).map((moment, index) => moment - (moments[index] ?? moment));
  const usual = gaps.filter((gap) => gap > 0).sort();
  return Math.max(LEAST_FOLD_MS, FOLD_OF_USUAL * (usual[Math.floor((usual.length - 1) / 2)] ?? 0));
}

function piecesOf(moments: Float64Array, limit: number): readonly AxisPiece[] {
  const raw: { from: number; to: number; folded: boolean }[] = [];
  for (const [index, to] of moments.entries()) {
    const from = moments[index - 1] ?? to;
    const last = raw.at(-1);
    if (to - from > limit) raw.push({ from, to, folded: true });
    else if (last === undefined || last.folded) raw.push({ from, to, folded: false });
    else last.to = to;
  }
  const folds = raw.filter(({ folded }) => folded).length;
  const foldWidth = folds === 0 ? 0 : Math.min(FOLD_WIDTH, MAX_FOLDED / folds);
  const open = raw.reduce((sum, { from, to, folded }) => sum + (folded ? 0 : Math.max(1, to - from)), 0);
  let place = 0;
  return raw.map(({ from, to, folded }) => {
    const start = place;
    place += folded ? foldWidth : ((1 - folds * foldWidth) * Math.max(1, to - from)) / open;
    return { from, to, start, end: place, folded };
  });
}

function placeOf(pieces: readonly AxisPiece[], time: number): number {
  let low = 0;
  let high = pieces.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((pieces[middle]?.to ?? 0) < time) low = middle + 1;
    else high = middle;
  }
  const piece = pieces[low];
  if (piece === undefined) return 0;
  const share = piece.to === piece.from ? 0 : (time - piece.from) / (piece.to - piece.from);
  return piece.start + Math.min(1, Math.max(0, share)) * (piece.end - piece.start);
}
