/** What a number of a configuration file may be, both ends included. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly whole: boolean;
}

/** A time of at most ten years. */
export const MILLISECONDS: Bounds = { min: 0, max: 315_576_000_000, whole: false };
/** A number of things, at least one. */
export const COUNT: Bounds = { min: 1, max: Number.MAX_SAFE_INTEGER, whole: true };
