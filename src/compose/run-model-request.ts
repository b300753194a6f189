/** One message of a model, from the request to the results of its calls. */
import { ToolError } from "../core/error.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import { copyJson } from "../core/base/json.ts";
import { endedWell, type Model, type ModelCall, type ModelEvent, type ModelReply, type ModelRequest } from "../core/model.ts";
import type { ToolResult } from "../core/result.ts";
import type { TracedRequestWork } from "../core/tracing.ts";
import { onAbort } from "../core/base/on-abort.ts";
import type { Round, RoundOptions, RoundReply } from "../runtime/round.ts";
import { artifactsOf, type SessionTurn } from "../runtime/runtime-session.ts";
import { attachFiles } from "./attach-files.ts";
import { sendableMessages } from "../policy/results/sendable-content.ts";
import { isModelEvent } from "./is-model-event.ts";
import type { LoopEvent } from "./loop-event.ts";
import { providerToolsIn } from "./provider-calls.ts";

/** The parts of a run that a message needs. */
export interface MessageHost {
  readonly model: Model;
  readonly turn: SessionTurn;
  roundOptions(): RoundOptions;
  /** Whether to start calls as soon as they are sealed. */
  readonly startsEarly: boolean;
  readonly signal: AbortSignal;
  /** Returns why a call is refused. @param index the call's place in the message, from 0 */
  refusalOf(call: ModelCall, index: number): ToolError | undefined;
  /** Called when the reply is complete, before its last calls start. */
  onReply(reply: ModelReply): void;
  /** Called when the model discards its message and starts again. */
  onVoid(): void;
  emit(event: LoopEvent): void;
}

/** A call that was added to a round. */
export interface AddedCall {
  readonly callId: string;
  readonly call: ModelCall;
  readonly refusal: ToolError | undefined;
}

export interface MessageOutcome {
  /** Undefined if the model failed before its message was complete. */
  readonly reply: ModelReply | undefined;
  readonly error: ToolError | undefined;
  /** The text of the message, as far as it was received. */
  readonly text: string;
  readonly calls: readonly AddedCall[];
  /** One result for each call, in call order. */
  readonly results: readonly ToolResult[];
}

/**
 * Asks the model, starts its calls and waits for their results. A failure of the model is part of the resolved value.
 *
 * @param hasFiles whether message content may hold a file or the address of one; if false, no message is searched for files
 */
export async function runModelRequest(host: MessageHost, request: ModelRequest, hasFiles: boolean): Promise<MessageOutcome> {
  const { session, signal } = host.turn;
  const artifacts = artifactsOf(session);
  const whole =
    artifacts === undefined ? request : await attachFiles(request, { artifacts, ports: session.ports, signals: [host.signal, signal] });
  const sent = hasFiles ? { ...whole, messages: sendableMessages(whole.messages) } : whole;
  return new Promise((resolve, reject) => {
    const message = new IncomingMessage(host);
    new ModelEventReader(host, message, { resolve, reject }).start(sent);
  });
}

interface Settle {
  readonly resolve: (outcome: MessageOutcome) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Passes the model's events to a message, one at a time, until the message is complete, the run is cancelled or the session is closed, even if the
 * model ignores that. Allocates no promise per event besides the model's own.
 */
class ModelEventReader {
  readonly #host: MessageHost;
  readonly #message: IncomingMessage;
  readonly #settle: Settle;
  readonly #removeListeners: readonly (() => void)[];
  /** Aborts when the rest of the message is no longer wanted. */
  readonly #readAbort = new AbortController();
  #events: AsyncIterator<ModelEvent> | undefined;
  #traced: TracedRequestWork | undefined;
  #hasStarted = false;
  /** Whether the model has discarded what it said and has said nothing since. */
  #isDiscarded = false;
  /** Whether the model was asked for its next event, and nothing else has ended the wait. */
  #isWaiting = false;

