/** Converts the events of a session to a conversation for training. */
import type { JsonValue } from "../../../core/base/json.ts";
import { ToolError } from "../../../core/error.ts";
import type { SessionEvent } from "../../../core/event.ts";
import type { ModelMessage } from "../../../core/message.ts";
import { groupRounds } from "../../../core/rounds.ts";
import type { Tool } from "../../../core/tool.ts";
import { CONVERSATION_EVENTS, buildConversation } from "../../../runtime/session-messages.ts";
import { pairMessages } from "../../../history/pair-messages.ts";
import type { AnsweredTurn } from "../conversation-writer.ts";
import { withReproducibleIds } from "../trajectory.ts";
import type { RecordedSource } from "./recorded-plan.ts";

/** How a recorded conversation ends, or why it is not usable. */
export type RecordedEnd = "answered" | "unanswered" | "cut off" | "without a user";

/**
 * Returns the messages of a session, with qualified names in calls.
 *
 * @throws ToolError `corrupt_record` with the position, as reading does; `cancelled` once the signal aborts
 */
export async function readMessages({ events }: RecordedSource, signal: AbortSignal | undefined): Promise<readonly ModelMessage[]> {
  const read: SessionEvent[] = [];
  throwIfStopped(signal);
  for await (const event of events()) {
    throwIfStopped(signal);
    if (CONVERSATION_EVENTS.has(event.type)) read.push(event);
  }
  return withQualifiedNames(withReproducibleIds(pairMessages(buildConversation(read))));
}

function throwIfStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new ToolError("cancelled", "The generation was stopped.", { cause: signal.reason });
}

function withQualifiedNames(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const names = new Map(messages.flatMap((message) => (message.role === "result" ? [[message.callId, message.result.name]] : [])));
  return messages.map((message) =>
    message.role === "call" ? { ...message, call: { ...message.call, name: names.get(message.callId) || message.call.name } } : message,
  );
}

/** Returns how a conversation ends. `unanswered`: all calls have results, but no message follows the last of them. */
export function classifyEnd(messages: readonly ModelMessage[]): RecordedEnd {
  const first = messages.findIndex(({ role }) => role === "user" || role === "document");
  const spokenFirst = messages.findIndex(({ role }) => role === "assistant" || role === "call");
  if (first < 0 || (spokenFirst >= 0 && spokenFirst < first)) return "without a user";
  if (messages.some(wasInterrupted)) return "cut off";
  const last = messages.at(-1);
  if (last?.role === "assistant" && last.content.length > 0) return "answered";
  return last?.role === "result" && last.result.status !== "pending" ? "unanswered" : "cut off";
}

/** Whether a call was interrupted: `pairMessages` added its result, and its effect is unknown. */
function wasInterrupted(message: ModelMessage): boolean {
  return message.role === "result" && message.result.origin === "stub" && message.result.error?.code === "outcome_unknown";
}

/** Returns the last turn of an unanswered conversation. */
export function getLastTurn(messages: readonly ModelMessage[], findTool: (name: string) => Tool | undefined): AnsweredTurn {
  const results = new Map(messages.flatMap((message) => (message.role === "result" ? [[message.callId, message.result]] : [])));
  const rounds = groupRounds(messages);
  const lastRequest = rounds.findLastIndex(({ by }) => by === "user");
  const request = rounds[lastRequest];
  const calls = rounds.slice(lastRequest + 1).flatMap((round) => (round.by === "assistant" ? round.calls : []));
  return {
    index: rounds.slice(0, lastRequest).filter(({ by }) => by === "user").length,
    request: request?.by === "user" ? contentText(request.message.content) : "",
    calls: calls.flatMap(({ callId, call: { name, input = {} } }) => {
      const result = results.get(callId);
      return result === undefined ? [] : [{ tool: findTool(name), input: input as JsonValue, result }]; // recorded calls are JSON
    }),
    unmade: [],
  };
}

function contentText(content: string | readonly { readonly type: string; readonly text?: string }[]): string {
  return typeof content === "string" ? content : content.map(({ text = "" }) => text).join("\n");
}
