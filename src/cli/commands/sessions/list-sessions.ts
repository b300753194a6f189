/** `haft sessions list`: the sessions in the store, the newest first. */
import type { StoredSession } from "../../../core/store/store.ts";
import { plural } from "../../../core/base/wording.ts";
import type { Command, CommandContext } from "../../command.ts";
import { withStore } from "../../open/open-store.ts";
import { countColumns, padColumns } from "../../terminal/text-width.ts";
import { columnWidth, toOneLine, safeName } from "../../terminal/terminal-text.ts";
import { printList } from "../../print/print-list.ts";
import { formatTime } from "./format-time.ts";

const DEFAULT_LIMIT = 20;
const MAX_ID_WIDTH = 40;

export const listSessions: Command = {
  name: "sessions list",
  usage: "",
  summary: "List the sessions, the newest first.",
  details: [
    "One line per session: its id, when something last happened in it, how many",
    "events it has, which session it is a branch of and who has it open. With --json",
    "one object per line.",
  ],
  args: [0, 0],
  options: ["store", "config", "limit"],
  examples: ["haft sessions list", "haft sessions list --limit 5", "haft sessions list --store haft.db --json | jq -r .sessionId"],
  async run(context) {
    const limit = context.options.limit ?? DEFAULT_LIMIT;
    await withStore(context, { readOnly: true }, async (store) => {
      const found = await store.list({ limit: limit + 1 });
      await printList(context, found, { limit, none: "no sessions" }, (sessions) => formatSessions(context, sessions));
    });
    return 0;
  },
};

function* formatSessions({ out }: CommandContext, sessions: readonly StoredSession[]): Generator<string, void, undefined> {
  const ids = sessions.map(({ sessionId }) => toOneLine(sessionId, Infinity));
  const idWidth = columnWidth(ids, MAX_ID_WIDTH);
  const counts = sessions.map(({ length }) => plural(length, "event"));
  const countWidth = columnWidth(counts, Infinity);
  for (const [index, session] of sessions.entries()) {
    const id = padColumns(ids[index] ?? "", idWidth);
    const start = `${id}  ${formatTime(session.updatedAt)}  ${(counts[index] ?? "").padStart(countWidth)}`;
    const facts = toOneLine(formatFacts(session), Math.max(MAX_ID_WIDTH, out.width - countColumns(start) - 2));
    const painted = facts === "" ? "" : `  ${out.paint(session.damage === undefined ? "dim" : "red", facts)}`;
    yield `${out.paint("bold", id)}${start.slice(id.length)}${painted}`;
  }
}

function formatFacts({ parent, openedBy, damage }: StoredSession): string {
  return [
    ...(damage === undefined ? [] : [`damaged: ${damage}`]),
    ...(openedBy === undefined ? [] : [`open in ${openedBy}`]),
    ...(parent === undefined ? [] : [`branch of ${safeName(parent.sessionId)} after ${plural(parent.length, "event")}`]),
  ].join(", ");
}
