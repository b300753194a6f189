/** Puts approvals to the person at the other end of the call, through the client that made it. */
import type { ApprovalAnswer, ApprovalRequest } from "../../core/ask.ts";
import { currentClient } from "./client.ts";

const MAX_INPUT_LENGTH = 4_000;

/** Asks whether the call may run, and shows all of it. Denied where the client cannot ask, or nobody decides. */
export async function mcpApprover({ toolName, reason, input, signal }: ApprovalRequest): Promise<ApprovalAnswer> {
  const client = currentClient();
  const shown = visible(JSON.stringify(input, undefined, 2));
  if (client === undefined || shown.length > MAX_INPUT_LENGTH) return "deny";
  const schema = { type: "object", properties: { allow: { type: "boolean", title: "Let it run", default: false } }, required: ["allow"] };
  const answer = await client.elicit({ message: `May ${toolName} run? ${reason}\n${shown}`, schema }, { key: "approval", signal });
  return answer.action === "accept" && answer.content?.["allow"] === true ? "allow-once" : "deny";
}

/** As the same JSON, with what could make a person see something else than it is written out. */
function visible(json: string): string {
  return json.replaceAll(MISLEADING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const MISLEADING = /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;
