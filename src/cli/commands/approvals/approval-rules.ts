/** `haft approvals rules`: rules that allow calls without asking. */
import type { ApprovalRule } from "../../../core/store/approval-store.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { ToolError } from "../../../core/error.ts";
import type { Command, CommandContext } from "../../command.ts";
import { formatTime } from "../sessions/format-time.ts";
import { safeName, safeText } from "../../terminal/terminal-text.ts";
import { printList } from "../../print/print-list.ts";
import { answererName, parseExpiry, withInbox } from "./approval-text.ts";

export const approvalRules: Command = {
  name: "approvals rules",
  usage: "",
  summary: "List the rules that allow calls, add one, or revoke one.",
  details: [
    "A rule allows calls of the tools that its pattern matches without asking. Rules",
    "of one session are made by --remember input and --remember tool of haft",
    "approvals allow. Calls that a rule has allowed stay allowed when it is revoked.",
    "With --json one object per line.",
  ],
  args: [0, 0],
  options: ["store", "config", "add", "revoke", "session", "for"],
  examples: ["haft approvals rules", "haft approvals rules --add 'notes::*' --for 7d", "haft approvals rules --revoke rule_1"],
  async run(context) {
    const { add, revoke, for: time, session: sessionId } = context.options;
    if (add !== undefined && revoke !== undefined) throw new ToolError("invalid_argument", "Give --add or --revoke, not both.");
    if (add === undefined && time !== undefined) throw new ToolError("invalid_argument", "--for is for a rule that is added: give --add.");
    await withInbox(context, add === undefined && revoke === undefined, async (inbox) => {
      if (revoke !== undefined && !(await inbox.revokeRule(revoke)))
        throw new ToolError("not_found", `There is no approval rule ${JSON.stringify(revoke)}.`, {
          operatorHint: "haft approvals rules lists them.",
        });
      if (revoke !== undefined) return printRevoked(context, revoke);
      const expiresAt = parseExpiry(time);
      const rules =
        add === undefined
          ? await inbox.rules()
          : [await inbox.addRule({ pattern: add, by: answererName(), ...omitUndefined({ expiresAt, sessionId }) })];
      await printList(context, rules, { none: "no rules" }, () => formatRules(context, rules));
    });
    return 0;
  },
};

function printRevoked({ options, out }: CommandContext, id: string): void {
  if (options.json) out.writeJson({ id, revoked: true });
  else out.print(`revoked ${safeName(id)}`);
}

function* formatRules({ out }: CommandContext, rules: readonly ApprovalRule[]): Generator<string, void, undefined> {
  for (const rule of rules) {
    const id = out.paint("bold", safeName(rule.id));
    if (rule.damage !== undefined) yield `${id}  ${out.paint("red", safeText(`damaged: ${rule.damage}`))}`;
    else yield `${id}  ${safeText(rule.pattern)}  ${out.paint("dim", formatFacts(rule))}`;
  }
}

function formatFacts({ scope, sessionId, createdAt, createdBy, expiresAt }: ApprovalRule): string {
  return [
    scope === "input" ? "this input" : scope === "tool" ? "this tool" : "all that it matches",
    sessionId === undefined ? "all sessions" : `session ${safeName(sessionId)}`,
    `since ${formatTime(createdAt)}${createdBy === undefined ? "" : ` by ${safeName(createdBy)}`}`,
    expiresAt === undefined ? "until revoked" : `until ${formatTime(expiresAt)}`,
  ].join(", ");
}
