/** Puts approvals to the person at the other end of the call, through the client that made it. */
import type { ApprovalAnswer, ApprovalRequest } from "../../core/ask.ts";
import { currentClient } from "./client.ts";

const MAX_INPUT_LENGTH = 4_000;

/** Asks whether the call may run, and shows all of it. Denied where the client cannot ask, or nobody decides. */
export async function mcpApprover({ toolName, reason, input }: ApprovalRequest): Promise<ApprovalAnswer> {
  const client = currentClient();
  const shown = JSON.stringify(input, undefined, 2);
  if (client === undefined || shown.length > MAX_INPUT_LENGTH) return "deny";
  const schema = { type: "object", properties: { allow: { type: "boolean", title: "Let it run", default: false } }, required: ["allow"] };
  const answer = await client.elicit({ message: `May ${toolName} run? ${reason}\n${shown}`, schema }, { key: "approval" });
  return answer.action === "accept" && answer.content?.["allow"] === true ? "allow-once" : "deny";
}
