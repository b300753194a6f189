/** Where a moment stands on a timeline: long pauses in which nothing ran are folded. */
import type { Entry } from "./session-log.ts";

/** A piece of the axis between two moments. */
export interface AxisPiece {
  readonly from: number;
  readonly to: number;
  /** Its place, from 0 to 1. */
  readonly start: number;
  readonly end: number;
  /** Nothing ran: it is drawn short, and says how long it was. */
  readonly folded: boolean;
}

export interface TimeAxis {
  readonly from: number;
  readonly to: number;
  readonly pieces: readonly AxisPiece[];
  /** The place of a moment, from 0 to 1. */
  readonly at: (time: number) => number;
}

/** A pause is folded when it is longer than this, and than a fifth of the time in which something ran. */
const LEAST_FOLD_MS = 2_000;
const FOLD_OF_BUSY = 0.2;
/** How wide a folded pause is drawn, as a part of the whole. */
const FOLD_WIDTH = 0.03;

interface Span {
  readonly from: number;
  to: number;
}

/** @param now the end of what has not ended */
export function timeAxis(entries: readonly Entry[], now: number): TimeAxis {
  const spans = busySpans(entries, now);
  const busy = spans.reduce((sum, { from, to }) => sum + to - from, 0);
  const limit = Math.max(LEAST_FOLD_MS, busy * FOLD_OF_BUSY);
  const pieces = piecesOf(spans, limit);
  const first = pieces[0];
  const last = pieces.at(-1);
  return { from: first?.from ?? now, to: last?.to ?? now, pieces, at: (time) => placeOf(pieces, time) };
}

/** The times in which something ran, joined where they overlap. Entries stand in the order they began. */
function busySpans(entries: readonly Entry[], now: number): readonly Span[] {
  const spans: Span[] = [];
  for (const entry of entries) {
    const end = entry.kind === "message" ? entry.at : (entry.endedAt ?? now);
    const last = spans.at(-1);
    if (last !== undefined && entry.at <= last.to) last.to = Math.max(last.to, end);
    else spans.push({ from: entry.at, to: Math.max(end, entry.at) });
  }
  return spans;
}

function piecesOf(spans: readonly Span[], limit: number): readonly AxisPiece[] {
  const raw: { from: number; to: number; folded: boolean }[] = [];
  for (const { from, to } of spans) {
    const last = raw.at(-1);
    if (last !== undefined && from - last.to > limit) raw.push({ from: last.to, to: from, folded: true }, { from, to, folded: false });
    else if (last === undefined) raw.push({ from, to, folded: false });
    else last.to = Math.max(last.to, to);
  }
  const folds = raw.filter(({ folded }) => folded).length;
  const foldWidth = folds === 0 ? 0 : Math.min(FOLD_WIDTH, 0.4 / folds);
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
