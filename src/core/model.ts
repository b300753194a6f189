/** The seam for language models: the request a model gets, and its reply as a stream of events. */
import type { ToolCall } from "./call.ts";
import type { ContentPart } from "./content.ts";
import type { JsonObject, JsonValue } from "./base/json.ts";
import { ToolError } from "./error.ts";
import { checkArgument } from "./check-argument.ts";
import { quoteValue } from "./base/wording.ts";
import type { ModelMessage, NativeMessage } from "./message.ts";
import type { JsonSchema } from "./tool.ts";

/** A tool as it is described to a model. */
export interface ModelTool {
  /** The qualified name; the wire format decides which name the provider gets. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /** Sent to the few providers that accept one. */
  readonly outputSchema?: JsonSchema;
  /** Distinguishes overloads of one name: the fingerprint of the input schema. Left out if the name has one tool. */
  readonly fingerprint?: string;
  /** Whether the provider runs the tool: declared by `providers`, and left out for every other provider. @default false */
  readonly providerExecuted?: boolean;
  /** The tool in the provider's own format, by the name of a wire format; sent unchanged. */
  readonly providers?: Readonly<Record<string, JsonObject>>;
}

/** Whether the model may, must or must not make a call, or the qualified name of the tool it must call. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/** How much a model may be asked to reason before it answers; `none` asks for no reasoning. */
export const REASONING_EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
/** How much a model reasons before it answers: one of `REASONING_EFFORTS`. */
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

/** @param what the setting and its owner, for the message. @throws ToolError `invalid_argument` for an unknown effort; undefined is accepted */
export function checkReasoningEffort(effort: unknown, what: string): void {
  if (effort === undefined || REASONING_EFFORTS.some((known) => known === effort)) return;
  const words = REASONING_EFFORTS.map((word) => JSON.stringify(word)).join(", ");
  const shown = quoteValue(typeof effort === "string" ? effort.slice(0, 100) : effort);
  throw new ToolError("invalid_argument", `${what} is ${shown}; it takes one of ${words}.`);
}

/** Asks for a reply whose text is one JSON object. Not sent to providers without such a setting, so the messages should say it too. */
export interface ResponseFormat {
  /** The schema of the object; left out: any object. */
  readonly schema?: JsonSchema;
  /** The name of the object for the provider: 1 to 64 letters, digits, `_` and `-`. @default "result" */
  readonly name?: string;
}

/** One of several replies to one request. */
export interface ReplyCandidate {
  readonly text: string;
  /** The sum of the log probabilities of its tokens, if the provider reports them: the higher, the likelier. */
  readonly logProbability?: number;
}

/** A request to a model. */
export interface ModelRequest {
  /** Precedes everything else; system messages of the conversation keep their places. */
  readonly system?: string;
  /** The role of `system`, for providers that distinguish the two; others ignore it. @default the provider's own system role */
  readonly systemRole?: "developer";
  /** The messages, with calls and results paired and in order, as `RuntimeSession.messages` returns them. */
  readonly messages: readonly ModelMessage[];
  readonly tools?: readonly ModelTool[];
  /** @default "auto" */
  readonly toolChoice?: ToolChoice;
  /** Whether one message may hold several calls. @default the provider's default */
  readonly parallelCalls?: boolean;
  /** Maximum number of tokens of the reply, reasoning included. @default the provider's default; 8,192 where the provider requires a value */
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  /** How much to reason before the answer. A warning is added if the provider or model does not support it. @default the provider's default */
  readonly reasoningEffort?: ReasoningEffort;
  /** @default text */
  readonly responseFormat?: ResponseFormat;
  /** How many replies to make; more than one only if the provider supports it (see `ModelReply.candidates`). Integer ≥ 1. @default 1 */
  readonly candidates?: number;
  /** Provider-specific fields for the request body; they override ours. */
  readonly native?: JsonObject;
}

/**
 * Why a message ended. Calls of a message that ended with anything but `stop` or `calls` must not run: it may be incomplete.
 *
 * `pause`: the provider wants the conversation back unchanged, to continue; `truncated`: the stream ended without a reason; `other`: unknown.
 */
export const FINISH_REASONS = ["stop", "calls", "length", "content-filter", "refusal", "pause", "error", "truncated", "other"] as const;
/** Why a message ended: one of `FINISH_REASONS`. */
export type FinishReason = (typeof FINISH_REASONS)[number];

/** Token counts of one reply, as far as the provider reports them. */
export interface TokenUsage {
  /** All tokens of the request, including those read from a cache. */
  readonly inputTokens: number;
  /** All tokens of the reply, including reasoning. */
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
}

