/** `haft approvals allow` and `haft approvals deny`: answer calls that wait for approval. */
import { APPROVAL_SCOPES, type ApprovalRecord, type ApprovalScope } from "../../../core/store/approval-store.ts";
import type { ApprovalVerdict } from "../../../core/approvals/approvals.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { plural } from "../../../core/base/wording.ts";
import { ToolError } from "../../../core/error.ts";
import type { StoredApprovals } from "../../../policy/approval/stored-approvals.ts";
import type { Command, CommandContext } from "../../command.ts";
import { safeName } from "../../terminal/terminal-text.ts";
import { answererName, findApproval, callText, parseExpiry, withInbox } from "./approval-text.ts";

export const allowApproval: Command = {
  name: "approvals allow",
  usage: "[<id> …]",
  summary: "Let calls run: those named, or all that match.",
  details: [
    "What a yes covers: once, this call; input, calls of its session with the same",
    "tool and input; tool, calls of its session of the same tool; rule, calls of",
    "every session that --pattern matches, until --for has passed or the rule is",
    "revoked. It also answers the other waiting calls that it covers.",
  ],
  args: [0, 100],
  options: ["store", "config", "session", "tools", "remember", "pattern", "for", "digest"],
  examples: [
    "haft approvals allow approval_1f",
    "haft approvals allow approval_1f --remember tool",
    "haft approvals allow approval_1f --remember rule --pattern 'notes::*' --for 7d",
    "haft approvals allow --tools 'files::*' --session travel",
  ],
  async run(context) {
    const scope = parseScope(context);
    const { pattern, for: time } = context.options;
    if (scope !== "rule" && (pattern !== undefined || time !== undefined))
      throw new ToolError("invalid_argument", "--pattern and --for are for a rule: give --remember rule as well.");
    const rule = omitUndefined({ pattern, expiresAt: parseExpiry(time) });
    await answerApprovals(context, { answer: "allow", scope, by: answererName(), ...(scope === "rule" ? { rule } : {}) });
    return 0;
  },
};

export const denyApproval: Command = {
  name: "approvals deny",
  usage: "[<id> …]",
  summary: "Refuse calls: those named, or all that match.",
  details: ["Each ends with approval_denied. A call that is made later is asked about again."],
  args: [0, 100],
  options: ["store", "config", "session", "tools", "digest"],
  examples: ["haft approvals deny approval_1f6c", "haft approvals deny --session travel"],
  async run(context) {
    await answerApprovals(context, { answer: "deny", by: answererName() });
    return 0;
  },
};

/** Reads `--remember`. @throws ToolError `invalid_argument` */
function parseScope({ options: { remember: name = "once" } }: CommandContext): ApprovalScope {
  const scope = APPROVAL_SCOPES.find((one) => one === name);
  if (scope !== undefined) return scope;
  throw new ToolError("invalid_argument", `--remember is ${JSON.stringify(name)}; it takes ${APPROVAL_SCOPES.join(", ")}.`);
}

/**
 * Answers the calls of the arguments. Without arguments, answers all open calls that match `--tools` and `--session`.
 *
 * @throws ToolError `invalid_argument` if neither is given; `conflict` if the call was answered before
 */
function answerApprovals(context: CommandContext, verdict: ApprovalVerdict): Promise<void> {
  const { args, options } = context;
  const { tools, session: sessionId } = options;
  if (args.length === 0 && tools.length === 0 && sessionId === undefined)
    throw new ToolError("invalid_argument", "Say which calls: by their ids, or by --tools or --session for all of them that wait.");
  if (tools.length > 1) throw new ToolError("invalid_argument", "Give --tools once.");
  if (args.length > 0 && (tools.length > 0 || sessionId !== undefined))
    throw new ToolError("invalid_argument", "Give ids, or --tools and --session, not both.");
  return withInbox(context, false, async (inbox) => {
    const answered = args.length > 0 ? await answerEach(inbox, context, verdict) : await answerAll(inbox, context, verdict);
    print(context, answered);
  });
}

async function answerEach(
  inbox: StoredApprovals,
  { args, options }: CommandContext,
  verdict: ApprovalVerdict,
): Promise<readonly ApprovalRecord[]> {
  const meant: ApprovalRecord[] = [];
  for (const name of args) meant.push(await findApproval(inbox, name));
  const { digest: wanted } = options;
  const other = meant.find(({ digest }) => wanted !== undefined && !digest.startsWith(wanted));
  if (other !== undefined)
    throw new ToolError("conflict", `The approval ${safeName(other.id)} has the digest ${other.digest}: it asks about something else now.`);
  const answered: ApprovalRecord[] = [];
  for (const { id, digest } of meant) {
    const counted = await inbox.answer({ id, digest, ...verdict });
    const now = await inbox.get(id);
    if (!counted)
      throw new ToolError("conflict", `The approval ${safeName(id)} is ${now?.status ?? "gone"} already: this answer does not count.`);
    if (now !== undefined) answered.push(now);
  }
  return answered;
}

async function answerAll(
  inbox: StoredApprovals,
  { options }: CommandContext,
  verdict: ApprovalVerdict,
): Promise<readonly ApprovalRecord[]> {
  const { session: sessionId, tools } = options;
  const upTo = (await inbox.open()).at(-1)?.position ?? 0;
  return inbox.answerMany({ ...verdict, upTo, ...omitUndefined({ sessionId, tool: tools[0] }) });
}

function print({ options, out }: CommandContext, answered: readonly ApprovalRecord[]): void {
  if (options.json) {
    for (const approval of answered) out.writeJson(approval);
    return;
  }
  for (const approval of answered) {
    const rule = approval.ruleId === undefined ? "" : ` by the rule ${safeName(approval.ruleId)}`;
    out.print(`${approval.status} ${callText(approval, Infinity)}${rule}`);
  }
  if (options.tools.length > 0 || options.session !== undefined) out.print(out.paint("dim", `${plural(answered.length, "call")} answered`));
}
