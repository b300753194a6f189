/** Reports a handler that blocked the event loop, which no deadline can interrupt. */
import { roundMs } from "../../core/system/system-ports.ts";
import type { AdmittedCall } from "../call-run.ts";

/** How long a handler must block the event loop to be reported to listeners, in milliseconds. */
export const BLOCK_MS = 100;
/** How long a handler must block the event loop to be logged too, in milliseconds: less may be a cold start or a busy machine. */
const WARNED_BLOCK_MS = 1_000;

export interface Block {
  /** On the call's monotonic clock, like `now`. */
  readonly startedAt: number;
  readonly now: number;
  /** The processor time at the start; undefined if the clock does not provide it. */
  readonly ranAt: number | undefined;
}

export function reportBlock(run: AdmittedCall, { startedAt, now, ranAt }: Block): void {
  const blockedMs = roundMs(now - startedAt);
  if (blockedMs >= WARNED_BLOCK_MS) {
    const ranMs = ranAt === undefined ? blockedMs : (run.clock.processorTime?.(now) ?? Infinity) - ranAt;
    const [held, ran] = [Math.round(blockedMs), Math.round(Math.min(ranMs, blockedMs))];
    run.services.ports.log.warn(
      ranMs >= WARNED_BLOCK_MS
        ? `${run.toolName} kept the event loop busy for ${ran} ms: no deadline can cut it off. Make it await, or move the work to a worker.`
        : `${run.toolName} held the event loop up for ${held} ms, of which it ran for ${ran} ms: it waits synchronously, as execSync() does, or the machine had no processor for it.`,
    );
  }
  if (run.services.listening) run.emit({ ...run.eventBase, type: "call-block", toolName: run.toolName, blockedMs });
}
