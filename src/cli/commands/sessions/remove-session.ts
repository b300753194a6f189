/** `haft sessions remove`: removes a session for good. */
import { ToolError } from "../../../core/error.ts";
import type { Store, StoredSession } from "../../../core/store/store.ts";
import { systemPorts } from "../../../core/system/system-ports.ts";
import { removeStored } from "../../../runtime/resume/end-stored-calls.ts";
import { plural } from "../../../core/base/wording.ts";
import type { Command, CommandContext } from "../../command.ts";
import { findSession, withSession, withStore } from "../../open/open-store.ts";
import { safeJson, safeName } from "../../terminal/terminal-text.ts";
import { formatTime } from "./format-time.ts";

export const removeSession: Command = {
  name: "sessions remove",
  usage: "<id>",
  summary: "Remove a session from the store for good.",
  details: [
    "Asks before it does so, unless --yes is given. A session that another process",
    "has open, or that other sessions branch off, is not removed.",
  ],
  args: [1, 1],
  options: ["store", "config", "yes"],
  examples: ["haft sessions remove travel", "haft sessions remove travel --yes"],
  async run(context) {
    const [id = ""] = context.args;
    await withStore(context, { readOnly: false }, (store) => withSession(store, id, () => remove(context, store, id)));
    return 0;
  },
};

async function remove(context: CommandContext, store: Store, id: string): Promise<void> {
  const session = await findSession(store, id);
  if (session !== undefined) await confirm(context, session);
  const wasThere = await removeStored(store, id, systemPorts.clock.wallTime());
  if (!wasThere) throw new ToolError("not_found", `The store has no session ${JSON.stringify(id)}.`);
  context.out.write(`${context.options.json ? safeJson({ removed: id }) : `removed session ${safeName(id)}`}\n`);
}

/** Asks before a session is removed. @throws ToolError `approval_required` without a terminal, `approval_denied` for any answer but yes */
async function confirm({ options, ask, err, signal }: CommandContext, { sessionId, length, updatedAt }: StoredSession): Promise<void> {
  if (options.yes) return;
  const name = JSON.stringify(sessionId);
  if (ask === undefined) {
    throw new ToolError("approval_required", `Removing the session ${name} must be approved, and there is no terminal.`, {
      hint: "Approve it with --yes.",
    });
  }
  const what = `session ${safeName(sessionId)}, ${plural(length, "event")}, the last of ${formatTime(updatedAt)}`;
  err.print(`\n  ${err.paint("yellow", `? Remove ${what}, for good?`)}`);
  const answer = (await ask("  [y]es, [n]o: ", signal)) ?? "";
  if (!["y", "yes"].includes(answer.trim().toLowerCase())) throw new ToolError("approval_denied", `The session ${name} was not removed.`);
}
