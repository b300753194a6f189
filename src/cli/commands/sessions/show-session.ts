/** `haft sessions show`: prints one session as it happened. */
import { storedEvents } from "../../../session/read-events.ts";
import type { Command, CommandContext } from "../../command.ts";
import type { Store } from "../../../core/store/store.ts";
import { waitForDrain } from "../../terminal/wait-for-drain.ts";
import { findSession, withSession, withStore } from "../../open/open-store.ts";
import { LogPrinter } from "./log-printer.ts";

export const showSession: Command = {
  name: "sessions show",
  usage: "<id>",
  summary: "Show what was said, called and answered.",
  details: [
    "Prints the conversation as haft run does. A call that has no result because its",
    "process ended is marked as interrupted. Of a damaged session everything before",
    "the damage is shown, then the error, and the exit code is 3. With --json one",
    "event per line.",
  ],
  args: [1, 1],
  options: ["store", "config"],
  examples: ["haft sessions show travel", "haft sessions show travel --json | jq -r .type"],
  async run(context) {
    const [id = ""] = context.args;
    await withStore(context, { readOnly: true }, (store) => withSession(store, id, () => show(context, store, id)));
    return 0;
  },
};

async function show(context: CommandContext, store: Store, id: string): Promise<void> {
  const { options, out, signal } = context;
  const printer = new LogPrinter(out);
  try {
    for await (const event of storedEvents(store, id)) {
      signal.throwIfAborted();
      await waitForDrain(context);
      if (options.json) out.writeJson(event);
      else printer.addEvent(event);
    }
  } finally {
    // Events after a damaged one are not shown; they may hold results of calls that seem open here.
    printer.finish((await findSession(store, id).catch(() => undefined))?.openedBy);
  }
}
