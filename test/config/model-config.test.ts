import { describe, expect, test } from "vitest";
import { load, problemsOf } from "./config-folder.ts";

describe("problems", () => {
  test.each([
    ["no name", "[model]\n", '1:2: model: "name" is missing: provider and model, such as "anthropic/claude-sonnet-5".'],
    [
      "a model without provider",
      'model.name = "gpt-5"',
      '1:1: model.name: must be provider and model with a slash between them, not "gpt-5".',
    ],
    [
      "a key in the file",
      '[model]\nname = "a/b"\napiKey = "sk-canary"',
      "3:1: model.apiKey: must name an environment variable that holds the key, such as env:ANTHROPIC_API_KEY: a key does not belong in a file.",
    ],
    [
      "an address that is none",
      '[model]\nname = "a/b"\nbaseUrl = "localhost:11434"',
      '3:1: model.baseUrl: must be an address that begins with http:// or https://, not "localhost:11434".',
    ],
    [
      "half a price",
      '[model]\nname = "a/b"\nprices.inputPerMillion = 1',
      '3:1: model.prices: "outputPerMillion" is missing: the price of a million tokens.',
    ],
    [
      "a reasoning effort",
      '[model]\nname = "a/b"\nreasoningEffort = "hihg"',
      '3:1: model.reasoningEffort: must be one of "none", "minimal", "low", "medium", "high", "xhigh", "max", not "hihg". Did you mean "high"?',
    ],
    ["a temperature", '[model]\nname = "a/b"\ntemperature = 3', "3:1: model.temperature: must be a number from 0 to 2, not 3."],
    [
      "delimiters without an end",
      '[model]\nname = "a/b"\n[model.textFormat]\nstart = "<<"\nslash = "opens"\narguments = "lines"',
      '3:2: model.textFormat: "end" is missing',
    ],
    [
      "an empty delimiter",
      '[model]\nname = "a/b"\ntextFormat = { start = "", end = ">", slash = "opens", arguments = "lines" }',
      "model.textFormat.start: must not be empty",
    ],
    [
      "a slash that means nothing",
      '[model]\nname = "a/b"\ntextFormat = { start = "<", end = ">", slash = "both", arguments = "lines" }',
      'model.textFormat.slash: must be one of "opens", "closes"',
    ],
    ["no rounds", "loop.maxRounds = 0", "1:1: loop.maxRounds: must be an integer from 1, not 0."],
    ["a word of seed 003", "loop.maxIterations = 5", "1:1: loop.maxIterations: unknown key."],
    [
      "a limit that warns too late",
      "loop.budget.calls = { soft = 5, hard = 4 }",
      "1:23: loop.budget.calls.soft: must not be above hard, which is 4, but is 5.",
    ],
    [
      "an axis that is none",
      "loop.budget.dollars = { hard = 4 }",
      "1:1: loop.budget.dollars: unknown key. Known keys: rounds, wallMs, calls, tokens, cost.",
    ],
  ])("%s", async (_what, text, problem) => {
    const [first = ""] = await problemsOf("haft.toml", text);
    expect(first).toContain(problem);
    expect(first).not.toContain("canary");
  });
});

test("every key of a model is read, with the API key as the name of a variable that may be unset", async () => {
  const { config } = await load(
    "haft.toml",
    [
      "[model]",
      'name = "ollama/qwen3"',
      'baseUrl = "http://127.0.0.1:11434"',
      'apiKey = "env:NOT_SET_ANYWHERE"',
      'textFormat = "bracket"',
      'bodyArguments = { "files::list" = "path" }',
      "prices = { inputPerMillion = 3, outputPerMillion = 15 }",
      "[loop]",
      'system = "Be brief."',
      "budget.calls = { soft = 3, hard = 4 }",
    ].join("\n"),
  );
  expect({ model: config.model, loop: config.loop }).toEqual({
    model: {
      name: "ollama/qwen3",
      baseUrl: "http://127.0.0.1:11434",
      apiKey: "env:NOT_SET_ANYWHERE",
      textFormat: "bracket",
      bodyArguments: { "files::list": "path" },
      prices: { inputPerMillion: 3, outputPerMillion: 15 },
    },
    loop: { system: "Be brief.", budget: { calls: { soft: 3, hard: 4 } } },
  });
});
