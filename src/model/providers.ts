/** The known providers: addresses, keys and wire formats. */
import { anthropicMessages } from "../wire/anthropic.ts";
import { bedrockConverse } from "../wire/bedrock.ts";
import { cohere } from "../wire/cohere.ts";
import { gemini } from "../wire/gemini.ts";
import { mistral } from "../wire/mistral.ts";
import { ollama } from "../wire/ollama.ts";
import { openAiChat } from "../wire/openai-chat.ts";
import { openAiResponses } from "../wire/openai-responses.ts";
import type { WireFormat } from "../wire/wire-format.ts";
import { findProviderName, type ProviderName } from "./provider-names.ts";

/** A provider of models: its address, its keys and its wire format. */
export interface Provider {
  /** The address before the paths of its format. `{NAME}` is replaced by the value of that variable. Left out if each user has their own address. */
  readonly baseUrl?: string;
  /** A variable that overrides the address; `path` is appended unless the value already ends with it. */
  readonly baseUrlVariable?: { readonly name: string; readonly path: string };
  /** Variables that may hold the key; the first that is set is used. Empty if the provider has no keys. */
  readonly keyVariables: readonly string[];
  /** Whether the provider also answers without a key. @default false */
  readonly keyOptional?: boolean;
  /** `authorization` gets `Bearer` and the key, any other header the key alone. @default "authorization" */
  readonly keyHeader?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly format: () => WireFormat;
}

/** By name. Sources: each provider's API reference (2026). */
export const PROVIDERS = {
  openai: {
    baseUrl: "https://api.openai.com/v1",
    baseUrlVariable: { name: "OPENAI_BASE_URL", path: "" },
    keyVariables: ["OPENAI_API_KEY"],
    format: openAiResponses,
  },
  /** The same models over Chat Completions. */
  "openai-chat": {
    baseUrl: "https://api.openai.com/v1",
    baseUrlVariable: { name: "OPENAI_BASE_URL", path: "" },
    keyVariables: ["OPENAI_API_KEY"],
    format: () => openAiChat("openai"),
  },
  /** Any server that speaks Chat Completions; its address must be given. */
  "openai-compatible": {
    baseUrlVariable: { name: "OPENAI_COMPATIBLE_BASE_URL", path: "" },
    keyVariables: ["OPENAI_COMPATIBLE_API_KEY"],
    keyOptional: true,
    format: () => openAiChat("openai-compatible"),
  },
  "azure-openai": {
    baseUrl: "https://{AZURE_RESOURCE_NAME}.openai.azure.com/openai/v1",
    baseUrlVariable: { name: "AZURE_OPENAI_ENDPOINT", path: "/openai/v1" },
    keyVariables: ["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"],
    keyHeader: "api-key",
    format: () => openAiChat("azure"),
  },
  anthropic: {
    baseUrl: "https://api.anthropic.com/v1",
    baseUrlVariable: { name: "ANTHROPIC_BASE_URL", path: "/v1" },
    keyVariables: ["ANTHROPIC_API_KEY"],
    keyHeader: "x-api-key",
    headers: { "anthropic-version": "2023-06-01" },
    format: anthropicMessages,
  },
  gemini: {
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    keyVariables: ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
    keyHeader: "x-goog-api-key",
    format: gemini,
  },
  /** Uses a Bedrock API key; for Signature Version 4 see `HttpModelOptions.sign`. */
  bedrock: {
    baseUrl: "https://bedrock-runtime.{AWS_REGION}.amazonaws.com",
    keyVariables: ["AWS_BEARER_TOKEN_BEDROCK"],
    format: bedrockConverse,
  },
  mistral: { baseUrl: "https://api.mistral.ai/v1", keyVariables: ["MISTRAL_API_KEY"], format: mistral },
  cohere: { baseUrl: "https://api.cohere.com", keyVariables: ["CO_API_KEY", "COHERE_API_KEY"], format: cohere },
  ollama: {
    baseUrl: "http://127.0.0.1:11434",
    baseUrlVariable: { name: "OLLAMA_HOST", path: "" },
    keyVariables: ["OLLAMA_API_KEY"],
    keyOptional: true,
    format: ollama,
  },
  deepseek: chatProvider("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
  groq: chatProvider("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
  xai: chatProvider("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
  openrouter: chatProvider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
  together: chatProvider("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY"),
  fireworks: chatProvider("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
  moonshot: chatProvider("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
  zhipu: chatProvider("zhipu", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", "ZHIPU_API_KEY"),
  alibaba: chatProvider("alibaba", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", "ALIBABA_API_KEY"),
  huggingface: chatProvider("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN", "HUGGINGFACE_API_KEY"),
  cerebras: chatProvider("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
  vllm: { ...chatProvider("vllm", "http://127.0.0.1:8000/v1", "VLLM_API_KEY"), keyOptional: true },
  sglang: { ...chatProvider("sglang", "http://127.0.0.1:30000/v1", "SGLANG_API_KEY"), keyOptional: true },
  "llama-cpp": { ...chatProvider("llama-cpp", "http://127.0.0.1:8080/v1", "LLAMA_API_KEY"), keyOptional: true },
  "lm-studio": { ...chatProvider("lm-studio", "http://127.0.0.1:1234/v1", "LM_STUDIO_API_KEY"), keyOptional: true },
} as const satisfies Readonly<Record<ProviderName, Provider>>;

function chatProvider(variant: string, baseUrl: string, ...keyVariables: readonly string[]): Provider {
  return { baseUrl, keyVariables, format: () => openAiChat(variant) };
}

/** The provider with a name or alias, case-insensitive; undefined if it is not known. */
export function findProvider(name: string): { readonly name: ProviderName; readonly provider: Provider } | undefined {
  const known = findProviderName(name);
  return known === undefined ? undefined : { name: known, provider: PROVIDERS[known] };
}
