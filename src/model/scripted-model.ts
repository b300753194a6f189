/** A model with scripted replies: for tests, demonstrations and measurements. */
import type { ToolCall } from "../core/call.ts";
import type { ContentPart } from "../core/content.ts";
import { ToolError } from "../core/error.ts";
import { checkArgument } from "../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { NativeMessage } from "../core/message.ts";
import { endedWell } from "../core/model.ts";
import type {
  FinishReason,
  Model,
  ModelCall,
  ModelEvent,
  ModelOptions,
  ModelReply,
  ModelRequest,
  ProviderCall,
  ReplyCandidate,
  TokenUsage,
} from "../core/model.ts";
import type { Clock } from "../core/ports.ts";
import { onAbort } from "../core/base/on-abort.ts";
import { cancelledError } from "./exchange.ts";
import { modelPorts } from "./model-ports.ts";
import { EventStream } from "./event-stream.ts";
import { toReplyEvents } from "./reply-events.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

/** One reply of the model: reasoning, then text, then calls. */
export interface ScriptedReply {
  readonly text?: string;
  readonly reasoning?: string;
  /** A call without an id gets one: `scripted_1`, `scripted_2`, … */
  readonly calls?: readonly (ToolCall | ModelCall)[];
  readonly providerCalls?: readonly ProviderCall[];
  readonly media?: readonly ContentPart[];
  /** If `endedWell()` is false for it, calls are streamed but left out of the reply, as with a real model. @default "calls" or "stop" */
  readonly finish?: FinishReason;
  readonly finishDetail?: string;
  /** @default 0 tokens, input and output */
  readonly usage?: Partial<TokenUsage>;
  readonly native?: NativeMessage;
  /** All replies, for a request that asks for several; included whatever the request asks for. */
  readonly candidates?: readonly ReplyCandidate[];
  /** Thrown in place of the `reply-end`, after all other events. */
  readonly error?: Error;
  /** Wait before each event, in milliseconds. @default 0 */
  readonly delayMs?: number;
  /** Maximum number of characters in one piece of text, reasoning or arguments. @default no limit */
  readonly pieceChars?: number;
}

/** The replies of a scripted model, by the number of the request or as a function of it. */
export type ReplyScript = readonly ScriptedReply[] | ((request: ModelRequest, index: number) => ScriptedReply | Promise<ScriptedReply>);

const REPLY: OptionNames<ScriptedReply> = {
  text: true,
  reasoning: true,
  calls: true,
  providerCalls: true,
  media: true,
  finish: true,
  finishDetail: true,
  usage: true,
  native: true,
  candidates: true,
  error: true,
  delayMs: true,
  pieceChars: true,
};

/** Options of a scripted model. */
export interface ScriptedModelOptions {
  /** @default "scripted" */
  readonly name?: string;
  /** Clock for `delayMs`. @default the system clock */
  readonly clock?: Clock;
}

/** A model that plays a script and keeps the requests that it got. */
export interface ScriptedModel extends Model {
  /** The requests so far, in order. */
  readonly requests: readonly ModelRequest[];
}

/**
 * Makes a model that answers each request with the next reply of an array, or with that of a function.
 *
 * @throws ToolError `model_failed` from the stream when no reply is left; `cancelled` when the signal aborts
 */
export function scriptedModel(replies: ReplyScript, options: ScriptedModelOptions = {}): ScriptedModel {
  const fits = Array.isArray(replies) || typeof replies === "function";
  checkArgument(
    fits,
    "scriptedModel()",
    "an array of replies, or a function that makes them",
    replies,
    'For example [{ text: "Hello." }].',
  );
  checkKnownKeys(options, { name: "string", clock: "object" }, "scriptedModel()");
  return new ScriptPlayer(replies, options);
}

class ScriptPlayer implements ScriptedModel {
  readonly name: string;
  readonly requests: ModelRequest[] = [];
  readonly #script: ReplyScript;
  readonly #clock: Clock;
  #calls = 0;

  constructor(script: ReplyScript, { name = "scripted", clock }: ScriptedModelOptions) {
    this.name = name;
    this.#script = script;
    this.#clock = modelPorts(clock === undefined ? {} : { clock }).clock;
  }

  stream(request: ModelRequest, { signal }: ModelOptions = {}): AsyncIterableIterator<ModelEvent> {
    return new EventStream(this.#playReply(request, signal), () => this.#checkCancelled(signal));
  }

  async *#playReply(request: ModelRequest, signal: AbortSignal | undefined): AsyncGenerator<readonly ModelEvent[], void> {
    this.#checkCancelled(signal);
    const index = this.requests.push(request) - 1;
    const script = await this.#replyFor(request, index);
    checkKnownKeys(script, REPLY, `The reply ${index + 1} of ${this.name}`);
    const { delayMs = 0, error } = script;
    const events = this.#events(script);
    const emitted = error === undefined ? events : events.filter(({ type }) => type !== "reply-end");
    if (delayMs === 0) yield emitted;
    else
      for (const event of emitted) {
        await this.#pause(delayMs, signal);
        yield [event];
      }
    if (error === undefined) return;
    if (delayMs > 0) await this.#pause(delayMs, signal);
    this.#checkCancelled(signal);
    throw error;
  }

  #replyFor(request: ModelRequest, index: number): ScriptedReply | Promise<ScriptedReply> {
    if (typeof this.#script === "function") return this.#script(request, index);
    const reply = this.#script[index];
    if (reply !== undefined) return reply;
    const count = this.#script.length;
    throw new ToolError(
      "model_failed",
      `The model ${this.name} has no reply left: its script holds ${count}, and this is request ${index + 1}.`,
    );
  }

  #events(script: ScriptedReply): readonly ModelEvent[] {
    const { text = "", reasoning = "", providerCalls = [], media = [], finishDetail, usage, native, pieceChars = Infinity } = script;
    const { candidates } = script;
    const calls = (script.calls ?? []).map((call) => (call.id === undefined ? { ...call, id: `scripted_${++this.#calls}` } : call));
    const { finish = calls.length > 0 ? "calls" : "stop" } = script;
    const reply: ModelReply = {
      text,
      reasoning,
      media,
      calls: endedWell(finish) ? calls : [],
      providerCalls,
      finish,
      ...(finishDetail === undefined ? {} : { finishDetail }),
      usage: { inputTokens: 0, outputTokens: 0, ...usage },
      ...omitUndefined({ native, candidates }),
    };
    const events = toReplyEvents(reply, calls);
    return pieceChars === Infinity ? events : events.flatMap((event) => splitEvent(event, Math.max(1, pieceChars)));
  }

  #checkCancelled(signal: AbortSignal | undefined): void {
    if (signal?.aborted === true) throw cancelledError(this.name);
  }

  #pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancelTimer = this.#clock.timer(resolve, delayMs);
    const forget = signal === undefined ? undefined : onAbort(signal, resolve);
    return promise.finally(() => {
      cancelTimer();
      forget?.();
    });
  }
}

/** Splits a text event into several of at most `chars` characters each. */
function splitEvent(event: ModelEvent, chars: number): readonly ModelEvent[] {
  if (!("text" in event) || event.text.length <= chars) return [event];
  const pieces: ModelEvent[] = [];
  for (let at = 0; at < event.text.length; at += chars) pieces.push({ ...event, text: event.text.slice(at, at + chars) });
  return pieces;
}
