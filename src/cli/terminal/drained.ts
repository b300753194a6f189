import type { CommandContext } from "../command.ts";
import { untilAborted } from "../../core/base/until-aborted.ts";

/** Resolves when standard output has room for more; keeps a command from outrunning its reader. Rejects if the signal aborts first. */
export async function drained({ out, signal }: Pick<CommandContext, "out" | "signal">): Promise<void> {
  const wait = out.whenDrained();
  if (wait !== undefined) await untilAborted(wait, signal);
}
