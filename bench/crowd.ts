/** Ten thousand sessions at once: the terms that every contestant meets, and what it comes to. */

export const CROWD = 10_000;
export const WAIT_MS = 1_000;

export interface CrowdFigures {
  /** Bytes of heap for each session while all of their calls wait, after a collection. */
  readonly heapEach: number;
  /** The same of the whole process, with what the heap holds in reserve. */
  readonly rssEach: number;
  /** From the first session's beginning to the last one's result, in milliseconds. */
  readonly finishMs: number;
}
