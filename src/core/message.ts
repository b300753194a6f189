/** The messages of a conversation, in a provider-neutral form. */
import type { ToolCall } from "./call.ts";
import type { ContentPart } from "./content.ts";
import type { JsonValue } from "./base/json.ts";
import type { ToolResult } from "./result.ts";

/** A model's message in its provider's own form, to be sent back to that provider unchanged. */
export interface NativeMessage {
  /** The wire format: `anthropic-messages`. Other formats cannot use the message. */
  readonly format: string;
  /** The provider's parts of the message, in order: content blocks, output items, parts; for Chat Completions the one message. */
  readonly blocks: readonly JsonValue[];
  /** The id of the container in which code of the message runs; the provider requires it with the results that the code waits for. */
  readonly container?: string;
}

/** A message that people or programs add to a session. Calls and results are recorded when they are made. */
export interface SessionMessage {
  /** `system` steers the model, `document` is something to read. */
  readonly role: "user" | "assistant" | "system" | "document";
  readonly content: string | readonly ContentPart[];
  /** Only for a document. */
  readonly title?: string;
  /** The id of the inbox entry that the message was, see `RuntimeSession.receive`. */
  readonly inboxId?: string;
  /** Only for an assistant's message, if `content` and its calls do not represent it completely. */
  readonly native?: NativeMessage;
}

/** The title of the document that gives a delegate its caller's conversation. That document quotes answers and results. */
export const SHARED_CONVERSATION = "The conversation that the task comes from";

/** A message about a background job after its turn: its question, or its end. */
export interface JobMessage {
  readonly role: "job";
  /** The id of the job, which is its call's id. */
  readonly callId: string;
  /** The qualified name. */
  readonly toolName: string;
  /** The text for the model. */
  readonly content: string;
  /** Undefined if the job has ended. */
  readonly question?: string;
  /** Set if the job has ended. */
  readonly result?: ToolResult;
  /** Set if the tool declares that the end of its jobs wakes no agent. */
  readonly notify?: false;
}

/** An entry of the conversation that a model sees, of one of seven roles. `at` is when it was said or done, in milliseconds since the epoch. */
export type ModelMessage =
  | (SessionMessage & { readonly at: number })
  | (JobMessage & { readonly at: number })
  | {
      readonly role: "call";
      readonly at: number;
      readonly callId: string;
      readonly turnId: string;
      readonly call: ToolCall;
      /** For an overloaded name: the `fingerprint` of the tool that was called, by which a provider distinguishes the overloads. */
      readonly overload?: string;
    }
  | {
      readonly role: "result";
      readonly at: number;
      readonly callId: string;
      readonly result: ToolResult;
      /** The ids of older calls whose results were left out in favour of this one, oldest first. */
      readonly supersedes?: readonly string[];
    };

/** A call as the model made it. */
export type CallMessage = Extract<ModelMessage, { readonly role: "call" }>;
/** The result of a call, as a message. */
export type ResultMessage = Extract<ModelMessage, { readonly role: "result" }>;

/** Returns the content parts of a message; none for plain text, calls and jobs. */
export function getContentParts(message: ModelMessage): readonly ContentPart[] {
  if (message.role === "call" || message.role === "job") return [];
  const content = message.role === "result" ? message.result.content : message.content;
  return content === undefined || typeof content === "string" ? [] : content;
}
