import type { ToolCall } from "../../core/call.ts";

/** The messages and calls of a conversation, as far as its author wrote them; a model may add the rest. */
export interface ConversationTemplate {
  /** The `template` of every conversation that is made from it. */
  readonly id?: string;
  /** The system prompt for a model. */
  readonly system?: string;
  readonly messages: readonly TemplateMessage[];
}

/** One message of a template. */
export type TemplateMessage =
  | { readonly role: "user" | "system"; readonly content: string }
  /**
   * The calls of one message run together; the runtime validates them. Strings in inputs and contents may refer to the output of earlier calls, by
   * their `id` or else their number: `$1.items[0].id`.
   */
  | { readonly role: "assistant"; readonly content?: string; readonly calls?: readonly ToolCall[] };
