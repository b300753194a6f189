/** How commands that run until they are stopped end in order. */
import type { CommandContext } from "../command.ts";

export interface Stopping {
  /** Resolves at the first Ctrl-C, which stops the command alone: what its work under way needs stays open until that has ended; and at any signal. */
  readonly stopped: Promise<void>;
  /** A second Ctrl-C aborts it: what is under way is to end at once. */
  readonly hurry: AbortController;
  /** The next Ctrl-C stops everything. */
  readonly giveBack: () => void;
}

export function stopInOrder({ signal, onInterrupt }: CommandContext): Stopping {
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const hurry = new AbortController();
  let giveBack = onInterrupt?.(() => {
    giveBack = onInterrupt(() => hurry.abort());
    resolve();
  });
  signal.addEventListener("abort", () => resolve(), { once: true });
  if (signal.aborted) resolve();
  return { stopped, hurry, giveBack: () => giveBack?.() };
}
