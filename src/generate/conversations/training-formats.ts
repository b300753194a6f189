/** Writes conversations in the two forms that open-source trainers read: messages for a chat template, and ShareGPT. */
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import type { ModelMessage } from "../../core/message.ts";
import { contentText, conversationSteps, documentHeading, toInputObject, nonEmptyAnswerText } from "../../wire/conversation-steps.ts";
import type { AssistantStep, ConversationStep, IdRule, PromptStep, WireCall } from "../../wire/conversation-steps.ts";

/** The chat templates of Mistral's models refuse other ids; those of other models accept any. */
const CHAT_TEMPLATE_IDS: IdRule = { allowed: /^[A-Za-z0-9]{9}$/u, maxLength: 9, exactLength: 9 };

/**
 * Writes the messages for chat templates of `transformers`: inputs are objects, and results name their tool. Every message has a text, possibly
 * empty; images and audio are described as text.
 *
 * @see https://huggingface.co/docs/trl/dataset_formats#tool-calling
 */
export function chatTemplateMessages(messages: readonly ModelMessage[]): readonly JsonObject[] {
  return conversationSteps(messages, CHAT_TEMPLATE_IDS).steps.flatMap((step): readonly JsonObject[] => {
    if (step.kind !== "assistant") return [{ role: step.kind === "system" ? "system" : "user", content: formatSpokenText(step) }];
    const message = { role: "assistant", content: contentText(step.content) };
    if (step.calls.length === 0) return [message];
    const calls = step.calls.map(({ id, name, input }) => ({ id, type: "function", function: { name, arguments: toInputObject(input) } }));
    const results = step.calls.map(({ id, name, result }) => ({
      role: "tool",
      tool_call_id: id,
      name,
      content: nonEmptyAnswerText(result),
    }));
    return [{ ...message, tool_calls: calls }, ...results];
  });
}

/** One entry of a ShareGPT conversation. */
type Turn = { readonly from: "system" | "human" | "gpt" | "function_call" | "observation"; readonly value: string };

/** A conversation in turns, and the texts that could not be placed in one. */
export interface ShareGptConversation {
  readonly conversations: readonly Turn[];
  /**
   * Assistant texts that were left out: before calls, because a turn of calls may have nothing else and two turns of one side are refused, or before
   * the first user message.
   */
  readonly leftOut: readonly string[];
}

/**
 * Writes the turns that LLaMA-Factory reads, alternating between user or results and assistant. Consecutive texts of one side are merged, and a
 * system message after the first turn is written as the user's. Several calls of a message are one turn, a JSON array, and so are their results.
 *
 * @see https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md#sharegpt-format
 */
export function shareGptConversation(messages: readonly ModelMessage[]): ShareGptConversation {
  const conversations: Turn[] = [];
  const leftOut: string[] = [];
  for (const step of conversationSteps(messages, CHAT_TEMPLATE_IDS).steps)
    for (const { from, value } of toTurns(step)) {
      const last = conversations.at(-1);
      const hasBegun = last !== undefined && last.from !== "system";
      const turn: Turn = { from: from === "system" && hasBegun ? "human" : from, value };
      if (from === "function_call" && last?.from === "gpt") leftOut.push(conversations.pop()?.value ?? "");
      if (from === "gpt" && !hasBegun) leftOut.push(value);
      else if (last?.from === turn.from && isTextTurn(turn)) conversations[conversations.length - 1] = mergeTurns(last, turn);
      else conversations.push(turn);
    }
  return { conversations, leftOut };
}

function toTurns(step: ConversationStep): readonly Turn[] {
  if (step.kind !== "assistant") return [{ from: step.kind === "system" ? "system" : "human", value: formatSpokenText(step) }];
  const text = contentText(step.content);
  const textTurns: readonly Turn[] = text === "" && step.calls.length > 0 ? [] : [{ from: "gpt", value: text }];
  return step.calls.length === 0 ? textTurns : [...textTurns, ...toCallTurns(step)];
}

function toCallTurns({ calls }: AssistantStep): readonly Turn[] {
  const made = calls.map(({ name, input }) => ({ name, arguments: toInputObject(input) }));
  const [only] = calls;
  if (calls.length === 1)
    return [
      { from: "function_call", value: JSON.stringify(made[0]) },
      { from: "observation", value: nonEmptyAnswerText(only?.result) },
    ];
  return [
    { from: "function_call", value: JSON.stringify(made) },
    { from: "observation", value: JSON.stringify(calls.map(toAnswer)) },
  ];
}

/** Returns the output if it is JSON, else the text that a model reads. */
function toAnswer({ result }: WireCall): JsonValue {
  const isJson = result?.content === undefined && result?.error === undefined && result?.output !== undefined;
  return isJson ? result.output : nonEmptyAnswerText(result);
}

function isTextTurn({ from }: Turn): boolean {
  return from !== "function_call" && from !== "observation";
}

function mergeTurns(one: Turn, other: Turn): Turn {
  return { from: one.from, value: `${one.value}\n\n${other.value}` };
}

function formatSpokenText({ kind, content, title }: PromptStep): string {
  const text = contentText(content);
  return kind === "document" ? `${documentHeading(title)}\n${text}` : text;
}
