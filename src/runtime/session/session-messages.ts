/** From the events of a session to the conversation that a model is shown. */
import type { SessionEvent } from "../../core/event.ts";
import type { ModelMessage } from "../../core/message.ts";
import { modelHistory } from "../../policy/model-history.ts";
import type { ModelHistoryOptions } from "../../policy/model-history.ts";
import type { Registry } from "../registry/registry.ts";

export interface MessagesOptions extends Omit<ModelHistoryOptions, "trim"> {
  /** Leave out results that newer calls have made worthless, above a share of a budget. @default they stay */
  readonly trim?: {
    /** What the history may take in all, in bytes; three or four are one token of English text. @default maxBytes */
    readonly budgetBytes?: number;
    /** The share of the budget above which results are left out. @default 0.75 */
    readonly threshold?: number;
    /** True for a call whose result must stay. */
    readonly pinned?: (callId: string) => boolean;
  };
}

/** Everything that was said, called and answered, the oldest first, without the batches that were rolled back. */
export function conversationOf(events: readonly SessionEvent[]): readonly ModelMessage[] {
  const rolledBack = new Set(events.flatMap((event) => (event.type === "batch-rollback" ? event.callIds : [])));
  return events.flatMap((event): readonly ModelMessage[] => {
    if (event.type === "message-add") return [{ ...event.message, at: event.at }];
    if (!("callId" in event) || rolledBack.has(event.callId)) return [];
    const { callId, turnId, at } = event;
    if (event.type === "call-start") return [{ role: "call", at, callId, turnId, call: event.call }];
    return event.type === "call-end" ? [{ role: "result", at, callId, result: event.result }] : [];
  });
}

/** The conversation as a model is shown it; see `modelHistory`. @throws ToolError `invalid_argument` */
export function messagesFor(events: readonly SessionEvent[], registry: Registry, options: MessagesOptions): readonly ModelMessage[] {
  const { trim, ...rest } = options;
  const conversation = conversationOf(events);
  if (trim === undefined) return modelHistory(conversation, rest);
  const inputs = new Map(
    events.flatMap((event) => (event.type === "call-end" && event.input !== undefined ? [[event.callId, event.input]] : [])),
  );
  return modelHistory(conversation, {
    ...rest,
    trim: { ...trim, toolOf: (name) => registry.get(name)?.tool, inputOf: (callId) => inputs.get(callId) },
  });
}
