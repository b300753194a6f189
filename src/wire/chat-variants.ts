/** The differences between providers that speak Chat Completions, as data. */
import { checkString } from "../core/check-argument.ts";
import type { JsonObject, JsonValue } from "../core/base/json.ts";
import type { ReasoningEffort } from "../core/model.ts";
import type { IdRule } from "./conversation-steps.ts";
import type { SchemaSubset } from "./fit-schema.ts";
import { openAiEfforts, takesTemperature } from "./openai-models.ts";
import { mapEfforts, type EffortFields } from "./reasoning-effort.ts";

/** How a provider requires the reasoning of its own messages to be sent back. */
export interface ReasoningRule {
  /** `chunks`: as thinking chunks of the content; `reasoning_details`: the original blocks, unchanged. */
  readonly field: "reasoning_content" | "reasoning" | "reasoning_details" | "chunks";
  /** `calls`: only for messages that made calls. */
  readonly when: "always" | "calls";
  /** Whether every message with calls must have the field, even if another provider made it or it has no reasoning. @default false */
  readonly required?: boolean;
  /** The text of a required field if the message has no reasoning. @default "" */
  readonly placeholder?: string;
}

/** How one provider's Chat Completions differ from plain ones. */
export interface ChatVariant {
  /** `openai-chat`, alone or followed by the provider's name: fields that only one provider has are not sent to another. */
  readonly name: string;
  readonly path: string;
  readonly maxTokensField: "max_tokens" | "max_completion_tokens";
  readonly systemRole: "system" | "developer";
  /** Whether requests may ask for the role `developer`. Many servers refuse it. */
  readonly developerRole: boolean;
  readonly ids: IdRule;
  /** The schemas that the provider can enforce; undefined if it cannot. */
  readonly strict?: SchemaSubset;
  /** Maximum number of tools of a request. */
  readonly maxTools?: number;
  /** Whether the provider supports `parallel_tool_calls`. */
  readonly parallelSwitch: boolean;
  /** Whether a stream reports usage only if the request asks for it. */
  readonly streamOptions: boolean;
  /** The provider's name for the tool choice `required`. */
  readonly required: "required" | "any";
  /** How a reply can be required to be JSON: any object, or one that matches a schema. */
  readonly jsonReplies: readonly ("json_object" | "json_schema")[];
  /** Maximum number of replies to one request, sent as `n`; 1 = no more can be requested. */
  readonly maxCandidates: number;
  /** The value of `logprobs` that requests the tokens' probabilities if there are several replies; false = they cannot be requested. */
  readonly logprobs: boolean | number;
  /** Whether images and audio are sent; else they are described as text. */
  readonly media: boolean;
  /** Whether PDF files are sent; else they are described as text. */
  readonly documents: boolean;
  /** Whether images of results are in the result itself, instead of in a user message after it. */
  readonly mediaInResults: boolean;
  /** Whether results name their tool. */
  readonly namedResults: boolean;
  /** Whether a user message may not directly follow results: an assistant message is put in between. */
  readonly assistantAfterResults: boolean;
  /**
   * Whether system messages must come before all others, and a request must end with the user or with results: later system messages are written as
   * the user's, and a user message that asks to continue is put before each assistant message that follows neither the user nor a result.
   *
   * @default false
   */
  readonly strictTurns?: boolean;
  readonly reasoning?: ReasoningRule;
  /** Whether audio is its base64 text alone, without its format. @default false */
  readonly audioWithoutFormat?: boolean;
  /** The fields that request each reasoning effort, by model. */
  readonly efforts: (model: string) => EffortFields;
  /** Whether a model takes a temperature in a request with this effort. @default it does */
  readonly takesTemperature?: (model: string, effort: JsonValue | undefined) => boolean;
  /** Fields of a message and of its calls that are sent back unchanged. */
  readonly keptFields: readonly string[];
  /** Whether JSON inside text has a space after `:` and `,`, as Python writes it. */
  readonly spacedJson: boolean;
}

