/** The finish reasons of Chat Completions, Ollama, Cohere and similar APIs. */
import type { FinishReason } from "../../core/model.ts";

const REASONS: Readonly<Record<Exclude<FinishReason, "truncated" | "other">, string>> = {
  stop: "stop stop_sequence end_turn end eos eos_token complete completed done finish finished",
  calls: "tool_calls tool_call tool_use function_call function_calls",
  length:
    "length max_tokens max_output_tokens max_completion_tokens max_length model_length token_limit context_length " +
    "context_length_exceeded context_window_exceeded model_context_window_exceeded error_limit repetition " +
    "repetition_truncation",
  "content-filter":
    "content_filter content_filtered content_filter_error error_toxic safety sensitive recitation blocklist " +
    "prohibited_content spii guardrail_intervened moderation",
  refusal: "refusal refused",
  pause: "pause pause_turn",
  error:
    "error abort aborted cancel cancelled canceled user_cancel timeout network_error server_error " +
    "insufficient_system_resource malformed_function_call malformed_tool_call unexpected_tool_call",
};

const BY_WORD: ReadonlyMap<string, FinishReason> = new Map(
  // the keys of REASONS
  Object.entries(REASONS).flatMap(([reason, words]) => words.split(" ").map((word) => [word, reason as FinishReason] as const)),
);

/** Returns the meaning of a provider's finish reason; `other` for an unknown one. Case, and hyphen or underscore, make no difference. */
export function toFinishReason(word: string): FinishReason {
  return BY_WORD.get(word.toLowerCase().replaceAll("-", "_")) ?? "other";
}
