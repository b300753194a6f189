/** A conversation that was written beforehand. */
import type { ToolCall } from "../../core/call.ts";

/** The messages and calls of a conversation, as far as its author wrote them: a model may add the rest. */
export interface ConversationTemplate {
  /** Called with every conversation that is made of it. */
  readonly id?: string;
  /** The system prompt for a model. */
  readonly system?: string;
  readonly messages: readonly TemplateMessage[];
}

/** One line of a template. */
export type TemplateMessage =
  | { readonly role: "user" | "system"; readonly content: string }
  /**
   * The calls of one message run together; what they are is for the runtime to judge. Texts of inputs and contents may refer to what
   * calls of earlier messages answered, by their `id` or else their number: `$1.items[0].id`.
   */
  | { readonly role: "assistant"; readonly content?: string; readonly calls?: readonly ToolCall[] };