/** OpenAI takes any characters; it has refused ids of more than 40. */
const OPENAI_IDS: IdRule = { allowed: /^[\x21-\x7e]+$/u, maxLength: 40 };
const MISTRAL_IDS: IdRule = { allowed: /^[A-Za-z0-9]{9}$/u, maxLength: 9, exactLength: 9 };

const effortField = (effort: ReasoningEffort): JsonObject => ({ reasoning_effort: effort });
const ANY_EFFORT = mapEfforts(effortField);

/** The features that most servers support; also used for providers that are not in the table. */
export const PLAIN_CHAT: ChatVariant = {
  name: "openai-chat",
  path: "/chat/completions",
  maxTokensField: "max_tokens",
  systemRole: "system",
  developerRole: false,
  ids: OPENAI_IDS,
  parallelSwitch: true,
  streamOptions: true,
  required: "required",
  jsonReplies: ["json_object", "json_schema"],
  maxCandidates: 128,
  logprobs: true,
  media: true,
  documents: false,
  mediaInResults: false,
  namedResults: false,
  assistantAfterResults: false,
  efforts: () => ANY_EFFORT,
  keptFields: [],
  spacedJson: false,
};

type Difference = Partial<Omit<ChatVariant, "name">>;

/** Returns the difference of a provider that supports these efforts, in OpenAI's field. */
function efforts(...known: readonly ReasoningEffort[]): Difference {
  const fields = mapEfforts(effortField, known);
  return { efforts: () => fields };
}

/** Returns the difference of a provider that can only be asked not to reason, with these fields. */
function unreasoned(fields: JsonObject): Difference {
  return { efforts: () => ({ none: fields }) };
}

const OPENAI: Difference = {
  maxTokensField: "max_completion_tokens",
  strict: "openai-strict",
  maxTools: 128,
  efforts: (model) => openAiEfforts(model, effortField),
  takesTemperature,
};
const NO_THINKING: JsonObject = { thinking: { type: "disabled" } };
const THINKING: JsonObject = { thinking: { type: "enabled" } };
/** DeepSeek reads `minimal` as `low`, and `medium` and `xhigh` as `high`. */
const DEEPSEEK_EFFORTS: EffortFields = {
  ...mapEfforts((effort) => ({ ...THINKING, ...effortField(effort) }), ["minimal", "low", "medium", "high", "xhigh", "max"]),
  none: NO_THINKING,
};
const OPENROUTER_EFFORTS = mapEfforts((effort) => ({ reasoning: { effort } }));
const MISTRAL_EFFORTS = mapEfforts(effortField, ["none", "high"]);
/** @see https://docs.mistral.ai/inference/conversations/reasoning (2026-11) */
const MISTRAL_LARGE_EFFORTS = mapEfforts(effortField, ["low", "medium", "high"]);
const ONE_REPLY: Difference = { maxCandidates: 1 };
const ANY_OBJECT: Difference = { jsonReplies: ["json_object"] };
const THINKS_ON: ReasoningRule = { field: "reasoning_content", when: "calls" };
const MUST_THINK: ReasoningRule = { ...THINKS_ON, required: true };

/**
 * How each provider differs from plain Chat Completions. Sources: the providers' API references and the replies recorded from them (2026); unknown
 * features keep the default.
 */
