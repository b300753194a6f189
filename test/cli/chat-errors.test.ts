import { describe, expect, test } from "vitest";
import { CANARY, chatProject } from "./chat-project.ts";

describe("errors of the provider", () => {
  const LIMITED = { status: 429, message: "Slow down.", headers: { "retry-after-ms": "1" } };

  test.each([
    [
      "401 names the variable of the key",
      { status: 401, message: "Bad key." },
      6,
      "permission_denied: openai-chat/gpt-x answered HTTP 401 (error): Bad key.\n  The key is that of env:MODEL_KEY",
    ],
    [
      "404",
      { status: 404, message: "No model gpt-x." },
      4,
      "not_found: openai-chat/gpt-x answered HTTP 404 (error, model_not_found): No model gpt-x.\n  Check the name of the model and the base URL.",
    ],
    ["500", { status: 500, message: "Oops." }, 6, "unavailable: openai-chat/gpt-x answered HTTP 500 (error): Oops."],
    [
      "a web page",
      { raw: "<!doctype html><title>Sign in</title>", status: 200, headers: { "content-type": "text/html" } },
      1,
      "model_failed: ",
    ],
    [
      "a stream that is cut",
      { text: "One two three", delivery: { after: { pieces: 3, then: "reset" } } },
      1,
      "model_failed: The model's message is incomplete",
    ],
    [
      "a stream that ends early",
      { text: "One two three", delivery: { after: { pieces: 3, then: "end" } } },
      1,
      "model_failed: The model's message is incomplete",
    ],
  ] as const)("%s", async (_name, answer, expected, message) => {
    const project = await chatProject({ script: [answer, { text: "Here." }], model: "maxAttempts = 1\n" });
    const failed = await project.haft(["chat"], { input: "Go." });
    expect(failed.stdout).toContain(`\nhaft: ${message}`);
    expect(failed.exitCode).toBe(expected);
    const { exitCode, stdout } = await project.haft(["chat"], { types: ["Go."] });
    expect([exitCode, stdout.includes("\nmodel   Here.\n")]).toEqual([0, true]);
  });

  test("retries are shown", async () => {
    const project = await chatProject({ script: [LIMITED, { text: "Here." }] });
    const { exitCode, stdout, stderr } = await project.haft(["chat"], { types: ["Go.", "/usage"] });
    expect([exitCode, stderr]).toEqual([
      0,
      "haft: openai-chat/gpt-x: attempt 1 failed, next in # ms: openai-chat/gpt-x answered HTTP 429 (error): Slow down.\n",
    ]);
    expect(stdout).toContain("openai-chat/gpt-x: 1 request, 1 retry, 10 tokens in, 5 out\n");
  });

  test("a rate limit that outlasts the longest wait is reported with its duration", async () => {
    const project = await chatProject({ script: [{ ...LIMITED, headers: { "retry-after": "3600" } }] });
    const { exitCode, stdout } = await project.haft(["chat"], { input: "Go." });
    expect([exitCode, stdout]).toEqual([7, expect.stringContaining("Slow down.\n  It may be tried again in 60 min.\n")]);
  });

  test("an empty reply of the model is reported, and the exit code is 0", async () => {
    const project = await chatProject({ script: [{ text: "" }] });
    const { exitCode, stdout } = await project.haft(["chat"], { input: "Go." });
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("the model said nothing")]);
  });

  test("an unreachable server is reported as a network error", async () => {
    const project = await chatProject({ script: [], model: "maxAttempts = 1\n" });
    await project.server.close();
    const { exitCode, stdout } = await project.haft(["chat"], { input: "Go." });
    expect([exitCode, stdout]).toEqual([7, expect.stringMatching(/\nhaft: network_error: .* nothing accepts connections there/u)]);
  });

  test("the API key appears in no output, whatever the provider answers", async () => {
    const project = await chatProject({ key: "another", script: [] });
    const refused = [await project.haft(["chat"], { input: "Go." }), await project.haft(["chat", "--json"], { input: "Go." })];
    const echoed = await chatProject({ script: [{ status: 400, message: `Bad header: Bearer ${CANARY}` }] });
    const all = [...refused, await echoed.haft(["chat"], { input: "Go." })];
    expect(all.map(({ exitCode }) => exitCode)).toEqual([6, 6, 1]);
    expect(JSON.stringify(all)).not.toContain(CANARY);
  });
});

describe("choice of the model", () => {
  test("without a model, the error says how to name one and which API keys are set", async () => {
    const broken = '[toolsets.server]\ntype = "mcp"\ncommand = "/no/such/program"\n'; // is not even started
    const project = await chatProject({ script: [], files: { "none.toml": broken } });
    expect(await project.haft(["chat"], { config: "none.toml", environment: { OPENAI_API_KEY: "k" } })).toEqual({
      exitCode: 3,
      stdout: "",
      stderr: `haft: invalid_config: No model is named. Keys are set for openai, openai-chat.
  Name one: --model anthropic/claude-sonnet-5, or model.name = "ollama/qwen3" in the configuration.
`,
    });
  });

  test.each([
    ["an unknown provider", ["--model", "opnai/gpt"], {}, 2, 'invalid_argument: No provider "opnai". Did you mean "openai"'],
    [
      "a model without a provider",
      ["--model", "gpt-5"],
      {},
      2,
      'invalid_argument: "gpt-5" does not name a provider.\n  Write provider/model, such as anthropic/claude-sonnet. Providers: openai, ',
    ],
    ["a provider without a model", ["--model", "openai"], {}, 2, "invalid_argument: "],
    [
      "a missing key",
      ["--model", "mistral/small"],
      {},
      3,
      'invalid_config: There is no API key for mistral.\n  Set MISTRAL_API_KEY, or name the variable that holds the key in the configuration: model.apiKey = "env:NAME".',
    ],
    [
      "a variable that is not set",
      [],
      { MODEL_KEY: undefined },
      3,
      "invalid_config: model.apiKey: the environment variable MODEL_KEY is not set.",
    ],
  ] as const)("%s", async (_name, args, environment, expected, message) => {
    const project = await chatProject({ script: [] });
    const { exitCode, stderr } = await project.haft(["chat", ...args], { environment });
    expect([exitCode, stderr]).toEqual([expected, expect.stringContaining(`haft: ${message}`)]);
  });

  test("--reasoning-effort overrides the configuration, and an unknown value is refused", async () => {
    const project = await chatProject({ script: [{ text: "Here." }, { text: "Here." }], model: 'reasoningEffort = "high"\n' });
    await project.haft(["chat"], { input: "Go." });
    await project.haft(["chat", "--reasoning-effort", "low"], { input: "Go." });
    expect(project.server.requests.map(({ body }) => body["reasoning_effort"])).toEqual(["high", "low"]);
    const { exitCode, stderr } = await project.haft(["chat", "--reasoning-effort", "hihg"]);
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining('--reasoning-effort is "hihg"; it takes one of "none", "minimal", "low", "medium", "high", "xhigh", "max".'),
    ]);
  });

  test("another model of the configured provider uses the same connection settings", async () => {
    const project = await chatProject({ script: [{ text: "Here." }], model: "temperature = 1.5\n" });
    const { stdout } = await project.haft(["chat", "--model", "openai-chat/gpt-y"], { input: "Go." });
    expect(stdout).toContain("\nmodel   Here.\n");
    expect(project.server.requests.map(({ body: { model, temperature } }) => ({ model, temperature }))).toEqual([{ model: "gpt-y" }]);
  });
});
