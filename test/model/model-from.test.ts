import { describe, expect, test } from "vitest";
import { modelFrom } from "../../src/model/model-from.ts";
import { PROVIDER_NAMES, findNearProviders } from "../../src/model/provider-names.ts";
import { PROVIDERS, type Provider } from "../../src/model/providers.ts";
import { KEY, QUESTION } from "./listen.ts";

const NOWHERE = { environment: {} };

/** The address and the headers of the first request of a model. */
async function firstRequest(
  ...[spec, context]: Parameters<typeof modelFrom>
): Promise<{ readonly url: string; readonly headers: Headers }> {
  const asked = Promise.withResolvers<{ readonly url: string; readonly headers: Headers }>();
  const model = modelFrom(spec, {
    ...context,
    fetch(url, { headers }) {
      asked.resolve({ url, headers: new Headers(headers) });
      return Promise.resolve(new Response("", { status: 400 }));
    },
  });
  const iterator = model.stream(QUESTION)[Symbol.asyncIterator]();
  await expect(iterator.next()).rejects.toMatchObject({ code: "model_failed" });
  return asked.promise;
}

describe("a specification that names no usable model is rejected", () => {
  const environment = { ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: " ", AWS_BEARER_TOKEN_BEDROCK: KEY, AWS_REGION: "evil.example/" };
  const cases: readonly (readonly [string, Parameters<typeof modelFrom>[0], object])[] = [
    ["a model alone", "gpt-5", { code: "invalid_argument", message: '"gpt-5" does not name a provider.' }],
    ["a provider alone", "anthropic/", { code: "invalid_argument", message: "A model needs a name after its provider: anthropic/…." }],
    ["a misspelt provider", "antropic/x", { code: "invalid_argument", message: 'No provider "antropic". Did you mean "anthropic"?' }],
    ["a key of every object", "constructor/x", { code: "invalid_argument", message: 'No provider "constructor".' }],
    [
      "a missing key",
      "openai/gpt-5",
      { code: "invalid_config", message: "There is no API key for openai.", hint: "Set OPENAI_API_KEY, or pass apiKey." },
    ],
    [
      "a missing address",
      "openai-compatible/x",
      {
        code: "invalid_config",
        message: "The provider openai-compatible has no default address.",
        hint: "Set baseUrl or OPENAI_COMPATIBLE_BASE_URL.",
      },
    ],
    [
      "a missing part of an address",
      { provider: "azure-openai", model: "x", apiKey: KEY },
      { code: "invalid_config", message: "The address of azure-openai needs AZURE_RESOURCE_NAME, which is not set." },
    ],
    [
      "a part of an address that leads elsewhere",
      "bedrock/x",
      { code: "invalid_config", message: "The address of bedrock needs AWS_REGION, which holds a character that a host name cannot have." },
    ],
  ];
  test.each(cases)("%s", (_what, spec, error) => {
    expect(() => modelFrom(spec, { environment })).toThrow(expect.objectContaining(error));
  });

  test.each([null, {}, { name: "ollama/x" }, { provider: "ollama" }, { provider: 5, model: "x" }])("%j", (given: unknown) => {
    expect(() => modelFrom(given as string, { environment })).toThrow(
      expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining("{ provider, model }") }),
    );
  });
});

