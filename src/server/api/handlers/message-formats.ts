/** Formats of model messages in requests. A leaf module, so that the client can load the names without the formats. */

export const WIRE_NAMES = [
  "openai-chat",
  "openai-responses",
  "anthropic-messages",
  "gemini",
  "gemini-interactions",
  "mistral",
  "cohere",
  "ollama",
  "bedrock-converse",
] as const;

/** Prefix of a text format's name: the calls are in the text of the message. */
export const TEXT_PREFIX = "text:";
