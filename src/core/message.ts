/** The messages of a conversation, in provider-neutral words. */
import type { ToolCall } from "./call.ts";
import type { ContentPart } from "./content.ts";
import type { JsonValue } from "./base/json.ts";
import type { ToolResult } from "./result.ts";

/** A model's message in its provider's own form, to be given back to that provider as it came. */
export interface NativeMessage {
  /** The wire format: `anthropic-messages`. To any other format this is worth nothing. */
  readonly format: string;
  /** The parts of the message there, in order: content blocks, output items, parts; of Chat Completions the one message. */
  readonly blocks: readonly JsonValue[];
  /** The id of the container that code of the message runs in; the provider wants it with the results that the code waits for. */
  readonly container?: string;
}

/** A message that people or programs add to a session; calls and results join it by being made. */
export interface SessionMessage {
  /** `system` steers the model, `document` is something to read. */
  readonly role: "user" | "assistant" | "system" | "document";
  readonly content: string | readonly ContentPart[];
  /** Of a document. */
  readonly title?: string;
  /** The id of the inbox entry that it was, see `RuntimeSession.receive`. */
  readonly inboxId?: string;
  /** Of an assistant's message, where `content` and its calls do not say all of it. */
  readonly native?: NativeMessage;
}

/** The title of the document by which a delegate is given its caller's conversation. It quotes answers and results. */
export const SHARED_CONVERSATION = "The conversation that the task comes from";

/** A message of a background job after its turn: its question, or its end. */
export interface JobMessage {
  readonly role: "job";
  /** The id of the job, which is that of its call. */
  readonly callId: string;
  /** Qualified. */
  readonly toolName: string;
  /** As a model reads it. */
  readonly content: string;
  /** Undefined when it has ended. */
  readonly question?: string;
  /** Set when it has ended. */
  readonly result?: ToolResult;
  /** Its tool says that its end wakes no agent. */
  readonly notify?: false;
}

/** One entry of the conversation that a model is shown: seven kinds. `at` is when it was said or done, in milliseconds since 1970-01-01 UTC. */
export type ModelMessage =
  | (SessionMessage & { readonly at: number })
  | (JobMessage & { readonly at: number })
  | {
      readonly role: "call";
      readonly at: number;
      readonly callId: string;
      readonly turnId: string;
      readonly call: ToolCall;
      /** Of a name with several tools, the `fingerprint` of the one that was called: a provider knows them apart by it. */
      readonly overload?: string;
    }
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
/** The result of a call, as a message. */
export type ResultMessage = Extract<ModelMessage, { readonly role: "result" }>;

/** The parts that a message is made of; none for text alone, and of calls and jobs. */
export function partsOf(message: ModelMessage): readonly ContentPart[] {
  if (message.role === "call" || message.role === "job") return [];
  const content = message.role === "result" ? message.result.content : message.content;
  return content === undefined || typeof content === "string" ? [] : content;
}
