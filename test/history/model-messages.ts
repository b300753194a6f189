/** Entries of a conversation, as short as a test needs them. */
import type { CallMessage, ModelMessage, ResultMessage } from "../../src/core/message.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { messageBytes } from "../../src/history/message-bytes.ts";
import type { ResultChange } from "../core/result-change.ts";

export function says(role: "user" | "assistant" | "system" | "document", content: string): ModelMessage {
  return { role, at: 1, content };
}

/** `turn` is the id of the turn; calls of one turn that stand together come from one message of the model. */
export function called(callId: string, input: unknown = {}, turn = "t1", name = "files::read"): CallMessage {
  return { role: "call", at: 2, callId, turnId: turn, call: { name, input } };
}

export function answered(callId: string, output: JsonValue = `result of ${callId}`, change: ResultChange = {}): ResultMessage {
  const result: ToolResult = {
    callId,
    name: "files::read",
    status: "ok",
    output,
    origin: "live",
    attempts: 1,
    durationMs: 5,
    repairs: [],
    warnings: [],
    ...change,
  };
  return { role: "result", at: 3, callId, result };
}

/** A call and its result. */
export function round(
  callId: string,
  input: unknown,
  options: { readonly output?: JsonValue; readonly turn?: string; readonly name?: string } = {},
) {
  const { output, turn = `turn of ${callId}`, name = "files::read" } = options;
  return [called(callId, input, turn, name), answered(callId, output, { name })] as const;
}

/** One word an entry: `user`, `call c1`, `result c1`. */
export function outline(messages: readonly ModelMessage[]): readonly string[] {
  return messages.map((message) => ("callId" in message ? `${message.role} ${message.callId}` : message.role));
}

/** The size of a history, as `maxBytes` and `budgetBytes` count it. */
export function historyBytes(messages: readonly ModelMessage[]): number {
  return messages.reduce((bytes, message) => bytes + messageBytes(message), 0);
}
