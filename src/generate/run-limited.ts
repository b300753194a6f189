/** Processes an array with limited concurrency, until a signal aborts. */
import { ToolError } from "../core/error.ts";
import { rejectOnAbort } from "../core/base/reject-on-abort.ts";
import { onNextTurn } from "../core/system/lazy-timer.ts";

export interface RunLimitedOptions {
  /** Maximum number of items processed at a time. Integer ≥ 1. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
}

/**
 * Runs `work` for every item, started in order. When the signal aborts, no more items are started, and running ones are not waited for.
 *
 * @throws ToolError `cancelled` if the signal aborts; any error of `work`, which stops the rest, as a rejection
 */
export async function runLimited<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
  options: RunLimitedOptions,
): Promise<void> {
  const { concurrency, signal } = options;
  let next = 0;
  let failed = false;
  const worker = async (): Promise<void> => {
    while (next < items.length && !signal.aborted && !failed) {
      const item = items[next++];
      if (item === undefined) return;
      try {
        await work(item);
      } catch (error: unknown) {
        failed = true;
        throw error;
      }
    }
  };
  await rejectOnAbort(Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker)), signal, cancelled);
}

function cancelled(): ToolError {
  return new ToolError("cancelled", "The work was cancelled.");
}

/** Yields to the event loop. @throws ToolError `cancelled` if the signal has aborted */
export async function yieldToEventLoop(signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => onNextTurn(resolve));
  if (signal?.aborted === true) throw new ToolError("cancelled", "The work was cancelled.", { cause: signal.reason });
}
