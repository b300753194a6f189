import type { CommandContext } from "../command.ts";
import { untilAborted } from "../../core/base/until-aborted.ts";

/** Resolves when the reader has made room on standard output. Rejects if the signal aborts first, as it does when the reader is gone. */
export async function drained({ out, signal }: Pick<CommandContext, "out" | "signal">): Promise<void> {
  const wait = out.whenDrained();
  if (wait !== undefined) await untilAborted(wait, signal);
}
