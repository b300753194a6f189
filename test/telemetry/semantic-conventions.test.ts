import { expect, test } from "vitest";
import { PROVIDER_NAMES } from "../../src/model/provider-names.ts";
import { splitModelName } from "../../src/telemetry/semantic-conventions.ts";
import * as wire from "../../src/wire/wire.ts";

/** Those of the conventions. @see https://github.com/open-telemetry/semantic-conventions-genai — `gen_ai.provider.name` in `model/gen-ai/registry.yaml` */
const CONVENTIONS = new Set([
  "anthropic",
  "aws.bedrock",
  "azure.ai.openai",
  "cohere",
  "deepseek",
  "gcp.gemini",
  "groq",
  "mistral_ai",
  "moonshot_ai",
  "openai",
  "x_ai",
]);
/** The conventions have no word for these. */
const OTHERS = ["openai-compatible", "ollama", "openrouter", "together", "fireworks", "zhipu", "alibaba", "huggingface", "cerebras"];
const LOCAL = ["vllm", "sglang", "llama-cpp", "lm-studio"];

test("every provider maps to the name in the conventions, if there is one", () => {
  const words = PROVIDER_NAMES.map((name) => splitModelName(`${name}/some/model`));
  expect(new Set(words.map(({ model }) => model))).toEqual(new Set(["some/model"]));
  const own = words.map(({ provider }) => provider).filter((provider) => !CONVENTIONS.has(provider));
  expect(own.toSorted()).toEqual([...OTHERS, ...LOCAL].toSorted());
});

test("a model named after its wire format is attributed to the provider of that format", () => {
  const formats = [
    wire.anthropicMessages(),
    wire.bedrockConverse(),
    wire.cohere(),
    wire.gemini(),
    wire.geminiInteractions(),
    wire.mistral(),
    wire.ollama(),
    wire.openAiChat(),
    wire.openAiChat("groq"),
    wire.openAiChat("xai"),
    wire.openAiResponses(),
  ];
  expect(formats.map(({ name }) => splitModelName(`${name}/m`).provider)).toEqual([
    "anthropic",
    "aws.bedrock",
    "cohere",
    "gcp.gemini",
    "gcp.gemini",
    "mistral_ai",
    "ollama",
    "openai",
    "groq",
    "x_ai",
    "openai",
  ]);
  expect(splitModelName("m")).toEqual({ provider: "_OTHER", model: "m" });
});
