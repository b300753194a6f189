/** From the events of a session to the conversation that a model is shown. */
import type { SessionEvent } from "../core/event.ts";
import type { ModelMessage } from "../core/message.ts";
import { modelHistory, type ModelHistoryOptions } from "../history/model-history.ts";
import type { Registry } from "../registry/registry.ts";
import type { Session } from "../session/session.ts";

/** What of a conversation is shown. */
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

type RoundEnd = SessionEvent & { readonly type: "round-end" };

/** Whether earlier events say that a call was rolled back with its batch, or voided with its message. */
type WasTakenBack = (callId: string) => boolean;

/**
 * Everything that was said, called and answered, the oldest first, without the batches that were rolled back, the rounds that
 * came to nothing, and what was said and called in their calls. The calls of a round stand together behind what the model said with them,
 * whenever they began.
 */
export function conversationOf(events: readonly SessionEvent[], wasTakenBack?: WasTakenBack): readonly ModelMessage[] {
  return new Conversation(events, wasTakenBack).messages;
}

class Conversation {
  readonly messages: ModelMessage[] = [];
  readonly #left = new Set<string>();
  readonly #rounds = new Map<string, RoundEnd>();
  readonly #calls = new Map<string, ModelMessage>();
  /** Rounds that are written down. */
  readonly #written = new Set<RoundEnd>();
  readonly #wasTakenBack: WasTakenBack | undefined;

  constructor(events: readonly SessionEvent[], wasTakenBack: WasTakenBack | undefined) {
    this.#wasTakenBack = wasTakenBack;
    for (const event of events) this.#look(event);
    for (const event of events) this.#write(event);
  }

  #look(event: SessionEvent): void {
    if (event.type === "batch-rollback" || (event.type === "round-end" && event.voided !== undefined))
      for (const callId of event.callIds) this.#left.add(callId);
    else if (event.type === "round-end") for (const callId of event.callIds) this.#rounds.set(callId, event);
    else if (event.type === "call-start") {
      const { callId, turnId, at, call } = event;
      if (this.#isLeft(event.parentCallId)) this.#left.add(callId);
      this.#calls.set(callId, Object.freeze({ role: "call", at, callId, turnId, call }));
    }
  }

  #write(event: SessionEvent): void {
    if ((event.type === "message-add" || event.type === "round-end") && this.#isLeft(event.parentCallId)) return;
    if (event.type === "message-add") this.#add({ ...event.message, at: event.at });
    else if (event.type === "round-end") this.#writeRound(event);
    else if ("callId" in event && !this.#left.has(event.callId)) {
      const round = this.#rounds.get(event.callId);
      if (event.type === "call-end") this.#add({ role: "result", at: event.at, callId: event.callId, result: event.result });
      else if (event.type !== "call-start") return;
      else if (round === undefined) this.#writeCall(event.callId);
      else this.#writeRound(round);
    }
  }

  /** Whether what was said or called in this call is left out with it. */
  #isLeft(callId: string | undefined): boolean {
    return callId !== undefined && (this.#left.has(callId) || this.#wasTakenBack?.(callId) === true);
  }

  #writeRound(round: RoundEnd): void {
    if (round.voided !== undefined || this.#written.has(round)) return;
    this.#written.add(round);
    const { message, at } = round;
    if (message.content.length > 0 || message.native !== undefined) this.#add({ ...message, at });
    for (const callId of round.callIds) if (!this.#left.has(callId)) this.#writeCall(callId);
  }

  #add(message: ModelMessage): void {
    this.messages.push(Object.freeze(message));
  }

  #writeCall(callId: string): void {
    const call = this.#calls.get(callId);
    if (call !== undefined) this.messages.push(call);
  }
}

/** The conversation as a model is shown it; see `modelHistory`. @throws ToolError `invalid_argument` */
export function messagesFor(session: Session, registry: Registry, options: MessagesOptions): readonly ModelMessage[] {
  const { trim, ...rest } = options;
  const events = session.spoken;
  const conversation = conversationOf(events, (callId) => session.wasTakenBack(callId));
  if (trim === undefined) return modelHistory(conversation, rest);
  const inputs = new Map(
    events.flatMap((event) => (event.type === "call-end" && event.input !== undefined ? [[event.callId, event.input]] : [])),
  );
  return modelHistory(conversation, {
    ...rest,
    trim: { ...trim, toolOf: (name) => registry.get(name)?.tool, inputOf: (callId) => inputs.get(callId) },
  });
}
