/** Reads which model plays tools, and how: in our keys, or in those of fms-dgt. */
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import type { LmEngineOptions } from "../../engine/lm.ts";
import { findNearProviders, type ProviderName } from "../../model/provider-names.ts";
import { findProvider } from "../../model/providers.ts";
import { COUNT, FRACTION, SIZE } from "../../core/base/number-bounds.ts";
import { REASONING_EFFORTS } from "../../core/model.ts";
import { TEMPERATURE, readAddress, readKey, readModel, readModelName, type ModelConfig } from "./model-config.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { isTable, kindOf, type TableReader } from "../table-reader.ts";

/** The options of an `lm` engine that a configuration may set. */
export type LmSettings = Omit<LmEngineOptions, "model">;

/** A model that plays tools. */
export interface LmConfig {
  readonly model: ModelConfig;
  /** The key that holds the model. */
  readonly modelKey: "model" | "lm_config";
  /** Provider-specific fields for the body of each request. */
  readonly native?: JsonObject;
  readonly settings: LmSettings;
}

/** Reads `model` in our keys, or `lm_config` in those of fms-dgt. Undefined if neither is valid, which is reported. */
export function readLm(table: TableReader): LmConfig | undefined {
  const settings = readLmSettings(table);
  if (table.value("lm_config") === undefined) {
    const model = readModelOf(table);
    if (model === undefined && !table.has("model"))
      table.report(undefined, '"model" is missing: provider and model, or an object as [model].');
    return model === undefined ? undefined : { model, modelKey: "model", settings };
  }
  if (table.value("model") !== undefined) table.report("model", "duplicates lm_config; keep one of them.");
  const read = table.section("lm_config", (config) => readLmConfig(config, settings), NOT_OF_LM_CONFIG);
  return read === undefined ? undefined : { ...read, modelKey: "lm_config" };
}

export function readLmSettings(table: TableReader): LmSettings {
  return omitUndefined({
    maxHistory: table.number("maxHistory", { min: 0, max: 10_000, integer: true }),
    maxHistoryChars: table.number("maxHistoryChars", { ...CHARS, min: 0 }),
    candidates: table.number("candidates", CANDIDATES),
    tries: table.number("tries", { min: 1, max: 10, integer: true }),
    maxOutputTokens: table.number("maxOutputTokens", COUNT),
    temperature: table.number("temperature", TEMPERATURE),
    reasoningEffort: table.choice("reasoningEffort", REASONING_EFFORTS),
    instructions: table.text("instructions"),
    maxReplyChars: table.number("maxReplyChars", CHARS),
  });
}

const CANDIDATES = { min: 1, max: 16, integer: true } as const;
const CHARS = { min: 1, max: 16_777_216, integer: true } as const;

/** Reads `model`: `provider/model`, or a table with the keys of `[model]`. Undefined if it is missing or invalid. */
export function readModelOf(table: TableReader): ModelConfig | undefined {
  const value = table.value("model");
  if (value === undefined) return undefined;
  if (typeof value === "string") {
    const name = readModelName(table, "model");
    return name === undefined ? undefined : { name };
  }
  if (isTable(value)) return table.section("model", readModel);
  table.report("model", `must be provider and model, such as "ollama/qwen3", or an object as [model], not ${kindOf(value)}.`);
  return undefined;
}

/** The names of one setting at the servers that fms-dgt supports; the first is that of its own files. */
const TOKENS = ["max_new_tokens", "max_tokens", "max_completion_tokens", "max_tokens_to_sample", "num_predict"] as const;

/** Keys of fms-dgt that have another place here. */
const NOT_OF_LM_CONFIG: ReadonlyMap<string, string> = new Map([
  ["timeout", "belongs next to lm_config, in seconds: it is the time of one call."],
  ["call_limit", "is not supported here; set maxConcurrent of a toolset."],
  ["response_format", "is derived from the output schema of each tool; leave it out."],
  ...["logprobs", "top_logprobs"].map(
    (key) => [key, "is requested automatically where there is more than one candidate; leave it out."] as const,
  ),
  ...["batch_size", "init_tokenizer", "max_length", "lm_cache", "force_cache"].map(
    (key) => [key, "is not supported; leave it out."] as const,
  ),
]);

/** Reads the `lm_config` of fms-dgt. Keys next to it take precedence. */
function readLmConfig(table: TableReader, outerSettings: LmSettings): Omit<LmConfig, "modelKey"> | undefined {
  const type = table.requiredText("type", "which provider it is, such as ollama or openai");
  const id = table.requiredText("model_id_or_path", "the model, as the provider names it");
  const baseUrl = readAddress(table, table.firstPresent(["base_url", "api_base"]));
  const own = omitUndefined({
    candidates: table.number("n", CANDIDATES),
    maxOutputTokens: table.number(table.firstPresent(TOKENS), COUNT),
    temperature: table.number("temperature", TEMPERATURE),
  });
  const settings = { ...own, ...outerSettings };
  const more = omitUndefined({ baseUrl, apiKey: readKey(table, "api_key"), headers: table.textTable("default_headers") });
  const provider = type === undefined ? undefined : providerOf(type, table);
  const fields = readFields(table, provider, settings);
  if (provider === undefined || id === undefined) return undefined;
  return { model: { name: `${provider}/${id}`, ...more }, settings, ...fields };
}

