/** Small builders of conversations, and the one that every format is shown. */
import type { ContentPart } from "../../src/core/content.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import type { CallMessage, ModelMessage, ResultMessage } from "../../src/core/message.ts";
import type { ResultWithError, ToolResult } from "../../src/core/result.ts";
import type { ResultChange } from "../core/result-change.ts";

export function said(
  role: "user" | "assistant" | "system" | "document",
  content: string | readonly ContentPart[],
  title?: string,
): ModelMessage {
  return { role, at: 0, content, ...(title === undefined ? {} : { title }) };
}

export function called(
  callId: string,
  name: string,
  options: { readonly id?: string; readonly turnId?: string; readonly input?: JsonValue } = {},
): CallMessage {
  const { id, turnId = "turn_1", input = {} } = options;
  return { role: "call", at: 0, callId, turnId, call: { ...(id === undefined ? {} : { id }), name, input } };
}

export function answered(callId: string, name: string, fields: ResultChange = {}): ResultMessage {
  const result: ToolResult = {
    callId,
    name,
    status: "ok",
    origin: "live",
    attempts: 1,
    durationMs: 1,
    repairs: [],
    warnings: [],
    ...fields,
  };
  return { role: "result", at: 0, callId, result };
}

export function failed(callId: string, name: string, fields: Partial<ResultWithError> = {}): ResultMessage {
  const error = { code: "timeout", message: "too slow", retryable: true, outcome: "unknown", hint: "Ask for less." } as const;
  return answered(callId, name, { status: "error", error, ...fields });
}

export const PICTURE = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" } as const;

/** Two calls at once, one of which fails; a picture; a call that never ended; and a second round. */
export const CONVERSATION: readonly ModelMessage[] = [
  said("system", "Be brief."),
  said("document", "The house opens at nine.", "Hours"),
  said("user", [{ type: "text", text: "What is this, and how is the weather?" }, PICTURE]),
  said("assistant", "I look."),
  called("call_1", "weather::get", { id: "toolu_1", input: { city: "Oslo" } }),
  called("call_2", "eyes::look", { id: "toolu_2" }),
  failed("call_2", "eyes::look"),
  said("user", "Hurry."),
  answered("call_1", "weather::get", { output: { temperature: 12 } }),
  called("call_3", "camera::shoot", { turnId: "turn_2" }),
  called("call_4", "mail::send", { turnId: "turn_2", input: "not an object" }),
  answered("call_3", "camera::shoot", { content: [{ type: "text", text: "Here:" }, PICTURE] }),
  said("assistant", "Done."),
];
