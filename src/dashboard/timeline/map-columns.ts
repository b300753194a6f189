/** Load and failures along an axis, in columns. */
import type { SortedTimes } from "./sorted-times.ts";
import type { TimeAxis } from "./time-axis.ts";

export interface MapColumns {
  /** Number of calls that ran in each column. */
  readonly running: readonly number[];
  /** Whether calls failed in each column. */
  readonly failed: readonly boolean[];
}

interface CallTimes {
  readonly starts: SortedTimes;
  readonly ends: SortedTimes;
  readonly failures: SortedTimes;
}

/** Computes the columns in a time that hardly depends on the number of calls. */
export function computeMapColumns({ starts, ends, failures }: CallTimes, axis: TimeAxis, columns: number): MapColumns {
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
