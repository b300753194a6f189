/** The providers that have a fake, for tests that go through all of them. */
import type { ProviderName } from "../../src/model/provider-names.ts";
import type { ServedFormat } from "./provider-server.ts";

/** By provider, what its fake speaks. */
export const FORMATS = {
  anthropic: "anthropic-messages",
  gemini: "gemini",
  openai: "openai-responses",
  "openai-chat": "openai-chat",
  mistral: "mistral",
  deepseek: "deepseek",
  bedrock: "bedrock-converse",
  cohere: "cohere",
  ollama: "ollama",
} as const satisfies Partial<Record<ProviderName, ServedFormat>>;
export type Name = keyof typeof FORMATS;
export const NAMES = Object.keys(FORMATS) as readonly Name[]; // the keys of a literal