  constructor(host: MessageHost, message: IncomingMessage, settle: Settle) {
    this.#host = host;
    this.#message = message;
    this.#settle = settle;
    const cancelBy = (signal: AbortSignal): (() => void) =>
      onAbort(signal, () => {
        this.#readAbort.abort(signal.reason);
        if (this.#isWaiting) this.#handleEvent(cancelledError());
      });
    this.#removeListeners = [cancelBy(host.signal), cancelBy(host.turn.signal)];
  }

  start(request: ModelRequest): void {
    const { signal } = this.#readAbort;
    const { model, turn } = this.#host;
    const { id: sessionId, ports, tracing } = turn.session;
    this.#traced = tracing?.beginRequest({ clock: ports.clock, sessionId, model, request });
    const ask = (): AsyncIterator<ModelEvent> => model.stream(request, { signal })[Symbol.asyncIterator]();
    try {
      this.#events = this.#traced === undefined ? ask() : this.#traced.run(ask);
    } catch (thrown: unknown) {
      return this.#handleEvent(ToolError.fromUnknown(thrown, "model_failed"));
    }
    this.#readNext();
  }

  #readNext(): void {
    const { signal, turn } = this.#host;
    if (signal.aborted || turn.signal.aborted) return this.#handleEvent(cancelledError());
    this.#isWaiting = true;
    try {
      // a thenable that calls back synchronously must not grow the stack
      Promise.resolve(this.#traced === undefined ? this.#events?.next() : this.#traced.run(this.#nextEvent)).then(
        this.#onNext,
        this.#onThrown,
      );
    } catch (thrown: unknown) {
      this.#onThrown(thrown);
    }
  }

  // created once per message, which has many events
  readonly #nextEvent = (): Promise<IteratorResult<ModelEvent, unknown>> | undefined => this.#events?.next();
  readonly #onNext = (step: IteratorResult<ModelEvent, unknown> | null | undefined): void => {
    if (!this.#isWaiting) return;
    if (step === null || step === undefined || step.done === true)
      this.#handleEvent(new ToolError("model_failed", "The model stopped in the middle of its message."));
    else this.#handleEvent(isModelEvent(step.value) ? step.value : invalidEventError(step.value));
  };
  readonly #onThrown = (thrown: unknown): void => {
    if (this.#isWaiting) this.#handleEvent(ToolError.fromUnknown(thrown, "model_failed"));
  };

  #handleEvent(event: ModelEvent | ToolError): void {
    this.#isWaiting = false;
    try {
      if (event instanceof ToolError) {
        this.#traced?.end({ error: event });
        return this.#settleWhenPlayed(this.#message.fail(event));
      }
      if (this.#traced !== undefined) this.#trace(this.#traced, event.type);
      if (event.type === "reply-end") {
        this.#traced?.end({ reply: event.reply });
        return this.#settleWhenPlayed(this.#message.end(event.reply));
      }
      const discarded = this.#message.handleEvent(event);
      if (discarded === undefined) this.#readNext();
      else discarded.then(() => this.#readNext(), this.#onCrash);
    } catch (thrown: unknown) {
      this.#onCrash(thrown);
    }
  }

  #trace(traced: TracedRequestWork, type: ModelEvent["type"]): void {
    const isFirst = !this.#hasStarted;
    const isRestart = this.#isDiscarded;
    this.#hasStarted = true;
    this.#isDiscarded = type === "reply-void";
    if (isFirst) traced.onFirstEvent?.();
    else if (isRestart) traced.onRestart?.();
    else if (type !== "reply-void" && type !== "reply-end") traced.onNextEvent?.();
  }

  #settleWhenPlayed(outcome: Promise<MessageOutcome>): void {
    outcome.then(this.#onSettled, this.#onCrash);
  }

  readonly #onSettled = (outcome: MessageOutcome): void => {
    this.#close();
    this.#settle.resolve(outcome);
  };
  readonly #onCrash = (thrown: unknown): void => {
    this.#close();
    this.#settle.reject(thrown);
  };

  /** Releases the model without waiting for it. */
  #close(): void {
    for (const removeListener of this.#removeListeners) removeListener();
    try {
      this.#events?.return?.().then(undefined, () => {});
    } catch {
      // An error while closing is ignored: the message is over.
    }
  }
}

function invalidEventError(value: unknown): ToolError {
  const { type }: { readonly type?: unknown } = typeof value === "object" && value !== null ? value : {};
  const why = typeof type === "string" ? `: it has the type ${JSON.stringify(type)}, but not the fields of such an event` : "";
  return new ToolError("model_failed", `The model sent something that is not an event${why}.`);
}

function cancelledError(): ToolError {
  return new ToolError("cancelled", "The model was cancelled in the middle of its message.");
}

/** The message being received, and the round of its calls. */
class IncomingMessage {
  readonly #host: MessageHost;
  #round: Round;
  #calls: AddedCall[] = [];
  #text = "";

