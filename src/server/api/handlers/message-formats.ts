/** The forms in which a request may have a message of a model. A leaf: the client loads it, the formats themselves stay on the server. */

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

/** Before the name of a text format: the calls are in the text of the message. */
export const TEXT_PREFIX = "text:";
