import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { configuredRuntime } from "../../src/config/config.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { startProviderServer, type ProviderServer, type ProviderServerOptions } from "../model/provider-server.ts";
import { configFolder, load, problemsOf } from "./config-folder.ts";

const TOOLS = `tools:
  registry:
    - type: inline
      namespace: shop
      engine: sim
      tools:
        - { name: stock, description: Counts., output_parameters: { type: object, properties: { count: { type: integer } }, required: [count] } }
    - { type: inline, namespace: office, engine: hands, tools: [{ name: wave, description: Waves. }] }
  engines:
    hands: { type: parrot }
`;
const EXTENSIONS = { engines: { parrot: () => ({ kind: "parrot", call: () => "wave" }) } };

/** A file with one engine `sim`. */
const withEngine = (lines: string): string => `${TOOLS}    sim: { type: lm, ${lines} }\n`;

async function runtimeOf(text: string, environment: Readonly<Record<string, string>> = {}): Promise<Runtime> {
  const folder = configFolder({ "haft.yaml": text });
  const options = await configuredRuntime(join(folder, "haft.yaml"), { environment, extensions: EXTENSIONS });
  const runtime = createRuntime({ ...options, ports: fakePorts() });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  return runtime;
}

/** None where there are none. */
async function problemsOr(text: string): Promise<readonly string[]> {
  return await load("haft.yaml", text).then(
    () => [],
    () => problemsOf("haft.yaml", text),
  );
}

async function provider(options: ProviderServerOptions): Promise<ProviderServer> {
  const server = await startProviderServer(options);
  onTestFinished(() => server.close());
  return server;
}

describe("F0.47 an invalid lm engine is an error with its place", () => {
  test.each([
    ["no model", "", '11:5: tools.engines.sim: "model" is missing: provider and model, or an object as [model].'],
    [
      "a model without provider",
      "model: gpt-5",
      'tools.engines.sim.model: must be provider and model with a slash between them, not "gpt-5".',
    ],
    [
      "a model of another kind",
      "model: 5",
      'tools.engines.sim.model: must be provider and model, such as "ollama/qwen3", or an object as [model], not a number.',
    ],
    [
      "both words for a model",
      "model: a/b, lm_config: { type: ollama, model_id_or_path: m }",
      "tools.engines.sim.model: duplicates lm_config; keep one of them.",
    ],
    ["lm_config that is not a table", "lm_config: ollama", "tools.engines.sim.lm_config: must be an object, not a string."],
    [
      "lm_config without a model",
      "lm_config: { type: ollama }",
      'tools.engines.sim.lm_config: "model_id_or_path" is missing: the model, as the provider names it.',
    ],
    [
      "a provider that is not known",
      "lm_config: { type: rits, model_id_or_path: m }",
      'tools.engines.sim.lm_config.type: no provider "rits" is known. A server that speaks Chat Completions is "openai" with its base_url; any other needs an engine of an extension.',
    ],
    [
      "a misspelt provider",
      "lm_config: { type: olama, model_id_or_path: m }",
      'tools.engines.sim.lm_config.type: no provider "olama" is known. Did you mean "ollama"?',
    ],
    [
      "a key in the file",
      "lm_config: { type: openai, model_id_or_path: m, api_key: sk-canary }",
      "tools.engines.sim.lm_config.api_key: must name an environment variable that holds the key",
    ],
    [
      "an address that is none",
      "lm_config: { type: ollama, model_id_or_path: m, base_url: localhost }",
      'tools.engines.sim.lm_config.base_url: must be an address that begins with http:// or https://, not "localhost".',
    ],
    [
      "two words for one thing",
      "lm_config: { type: ollama, model_id_or_path: m, max_tokens: 5, max_new_tokens: 5 }",
      "tools.engines.sim.lm_config.max_tokens: duplicates max_new_tokens; remove one of them.",
    ],
    [
      "a temperature",
      "lm_config: { type: ollama, model_id_or_path: m, temperature: 3 }",
      "tools.engines.sim.lm_config.temperature: must be a number from 0 to 2, not 3.",
    ],
    [
      "what the provider cannot be told",
      "lm_config: { type: anthropic, model_id_or_path: m, seed: 3 }",
      "tools.engines.sim.lm_config.seed: is not supported by anthropic; leave it out.",
    ],
    [
      "a key that is something else here",
      "lm_config: { type: ollama, model_id_or_path: m, call_limit: 3 }",
      "tools.engines.sim.lm_config.call_limit: is not supported here; set maxConcurrent of a toolset.",
    ],
    [
      "an unknown key",
      "lm_config: { type: ollama, model_id_or_path: m, temprature: 1 }",
      'tools.engines.sim.lm_config.temprature: unknown key. Did you mean "temperature"?',
    ],
    ["a bound", "model: ollama/m, tries: 11", "tools.engines.sim.tries: must be an integer from 1 to 10, not 11."],
    [
      "a probability above one",
      "model: ollama/m, error_categories: [{ type: network_error, probability: 1.5 }]",
      "11:81: tools.engines.sim.error_categories[0].probability: must be a number from 0 to 1, not 1.5.",
    ],
    [
      "a probability below zero",
      "model: ollama/m, error_categories: [{ type: network_error, probability: -0.1 }]",
      "tools.engines.sim.error_categories[0].probability: must be a number from 0 to 1, not -0.1.",
    ],
    [
      "a probability that is a text",
      "model: ollama/m, error_categories: [{ type: network_error, probability: often }]",
      "tools.engines.sim.error_categories[0].probability: must be a number from 0 to 1, not a string.",
    ],
    [
      "a type of error that is not there",
      "model: ollama/m, error_categories: [{ type: netwrk_error, probability: 1 }]",
      "tools.engines.sim.error_categories[0].type: must be one of ",
    ],
    [
      "errors that are no list",
      "model: ollama/m, error_categories: network_error",
      "tools.engines.sim.error_categories: must be an array of objects, not a string.",
    ],
    ["a seed that is none", "model: ollama/m, seed: 1.5", "tools.engines.sim.seed: must be an integer from "],
  ])("F0.47 %s", async (_what, lines, problem) => {
    const [first = ""] = await problemsOf("haft.yaml", withEngine(lines));
    expect(first).toMatch(/^haft\.yaml:11:\d+: /u);
    expect(first).toContain(problem);
    expect(first).not.toContain("canary");
  });
});

