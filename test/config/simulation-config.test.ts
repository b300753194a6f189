import { expect, describe, test } from "vitest";
import { load, problemsOf } from "./config-folder.ts";

const TOML = `[simulation]
model = "ollama/qwen3"
seed = 7
recording = "day.jsonl"
match = "nearest"
repeatLast = false
stubs = [{ tool = "wave", output = 1 }]
standIn = ["replay", "example"]
maxHistory = 5
maxHistoryChars = 1_000
candidates = 2
tries = 3
maxOutputTokens = 64
temperature = 0.5
instructions = "It is winter."
maxReplyChars = 2_000

[simulation.sources]
"shop::2" = "lm"
"shop::1" = ["cache", "replay", "example"]
"*" = "live"

[[simulation.faults]]
type = "latency"
probability = 0.5
tools = "shop::*"
delayMs = [5, 10]
`;
const YAML = `simulation:
  model: ollama/qwen3
  seed: 7
  recording: day.jsonl
  match: nearest
  repeatLast: false
  stubs: [{ tool: wave, output: 1 }]
  standIn: [replay, example]
  maxHistory: 5
  maxHistoryChars: 1000
  candidates: 2
  tries: 3
  maxOutputTokens: 64
  temperature: 0.5
  instructions: It is winter.
  maxReplyChars: 2000
  sources: { "shop::2": lm, "shop::1": [cache, replay, example], "*": live }
  faults: [{ type: latency, probability: 0.5, tools: "shop::*", delayMs: [5, 10] }]
`;
const READ = {
  model: { name: "ollama/qwen3" },
  lm: {
    maxHistory: 5,
    maxHistoryChars: 1000,
    candidates: 2,
    tries: 3,
    maxOutputTokens: 64,
    temperature: 0.5,
    instructions: "It is winter.",
    maxReplyChars: 2000,
  },
  seed: 7,
  recording: { recording: "day.jsonl", match: "nearest", repeatLast: false },
  stubs: [{ tool: "wave", output: 1 }],
  sources: [
    { tools: "shop::2", from: ["lm"] },
    { tools: "shop::1", from: ["cache", "replay", "example"] },
    { tools: "*", from: ["live"] },
  ],
  standIn: ["replay", "example"],
  faults: [{ type: "latency", probability: 0.5, tools: "shop::*", delayMs: [5, 10] }],
};

test.each([
  ["haft.toml", TOML],
  ["haft.yaml", YAML],
  [
    "haft.json",
    JSON.stringify({
      simulation: {
        ...READ,
        ...READ.lm,
        model: "ollama/qwen3",
        lm: undefined,
        ...READ.recording,
        sources: { "shop::2": "lm", "shop::1": ["cache", "replay", "example"], "*": "live" },
      },
    }),
  ],
])("DESIGN 5 the whole table is read from %s, with the rules in the order of the file", async (name, text) => {
  expect((await load(name, text)).config.simulation).toEqual(READ);
});

test("an empty table sets nothing, and without a table simulation is undefined", async () => {
  expect((await load("haft.toml", "[simulation]\n")).config.simulation).toEqual({
    lm: {},
    sources: [],
    faults: [],
  });
  expect((await load("haft.toml", "")).config.simulation).toBeUndefined();
});

describe("an invalid simulation table is an error with its place", () => {
  test.each([
    ["a key by its old name", "simulation.rungs = 1", '1:1: simulation.rungs: unknown key. Did you mean "sources"?'],
    ["an unknown key", "simulation.source = 1", '1:1: simulation.source: unknown key. Did you mean "sources"?'],
    [
      "a model without provider",
      'simulation.model = "gpt-5"',
      '1:1: simulation.model: must be provider and model with a slash between them, not "gpt-5".',
    ],
    [
      "a model with a key in it",
      '[simulation.model]\nname = "a/b"\napiKey = "sk-canary"',
      "3:1: simulation.model.apiKey: must name an environment variable that holds the key",
    ],
    [
      "a source that is none",
      '[simulation.sources]\n"a::*" = "lmm"',
      '2:1: simulation.sources["a::*"]: it names the source "lmm". Known sources: live, record, replay, cache, lm, example, stub.',
    ],
    ["no source", '[simulation.sources]\n"a::*" = []', '2:1: simulation.sources["a::*"]: it names no source.'],
    [
      "a source of another kind",
      '[simulation.sources]\n"a::*" = 5',
      '2:1: simulation.sources["a::*"]: it names the source of type number.',
    ],
    [
      "live beside others",
      '[simulation.sources]\n"a::*" = ["lm", "live"]',
      '2:1: simulation.sources["a::*"]: it names live together with others',
    ],
    [
      "a pattern that fits no tool",
      '[simulation.sources]\nshop = "lm"',
      '2:1: simulation.sources.shop: "sources" has the pattern "shop", which matches no tool',
    ],
    ["sources that are no table", 'simulation.sources = "lm"', "1:1: simulation.sources: must be an object, not a string."],
    [
      "a live stand-in",
      'simulation.standIn = "live"',
      "1:1: simulation.standIn: names live, but a simulation does not fall back to real answers.",
    ],
    [
      "a way to match nothing",
      'simulation.match = "nearest"',
      "1:1: simulation.match: says how a recording is replayed, and there is none.",
    ],
    [
      "a fault without probability",
      '[[simulation.faults]]\ntype = "timeout"',
      'simulation.faults[0]: "probability" is missing: how likely it hits a call, from 0 to 1.',
    ],
    [
      "F0.47 a probability of no number",
      '[[simulation.faults]]\ntype = "timeout"\nprobability = nan',
      "simulation.faults[0].probability: must be a number from 0 to 1, not NaN.",
    ],
    [
      "F0.47 a type of one's own",
      '[[simulation.faults]]\ntype = "my_error"\nprobability = 1',
      "simulation.faults[0].type: must be one of ",
    ],
    [
      "a stub that is none",
      'simulation.stubs = [{ tool = "a" }, 5]',
      "1:1: simulation.stubs: stubs[0] must have either an output or an error.",
    ],
    [
      "a variable in a path",
      'simulation.recording = "${HOME}/a.jsonl"',
      "1:1: simulation.recording: the variable HOME is not allowed in a path; name it under allow in variables.",
    ],
    ["a seed that is none", "simulation.seed = {}", "1:1: simulation.seed: must be an integer or a string, not an object."],
    ["a bound of the model", "simulation.candidates = 17", "1:1: simulation.candidates: must be an integer from 1 to 16, not 17."],
  ])("%s", async (_what, text, problem) => {
    const lines = await problemsOf("haft.toml", text);
    expect(lines[0]).toContain(problem);
    expect(lines.join()).not.toContain("canary");
  });
});
