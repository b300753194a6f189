/** Converts approval requests of OpenAI's Responses, for calls that the provider makes, and their answers. */
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { toApprovalInput } from "../../core/approvals/provider-approval.ts";
import type { ToolResult } from "../../core/result.ts";
import { answerText, isErrorAnswer, type AssistantStep, type ConversationStep, type WireCall } from "../conversation-steps.ts";
import { asString } from "../read-field.ts";
import { parseArguments } from "../reply-builder.ts";

export const APPROVAL_REQUEST = "mcp_approval_request";

/** Returns the name, in a decoder's `toolNames`, of the tool that declares the MCP server of an approval request. */
export function approvalToolName(serverLabel: string): string {
  return `${APPROVAL_REQUEST} ${serverLabel}`;
}

export function approvalRequestInput({ server_label: server, name, arguments: given }: JsonObject): JsonObject {
  return toApprovalInput({
    server: asString(server) ?? "",
    tool: asString(name) ?? "",
    arguments: parseApprovalArguments(asString(given) ?? ""),
  });
}

/** Returns the parsed arguments; the text itself if parsing would drop a part of them, because the provider makes its call with all of them. */
function parseApprovalArguments(text: string): JsonValue {
  const value = parseArguments(text);
  return copyJson(value).dropped.length === 0 ? value : text;
}

/** @see https://platform.openai.com/docs/guides/tools-connectors-mcp#approvals (2026-11) */
export function approvalResponse(id: string, result: ToolResult | undefined): JsonObject {
  const approve = !isErrorAnswer(result);
  const reason = result?.error?.message.toWellFormed() ?? answerText(result);
  return { type: "mcp_approval_response", approval_request_id: id, approve, ...(approve ? {} : { reason }) };
}

/** Returns the steps with the original ids of approval requests: the limit on the length of call ids does not apply to them. */
export function withApprovalRequestIds(steps: readonly ConversationStep[]): readonly ConversationStep[] {
  const isRenamed = (step: AssistantStep, call: WireCall): boolean => call.id !== call.providerId && isApprovalRequest(step, call);
  if (!steps.some((step) => step.kind === "assistant" && step.calls.some((call) => isRenamed(step, call)))) return steps;
  return steps.map((step) =>
    step.kind !== "assistant"
      ? step
      : { ...step, calls: step.calls.map((call) => (isRenamed(step, call) ? { ...call, id: call.providerId ?? call.id } : call)) },
  );
}

/** Whether a call is an approval request of the provider. */
export function isApprovalRequest({ native }: AssistantStep, { providerId }: WireCall): boolean {
  if (native === undefined || providerId === undefined) return false;
  return native.blocks.some((block) => isJsonObject(block) && block["type"] === APPROVAL_REQUEST && block["id"] === providerId);
}