describe("F0.40 an lm engine", () => {
  test.each([
    ["ollama", "granite3.3:8b", "ollama/granite3.3:8b"],
    ["Google", "gemini-3-pro", "gemini/gemini-3-pro"],
    ["openai", "gpt-5", "openai-chat/gpt-5"],
    ["azure-openai", "gpt-5", "azure-openai/gpt-5"],
    ["vllm-remote", "ibm/granite", "vllm/ibm/granite"],
  ])("F0.56 the type %s of lm_config with model %s is %s", async (type, id, name) => {
    const { config } = await load("haft.yaml", withEngine(`lm_config: { type: ${type}, model_id_or_path: "${id}" }`));
    expect(config.engines.get("sim")).toMatchObject({ type: "lm", model: { name } });
  });

  test("F0.56 every key of lm_config reaches the provider under its own name", async () => {
    const { url, requests } = await provider({ format: "ollama", script: [{ text: '{"count": 3}' }] });
    const keys = `type: ollama, model_id_or_path: m, base_url: "${url}", temperature: 0.5, num_predict: 64, seed: 7, top_p: 0.9, stop_sequences: END`;
    const runtime = await runtimeOf(withEngine(`lm_config: { ${keys} }`));

    expect(await runtime.execute({ name: "shop::stock", input: {} })).toMatchObject({
      status: "ok",
      output: { count: 3 },
      origin: "simulated",
    });
    expect(requests.map(({ body }) => [body["model"], body["options"]])).toEqual([
      ["m", { temperature: 0.5, num_predict: 64, seed: 7, top_p: 0.9, stop: ["END"] }],
    ]);
  });

  test.each([
    ["openai", { seed: 1, stop: ["a"], top_p: 0.5, frequency_penalty: 1, presence_penalty: -1 }],
    ["gemini", { generationConfig: { seed: 1, stopSequences: ["a"], topP: 0.5, topK: 4, frequencyPenalty: 1, presencePenalty: -1 } }],
    ["anthropic", { stop_sequences: ["a"], top_p: 0.5, top_k: 4 }],
    ["mistral", { random_seed: 1, stop: ["a"], top_p: 0.5, frequency_penalty: 1, presence_penalty: -1 }],
    ["cohere", { seed: 1, stop_sequences: ["a"], p: 0.5, k: 4, frequency_penalty: 1, presence_penalty: -1 }],
    ["vllm", { seed: 1, stop: ["a"], top_p: 0.5, top_k: 4, frequency_penalty: 1, presence_penalty: -1 }],
  ])("F0.56 sampling settings that %s supports are sent under its names, and others are refused", async (type, native) => {
    const keys = { seed: "1", stop: "[a]", top_p: "0.5", top_k: "4", frequency_penalty: "1", presence_penalty: "-1" };
    const config = (names: readonly string[]): string =>
      withEngine(
        `lm_config: { type: ${type}, model_id_or_path: m, ${names.map((name) => `${name}: ${String(Reflect.get(keys, name))}`).join(", ")} }`,
      );
    const refused = new Set(
      (await problemsOr(config(Object.keys(keys)))).map((line) => /lm_config\.(\w+): is not supported by/u.exec(line)?.[1]),
    );
    const taken = Object.keys(keys).filter((name) => !refused.has(name));
    expect((await load("haft.yaml", config(taken))).config.engines.get("sim")).toMatchObject({ native });
  });

  test("F0.42 an OpenAI-compatible server is asked for several replies with the schema, and never sent the OpenAI key", async () => {
    const { url, requests } = await provider({ format: "openai-chat", script: [{ text: '{"count": 3}' }] });
    const runtime = await runtimeOf(
      withEngine(`lm_config: { type: openai, model_id_or_path: org/m, base_url: "${url}", n: 8, max_new_tokens: 64 }`),
      {
        OPENAI_API_KEY: "sk-canary",
      },
    );

    expect(await runtime.execute({ name: "shop::stock", input: {} })).toMatchObject({ status: "ok", output: { count: 3 } });
    const [{ body, headers } = { body: {}, headers: {} }] = requests;
    expect(body).toMatchObject({ model: "org/m", n: 8, max_tokens: 64, response_format: { type: "json_schema" } });
    expect(headers).not.toHaveProperty("authorization");
  });

  test("F0.40 a model object like [model] uses the Haft key names, with the API key from a variable", async () => {
    const { url, requests } = await provider({ format: "openai-chat", key: "the-key", script: [{ text: '{"count": 3}' }] });
    const model = `{ name: groq/m, baseUrl: "${url}", apiKey: "env:MY_KEY", temperature: 0.1, maxOutputTokens: 9 }`;
    const runtime = await runtimeOf(withEngine(`model: ${model}, temperature: 0.7, instructions: "It is winter."`), { MY_KEY: "the-key" });

    expect(await runtime.execute({ name: "shop::stock", input: {} })).toMatchObject({ status: "ok", output: { count: 3 } });
    expect(
      requests.map(({ body }) => [body["temperature"], body["max_completion_tokens"], JSON.stringify(body).includes("It is winter.")]),
    ).toEqual([[0.7, 9, true]]);
  });

  test.each([
    [
      "a key that is not set",
      "model: mistral/small",
      'There is no API key for mistral. Set MISTRAL_API_KEY, or name the variable that holds the key in the configuration: tools.engines.sim.model.apiKey = "env:NAME".',
    ],
    [
      "a variable that is not set",
      "lm_config: { type: groq, model_id_or_path: m, api_key: env:NONE }",
      "tools.engines.sim.lm_config.api_key: the environment variable NONE is not set.",
    ],
    ["a provider that is not known", "model: opnai/gpt", 'No provider "opnai". Did you mean "openai"'],
    [
      "an address that is missing",
      "model: openai-compatible/m",
      "The provider openai-compatible has no default address. Set baseUrl or OPENAI_COMPATIBLE_BASE_URL.",
    ],
  ])("F0.58 %s makes only its own toolsets unavailable, with the reason and its place", async (_what, lines, reason) => {
    const runtime = await runtimeOf(withEngine(lines));
    const report = await runtime.open();

    expect(report.failed.map(({ toolset, error }) => [toolset, error.code])).toEqual([["shop", "unavailable"]]);
    const [{ error } = { error: undefined }] = report.failed;
    expect(error?.message).toMatch(/^Engine "sim" cannot be used: \S+haft\.yaml:11:\d+: tools\.engines\.sim\.(model|lm_config): /u);
    expect(error?.message).toContain(reason);
    expect(await runtime.execute({ name: "office::wave", input: {} })).toMatchObject({ status: "ok" });
    expect(await runtime.execute({ name: "shop::stock", input: {} })).toMatchObject({ error: { code: "unavailable" } });
  });
});