  constructor(host: MessageHost) {
    this.#host = host;
    this.#round = this.#startRound();
  }

  /** Returns a promise only if the message so far was discarded. */
  handleEvent(event: ModelEvent): Promise<void> | undefined {
    // Reported before its calls begin, and as a copy, because a listener may change its event.
    this.#host.emit(event.type === "call-seal" ? { ...event, call: withCopiedInput(event.call) } : event);
    const added = event.type === "call-seal" ? this.#addSealed(event) : undefined;
    if (added !== undefined) this.#reportAdded(added);
    if (event.type === "text-delta") this.#addText(event.text);
    else if (event.type === "reply-void") return this.#discard(event.reason);
    return undefined;
  }

  async end(reply: ModelReply): Promise<MessageOutcome> {
    const isWhole = endedWell(reply.finish);
    const matchesSealed = this.#calls.every(({ call }, index) => isSameCall(call, reply.calls[index]));
    const unsealedCalls = isWhole && matchesSealed ? reply.calls.slice(this.#calls.length).map(withCopiedInput) : [];
    this.#host.emit({ type: "reply-end", reply });
    this.#host.onReply(reply);
    if (isWhole && !matchesSealed) return this.fail(changedCallsError());
    for (const call of unsealedCalls) this.#reportAdded(this.#addCall(call));
    const { finish, usage, model, native } = reply;
    const recorded = { content: contentOf(reply), ...(native === undefined ? {} : { native }), ...(model === undefined ? {} : { model }) };
    try {
      const results = await this.#round.end({ ...recorded, finish, usage, providerTools: providerToolsIn(reply) });
      return { reply, error: undefined, text: reply.text, calls: this.#calls, results };
    } catch (thrown: unknown) {
      return this.fail(ToolError.fromUnknown(thrown)); // rejects if the results are lost as well
    }
  }

  async fail(error: ToolError): Promise<MessageOutcome> {
    const results = await this.#round.void(error.message, { content: this.#text });
    return { reply: undefined, error, text: this.#text, calls: this.#calls, results };
  }

  #addText(text: string): void {
    this.#text += text;
    this.#round.write(text);
  }

  #startRound(): Round {
    return this.#host.turn.round(this.#host.roundOptions());
  }

  /** Adds a sealed call. Calls are sealed in order, so an index below the number of calls is a repetition. */
  #addSealed({ index, call }: ModelEvent & { readonly type: "call-seal" }): AddedCall | undefined {
    return this.#host.startsEarly && index >= this.#calls.length ? this.#addCall(call) : undefined;
  }

  #addCall(call: ModelCall): AddedCall {
    const refusal = this.#host.refusalOf(call, this.#calls.length);
    const callId = this.#round.add(call, { refusal });
    const added = { callId, call, refusal };
    this.#calls.push(added);
    return added;
  }

  #reportAdded({ callId, call, refusal }: AddedCall): void {
    this.#host.emit({ type: "call-add", callId, call, ...(refusal === undefined ? {} : { refusal }) });
  }

  async #discard(reason: string): Promise<void> {
    await this.#round.void(reason, { content: this.#text });
    this.#host.onVoid();
    this.#round = this.#startRound();
    this.#calls = [];
    this.#text = "";
  }
}

function isSameCall(sealed: ModelCall, call: ModelCall | undefined): boolean {
  if (sealed === call) return true;
  return call !== undefined && sealed.name === call.name && sealed.id === call.id && canonicalInput(sealed) === canonicalInput(call);
}

/** Copies the call's input, so that no listener shares it. An input that is not JSON is kept: such a call never runs. */
function withCopiedInput(call: ModelCall): ModelCall {
  try {
    return call.input === undefined ? call : { ...call, input: copyJson(call.input).value };
  } catch {
    return call;
  }
}

function canonicalInput({ input = {} }: ModelCall): string | undefined {
  try {
    return canonicalJson(copyJson(input).value);
  } catch {
    return undefined; // such a call never runs
  }
}

function changedCallsError(): ToolError {
  return new ToolError(
    "model_failed",
    "The calls in the model's message differ from those that it had completed, so none of them is used.",
  );
}

/** The content of a reply besides its calls. */
function contentOf({ text, media }: ModelReply): RoundReply["content"] {
  return media.length === 0 ? text : [...(text === "" ? [] : [{ type: "text", text } as const]), ...media];
}
