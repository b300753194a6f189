/** What a conversation holds, in provider-neutral words. */
import type { ToolCall } from "./call.ts";
import type { ContentPart } from "./content.ts";
import type { JsonValue } from "./base/json.ts";
import type { ToolResult } from "./result.ts";

/** A model's message in its provider's own form, to be given back to that provider as it came. */
export interface NativeMessage {
  /** The wire format: `anthropic-messages`. To any other format this is worth nothing. */
  readonly format: string;
  /** What the message is made of there, in order: content blocks, output items, parts; of Chat Completions the one message. */
  readonly blocks: readonly JsonValue[];
}

/** A message that people or programs add to a session; calls and results join it by being made. */
export interface SessionMessage {
  /** `system` steers the model, `document` is something to read. */
  readonly role: "user" | "assistant" | "system" | "document";
  readonly content: string | readonly ContentPart[];
  /** Of a document. */
  readonly title?: string;
  /** Of an assistant's message, where `content` and its calls do not say all of it. */
  readonly native?: NativeMessage;
}

/** One entry of the conversation that a model is shown: six kinds. */
export type ModelMessage =
  | (SessionMessage & { readonly at: number })
  | { readonly role: "call"; readonly at: number; readonly callId: string; readonly turnId: string; readonly call: ToolCall }
  | {
      readonly role: "result";
      readonly at: number;
      readonly callId: string;
      readonly result: ToolResult;
      /** The ids of older calls whose results were left out in favour of this one, the oldest first. */
      readonly supersedes?: readonly string[];
    };

/** A call as the model made it. */
export type CallMessage = Extract<ModelMessage, { readonly role: "call" }>;
/** What a call was answered. */
export type ResultMessage = Extract<ModelMessage, { readonly role: "result" }>;
