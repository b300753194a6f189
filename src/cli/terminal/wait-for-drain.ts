import type { CommandContext } from "../command.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";

/** Resolves when the reader has made room on standard output. Rejects if the signal aborts first, as it does when the reader is gone. */
export async function waitForDrain({ out, signal }: Pick<CommandContext, "out" | "signal">): Promise<void> {
  const wait = out.whenDrained();
  if (wait !== undefined) await rejectOnAbort(wait, signal);
}
