/** The seam behind which a language model answers: what it is shown, and what it says, piece by piece. */
import type { ToolCall } from "./call.ts";
import type { ContentPart } from "./content.ts";
import type { JsonObject, JsonValue } from "./base/json.ts";
import { ToolError } from "./error.ts";
import { checkArgument } from "./check-argument.ts";
import { quoted } from "./base/wording.ts";
import type { ModelMessage, NativeMessage } from "./message.ts";
import type { JsonSchema } from "./tool.ts";

/** A tool as a model is shown it. */
export interface ModelTool {
  /** Qualified; what the provider is given instead is up to the wire format. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /** Sent to the few providers that take one. */
  readonly outputSchema?: JsonSchema;
  /** Tells overloads of one name apart: the fingerprint of the input schema. Left out where the name has one tool. */
  readonly fingerprint?: string;
  /** The provider runs it: declared by `providers`, and left out for every other. @default false */
  readonly providerExecuted?: boolean;
  /** By the name of a wire format, the tool in that provider's own words, sent as it is. */
  readonly providers?: Readonly<Record<string, JsonObject>>;
}

/** Whether the model may, must or must not call. A name is a qualified one. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/** How much a model may be asked to reason before it answers; `none` asks for no reasoning. */
export const REASONING_EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
/** How much a model reasons before it answers: one of `REASONING_EFFORTS`. */
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

/** @param what the setting and whose it is. @throws ToolError `invalid_argument` for an effort that does not exist; undefined passes */
export function checkReasoningEffort(effort: unknown, what: string): void {
  if (effort === undefined || REASONING_EFFORTS.some((known) => known === effort)) return;
  const words = REASONING_EFFORTS.map((word) => JSON.stringify(word)).join(", ");
  const shown = quoted(typeof effort === "string" ? effort.slice(0, 100) : effort);
  throw new ToolError("invalid_argument", `${what} is ${shown}; it takes one of ${words}.`);
}

/** Asks for a reply whose text is one JSON object. Where the provider has no such setting, it is not asked: the messages should say it too. */
export interface ResponseFormat {
  /** The schema of the object; left out = any object. */
  readonly schema?: JsonSchema;
  /** The name of the object for the provider. 1 to 64 letters, digits, `_` and `-`. @default "result" */
  readonly name?: string;
}

/** One of several replies to one request. */
export interface ReplyCandidate {
  readonly text: string;
  /** The sum over its tokens, where the provider tells: the higher, the likelier. */
  readonly logProbability?: number;
}

/** A request to a model. */
export interface ModelRequest {
  /** Before everything else; system messages of the conversation keep their places. */
  readonly system?: string;
  /** The author of `system`, where the provider tells the two apart; else it is left as it is. @default the provider's own system */
  readonly systemRole?: "developer";
  /** Paired and in order, as `RuntimeSession.messages` gives them. */
  readonly messages: readonly ModelMessage[];
  readonly tools?: readonly ModelTool[];
  /** @default "auto" */
  readonly toolChoice?: ToolChoice;
  /** Whether one message may hold several calls. @default what the provider does */
  readonly parallelCalls?: boolean;
  /** Most tokens of the reply, reasoning included. @default what the provider does; 8,192 where one must be named */
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  /** How much to reason before the answer. A note says where the provider or its model cannot be asked for it. @default what the provider does */
  readonly reasoningEffort?: ReasoningEffort;
  /** @default text, as the model likes */
  readonly responseFormat?: ResponseFormat;
  /** How many replies to make; more than one only where the provider can (see `ModelReply.candidates`). Integer ≥ 1. @default 1 */
  readonly candidates?: number;
  /** Fields of the provider's own for the body of the request; they win over ours. */
  readonly native?: JsonObject;
}

/**
 * Why a message ended. Calls of one that ended other than `stop` or `calls` are not to be run: something of it may be missing.
 *
 * `pause`: the provider wants the conversation back unchanged, to continue; `truncated`: the stream ended without a reason; `other`: a
 * reason we do not know.
 */
export const FINISH_REASONS = ["stop", "calls", "length", "content-filter", "refusal", "pause", "error", "truncated", "other"] as const;
/** Why a message ended: one of `FINISH_REASONS`. */
export type FinishReason = (typeof FINISH_REASONS)[number];

/** Tokens of one reply, as far as the provider tells. */
export interface TokenUsage {
  /** All of the request, those read from a cache included. */
  readonly inputTokens: number;
  /** All of the reply, reasoning included. */
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
}

