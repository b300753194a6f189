/** A conversation that somebody wrote beforehand. */
import type { ToolCall } from "../../core/call.ts";

/** What is said and called in a conversation, as far as its author wanted: a model may say the rest. */
export interface ConversationTemplate {
  /** Called with every conversation that is made of it. */
  readonly id?: string;
  /** What a model would be told before everything else. */
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
