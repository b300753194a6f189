/** Recognizes marks that usually end a value or a call, but are part of a value. */
import type { MarkerSet } from "./marker-set.ts";
import type { Reading, TextInput } from "./text-input.ts";

export interface RestMarks {
  readonly end: string;
  /** The end mark and the marks that begin another argument. */
  readonly stops: MarkerSet;
  /** Marks, one of which follows the end mark if the value really ends there. */
  readonly callEnds: readonly string[];
  /** Marks, one of which follows a later end mark if that one ends the value. */
  readonly next: readonly string[];
}

/**
 * Reads the rest of a value after a mark that usually ends a value or a call, but here ends neither: the end of the value follows, and then more of the
 * call. Returns undefined if that is not so; then only white space has been read.
 */
export function* readRestOfValue(input: TextInput, { end, stops, callEnds, next }: RestMarks, mark: string): Reading<string | undefined> {
  let read = mark === end ? yield* input.readWhile(/\s/u) : "";
  if (mark === end && (yield* input.startsWithAny(callEnds))) return undefined;
  for (;;) {
    const { text, marker } = yield* input.readTextUntil(stops);
    if (marker !== end) {
      input.unread(read + text + (marker ?? ""));
      return undefined;
    }
    const space = yield* input.readWhile(/\s/u);
    if (yield* input.startsWithAny(next)) return read + text;
    read += text + end + space;
  }
}
