/** The interface of wire formats: it converts Haft's requests to a provider's JSON, and the provider's replies to Haft's types. */
import type { JsonObject, JsonValue } from "../core/base/json.ts";
import type { ModelCall, ModelEvent, ModelReply, ModelRequest, ModelTool } from "../core/model.ts";
import type { ModelMessage } from "../core/message.ts";
import type { ToolResult } from "../core/result.ts";

/** How the pieces of a streamed reply are framed. `event-stream` is AWS's binary `application/vnd.amazon.eventstream`. */
export type Framing = "sse" | "json-lines" | "event-stream";

/** A provider's JSON format: it writes requests and reads replies. */
export interface WireFormat {
  /** `openai-chat`, `anthropic-messages`: the value of `NativeMessage.format` and the key in `ModelTool.providers`. */
  readonly name: string;
  readonly framing: Framing;
  /** Returns the path of a request relative to the provider's base URL: `/chat/completions`, `/models/x:streamGenerateContent?alt=sse`. */
  path(target: WireTarget): string;
  /** Writes the tools of a request. A tool that this provider would refuse is left out, with a note that names it. */
  encodeTools(tools: readonly ModelTool[], options?: EncodeToolsOptions): EncodedTools;
  /** Writes the conversation of a request. */
  encodeMessages(messages: readonly ModelMessage[], options?: EncodeMessagesOptions): EncodedMessages;
  /** Writes the whole body of a request. @throws ToolError `invalid_argument` for a choice of a tool that is not offered */
  encodeRequest(request: ModelRequest, target: WireTarget): EncodedRequest;
  /**
   * Returns the body of a refused request without the reasoning of earlier replies, if that is why the provider refused it; undefined for any other
   * refusal, or if it has no reasoning. Not defined for formats whose providers do not refuse reasoning.
   *
   * @param refusal the provider's message
   */
  withoutRefused?(body: JsonObject, refusal: string): JsonObject | undefined;
  /**
   * Writes the messages that answer calls, for programs that keep the provider's own conversation.
   *
   * @param calls the calls of the answered reply: each must have its answer, and no other call may have one
   * @throws ToolError `invalid_argument` for an answer with the result of another call, and for a call that is answered twice or not at all
   */
  encodeResults(answers: readonly AnsweredCall[], calls?: readonly ModelCall[]): readonly JsonObject[];
  /** Reads a whole reply. @throws ToolError `model_failed` for a body that is not a reply; another code for an error in place of a reply */
  decodeReply(body: JsonValue, options?: DecodeOptions): ModelReply;
  /** Returns a decoder for one streamed reply. */
  decodeStream(options?: DecodeOptions): StreamDecoder;
}

/** The model and the settings that a request is written for. */
export interface WireTarget {
  /** The provider's name of the model. */
  readonly model: string;
  /** @default true */
  readonly stream?: boolean;
  /** Whether the provider is asked to enforce the tools' schemas, if it can and a schema loses nothing. @default false */
  readonly strict?: boolean;
}

/** The target that the tools of a request are written for. */
export type EncodeToolsOptions = Pick<WireTarget, "strict"> & { readonly model?: string };

/** The target that the conversation of a request is written for. */
export interface EncodeMessagesOptions {
  /** Whether the request offers tools. If false, calls and results become text, as some providers then refuse them. @default true */
  readonly tools?: boolean;
  readonly model?: string;
}

/** Tools in a provider's format. */
export interface EncodedTools {
  /** The tools as they are in the request. */
  readonly tools: readonly JsonObject[];
  /** The tool's own name by the provider's name. */
  readonly toolNames: ReadonlyMap<string, string>;
  readonly notes: readonly WireNote[];
}

/** A conversation in a provider's format. */
export interface EncodedMessages {
  readonly messages: readonly JsonObject[];
  /** Set if the format has system messages separate from the others. */
  readonly system?: readonly JsonObject[];
  readonly toolNames: ReadonlyMap<string, string>;
}

/** The whole body of a request, and the names needed to read its reply. */
export interface EncodedRequest {
  readonly body: JsonObject;
  /** The names of the tools and of the conversation, for `DecodeOptions.toolNames`. */
  readonly toolNames: ReadonlyMap<string, string>;
  readonly notes: readonly WireNote[];
}

/** A note on something in a request that the provider does not support unchanged. */
export interface WireNote {
  /** `schema-loss`: part of a schema is lost or changed; `quarantined`: a tool or the reply's schema is left out; `unsupported`: no such feature. */
  readonly kind: "schema-loss" | "quarantined" | "unsupported";
  /** The qualified name of the tool; left out if the note is not about a tool. */
  readonly tool?: string;
  /** `$` path in the schema. */
  readonly path?: string;
  readonly note: string;
}

/** A model's call with its result, to be written as the answer for the provider. */
export interface AnsweredCall {
  /** The provider's id of the call, if it had one. */
  readonly id?: string;
  /** The qualified name of the tool. */
  readonly name: string;
  /** The `kind` of the model's call. @default "function" */
  readonly kind?: "function" | "custom" | "approval";
  /** The `offeredName` of the model's call, if it has one. @default the provider name of `name` */
  readonly offeredName?: string;
  /** The `native` of the model's call, if it has one. @default derived from `kind` */
  readonly native?: JsonObject;
  readonly result: ToolResult;
}

/** Options for reading a reply. */
export interface DecodeOptions {
  /** The tool's own name by the provider's name, from `EncodedRequest`. @default names are decoded as far as possible */
  readonly toolNames?: ReadonlyMap<string, string>;
  /** Maximum number of characters of a reply. @default 16_777_216 */
  readonly maxChars?: number;
}

/** Reads one streamed reply. Unknown events are ignored. */
export interface StreamDecoder {
  /**
   * Reads the next piece: for `sse` the JSON of one event's data (`[DONE]` is a string), for `json-lines` one line, for `event-stream` one message's
   * payload, wrapped in an object whose only key is its `:event-type`.
   *
   * @throws ToolError for an error that the provider sends in the stream, and `too_large`
   */
  push(piece: JsonValue): readonly ModelEvent[];
  /** Whether the provider has said that nothing more comes, so that reading can stop before the connection ends. Not defined without such a mark. */
  readonly isOver?: boolean;
  /** Ends the reply when the stream has ended, well or not. Returns at least `reply-end`. Idempotent. */
  end(): readonly ModelEvent[];
}
