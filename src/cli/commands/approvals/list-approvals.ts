/** `haft approvals list`: calls that wait or waited for approval, in the order in which approval was asked. */
import { APPROVAL_STATUSES, type ApprovalRecord, type ApprovalStatus } from "../../../core/store/approval-store.ts";
import { didYouMean } from "../../../core/base/near-names.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { ToolError } from "../../../core/error.ts";
import type { Command, CommandContext } from "../../command.ts";
import { formatTime } from "../sessions/format-time.ts";
import { toOneLine, safeName } from "../../terminal/terminal-text.ts";
import { countColumns, padColumns } from "../../terminal/text-width.ts";
import { printList } from "../../print/print-list.ts";
import { callText, STATUS_STYLES, withInbox } from "./approval-text.ts";

const DEFAULT_LIMIT = 20;
const LEAST_WIDTH = 40;

export const listApprovals: Command = {
  name: "approvals list",
  usage: "",
  summary: "List the calls that wait for approval, the oldest first.",
  details: [
    "One line per call: its id, its state, when it was asked about, its tool and",
    "input. Without --state those that are still open. States: open, allowed,",
    "denied, withdrawn (its call has ended), expired, and all; of those that are not",
    "open, the newest come first. With --json one object per line.",
  ],
  args: [0, 0],
  options: ["store", "config", "session", "state", "tools", "limit"],
  examples: ["haft approvals list", "haft approvals list --state denied --session travel", "haft approvals list --tools 'files::*' --json"],
  async run(context) {
    const { session: sessionId, state, tools, limit = DEFAULT_LIMIT } = context.options;
    const status = state.length === 0 ? (["open"] as const) : state.includes("all") ? APPROVAL_STATUSES : state.map(parseStatus);
    const first = status.includes("open") ? "oldest" : "newest";
    const [tool] = tools;
    if (tools.length > 1) throw new ToolError("invalid_argument", "haft approvals list takes --tools once.");
    await withInbox(context, true, async (inbox) => {
      const found = await inbox.list({ status, first, limit: limit + 1, ...omitUndefined({ sessionId, tool }) });
      const words = { limit, shown: "first", none: "no approvals" } as const;
      await printList(context, found, words, (approvals) => formatApprovals(context, approvals));
    });
    return 0;
  },
};

/** Returns the status of this name. @throws ToolError `invalid_argument` */
function parseStatus(name: string): ApprovalStatus {
  const status = APPROVAL_STATUSES.find((one) => one === name);
  if (status !== undefined) return status;
  throw new ToolError("invalid_argument", `An approval has no state ${JSON.stringify(name)}.`, {
    hint: didYouMean(name, APPROVAL_STATUSES, String) ?? `States: ${APPROVAL_STATUSES.join(", ")}, all.`,
  });
}

function* formatApprovals({ out }: CommandContext, approvals: readonly ApprovalRecord[]): Generator<string, void, undefined> {
  for (const approval of approvals) {
    const { id, status, askedAt, sessionId, damage } = approval;
    const start = `${safeName(id)}  ${padColumns(status, 9)}  `;
    const width = Math.max(LEAST_WIDTH, out.width - countColumns(start));
    const facts = toOneLine(damage === undefined ? `${formatTime(askedAt)}  session ${sessionId}` : `session ${sessionId}`, width);
    yield `${out.paint("bold", safeName(id))}  ${out.paint(STATUS_STYLES[status], padColumns(status, 9))}  ${out.paint("dim", facts)}`;
    const below = Math.max(LEAST_WIDTH, out.width - 4);
    yield `    ${damage === undefined ? callText(approval, below) : out.paint("red", toOneLine(`damaged: ${damage}`, below))}`;
  }
}
