/** Refreshes a runtime when its sources change: once for simultaneous changes, and never twice concurrently. */
import { ToolError } from "../../core/error.ts";
import type { Ports } from "../../core/ports.ts";
import type { ToolsetLifecycle } from "./toolset-lifecycle.ts";

/** How long to wait for further changes, in milliseconds: editors write a file in several steps. */
const DEBOUNCE_MS = 100;

/** Starts watching. The returned function stops it. Idempotent. */
export function watchSources(lifecycle: ToolsetLifecycle, { clock, log }: Ports): () => void {
  let cancelTimer: (() => void) | undefined;
  let stopped = false;
  const refresh = async (): Promise<void> => {
    cancelTimer = undefined;
    try {
      const { failed } = await lifecycle.refresh();
      for (const { toolset, error } of failed) log.warn(`${JSON.stringify(toolset)} stays as it was: ${error.message}`);
    } catch (thrown: unknown) {
      if (!stopped) log.warn(`The tools could not be refreshed: ${ToolError.fromUnknown(thrown).message}`);
    }
  };
  const stop = lifecycle.watch(() => {
    if (stopped) return;
    cancelTimer?.();
    cancelTimer = clock.timer(() => void refresh(), DEBOUNCE_MS);
  });
  return () => {
    stopped = true;
    cancelTimer?.();
    stop();
  };
}
