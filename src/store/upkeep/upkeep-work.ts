/** Long work on a store that can be watched and stopped. */

export interface UpkeepOptions {
  /** Ends the work before its next step, with the reason of the signal. */
  readonly signal?: AbortSignal;
  /** Called now and then: `sessions`, `haft_event`, and how many are done. */
  readonly onProgress?: (subject: string, count: number) => void;
}

/** To be awaited between two steps: SQLite answers at once, so that a signal would never be heard. */
export async function betweenSteps({ signal }: UpkeepOptions): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
  signal?.throwIfAborted();
}
