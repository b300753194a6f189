/** The conversation of a loop as its model is shown it, grown message by message: a round costs the same however long it is. */
import type { ContentPart } from "../core/content.ts";
import type { ModelMessage, NativeMessage, SessionMessage } from "../core/message.ts";
import type { ModelCall, ModelReply } from "../core/model.ts";
import type { ToolResult } from "../core/result.ts";
import { DEFAULT_MAX_TURNS, turnStarts } from "../policy/limit-turns.ts";
import type { RuntimeSession } from "../runtime/session/runtime-session.ts";
import type { MessagesOptions } from "../runtime/session/session-messages.ts";
import type { SessionTurn } from "../runtime/session/runtime-session.ts";

/** A call that was taken into a round. */
export interface TakenCall {
  readonly callId: string;
  readonly call: ModelCall;
}

/** What of a reply belongs to the conversation. */
export interface SaidReply {
  readonly content: string | readonly ContentPart[];
  readonly native?: NativeMessage;
}

/**
 * The list of a loop, kept from round to round and from run to run. Whenever the session has recorded something that did not come by
 * here, it is made anew of the session.
 */
export class LoopConversation {
  readonly #session: RuntimeSession;
  readonly #options: MessagesOptions;
  /** What is left out depends on the whole, so it is worked out anew for each round. */
  readonly #limited: boolean;
  #turn: SessionTurn | undefined;
  #messages: ModelMessage[] = [];
  /** How many events the session had when the list was what it would show. */
  #length = -1;
  /** How many more turns the list may hold. */
  #turnsLeft = 0;

  constructor(session: RuntimeSession, options: MessagesOptions) {
    this.#session = session;
    this.#options = options;
    this.#limited = options.trim !== undefined || (options.maxBytes ?? 0) > 0;
  }

  /** What is added from here on belongs to this turn. */
  begin(turn: SessionTurn): void {
    this.#turn = turn;
    this.#turnsLeft--;
  }

  /** For the next request; later messages do not change it. */
  messages(): readonly ModelMessage[] {
    if (this.#limited) return this.#session.messages(this.#options);
    if (this.#length !== this.#session.length || this.#turnsLeft < 0) this.#read();
    return this.#messages.slice();
  }

  add(message: SessionMessage): void {
    const isCurrent = this.#length === this.#session.length;
    this.#turn?.addMessage(message);
    if (!isCurrent) return;
    if (message.role === "user") this.#turnsLeft--;
    this.#messages.push({ ...message, at: this.#now });
    this.#length = this.#session.length;
  }

  /** Takes in a message of the model that was recorded whole since the last request, with what its calls came to. */
  addRound({ content, native }: SaidReply, calls: readonly TakenCall[], results: readonly ToolResult[]): void {
    const at = this.#now;
    const turnId = this.#turn?.id ?? "";
    if (content.length > 0 || native !== undefined)
      this.#messages.push({ role: "assistant", at, content, ...(native === undefined ? {} : { native }) });
    for (const { callId, call } of calls) {
      const { kind: _kind, ...made } = call;
      this.#messages.push({ role: "call", at, callId, turnId, call: made });
    }
    for (const result of results) this.#messages.push({ role: "result", at, callId: result.callId, result });
    this.#length = this.#session.length;
  }

  #read(): void {
    const { maxTurns = DEFAULT_MAX_TURNS } = this.#options;
    this.#messages = [...this.#session.messages(this.#options)];
    this.#turnsLeft = maxTurns === 0 ? Infinity : maxTurns - turnStarts(this.#messages).length;
    this.#length = this.#session.length;
  }

  get #now(): number {
    return this.#session.parts.ports.clock.wallTime();
  }
}

/** What a model said beside its calls. */
export function saidReply({ text, media, native }: ModelReply): SaidReply {
  const content: SaidReply["content"] = media.length === 0 ? text : [...(text === "" ? [] : [{ type: "text", text } as const]), ...media];
  return { content, ...(native === undefined ? {} : { native }) };
}
