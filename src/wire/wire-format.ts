/** The seam behind which a provider's JSON is: our words to its requests, its replies to our words. */
import type { JsonObject, JsonValue } from "../core/base/json.ts";
import type { ModelCall, ModelEvent, ModelReply, ModelRequest, ModelTool } from "../core/model.ts";
import type { ModelMessage } from "../core/message.ts";
import type { ToolResult } from "../core/result.ts";

/** How the pieces of a streamed reply are framed. `event-stream` is AWS's binary `application/vnd.amazon.eventstream`. */
export type Framing = "sse" | "json-lines" | "event-stream";

/** A provider's JSON: requests are written and replies are read in it. */
export interface WireFormat {
  /** `openai-chat`, `anthropic-messages`: what `NativeMessage.format` and `ModelTool.providers` go by. */
  readonly name: string;
  readonly framing: Framing;
  /** The path of a request behind the provider's base address: `/chat/completions`, `/models/x:streamGenerateContent?alt=sse`. */
  path(target: WireTarget): string;
  /** The tools of a request. A tool that this provider would refuse is left out and named; the others stay. */
  encodeTools(tools: readonly ModelTool[], options?: EncodeToolsOptions): EncodedTools;
  /** The conversation of a request. */
  encodeMessages(messages: readonly ModelMessage[], options?: EncodeMessagesOptions): EncodedMessages;
  /** The whole body of a request. @throws ToolError `invalid_argument` for a choice of a tool that is not there */
  encodeRequest(request: ModelRequest, target: WireTarget): EncodedRequest;
  /**
   * The body of a request without the reasoning of earlier replies, where that is what the provider refused it for; undefined for any
   * other refusal, and where there is none to leave out. Left out where a format's providers do not refuse reasoning.
   *
   * @param refusal the provider's message
   */
  withoutRefused?(body: JsonObject, refusal: string): JsonObject | undefined;
  /**
   * The messages that answer calls, for programs that keep the provider's own conversation.
   *
   * @param calls those of the reply that is answered: each must have its answer, and no other may
   * @throws ToolError `invalid_argument` for an answer with the result of another call, and a call that is answered twice or not at all
   */
  encodeResults(answers: readonly AnsweredCall[], calls?: readonly ModelCall[]): readonly JsonObject[];
  /** Reads a whole reply. @throws ToolError `model_failed` for what is not a reply; another code for an error in a reply's place */
  decodeReply(body: JsonValue, options?: DecodeOptions): ModelReply;
  /** Reads a streamed reply, piece by piece. */
  decodeStream(options?: DecodeOptions): StreamDecoder;
}

/** Where a request goes, and how. */
export interface WireTarget {
  /** As the provider names it. */
  readonly model: string;
  /** @default true */
  readonly stream?: boolean;
  /** Ask the provider to hold the model to the tools' schemas, where it can and nothing of them is lost. @default false */
  readonly strict?: boolean;
}

/** The target that the tools of a request are written for. */
export type EncodeToolsOptions = Pick<WireTarget, "strict"> & { readonly model?: string };

/** The target that the conversation of a request is written for. */
export interface EncodeMessagesOptions {
  /** False where the request offers no tools: calls and results become text, as some providers refuse them then. @default true */
  readonly tools?: boolean;
  readonly model?: string;
}

/** Tools in a provider's words. */
export interface EncodedTools {
  /** As they are in the request. */
  readonly tools: readonly JsonObject[];
  /** By the provider's name, the tool's own. */
  readonly toolNames: ReadonlyMap<string, string>;
  readonly notes: readonly WireNote[];
}

/** A conversation in a provider's words. */
export interface EncodedMessages {
  readonly messages: readonly JsonObject[];
  /** Where system messages are separate. */
  readonly system?: readonly JsonObject[];
  readonly toolNames: ReadonlyMap<string, string>;
}

/** The whole body of a request, and what reading its reply needs. */
export interface EncodedRequest {
  readonly body: JsonObject;
  /** Of the tools and the conversation: what a decoder is given. */
  readonly toolNames: ReadonlyMap<string, string>;
  readonly notes: readonly WireNote[];
}

/** A note on a part of a tool that the provider does not support as it is. */
export interface WireNote {
  /** `schema-loss`: a part of a schema was left out or changed; `quarantined`: the tool was left out, or the schema of the reply; `unsupported`: the provider has no such thing. */
  readonly kind: "schema-loss" | "quarantined" | "unsupported";
  /** Qualified; left out for what concerns no tool. */
  readonly tool?: string;
  /** `$` path in the schema. */
  readonly path?: string;
  readonly note: string;
}

/** A call of a model with its result, to be written as the provider's answer to it. */
export interface AnsweredCall {
  /** The provider's id, as the call brought it. */
  readonly id?: string;
  /** Qualified. */
  readonly name: string;
  /** That of the model's call. @default "function" */
  readonly kind?: "function" | "custom" | "approval";
  /** Of a reply's call, where it has one. @default that of `name` */
  readonly offeredName?: string;
  /** Of a reply's call, where it has one. @default what `kind` says */
  readonly native?: JsonObject;
  readonly result: ToolResult;
}

/** How a reply is read. */
export interface DecodeOptions {
  /** By the provider's name, the tool's own; of `EncodedRequest`. @default names are read back as far as they are readable */
  readonly toolNames?: ReadonlyMap<string, string>;
  /** Most characters of a reply. @default 16_777_216 */
  readonly maxChars?: number;
}

/** Reads one streamed reply. Events that it does not know are ignored. */
export interface StreamDecoder {
  /**
   * Takes the next piece: of `sse` the JSON of one event's data (`[DONE]` is a text), of `json-lines` one line, of `event-stream` one
   * message's payload with its `:event-type` as the one key around it.
   *
   * @throws ToolError for an error that the provider sends in the stream, and `too_large`
   */
  push(piece: JsonValue): readonly ModelEvent[];
  /** The provider has said that nothing more comes: there is no need to wait until the connection ends. Left out where a format has no such end. */
  readonly isOver?: boolean;
  /** The stream is over, well or not. Returns at least `reply-end`. Idempotent. */
  end(): readonly ModelEvent[];
}
