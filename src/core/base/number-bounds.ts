/** Checks numbers in options and files, so that a wrong one is refused where it is set. */
import { quoteValue } from "./wording.ts";
import { ToolError } from "../error.ts";

/** The bounds of a number, both ends included. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly integer: boolean;
  /** The meaning of 0, for messages. */
  readonly zero?: string;
}

/** A duration of at most ten years, in milliseconds. */
export const MILLISECONDS: Bounds = { min: 0, max: 315_576_000_000, integer: false };
/** A duration of at most ten years, in seconds, as other programs write it. */
export const SECONDS: Bounds = { ...MILLISECONDS, max: MILLISECONDS.max / 1000 };
/** A count of at least one. */
export const COUNT: Bounds = { min: 1, max: Number.MAX_SAFE_INTEGER, integer: true };
/** A count of things, bytes or characters, which may be 0. */
export const SIZE: Bounds = { ...COUNT, min: 0 };
/** A port to listen on; 0 is any free port. */
export const PORT: Bounds = { min: 0, max: 65_535, integer: true };
/** A fraction or a probability. */
export const FRACTION: Bounds = { min: 0, max: 1, integer: false };

export function isWithinBounds(value: unknown, { min, max, integer }: Bounds): value is number {
  return typeof value === "number" && value >= min && value <= max && (!integer || Number.isInteger(value));
}

/** Describes bounds: `an integer from 1 to 100`, `a number from 0 (0 = no limit)`. */
export function describeBounds({ min, max, integer, zero }: Bounds): string {
  const most = max >= Number.MAX_SAFE_INTEGER ? "" : ` to ${max}`;
  return `${integer ? "an integer" : "a number"} from ${min}${most}${zero === undefined ? "" : ` (0 = ${zero})`}`;
}

/**
 * Checks one number; undefined is accepted, because it means the default.
 *
 * @param what the setting and its owner: `delayMs of retry`
 * @throws ToolError `invalid_argument` naming the setting, its value and what would work
 */
export function checkNumber(value: unknown, what: string, bounds: Bounds): void {
  if (value === undefined || isWithinBounds(value, bounds)) return;
  throw new ToolError("invalid_argument", `${what} is ${quoteValue(value)}; it takes ${describeBounds(bounds)}.`);
}
