/** Asks for approvals through the MCP client that made the call. */
import type { ApprovalAnswer, ApprovalRequest } from "../../core/approvals/ask.ts";
import { escapeInvisibleJson, escapeInvisible } from "../../core/base/escape-invisible.ts";
import { ToolError } from "../../core/error.ts";
import { renameTools } from "../../core/result.ts";
import { providerName } from "../../wire/provider-name.ts";
import { currentClient } from "./client.ts";

const MAX_INPUT_LENGTH = 4_000;

/**
 * An approver that asks the person behind the MCP client whether the call may run, and shows the whole input of the call and of the calls that the
 * answer covers. Tools have the names under which the client lists them.
 *
 * The call ends with `approval_required` if there is no decision: the call did not come over MCP, the client cannot ask, the person dismisses the
 * question, or the input has more than 4,000 characters of JSON.
 */
export async function mcpApprover({
  id,
  toolName,
  reason,
  input,
  within = [],
  covers = [],
  signal,
}: ApprovalRequest): Promise<ApprovalAnswer> {
  const client = currentClient();
  const outer = within
    .map((call) => `\n\nIt is made in ${providerName(call.toolName)}:\n${JSON.stringify(call.input, undefined, 2)}`)
    .join("");
  const inner = covers
    .map((call) => `\n\nA yes also covers ${providerName(call.toolName)}:\n${JSON.stringify(call.input, undefined, 2)}`)
    .join("");
  const shown = escapeInvisibleJson(JSON.stringify(input, undefined, 2) + outer + inner);
  if (client === undefined) throw undecidedError("the call did not come over MCP, so there is no client to ask");
  if (shown.length > MAX_INPUT_LENGTH) throw undecidedError("its input is too long to be shown in a question over MCP");
  const question = renameTools(`May ${toolName} run? ${reason}`, [toolName], (name) => providerName(name));
  const schema = { type: "object", properties: { allow: { type: "boolean", title: "Let it run" } }, required: ["allow"] };
  const answer = await client.elicit({ message: `${escapeInvisible(question)}\n${shown}`, schema }, { key: id, signal });
  if (answer.action === "cancel") throw undecidedError("the MCP client did not ask, or its user did not decide");
  return answer.action === "accept" && answer.content?.["allow"] === true ? "allow-once" : "deny";
}

function undecidedError(why: string): ToolError {
  return new ToolError("approval_required", why);
}