test("every provider gets its own address and headers, with the key of the first variable that is set", async () => {
  const told: Record<string, string> = {};
  for (const name of PROVIDER_NAMES) {
    const provider: Provider = PROVIDERS[name];
    const environment = {
      AZURE_RESOURCE_NAME: "mine",
      AWS_REGION: "eu-west-1",
      OPENAI_COMPATIBLE_BASE_URL: "https://own.example/v1",
      [provider.keyVariables.at(-1) ?? ""]: `${KEY}\n`,
    };
    const { url, headers } = await firstRequest(`${name}/some-model`, { environment });
    const sent = [...headers].filter(([key]) => key !== "content-type" && key !== "accept").map(([key, value]) => `${key}: ${value}`);
    told[name] = [url, ...sent].join(" | ");
  }
  const bearer = `authorization: Bearer ${KEY}`;
  expect(told).toEqual({
    openai: `https://api.openai.com/v1/responses | ${bearer}`,
    "openai-chat": `https://api.openai.com/v1/chat/completions | ${bearer}`,
    "openai-compatible": `https://own.example/v1/chat/completions | ${bearer}`,
    "azure-openai": `https://mine.openai.azure.com/openai/v1/chat/completions | api-key: ${KEY}`,
    anthropic: `https://api.anthropic.com/v1/messages | anthropic-version: 2023-06-01 | x-api-key: ${KEY}`,
    gemini: `https://generativelanguage.googleapis.com/v1beta/models/some-model:streamGenerateContent?alt=sse | x-goog-api-key: ${KEY}`,
    bedrock: `https://bedrock-runtime.eu-west-1.amazonaws.com/model/some-model/converse-stream | ${bearer}`,
    mistral: `https://api.mistral.ai/v1/chat/completions | ${bearer}`,
    cohere: `https://api.cohere.com/v2/chat | ${bearer}`,
    ollama: `http://127.0.0.1:11434/api/chat | ${bearer}`,
    deepseek: `https://api.deepseek.com/chat/completions | ${bearer}`,
    groq: `https://api.groq.com/openai/v1/chat/completions | ${bearer}`,
    xai: `https://api.x.ai/v1/chat/completions | ${bearer}`,
    openrouter: `https://openrouter.ai/api/v1/chat/completions | ${bearer}`,
    together: `https://api.together.xyz/v1/chat/completions | ${bearer}`,
    fireworks: `https://api.fireworks.ai/inference/v1/chat/completions | ${bearer}`,
    moonshot: `https://api.moonshot.ai/v1/chat/completions | ${bearer}`,
    zhipu: `https://api.z.ai/api/paas/v4/chat/completions | ${bearer}`,
    alibaba: `https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions | ${bearer}`,
    huggingface: `https://router.huggingface.co/v1/chat/completions | ${bearer}`,
    cerebras: `https://api.cerebras.ai/v1/chat/completions | ${bearer}`,
    vllm: `http://127.0.0.1:8000/v1/chat/completions | ${bearer}`,
    sglang: `http://127.0.0.1:30000/v1/chat/completions | ${bearer}`,
    "llama-cpp": `http://127.0.0.1:8080/v1/chat/completions | ${bearer}`,
    "lm-studio": `http://127.0.0.1:1234/v1/chat/completions | ${bearer}`,
  });
});

test("a local provider needs no key, and sends none", async () => {
  const { url, headers } = await firstRequest("ollama/llama3.2", { environment: { OLLAMA_HOST: "box:11434" } });
  expect([url, headers.get("authorization")]).toEqual(["http://box:11434/api/chat", null]);
});

test("a base URL from the environment is completed, and baseUrl is used unchanged", async () => {
  const environment = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: "https://gateway.example/" };
  const spec = { provider: "claude", model: "x" };
  const urls = [
    (await firstRequest(spec, { environment })).url,
    (await firstRequest(spec, { environment: { ...environment, ANTHROPIC_BASE_URL: "https://gateway.example/v1" } })).url,
    (await firstRequest({ ...spec, baseUrl: "https://own.example/x" }, { environment })).url,
  ];
  expect(urls).toEqual(["https://gateway.example/v1/messages", "https://gateway.example/v1/messages", "https://own.example/x/messages"]);
});

test("the name of a model consists of its provider's name and its own, unless name is given", () => {
  expect(modelFrom("google/gemini-3", { environment: { GEMINI_API_KEY: KEY } }).name).toBe("gemini/gemini-3");
  expect(modelFrom({ provider: "vllm", model: "a/b", name: "mine" }, NOWHERE).name).toBe("mine");
});

test("misspelt names suggest the provider", () => {
  expect([findNearProviders("gemni"), findNearProviders("openrooter"), findNearProviders("grok-2"), findNearProviders("zzzz")]).toEqual([
    ["gemini"],
    ["openrouter"],
    ["xai", "groq"],
    [],
  ]);
});
