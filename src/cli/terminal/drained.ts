/** Keeps a command from writing faster than its output is read. */
import type { CommandContext } from "../command.ts";
import { untilAborted } from "../../core/base/until-aborted.ts";

/** Resolves when there is room for more on standard output; rejects when the signal aborts first, as it does when the reader is gone. */
export async function drained({ out, signal }: Pick<CommandContext, "out" | "signal">): Promise<void> {
  const wait = out.whenDrained();
  if (wait !== undefined) await untilAborted(wait, signal);
}