/** A call in a model's message that Haft has to run. `input` is text if the model's JSON could not be parsed. */
export interface ModelCall extends ToolCall {
  /**
   * `custom`: the model wrote plain text, which is under the key `input`. `approval`: the provider runs the call, with the tool and arguments in
   * `input`, once it is approved. @default "function"
   */
  readonly kind?: "function" | "custom" | "approval";
  /** Corrections made when the call was parsed; they become warnings of its result. */
  readonly warnings?: readonly string[];
  /** The name that the provider was given for an overload of this name; the result is sent under it. Left out for other calls. */
  readonly offeredName?: string;
  /**
   * The call in the provider's form, if the form of its result depends on it: `shell_call` has another result than `function_call`. Else left out.
   */
  readonly native?: JsonObject;
}

/** A call that the provider runs itself, now or already: Haft never runs it. */
export interface ProviderCall {
  readonly id?: string;
  readonly name: string;
  /** The provider's name for this kind of call: `server_tool_use`, `web_search_call`. */
  readonly kind: string;
  readonly input?: JsonValue;
}

/** One complete message of a model. */
export interface ModelReply {
  readonly text: string;
  /** The model's reasoning, as far as the provider shows it; for people, never sent to a provider. */
  readonly reasoning: string;
  /** Images and audio that the model made. */
  readonly media: readonly ContentPart[];
  /** In the order the model made them. Empty if `finish` says that the message is incomplete. */
  readonly calls: readonly ModelCall[];
  readonly providerCalls: readonly ProviderCall[];
  readonly finish: FinishReason;
  /** The provider's own word for `finish`, if it gave one. */
  readonly finishDetail?: string;
  readonly usage: TokenUsage;
  /** The message in the provider's form; set if it holds data that the other fields lack (reasoning, signatures, provider calls). */
  readonly native?: NativeMessage;
  /** All replies, this one included, to a request that asked for several, in the provider's order. */
  readonly candidates?: readonly ReplyCandidate[];
  /** Warnings for people about irregularities in the message; left out if there were none. */
  readonly warnings?: readonly string[];
  /** The model's name, as the provider reports it. */
  readonly model?: string;
  readonly id?: string;
}

/**
 * The events of a model's reply, as it streams.
 *
 * `call-seal` is the guarantee of this seam: the call is complete, its JSON will not grow. It comes in call order, as early as the format allows.
 * `reply-void` discards everything since the beginning, calls included; what follows is a new message. `reply-end` comes last.
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
 * A language model, which answers a request with a stream of events.
 *
 * `modelFrom` and `httpModel` create one for a provider. To write your own, implement `name` and `stream`; `modelContract` of `haft/testing` has the
 * test cases that it must pass.
 */
export interface Model {
  /** A name for people: `openai/gpt-5`. */
  readonly name: string;
  /** The wire format of the model, a key of `ModelTool.providers`: `anthropic-messages`. Left out if it has none. */
  readonly format?: string;
  /** The origin of the model's requests, for traces: `https://api.openai.com`. Left out if it sends none. */
  readonly serverUrl?: string;
  /**
   * Returns the name under which the model sees a tool, given the qualified name, for other texts about tools. Left out: the name that the wire
   * format gives to providers, or the qualified name without one.
   */
  toolNameOf?(qualifiedName: string): string;
  /**
   * Streams the reply. Yields at least `reply-end`, last; ends early only by throwing.
   *
   * @throws ToolError `rate_limited`, `unavailable`, `network_error`, `timeout`, `permission_denied`, `limit_exceeded` (no credit left), `not_found`
   * (no such model), `too_large` (exceeds the context window), `model_failed`; `cancelled` when the signal aborts
   */
  stream(request: ModelRequest, options?: ModelOptions): AsyncIterable<ModelEvent>;
}

/** Returns the reply at the end of a stream; undefined if the stream has none. @throws what the stream throws */
export async function collectReply(events: AsyncIterable<ModelEvent>): Promise<ModelReply | undefined> {
  const fits = typeof events === "object" && events !== null && (Symbol.asyncIterator in events || Symbol.iterator in events);
  checkArgument(fits, "collectReply()", "the stream of a model", events, "For example model.stream({ messages }).");
  let reply: ModelReply | undefined;
  for await (const event of events) if (event.type === "reply-end") reply = event.reply;
  return reply;
}

/** Whether the calls of a message with this finish reason may run. */
export function endedWell(finish: FinishReason): boolean {
  return finish === "stop" || finish === "calls";
}
