/** How much ran at each place of an axis, in columns. */
import type { Moments } from "./moments.ts";
import type { TimeAxis } from "./time-axis.ts";

export interface MapColumns {
  /** How many calls ran in each column. */
  readonly running: readonly number[];
  /** Whether calls failed in it. */
  readonly failed: readonly boolean[];
}

interface CallTimes {
  readonly starts: Moments;
  readonly ends: Moments;
  readonly failures: Moments;
}

/** Costs the same for any number of calls. */
export function mapColumns({ starts, ends, failures }: CallTimes, axis: TimeAxis, columns: number): MapColumns {
  const border = (column: number): number => (column === 0 ? -Infinity : column === columns ? Infinity : axis.timeAt(column / columns));
  const running: number[] = [];
  const failed: boolean[] = [];
  for (let column = 0; column < columns; column++) {
    const [from, to] = [border(column), border(column + 1)];
    running.push(starts.countBefore(to) - ends.countBefore(from));
    failed.push(failures.countBefore(to) > failures.countBefore(from));
  }
  return { running, failed };
}
