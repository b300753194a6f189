/** Works through a list, several at a time, until a signal says stop. */
import { ToolError } from "../core/error.ts";
import { untilAborted } from "../core/base/until-aborted.ts";

export interface RunLimitedOptions {
  /** Most that are under way at a time. Integer ≥ 1. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
}

/**
 * Runs `work` for every item, beginning them in order. When the signal aborts, nothing more is begun and nothing under way is waited for.
 *
 * @throws ToolError `cancelled` when the signal aborts; what `work` throws, which ends the rest. By rejecting
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
  await untilAborted(Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker)), signal, cancelled);
}

function cancelled(): ToolError {
  return new ToolError("cancelled", "The work was cancelled.");
}

/** Lets the event loop continue, and stops here when the signal has aborted meanwhile. */
export async function pause(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
  if (signal.aborted) throw new ToolError("cancelled", "The work was cancelled.");
}
