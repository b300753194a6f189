/** Graceful shutdown of commands that run until they are stopped. */
import type { CommandContext } from "../command.ts";

export interface GracefulStop {
  /** Resolves at the first Ctrl-C, and at any signal. That Ctrl-C aborts nothing: what running work needs stays open until the work has ended. */
  readonly stopped: Promise<void>;
  /** Aborts at a second Ctrl-C: running work is to end at once. */
  readonly forceStop: AbortController;
  /** Returns Ctrl-C to the program: the next one stops everything. */
  readonly releaseInterrupt: () => void;
}

export function listenForStop({ signal, onInterrupt }: CommandContext): GracefulStop {
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const forceStop = new AbortController();
  let stopListening = onInterrupt?.(() => {
    stopListening = onInterrupt(() => forceStop.abort());
    resolve();
  });
  signal.addEventListener("abort", () => resolve(), { once: true });
  if (signal.aborted) resolve();
  return { stopped, forceStop, releaseInterrupt: () => stopListening?.() };
}
