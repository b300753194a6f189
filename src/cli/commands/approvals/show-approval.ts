/** `haft approvals show`: one call that waits for approval, with its whole input and what it would change. */
import type { ApprovalPreview } from "../../../core/approvals/approval-preview.ts";
import type { ApprovalRecord } from "../../../core/store/approval-store.ts";
import type { Command, CommandContext } from "../../command.ts";
import { formatTime } from "../sessions/format-time.ts";
import { safeJson, safeName, safeText, wrap } from "../../terminal/terminal-text.ts";
import { findApproval, STATUS_STYLES, withInbox } from "./approval-text.ts";
import { previewLines } from "./preview-lines.ts";
import { lineWidth } from "../../terminal/text-width.ts";

export const showApproval: Command = {
  name: "approvals show",
  usage: "<id>",
  summary: "Show a call that waits, and what it would change.",
  details: [
    "The id may be shortened to its first characters, or be the id of the call. With",
    "--preview the waiting process simulates the call: nothing is done for real.",
    "With --json one object.",
  ],
  args: [1, 1],
  options: ["store", "config", "preview"],
  examples: ["haft approvals show approval_1f6c", "haft approvals show approval_1f6c --preview"],
  async run(context) {
    const { args, options, signal } = context;
    await withInbox(context, !options.preview, async (inbox) => {
      const approval = await findApproval(inbox, args[0] ?? "");
      const preview = options.preview ? await inbox.preview(approval.id, { signal }) : undefined;
      signal.throwIfAborted();
      if (options.json) context.out.writeJson({ ...approval, ...(preview === undefined ? {} : { preview }) });
      else print(context, approval, preview);
    });
    return 0;
  },
};

function print({ out }: CommandContext, approval: ApprovalRecord, preview: ApprovalPreview | undefined): void {
  const width = lineWidth(out);
  const { status, scope, askedAt, askedBy, askedIn, expiresAt, answeredAt, answeredBy, ruleId } = approval;
  const fact = (name: string, value: string | undefined): void => {
    if (value !== undefined) out.print(`${out.paint("dim", name.padEnd(9))}${value}`);
  };
  const time = (at: number | undefined): string | undefined => (at === undefined ? undefined : formatTime(at));
  fact("approval", out.paint("bold", safeName(approval.id)));
  fact("state", out.paint(STATUS_STYLES[status], scope === undefined ? status : `${status}, ${scope}`));
  fact("tool", safeName(approval.toolName));
  for (const line of wrap(safeText(approval.description), width - 9)) fact("", out.paint("dim", line));
  fact("why", safeText(approval.reason));
  fact("session", safeName(approval.sessionId));
  fact("asked", `${formatTime(askedAt)}${askedBy === undefined ? "" : ` by ${safeName(askedBy)}`}`);
  if (status === "open") fact("waits in", askedIn === undefined ? "no process, until its session is resumed" : safeName(askedIn));
  fact("until", status === "open" ? time(expiresAt) : undefined);
  if (answeredAt !== undefined) fact("ended", `${formatTime(answeredAt)}${answeredBy === undefined ? "" : ` by ${safeName(answeredBy)}`}`);
  fact("rule", ruleId === undefined ? undefined : safeName(ruleId));
  fact("digest", approval.digest);
  fact("input", "");
  for (const line of safeJson(approval.input, 2).split("\n")) out.print(`  ${line}`);
  for (const { toolName, input } of approval.within ?? []) {
    fact("made in", safeName(toolName));
    for (const line of safeJson(input, 2).split("\n")) out.print(`  ${line}`);
  }
  for (const { toolName, input } of approval.covers ?? []) fact("covers", `${safeName(toolName)} ${safeJson(input)}`);
  if (preview !== undefined) for (const line of previewLines(preview)) out.print(line);
}
