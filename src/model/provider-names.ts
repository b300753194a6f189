/** The names of the providers that are known, without what is known of them: a file that asks for nothing. */
import { ToolError } from "../core/error.ts";

/** The names of the providers that are known. */
export const PROVIDER_NAMES = [
  "openai",
  "openai-chat",
  "openai-compatible",
  "azure-openai",
  "anthropic",
  "gemini",
  "bedrock",
  "mistral",
  "cohere",
  "ollama",
  "deepseek",
  "groq",
  "xai",
  "openrouter",
  "together",
  "fireworks",
  "moonshot",
  "zhipu",
  "alibaba",
  "huggingface",
  "cerebras",
  "vllm",
  "sglang",
  "llama-cpp",
  "lm-studio",
] as const;

/** The name of a provider that is known. */
export type ProviderName = (typeof PROVIDER_NAMES)[number];

interface NamedModel {
  readonly provider: string;
  /** As the provider names it. */
  readonly model: string;
}

/** Other names for them. */
const ALIASES: ReadonlyMap<string, ProviderName> = new Map([
  ["openai-responses", "openai"],
  ["azure", "azure-openai"],
  ["claude", "anthropic"],
  ["google", "gemini"],
  ["amazon-bedrock", "bedrock"],
  ["aws", "bedrock"],
  ["grok", "xai"],
  ["lmstudio", "lm-studio"],
  ["llamacpp", "llama-cpp"],
  ["kimi", "moonshot"],
  ["moonshotai", "moonshot"],
  ["zai", "zhipu"],
  ["qwen", "alibaba"],
]);

/** The provider of a name or another name for it, in letters of any size; undefined for one that is not known. */
export function providerName(name: string): ProviderName | undefined {
  const folded = name.toLowerCase();
  return ALIASES.get(folded) ?? PROVIDER_NAMES.find((one) => one === folded);
}

/** As `providerName`. @throws ToolError `invalid_argument` for one that is not known, naming the nearest. */
export function knownProvider(wanted: string): ProviderName {
  const found = providerName(wanted);
  if (found !== undefined) return found;
  const near = nearProviders(wanted).map((name) => JSON.stringify(name));
  const meant = near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
  throw new ToolError("invalid_argument", `No provider ${JSON.stringify(wanted.slice(0, 100))}.${meant}`, {
    hint: `There are: ${PROVIDER_NAMES.join(", ")}. A server that speaks Chat Completions is "openai-compatible" with its baseUrl.`,
  });
}

/** The provider of a model. @throws ToolError `invalid_argument` for one that is not known, and for a model without a name */
export function providerOf({ provider, model }: NamedModel): ProviderName {
  if (model === "") throw new ToolError("invalid_argument", `A model needs a name behind its provider: ${provider}/….`);
  return knownProvider(provider);
}

/** `provider/model` in its two parts. @throws ToolError `invalid_argument` for a text that names no provider */
export function splitSpec(spec: string): NamedModel {
  const at = spec.indexOf("/");
  if (at <= 0) {
    const hint = `Write provider/model, such as anthropic/claude-sonnet. Providers: ${PROVIDER_NAMES.join(", ")}.`;
    throw new ToolError("invalid_argument", `${JSON.stringify(spec.slice(0, 100))} names no provider.`, { hint });
  }
  return { provider: spec.slice(0, at), model: spec.slice(at + 1) };
}

/** The providers whose names look most like this one, at most three. */
export function nearProviders(name: string): readonly ProviderName[] {
  const wanted = pairsOf(name);
  const rated = [...PROVIDER_NAMES.map((one) => [one, one] as const), ...ALIASES].map(([alias, provider]) => {
    const pairs = pairsOf(alias);
    return { provider, likeness: (2 * [...wanted].filter((pair) => pairs.has(pair)).length) / (wanted.size + pairs.size) };
  });
  const near = rated.filter(({ likeness }) => likeness >= 0.5).toSorted((one, other) => other.likeness - one.likeness);
  return [...new Set(near.map(({ provider }) => provider))].slice(0, 3);
}

/** The pairs of letters that are next to each other, the ends included. */
function pairsOf(name: string): ReadonlySet<string> {
  const text = ` ${name.slice(0, 64).toLowerCase()} `;
  return new Set(Array.from({ length: text.length - 1 }, (_, at) => text.slice(at, at + 2)));
}
