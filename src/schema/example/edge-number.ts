/** Numbers for schemas that only the ends of a range, or fractions, satisfy. */
import { maxOf } from "../../core/collections/push-all.ts";
import type { RandomStream } from "./random-stream.ts";

export interface NumberRange {
  readonly minimum: number;
  readonly maximum: number;
  readonly multiplesOf: readonly number[];
}

/** Span of a range without an end. */
const OPEN_SPAN = 1_000;

/** Returns an end of the range or a multiple between them, in turn by the attempt, to be checked by the caller; undefined for an end that is open. */
export function edgeNumber({ minimum, maximum, multiplesOf }: NumberRange, attempt: number, random: RandomStream): number | undefined {
  if (attempt % 3 === 0) return Number.isFinite(minimum) ? minimum : undefined;
  if (attempt % 3 === 1) return Number.isFinite(maximum) ? maximum : undefined;
  const from = Math.max(minimum, Number.isFinite(maximum) ? maximum - OPEN_SPAN : -OPEN_SPAN);
  const to = Math.min(maximum, from + OPEN_SPAN);
  const step = Math.max(0.01, maxOf(multiplesOf));
  const steps = Math.floor(to / step) - Math.ceil(from / step);
  if (!(steps >= 0 && steps <= Number.MAX_SAFE_INTEGER)) return undefined;
  const multiple = (Math.ceil(from / step) + random.branch("edge").integer(0, steps)) * step;
  return Number(multiple.toPrecision(12));
}
