/** The differences between providers that speak Chat Completions, as data. */
import { checkText } from "../core/check-argument.ts";
import type { JsonObject, JsonValue } from "../core/base/json.ts";
import type { ReasoningEffort } from "../core/model.ts";
import type { IdRule } from "./conversation-steps.ts";
import type { SchemaSubset } from "./fit-schema.ts";
import { openAiEfforts, takesTemperature } from "./openai-models.ts";
import { effortsAs, type EffortFields } from "./reasoning-effort.ts";

/** How a provider wants the reasoning of its own messages back. */
export interface ReasoningRule {
  /** `chunks`: as thinking chunks of the content; `reasoning_details`: the blocks as they came. */
  readonly field: "reasoning_content" | "reasoning" | "reasoning_details" | "chunks";
  /** `calls`: only of messages that made calls. */
  readonly when: "always" | "calls";
  /** A message with calls must have the field, calls of others and those made without a thought as well. @default false */
  readonly required?: boolean;
  /** The text of a required field where there was no thought. @default "" */
  readonly placeholder?: string;
}

/** How one provider's Chat Completions differ from plain ones. */
export interface ChatVariant {
  /** `openai-chat`, or that and the provider: what one provider's messages hold beyond ours is not shown to another. */
  readonly name: string;
  readonly path: string;
  readonly maxTokensField: "max_tokens" | "max_completion_tokens";
  readonly systemRole: "system" | "developer";
  /** Whether `developer` is known as a role, for requests that ask for it. Many servers refuse it. */
  readonly developerRole: boolean;
  readonly ids: IdRule;
  /** The schemas that the provider can hold a model to, where it can. */
  readonly strict?: SchemaSubset;
  /** Most tools of a request. */
  readonly maxTools?: number;
  /** Whether `parallel_tool_calls` is known. */
  readonly parallelSwitch: boolean;
  /** Whether usage of a stream must be asked for. */
  readonly streamOptions: boolean;
  /** The provider's word for `required`. */
  readonly required: "required" | "any";
  /** How a reply can be asked to be JSON: as any object, as one that fits a schema. */
  readonly jsonReplies: readonly ("json_object" | "json_schema")[];
  /** Most replies to one request, as `n`; 1 = it cannot be asked for more. */
  readonly maxCandidates: number;
  /** The setting that asks for the probabilities of several replies' tokens, as `logprobs`; false = they cannot be asked for. */
  readonly logprobs: boolean | number;
  /** Whether models are shown images and sounds; else they are described as text. */
  readonly media: boolean;
  /** Whether models are given PDF files; else they are described as text. */
  readonly documents: boolean;
  /** Images of results are in the result itself, not in a message of the user after it. */
  readonly mediaInResults: boolean;
  /** Results name their tool. */
  readonly namedResults: boolean;
  /** The user may not speak right after results: a word of the assistant is put between. */
  readonly answersResults: boolean;
  /**
   * System messages come before all others, and a request ends with the user or with results: later system messages are written as the
   * user's, who also asks for each message of the assistant that neither the user nor a result precedes.
   *
   * @default false
   */
  readonly strictTurns?: boolean;
  readonly reasoning?: ReasoningRule;
  /** A sound is its base64 text alone, without its format. @default false */
  readonly plainSounds?: boolean;
  /** How a request asks for more or less reasoning, by the model. */
  readonly efforts: (model: string) => EffortFields;
  /** Whether a model takes a temperature in a request that asks for this effort. @default it does */
  readonly takesTemperature?: (model: string, effort: JsonValue | undefined) => boolean;
  /** Fields of a message and of its calls that go back as they came. */
  readonly keptFields: readonly string[];
  /** JSON inside of text has a space behind `:` and `,`, as Python writes it. */
  readonly spacedJson: boolean;
}

/** OpenAI takes any text; 40 characters are what it has refused to exceed. */
const OPENAI_IDS: IdRule = { allowed: /^[\x21-\x7e]+$/u, maxLength: 40 };
const MISTRAL_IDS: IdRule = { allowed: /^[A-Za-z0-9]{9}$/u, maxLength: 9, exactLength: 9 };

const effortField = (effort: ReasoningEffort): JsonObject => ({ reasoning_effort: effort });
const ANY_EFFORT = effortsAs(effortField);

/** The features that most servers understand; also for those that are not in the table. */
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
  answersResults: false,
  efforts: () => ANY_EFFORT,
  keptFields: [],
  spacedJson: false,
};

type Difference = Partial<Omit<ChatVariant, "name">>;

/** The efforts that the provider has, all in the field that OpenAI has for them. */
function efforts(...known: readonly ReasoningEffort[]): Difference {
  const fields = effortsAs(effortField, known);
  return { efforts: () => fields };
}

/** The provider can only be asked not to reason, in these fields. */
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
/** It reads `minimal` as `low`, and `medium` and `xhigh` as `high`. */
const DEEPSEEK_EFFORTS: EffortFields = {
  ...effortsAs((effort) => ({ ...THINKING, ...effortField(effort) }), ["minimal", "low", "medium", "high", "xhigh", "max"]),
  none: NO_THINKING,
};
const OPENROUTER_EFFORTS = effortsAs((effort) => ({ reasoning: { effort } }));
const MISTRAL_EFFORTS = effortsAs(effortField, ["none", "high"]);
/** @see https://docs.mistral.ai/inference/conversations/reasoning (2026-11) */
const MISTRAL_LARGE_EFFORTS = effortsAs(effortField, ["low", "medium", "high"]);
const ONE_REPLY: Difference = { maxCandidates: 1 };
const ANY_OBJECT: Difference = { jsonReplies: ["json_object"] };
const THINKS_ON: ReasoningRule = { field: "reasoning_content", when: "calls" };
const MUST_THINK: ReasoningRule = { ...THINKS_ON, required: true };

/**
 * By provider, how it differs from plain Chat Completions. Sources: the providers' API references and the replies recorded from them
 * (2026); what is not known is left as it is.
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
  /** Few of its models take a schema for the reply, and none while it streams. */
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
  /** Takes a count of the likeliest tokens to report, not a boolean. */
  together: { logprobs: 1 },
  fireworks: { reasoning: THINKS_ON },
  /** Refuses an empty text for the reasoning too. */
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
    answersResults: true,
    strictTurns: true,
    plainSounds: true,
    reasoning: { field: "chunks", when: "calls" },
  },
} as const satisfies Readonly<Record<string, Difference>>;

/** The name of a variant that is known. */
export type ChatVariantName = keyof typeof DIFFERENCES;

/** The variants that are known by name. */
export const CHAT_VARIANTS = Object.keys(DIFFERENCES) as readonly ChatVariantName[]; // the keys of a literal

/** Names that are used for the same. */
const ALIASES: Readonly<Record<string, ChatVariantName>> = {
  google: "gemini",
  grok: "xai",
  kimi: "moonshot",
  lmstudio: "lm-studio",
  moonshotai: "moonshot",
  qwen: "alibaba",
  zai: "zhipu",
};

/** The variant of a provider; plain Chat Completions for one that is not known. */
export function chatVariant(provider: string): ChatVariant {
  checkText(provider, "chatVariant()", "the name of a provider");
  const name = Object.hasOwn(ALIASES, provider) ? ALIASES[provider] : provider;
  const known = CHAT_VARIANTS.find((one) => one === name);
  if (known === undefined) return PLAIN_CHAT;
  const isPlain = known === "openai" || known === "azure";
  return { ...PLAIN_CHAT, ...DIFFERENCES[known], name: isPlain ? PLAIN_CHAT.name : `${PLAIN_CHAT.name}:${known}` };
}
