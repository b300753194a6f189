/** The names of the known providers, in a file without imports of their formats. */
import { ToolError } from "../core/error.ts";

/** The names of the known providers. */
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

/** The name of a known provider. */
export type ProviderName = (typeof PROVIDER_NAMES)[number];

interface NamedModel {
  readonly provider: string;
  /** The model's name at the provider. */
  readonly model: string;
}

/** Aliases of providers. */
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

/** The provider with a name or alias, case-insensitive; undefined if it is not known. */
export function findProviderName(name: string): ProviderName | undefined {
  const folded = name.toLowerCase();
  return ALIASES.get(folded) ?? PROVIDER_NAMES.find((one) => one === folded);
}

/** The provider with a name or alias, case-insensitive. @throws ToolError `invalid_argument` if it is not known, naming the nearest. */
export function resolveProviderName(wanted: string): ProviderName {
  const found = findProviderName(wanted);
  if (found !== undefined) return found;
  const near = findNearProviders(wanted).map((name) => JSON.stringify(name));
  const meant = near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
  throw new ToolError("invalid_argument", `No provider ${JSON.stringify(wanted.slice(0, 100))}.${meant}`, {
    hint: `Providers: ${PROVIDER_NAMES.join(", ")}. For a server with a Chat Completions API, use "openai-compatible" and its baseUrl.`,
  });
}

/** The provider of a model. @throws ToolError `invalid_argument` if it is not known, or if the model has no name */
export function checkProvider({ provider, model }: NamedModel): ProviderName {
  if (model === "") throw new ToolError("invalid_argument", `A model needs a name after its provider: ${provider}/….`);
  return resolveProviderName(provider);
}

/** Splits `provider/model`. @throws ToolError `invalid_argument` for a string without a provider */
export function splitSpec(spec: string): NamedModel {
  const at = spec.indexOf("/");
  if (at <= 0) {
    const hint = `Write provider/model, such as anthropic/claude-sonnet. Providers: ${PROVIDER_NAMES.join(", ")}.`;
    throw new ToolError("invalid_argument", `${JSON.stringify(spec.slice(0, 100))} does not name a provider.`, { hint });
  }
  return { provider: spec.slice(0, at), model: spec.slice(at + 1) };
}

/** The providers whose names or aliases are most similar to `name`, at most three. */
export function findNearProviders(name: string): readonly ProviderName[] {
  const wanted = characterPairs(name);
  const rated = [...PROVIDER_NAMES.map((one) => [one, one] as const), ...ALIASES].map(([alias, provider]) => {
    const pairs = characterPairs(alias);
    return { provider, likeness: (2 * [...wanted].filter((pair) => pairs.has(pair)).length) / (wanted.size + pairs.size) };
  });
  const near = rated.filter(({ likeness }) => likeness >= 0.5).toSorted((one, other) => other.likeness - one.likeness);
  return [...new Set(near.map(({ provider }) => provider))].slice(0, 3);
}

/** The pairs of adjacent characters, with a space at both ends. */
function characterPairs(name: string): ReadonlySet<string> {
  const text = ` ${name.slice(0, 64).toLowerCase()} `;
  return new Set(Array.from({ length: text.length - 1 }, (_, at) => text.slice(at, at + 2)));
}