/** A call of a model's message that is ours to run. `input` is text where the model's JSON could not be read. */
export interface ModelCall extends ToolCall {
  /**
   * `custom`: the model wrote plain text, which is under the key `input`. `approval`: the provider makes the call, of the tool and with the arguments in `input`,
   * once it was allowed. @default "function"
   */
  readonly kind?: "function" | "custom" | "approval";
  /** Corrections made when the call was read; they become warnings of its result. */
  readonly warnings?: readonly string[];
  /** The name that its provider was given for one of several tools of this name: the answer goes by it. Left out elsewhere. */
  readonly offeredName?: string;
  /** The call in the provider's form, where its answer depends on that: `shell_call` has another answer than `function_call`. Left out elsewhere. */
  readonly native?: JsonObject;
}

/** A call that the provider has run, or runs: never ours. */
export interface ProviderCall {
  readonly id?: string;
  readonly name: string;
  /** The provider's own word for it: `server_tool_use`, `web_search_call`. */
  readonly kind: string;
  readonly input?: JsonValue;
}

/** One whole message of a model. */
export interface ModelReply {
  readonly text: string;
  /** The model's reasoning, as far as the provider shows it; for people, never sent anywhere. */
  readonly reasoning: string;
  /** Images and sounds that it made. */
  readonly media: readonly ContentPart[];
  /** In the order the model made them. Empty where `finish` says that the message is not whole. */
  readonly calls: readonly ModelCall[];
  readonly providerCalls: readonly ProviderCall[];
  readonly finish: FinishReason;
  /** The provider's own word for `finish`, where it gave one. */
  readonly finishDetail?: string;
  readonly usage: TokenUsage;
  /** The message in the provider's form; set when it holds what the fields above do not say (reasoning, signatures, provider calls). */
  readonly native?: NativeMessage;
  /** Every reply of a request that asked for several, this one included, in the provider's order. */
  readonly candidates?: readonly ReplyCandidate[];
  /** Notes for people on what was odd about the message; left out where nothing was. */
  readonly warnings?: readonly string[];
  /** As the provider names it. */
  readonly model?: string;
  readonly id?: string;
}

/**
 * The events of a model's reply, as it streams.
 *
 * `call-seal` is the promise of this seam: the call is whole, its JSON will not grow. It comes in call order, as early as the format
 * allows. `reply-void` takes back everything since the beginning, calls included; what follows is a new message. `reply-end` is the last.
 */
export type ModelEvent =
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly text: string }
  | { readonly type: "call-open"; readonly index: number; readonly name: string }
  | { readonly type: "call-delta"; readonly index: number; readonly text: string }
  | { readonly type: "call-seal"; readonly index: number; readonly call: ModelCall }
  | { readonly type: "provider-call"; readonly call: ProviderCall }
  | { readonly type: "reply-void"; readonly reason: string }
  | { readonly type: "reply-end"; readonly reply: ModelReply };

/** Options of one request. */
export interface ModelOptions {
  readonly signal?: AbortSignal;
}

/**
 * A language model: it answers a request piece by piece.
 *
 * `modelFrom` and `httpModel` make one for a provider. One of your own is an object with `name` and `stream`; `modelContract` of
 * `haft/testing` has the test cases that it must pass.
 */
export interface Model {
  /** For people: `openai/gpt-5`. */
  readonly name: string;
  /** The wire format it speaks, by which `ModelTool.providers` goes: `anthropic-messages`. Left out for one that speaks none. */
  readonly format?: string;
  /** The origin that its requests go to, for traces: `https://api.openai.com`. Left out for one that sends none. */
  readonly serverUrl?: string;
  /**
   * The name under which it gives tools, by their qualified name, for what else is said of them. Left out: as providers are given
   * them where it speaks a wire format, else the qualified name.
   */
  toolNameOf?(qualifiedName: string): string;
  /**
   * Answers. Yields at least `reply-end`, last; ends early only by throwing.
   *
   * @throws ToolError `rate_limited`, `unavailable`, `network_error`, `timeout`, `permission_denied`, `limit_exceeded` (no credit left),
   * `not_found` (no such model), `too_large` (more than its context holds), `model_failed`; `cancelled` when the signal aborts
   */
  stream(request: ModelRequest, options?: ModelOptions): AsyncIterable<ModelEvent>;
}

/** The whole reply of a stream. @throws what the stream throws */
export async function collectReply(events: AsyncIterable<ModelEvent>): Promise<ModelReply | undefined> {
  const fits = typeof events === "object" && events !== null && (Symbol.asyncIterator in events || Symbol.iterator in events);
  checkArgument(fits, "collectReply()", "the stream of a model", events, "For example model.stream({ messages }).");
  let reply: ModelReply | undefined;
  for await (const event of events) if (event.type === "reply-end") reply = event.reply;
  return reply;
}

/** Whether the calls of a message that ended so may be run. */
export function endedWell(finish: FinishReason): boolean {
  return finish === "stop" || finish === "calls";
}