describe("F0.47 error_categories", () => {
  const always = (type: string, more = ""): string => `error_categories: [{ type: ${type}, probability: 1${more} }]`;

  test.each([
    [
      "network_error",
      ', message: "Connection timed out"',
      0,
      { status: "error", fault: "network_error", error: { message: "Connection timed out", retryable: false } },
    ],
    [
      "schema_violation",
      "",
      undefined,
      { status: "error", fault: "schema_violation", error: { message: "Tool execution failed", retryable: false } },
    ],
    [
      "rate_limited",
      "",
      undefined,
      { status: "error", fault: "rate_limited", error: { message: expect.stringContaining("too many requests"), retryable: false } },
    ],
    ["unparseable_result", "", undefined, { status: "ok", fault: "unparseable_result", output: expect.stringMatching(/^<garbled/u) }],
  ])("F0.47 %s in YAML with probability 1 is injected into each call", async (type, more, asked, result) => {
    const { url, requests } = await provider({ format: "ollama", script: [{ text: '{"count": 3}' }] });
    const runtime = await runtimeOf(withEngine(`model: ollama/m, ${always(type, more)}`), { OLLAMA_HOST: url });

    expect(await runtime.execute({ name: "shop::stock", input: {} })).toMatchObject({ ...result, attempts: 1 });
    if (asked !== undefined) expect(requests).toHaveLength(asked);
    expect(await runtime.execute({ name: "office::wave", input: {} })).not.toHaveProperty("fault");
  });

  test("F0.46 belong to an engine of any type, extensions included, and apply to every toolset that uses it", async () => {
    const text = `tools:
  - { type: inline, namespace: a, engine: hands, tools: [{ name: x, description: X. }] }
  - { type: made, namespace: b, engine: hands }
engines:
  hands: { type: parrot, seed: 5, ${always("network_error")} }
`;
    const folder = configFolder({ "haft.yaml": text });
    const seen: unknown[] = [];
    const engine = { kind: "parrot", call: () => "wave" };
    const options = await configuredRuntime(join(folder, "haft.yaml"), {
      extensions: {
        engines: {
          parrot: (keys) => {
            seen.push(keys);
            return engine;
          },
        },
        sources: {
          made: () => ({
            name: "b",
            load: async () => [{ name: "b", engine, tools: [{ name: "y", description: "Y.", inputSchema: {} }] }],
          }),
        },
      },
    });
    await using runtime = createRuntime({ ...options, ports: fakePorts() });
    await runtime.open();

    expect(await runtime.execute([{ name: "a::x" }, { name: "b::y" }])).toMatchObject([
      { fault: "network_error" },
      { fault: "network_error" },
    ]);
    expect(seen).toEqual([{ seed: 5 }]);
  });

  test("F0.46 of an engine with a server apply to the server's tools, and those of a model to the tools it plays", async () => {
    const text = `tools:
  - { type: mcp, url: "http://127.0.0.1:1/mcp", namespace: real, engine: live }
  - { type: mcp, url: "http://127.0.0.1:1/mcp", namespace: played, engine: sim }
engines:
  live: { type: mcp, ${always("latency")} }
  sim: { type: lm, model: ollama/m, seed: x, ${always("timeout")} }
`;
    const folder = configFolder({ "haft.yaml": text });
    const { toolsets = [], sources = [] } = await configuredRuntime(join(folder, "haft.yaml"), { environment: {} });
    expect(toolsets.map(({ name, faults }) => [name, faults])).toEqual([
      ["real", { rules: [{ type: "latency", probability: 1, retryable: false }] }],
    ]);
    expect(sources.map(({ name }) => name)).toEqual(["played"]);
  });
});
