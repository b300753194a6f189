/** Mistral's own API: Chat Completions with ids of nine characters, images in results, and thinking as chunks of the content. */
import { openAiChat } from "./openai-chat.ts";
import type { WireFormat } from "./wire-format.ts";

/** @see https://docs.mistral.ai/api/endpoint/chat */
export function mistral(): WireFormat {
  return openAiChat("mistral");
}