/** Returns the provider. `openai` with an address is an OpenAI-compatible server, which is not sent the key of OpenAI. */
function providerOf(type: string, table: TableReader): ProviderName | undefined {
  const folded = type.toLowerCase();
  if (folded === "openai") return table.has("base_url") || table.has("api_base") ? "openai-compatible" : "openai-chat";
  if (folded === "vllm-remote" || folded === "vllm-server") return "vllm";
  const known = findProvider(folded)?.name;
  if (known !== undefined) return known;
  const near = findNearProviders(folded).map((name) => JSON.stringify(name));
  const meant = near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
  const instead = 'A server that speaks Chat Completions is "openai" with its base_url; any other needs an engine of an extension.';
  table.report("type", `no provider ${JSON.stringify(type.slice(0, 100))} is known.${meant} ${instead}`);
  return undefined;
}

/** A key of fms-dgt, and how it is read. */
type Field = readonly [key: string, read: (table: TableReader, key: string) => JsonValue | undefined];

const readSize = (table: TableReader, key: string) => table.number(key, SIZE);
const readPortion = (table: TableReader, key: string) => table.number(key, FRACTION);
const readPenalty = (table: TableReader, key: string) => table.number(key, { min: -2, max: 2, integer: false });
const readTexts = (table: TableReader, key: string) => {
  const value = table.value(key);
  return typeof value === "string" ? [value] : table.texts(key);
};

const FIELDS: readonly Field[] = [
  ["seed", readSize],
  ["stop", readTexts],
  ["top_p", readPortion],
  ["top_k", readSize],
  ["frequency_penalty", readPenalty],
  ["presence_penalty", readPenalty],
  ["num_ctx", readSize],
];

/** The settings of `FIELDS` that a provider supports, their names, and the field of its requests that holds them. */
interface Dialect {
  readonly names: Readonly<Record<string, string>>;
  readonly below?: string;
}

const PENALTIES = { frequency_penalty: "frequency_penalty", presence_penalty: "presence_penalty" };
const CHAT = { seed: "seed", stop: "stop", top_p: "top_p", ...PENALTIES };
const SERVED = { names: { ...CHAT, top_k: "top_k" } };
/** Providers that are not listed speak Chat Completions. Sources: each provider's API reference (2026). */
const DIALECTS: Readonly<Partial<Record<ProviderName, Dialect>>> = {
  ollama: { names: { ...CHAT, top_k: "top_k", num_ctx: "num_ctx" }, below: "options" },
  gemini: {
    names: {
      seed: "seed",
      stop: "stopSequences",
      top_p: "topP",
      top_k: "topK",
      frequency_penalty: "frequencyPenalty",
      presence_penalty: "presencePenalty",
    },
    below: "generationConfig",
  },
  anthropic: { names: { stop: "stop_sequences", top_p: "top_p", top_k: "top_k" } },
  mistral: { names: { ...CHAT, seed: "random_seed" } },
  cohere: { names: { ...PENALTIES, seed: "seed", stop: "stop_sequences", top_p: "p", top_k: "k" } },
  openai: { names: { top_p: "top_p" } },
  bedrock: { names: {} },
  "openai-compatible": SERVED,
  vllm: SERVED,
  sglang: SERVED,
};

function readFields(table: TableReader, provider: ProviderName | undefined, settings: LmSettings): { readonly native?: JsonObject } {
  const dialect: Dialect = (provider === undefined ? undefined : DIALECTS[provider]) ?? { names: CHAT };
  const fields: [name: string, value: JsonValue][] = [];
  for (const [key, read] of FIELDS) {
    const written = key === "stop" ? table.firstPresent(["stop", "stop_sequences"]) : key;
    const value = read(table, written);
    const name = Object.hasOwn(dialect.names, key) ? dialect.names[key] : undefined;
    if (value === undefined || provider === undefined) continue;
    if (name === undefined) table.report(written, `is not supported by ${provider}; leave it out.`);
    else fields.push([name, value]);
  }
  if (fields.length === 0) return {};
  const native = Object.fromEntries(fields);
  if (dialect.below === undefined) return { native };
  return { native: { [dialect.below]: dialect.below === "options" ? { ...ollamaOptions(settings), ...native } : native } };
}

/** Returns the options of the request itself, because native `options` would replace them. */
function ollamaOptions({ temperature, maxOutputTokens }: LmSettings): JsonObject {
  return omitUndefined({ temperature, num_predict: maxOutputTokens });
}
