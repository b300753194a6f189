/** One message of a model, from the request to the results of its calls. */
import { ToolError } from "../core/error.ts";
import { endedWell } from "../core/model.ts";
import type { Model, ModelCall, ModelEvent, ModelReply, ModelRequest } from "../core/model.ts";
import type { ToolResult } from "../core/result.ts";
import { onAbort } from "../policy/deadline.ts";
import type { Round, RoundOptions } from "../runtime/round.ts";
import type { SessionTurn } from "../runtime/session/runtime-session.ts";
import { saidReply } from "./loop-conversation.ts";
import type { TakenCall } from "./loop-conversation.ts";
import type { LoopEvent } from "./loop-event.ts";

/** What a message needs of the run it belongs to. */
export interface MessageHost {
  readonly model: Model;
  readonly turn: SessionTurn;
  roundOptions(): RoundOptions;
  /** Start calls as they are sealed. */
  readonly early: boolean;
  readonly signal: AbortSignal;
  /** Why a call is not to be run. @param index counts the calls of the message */
  refusalOf(call: ModelCall, index: number): ToolError | undefined;
  /** The reply is whole; its last calls have not started. */
  heard(reply: ModelReply): void;
  /** The model took back what it had said, and begins anew. */
  tookBack(): void;
  tell(event: LoopEvent): void;
}

export interface PlayedCall extends TakenCall {
  readonly refusal: ToolError | undefined;
}

export interface PlayedMessage {
  /** Undefined when the model failed before its message was over. */
  readonly reply: ModelReply | undefined;
  readonly error: ToolError | undefined;
  /** What it said, as far as it came. */
  readonly text: string;
  readonly calls: readonly PlayedCall[];
  /** One for each call, in call order. */
  readonly results: readonly ToolResult[];
}

/** Asks the model, starts its calls and waits for their results. A failure of the model is part of what is resolved to. */
export async function playMessage(host: MessageHost, request: ModelRequest): Promise<PlayedMessage> {
  const message = new Message(host);
  const words = new Words(host, request);
  try {
    for (;;) {
      const heard = await words.next();
      if (heard instanceof ToolError) return await message.fail(heard);
      if (heard.type === "reply-end") return await message.end(heard.reply);
      await message.take(heard);
    }
  } finally {
    words.close();
  }
}

/** What the model says, one event at a time, until the signal aborts, whether the model heeds that or not. */
class Words {
  readonly #events: AsyncIterator<ModelEvent> | ToolError;
  readonly #signal: AbortSignal;
  readonly #forget: () => void;
  #giveUp: (() => void) | undefined;

  constructor({ model, signal }: MessageHost, request: ModelRequest) {
    this.#signal = signal;
    this.#forget = onAbort(signal, () => this.#giveUp?.());
    this.#events = begin(model, request, signal);
  }

  /** The next event, or why there is none. */
  async next(): Promise<ModelEvent | ToolError> {
    const events = this.#events;
    if (events instanceof ToolError) return events;
    if (this.#signal.aborted) return cancelled();
    try {
      const step = await new Promise<IteratorResult<ModelEvent, unknown> | undefined>((resolve, reject) => {
        this.#giveUp = () => resolve(undefined);
        events.next().then(resolve, reject);
      });
      if (step === undefined) return cancelled();
      return step.done === true ? new ToolError("model_failed", "The model stopped in the middle of its message.") : step.value;
    } catch (thrown: unknown) {
      return ToolError.fromUnknown(thrown, "model_failed");
    }
  }

  /** Lets go of the model without waiting for it. */
  close(): void {
    this.#forget();
    if (this.#events instanceof ToolError) return;
    try {
      this.#events.return?.().then(undefined, () => {});
    } catch {
      // What a model does when nobody listens any more is its own.
    }
  }
}

function begin(model: Model, request: ModelRequest, signal: AbortSignal): AsyncIterator<ModelEvent> | ToolError {
  try {
    return model.stream(request, { signal })[Symbol.asyncIterator]();
  } catch (thrown: unknown) {
    return ToolError.fromUnknown(thrown, "model_failed");
  }
}

function cancelled(): ToolError {
  return new ToolError("cancelled", "The model was cancelled in the middle of its message.");
}

/** The message as it comes, and the round that its calls are in. */
class Message {
  readonly #host: MessageHost;
  #round: Round;
  #calls: PlayedCall[] = [];
  #text = "";

  constructor(host: MessageHost) {
    this.#host = host;
    this.#round = this.#begin();
  }

  async take(event: ModelEvent): Promise<void> {
    this.#host.tell(event);
    if (event.type === "text-delta") this.#text += event.text;
    else if (event.type === "call-seal" && this.#host.early) this.#add(event.call);
    else if (event.type === "reply-void") await this.#takeBack(event.reason);
  }

  async end(reply: ModelReply): Promise<PlayedMessage> {
    this.#host.tell({ type: "reply-end", reply });
    this.#host.heard(reply);
    if (endedWell(reply.finish)) for (const call of reply.calls.slice(this.#calls.length)) this.#add(call);
    const { finish, usage, model } = reply;
    const results = await this.#round.end({ ...saidReply(reply), finish, usage, ...(model === undefined ? {} : { model }) });
    return { reply, error: undefined, text: reply.text, calls: this.#calls, results };
  }

  async fail(error: ToolError): Promise<PlayedMessage> {
    const results = await this.#round.void(error.message, { content: this.#text });
    return { reply: undefined, error, text: this.#text, calls: this.#calls, results };
  }

  #begin(): Round {
    return this.#host.turn.round(this.#host.roundOptions());
  }

  #add(call: ModelCall): void {
    const refusal = this.#host.refusalOf(call, this.#calls.length);
    const callId = this.#round.add(call, { refusal });
    this.#calls.push({ callId, call, refusal });
    this.#host.tell({ type: "call-add", callId, call, ...(refusal === undefined ? {} : { refusal }) });
  }

  async #takeBack(reason: string): Promise<void> {
    await this.#round.void(reason, { content: this.#text });
    this.#host.tookBack();
    this.#round = this.#begin();
    this.#calls = [];
    this.#text = "";
  }
}