const DIFFERENCES = {
  openai: { ...OPENAI, developerRole: true, documents: true },
  azure: OPENAI,
  /** Thinking models refuse a message with calls whose reasoning is missing. */
  deepseek: {
    ...ONE_REPLY,
    ...ANY_OBJECT,
    strict: "deepseek-strict",
    maxTools: 128,
    media: false,
    parallelSwitch: false,
    reasoning: MUST_THINK,
    efforts: () => DEEPSEEK_EFFORTS,
  },
  /** Few of Groq's models take a schema for the reply, and none while streaming. */
  groq: {
    ...efforts("none", "low", "medium", "high"),
    ...ONE_REPLY,
    ...ANY_OBJECT,
    maxTokensField: "max_completion_tokens",
    maxTools: 128,
  },
  xai: { ...efforts("none", "low", "medium", "high"), maxTokensField: "max_completion_tokens", strict: "openai-strict" },
  openrouter: {
    ...ONE_REPLY,
    documents: true,
    strict: "openai-strict",
    reasoning: { field: "reasoning_details", when: "always" },
    efforts: () => OPENROUTER_EFFORTS,
  },
  vllm: {},
  sglang: {},
  "llama-cpp": {},
  "lm-studio": { ...ONE_REPLY, parallelSwitch: false, jsonReplies: ["json_schema"] },
  ollama: { ...efforts("none", "low", "medium", "high"), ...ONE_REPLY, parallelSwitch: false },
  /** `logprobs` is the number of most likely tokens to report, not a boolean. */
  together: { logprobs: 1 },
  fireworks: { reasoning: THINKS_ON },
  /** Refuses an empty text of the reasoning, too. */
  moonshot: {
    ...unreasoned(NO_THINKING),
    ...ONE_REPLY,
    ...ANY_OBJECT,
    reasoning: { ...MUST_THINK, placeholder: " " },
    parallelSwitch: false,
  },
  zhipu: { ...unreasoned(NO_THINKING), ...ONE_REPLY, ...ANY_OBJECT, reasoning: THINKS_ON, parallelSwitch: false },
  alibaba: { ...unreasoned({ enable_thinking: false }), ...ANY_OBJECT, reasoning: THINKS_ON, maxCandidates: 4, logprobs: false },
  huggingface: { ...ONE_REPLY },
  cerebras: { ...efforts("none", "low", "medium", "high"), ...ONE_REPLY, maxTokensField: "max_completion_tokens", strict: "openai-strict" },
  /** Calls carry signatures in `extra_content`, without which Gemini 3 refuses them. */
  gemini: {
    ...efforts("none", "minimal", "low", "medium", "high"),
    parallelSwitch: false,
    keptFields: ["extra_content"],
    maxCandidates: 8,
    logprobs: false,
  },
  mistral: {
    efforts: (model) => (model.includes("mistral-large-4") ? MISTRAL_LARGE_EFFORTS : MISTRAL_EFFORTS),
    ids: MISTRAL_IDS,
    strict: "openai-strict",
    streamOptions: false,
    required: "any",
    logprobs: false,
    mediaInResults: true,
    namedResults: true,
    assistantAfterResults: true,
    strictTurns: true,
    audioWithoutFormat: true,
    reasoning: { field: "chunks", when: "calls" },
  },
} as const satisfies Readonly<Record<string, Difference>>;

/** The name of a known variant. */
export type ChatVariantName = keyof typeof DIFFERENCES;

/** The names of the known variants. */
export const CHAT_VARIANTS = Object.keys(DIFFERENCES) as readonly ChatVariantName[]; // the keys of a literal

/** Other names of the same providers. */
const ALIASES: Readonly<Record<string, ChatVariantName>> = {
  google: "gemini",
  grok: "xai",
  kimi: "moonshot",
  lmstudio: "lm-studio",
  moonshotai: "moonshot",
  qwen: "alibaba",
  zai: "zhipu",
};

/** Returns the variant of a provider; plain Chat Completions for an unknown provider. */
export function chatVariant(provider: string): ChatVariant {
  checkString(provider, "chatVariant()", "the name of a provider");
  const name = Object.hasOwn(ALIASES, provider) ? ALIASES[provider] : provider;
  const known = CHAT_VARIANTS.find((one) => one === name);
  if (known === undefined) return PLAIN_CHAT;
  const isPlain = known === "openai" || known === "azure";
  return { ...PLAIN_CHAT, ...DIFFERENCES[known], name: isPlain ? PLAIN_CHAT.name : `${PLAIN_CHAT.name}:${known}` };
}
