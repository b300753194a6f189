/** Options of long-running work on a store, for progress and cancellation. */
import { onNextTurn } from "../../core/system/lazy-timer.ts";

export interface UpkeepOptions {
  /** Ends the work before its next step; the work rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
  /** Called repeatedly with a subject, such as `sessions` or `haft_event`, and the number done. */
  readonly onProgress?: (subject: string, count: number) => void;
}

/** Must be awaited between two steps: SQLite answers synchronously, so that an abort would otherwise go unnoticed. */
export async function yieldBetweenSteps({ signal }: UpkeepOptions): Promise<void> {
  await new Promise<void>((resolve) => onNextTurn(resolve));
  signal?.throwIfAborted();
}
