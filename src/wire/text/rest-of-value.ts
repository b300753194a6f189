/** Marks that end a value or a call, where they are part of a value. */
import type { MarkerSet } from "./marker-set.ts";
import type { Reading, TextInput } from "./text-input.ts";

export interface RestMarks {
  readonly end: string;
  /** The end, and what begins another argument. */
  readonly stops: MarkerSet;
  /** Marks of which one is behind the end where the value is over. */
  readonly over: readonly string[];
  /** Marks of which one is behind an end further on where that is the value's. */
  readonly next: readonly string[];
}

/**
 * The rest of a value behind a mark that ends a value or a call, where it ends neither: the value's end follows, and more of the call
 * behind it. Undefined where that is not so, and nothing but white space is read.
 */
export function* restOfValue(input: TextInput, { end, stops, over, next }: RestMarks, mark: string): Reading<string | undefined> {
  let read = mark === end ? yield* input.while(/\s/u) : "";
  if (mark === end && (yield* standsAny(input, over))) return undefined;
  for (;;) {
    const { text, marker } = yield* input.textUntil(stops);
    if (marker !== end) {
      input.unread(read + text + (marker ?? ""));
      return undefined;
    }
    const space = yield* input.while(/\s/u);
    if (yield* standsAny(input, next)) return read + text;
    read += text + end + space;
  }
}

function* standsAny(input: TextInput, marks: readonly string[]): Reading<boolean> {
  for (const mark of marks) if (yield* input.stands(mark)) return true;
  return false;
}
