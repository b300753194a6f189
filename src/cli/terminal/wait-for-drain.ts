import type { CommandContext } from "../command.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import { onNextTurn } from "../../core/system/lazy-timer.ts";

/**
 * Resolves when the reader has made room on standard output, and in another turn of the event loop: a command that prints one item after another sees
 * signals only between turns. Rejects if the signal aborts first, as it does when the reader is gone.
 */
export async function waitForDrain({ out, signal }: Pick<CommandContext, "out" | "signal">): Promise<void> {
  const wait = out.whenDrained() ?? new Promise<void>((resolve) => onNextTurn(resolve));
  await rejectOnAbort(wait, signal);
}
