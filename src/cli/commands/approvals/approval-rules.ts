/** `haft approvals rules`: what need not be asked about. */
import type { ApprovalRule } from "../../../core/approval-store.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { ToolError } from "../../../core/error.ts";
import type { Command, CommandContext } from "../../command.ts";
import { timeText } from "../sessions/session-words.ts";
import { safeJson, safeText } from "../../terminal/terminal-text.ts";
import { answerer, expiryOf, withInbox } from "./approval-words.ts";

export const approvalRules: Command = {
  name: "approvals rules",
  usage: "",
  summary: "List the rules that allow calls, add one, or revoke one.",
  details: [
    "A rule allows calls of the tools that its pattern matches without asking. Rules",
    "of one session are made by --remember input and --remember tool of haft",
    "approvals allow. Calls that a rule has allowed stay allowed when it is revoked.",
    "With --json one object a line.",
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
      const expiresAt = expiryOf(time);
      if (add === undefined) return print(context, await inbox.rules());
      print(context, [await inbox.addRule({ pattern: add, by: answerer(), ...omitUndefined({ expiresAt, sessionId }) })]);
    });
    return 0;
  },
};

function printRevoked({ options, out }: CommandContext, id: string): void {
  if (options.json) out.write(`${safeJson({ id, revoked: true })}\n`);
  else out.print(`revoked ${safeText(id)}`);
}

function print({ options, out }: CommandContext, rules: readonly ApprovalRule[]): void {
  for (const rule of rules) {
    if (options.json) out.write(`${safeJson(rule)}\n`);
    else if (rule.damage !== undefined)
      out.print(`${out.paint("bold", safeText(rule.id))}  ${out.paint("red", safeText(`damaged: ${rule.damage}`))}`);
    else out.print(`${out.paint("bold", safeText(rule.id))}  ${safeText(rule.pattern)}  ${out.paint("dim", factsOf(rule))}`);
  }
  if (rules.length === 0 && !options.json && out.isTerminal) out.print(out.paint("dim", "no rules"));
}

function factsOf({ scope, sessionId, createdAt, createdBy, expiresAt }: ApprovalRule): string {
  return [
    scope === "input" ? "this input" : scope === "tool" ? "this tool" : "all that it matches",
    sessionId === undefined ? "all sessions" : `session ${safeText(sessionId)}`,
    `since ${timeText(createdAt)}${createdBy === undefined ? "" : ` by ${safeText(createdBy)}`}`,
    expiresAt === undefined ? "until revoked" : `until ${timeText(expiresAt)}`,
  ].join(", ");
}
