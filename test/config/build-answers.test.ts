import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { buildAnswers, type AnswerBuildOptions } from "../../src/config/build/build-answers.ts";
import { configuredRuntime } from "../../src/config/config.ts";
import { loadConfig, type LoadedConfig } from "../../src/config/load-config.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import { readOnly } from "../../src/core/resources/effects.ts";
import { writeRecording } from "../../src/core/recording/recording.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { startProviderServer } from "../model/provider-server.ts";
import { configError, configFolder } from "./config-folder.ts";

async function loaded(
  lines: string,
  files: Readonly<Record<string, string>> = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<LoadedConfig> {
  const folder = configFolder({ "haft.toml": lines, ...files });
  return await loadConfig(join(folder, "haft.toml"), { environment });
}

const SCHEMA = { type: "object", properties: { count: { type: "integer" } }, required: ["count"] };

/** A shop with two tools that answer -1 and -2 when they are live. */
async function shop(config: LoadedConfig, options: AnswerBuildOptions = {}): Promise<Runtime> {
  const { answers, faults } = await buildAnswers(config, options);
  const tools = ["stock", "order"].map((name, index) => ({
    name,
    description: "",
    inputSchema: {},
    outputSchema: SCHEMA,
    effects: index === 0 ? readOnly() : { writes: ["orders"] },
    execute: () => ({ count: -1 - index }),
  }));
  const runtime = createRuntime({
    toolsets: [{ name: "shop", tools }],
    answers,
    ports: fakePorts(),
    ...(faults === undefined ? {} : { faults }),
  });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  return runtime;
}

/** A recording in which the shop has 12 of a thing. */
async function recorded(): Promise<string> {
  await using runtime = createRuntime({
    ports: fakePorts(),
    toolsets: [{ name: "shop", tools: [{ name: "stock", description: "", inputSchema: {}, execute: () => ({ count: 12 }) }] }],
  });
  await runtime.open();
  const session = runtime.session();
  await session.execute([{ name: "shop::stock" }]);
  let text = "";
  for await (const line of writeRecording(session.events(), { sessionId: session.id, exportedAt: 0 })) text += line;
  return text;
}

const whoOf = async (runtime: Runtime): Promise<readonly unknown[]> =>
  (await runtime.execute([{ name: "shop::stock" }, { name: "shop::order" }])).map(({ origin, answeredBy = origin }) => answeredBy);

/** What is wrong, without the folder before the name of the file. */
async function problems(config: LoadedConfig, options: AnswerBuildOptions = {}): Promise<readonly string[]> {
  const { details } = await configError(buildAnswers(config, options));
  return details.map((line) => line.replaceAll(`${config.folder}/`, ""));
}

const STUBS = 'stubs = [{ tool = "shop::stock", output = { count = 3 } }]';

describe("DESIGN 5 answer sources", () => {
  test("the file assigns sources by pattern, the first match wins, and all other tools are live", async () => {
    const config = await loaded(`[simulation]\n${STUBS}\n[simulation.sources]\n"shop::stock" = "stub"\n"shop::st*" = "live"\n`);
    expect(await whoOf(await shop(config))).toEqual(["stub", "live"]);
  });

  test("a source without an answer falls through to the next of its rule", async () => {
    const config = await loaded(`[simulation]\n${STUBS}\n[simulation.sources]\n"*" = ["stub", "example"]\n`);
    expect(await whoOf(await shop(config))).toEqual(["stub", "example"]);
  });

  test("override comes before the sources of the file, and otherwise after them", async () => {
    const config = await loaded(`[simulation]\n${STUBS}\n[simulation.sources]\n"shop::stock" = "stub"\n`);
    expect(await whoOf(await shop(config, { override: "example" }))).toEqual(["example", "example"]);
    expect(await whoOf(await shop(config, { otherwise: "example" }))).toEqual(["stub", "example"]);
    expect(await whoOf(await shop(config, { override: "live", otherwise: "example" }))).toEqual(["live", "live"]);
    expect(await whoOf(await shop(await loaded(""), { otherwise: ["cache", "example"] }))).toEqual(["example", "example"]);
  });

  test("the recording is that of the file, or one passed instead as a path or as text", async () => {
    const text = await recorded();
    const sources = '[simulation.sources]\n"shop::stock" = "replay"\n';
    const config = await loaded(`[simulation]\nrecording = "day.jsonl"\nmatch = "nearest"\n${sources}`, { "day.jsonl": text });
    const call = { name: "shop::stock", input: { id: 5 } };
    expect(await (await shop(config)).execute(call)).toMatchObject({ output: { count: 12 }, origin: "replay" });
    expect(await (await shop(config, { match: "strict" })).execute(call)).toMatchObject({ error: { code: "not_found" } });
    const bare = await loaded(`[simulation]\n${sources}`);
    const given = [text, join(config.folder, "day.jsonl")];
    for (const recording of given)
      expect(await (await shop(bare, { recording })).execute({ name: "shop::stock" })).toMatchObject({ output: { count: 12 } });
  });

  test("F0.40 lm uses the model of the simulation, or else that of [model], with its settings", async () => {
    const ollama = await startProviderServer({ format: "ollama", script: [{ text: '{"count": 8}' }] });
    onTestFinished(() => ollama.close());
    const sources = '[simulation.sources]\n"*" = "lm"\n';
    const own = await loaded(`[simulation]\nmodel = "ollama/own"\ninstructions = "It is winter."\ntemperature = 0.25\n${sources}`);
    const environment = { OLLAMA_HOST: ollama.url };
    expect(await (await shop(own, { environment })).execute({ name: "shop::stock" })).toMatchObject({
      output: { count: 8 },
      answeredBy: "lm",
    });
    const shared = await loaded(`[model]\nname = "ollama/shared"\n${sources}`, {}, environment);
    expect(await (await shop(shared)).execute({ name: "shop::stock" })).toMatchObject({ output: { count: 8 } });
    expect(ollama.requests.map(({ body }) => [body["model"], body["options"], JSON.stringify(body).includes("It is winter.")])).toEqual([
      ["own", { temperature: 0.25 }, true],
      ["shared", undefined, false],
    ]);
  });

  test("onRecord is called with the events of calls answered by the source record", async () => {
    const config = await loaded('[simulation.sources]\n"shop::stock" = "record"\n');
    const told: SessionEvent["type"][] = [];
    const runtime = await shop(config, { onRecord: (events) => told.push(...events.map(({ type }) => type)) });
    expect(await whoOf(runtime)).toEqual(["live", "live"]);
    expect(told).toEqual(["call-start", "call-end"]);
  });
});

describe("DESIGN 5 the stand-in of calls that a simulation may not run", () => {
  const simulated = async (config: LoadedConfig, options?: AnswerBuildOptions): Promise<readonly unknown[]> => {
    const runtime = await shop(config, options);
    const { results } = await runtime.session().simulate([{ name: "shop::stock" }, { name: "shop::order" }]);
    return results.map(({ origin, answeredBy = origin }) => answeredBy);
  };

  test.each([
    ["nothing is said", "", ["live", "example"]],
    ["there are stubs, without an answer", `[simulation]\n${STUBS}\n`, ["live", "example"]],
    ["there are stubs", '[simulation]\nstubs = [{ tool = "order", output = { count = 3 } }]\n', ["live", "stub"]],
    ["it is said", `[simulation]\nstubs = [{ tool = "order", output = { count = 3 } }]\nstandIn = ["example"]\n`, ["live", "example"]],
  ])("%s", async (_what, lines, who) => {
    expect(await simulated(await loaded(lines))).toEqual(who);
  });

  test("F0.40 the model is the stand-in if one is named; a model that cannot be created fails only the calls it would answer", async () => {
    const runtime = await shop(await loaded('[simulation]\nmodel = "mistral/small"\n'));
    const { results } = await runtime.session().simulate([{ name: "shop::stock" }, { name: "shop::order" }]);
    expect(results).toMatchObject([
      { status: "ok", origin: "live" },
      {
        status: "error",
        error: {
          code: "unavailable",
          message: "No model can answer: There is no API key for mistral.",
          hint: expect.stringContaining("MISTRAL_API_KEY"),
        },
      },
    ]);
  });

  test("equal seeds generate equal answers, and the seed of the options overrides that of the file", async () => {
    const config = await loaded("[simulation]\nseed = 1\n");
    const one = async (options?: AnswerBuildOptions): Promise<unknown> =>
      (await (await shop(config, { override: "example", ...options })).execute({ name: "shop::order" })).output;
    expect(await one()).toEqual(await one());
    expect(await one({ seed: 1 })).toEqual(await one());
    const others = await Promise.all(Array.from({ length: 5 }, async (_, seed) => await one({ seed: `seed ${seed}` })));
    expect(new Set([await one(), ...others].map((output) => JSON.stringify(output))).size).toBeGreaterThan(1);
  });
});

describe("F0.46 faults", () => {
  test("are those of the file, with its seed or that of the options", async () => {
    const config = await loaded(
      '[simulation]\nseed = 3\n[[simulation.faults]]\ntype = "network_error"\nprobability = 1\ntools = "shop::stock"\n',
    );
    expect((await buildAnswers(config)).faults).toEqual({
      seed: 3,
      rules: [{ type: "network_error", probability: 1, tools: "shop::stock" }],
    });
    expect((await buildAnswers(config, { seed: "x" })).faults?.seed).toBe("x");
    expect((await buildAnswers(await loaded(""))).faults).toBeUndefined();
  });

  test("are passed on by configuredRuntime with the answers of the file", async () => {
    const folder = configFolder({
      "haft.toml":
        '[toolsets.shop]\ntype = "inline"\ntools = [{ name = "stock", description = "." }, { name = "order", description = "." }]\n[simulation.sources]\n"*" = "example"\n[[simulation.faults]]\ntype = "schema_violation"\nprobability = 1\ntools = "shop::order"\n',
    });
    await using runtime = createRuntime({ ...(await configuredRuntime(join(folder, "haft.toml"))), ports: fakePorts() });
    await runtime.open();
    expect(await runtime.execute([{ name: "shop::stock" }, { name: "shop::order" }])).toMatchObject([
      { status: "ok", answeredBy: "example" },
      { status: "error", fault: "schema_violation" },
    ]);
  });
});

describe("answers that cannot be built are an error with its place", () => {
  const rule = (source: string): string => `[simulation.sources]\n"shop::*" = "${source}"\n`;

  test.each([
    [
      "a replay of nothing",
      rule("replay"),
      {},
      'haft.toml:2:1: simulation.sources["shop::*"]: the source replay is named, but nothing is configured to answer for it. Set simulation.recording, the file with the recorded calls.',
    ],
    [
      "stubs of nothing",
      rule("stub"),
      {},
      'haft.toml:2:1: simulation.sources["shop::*"]: the source stub is named, but nothing is configured to answer for it. Set simulation.stubs, an array of answers or the file that holds it.',
    ],
    [
      "a model of nothing",
      rule("lm"),
      {},
      'haft.toml:2:1: simulation.sources["shop::*"]: the source lm is named, but nothing is configured to answer for it. Set simulation.model, such as "ollama/qwen3".',
    ],
    [
      "a stand-in of nothing",
      '[simulation]\nstandIn = "stub"\n',
      {},
      "haft.toml:2:1: simulation.standIn: the source stub is named, but nothing is configured to answer for it. Set simulation.stubs, an array of answers or the file that holds it.",
    ],
    [
      "a model without its key",
      `[simulation]\nmodel = "mistral/small"\n${rule("lm")}`,
      {},
      'haft.toml:2:1: simulation.model: There is no API key for mistral. Set MISTRAL_API_KEY, or name the variable that holds the key in the configuration: simulation.model.apiKey = "env:NAME".',
    ],
    [
      "a model of [model] without its key",
      `[model]\nname = "mistral/small"\n${rule("lm")}`,
      {},
      'haft.toml:1:2: model: There is no API key for mistral. Set MISTRAL_API_KEY, or name the variable that holds the key in the configuration: model.apiKey = "env:NAME".',
    ],
    [
      "a recording that is not there",
      '[simulation]\nrecording = "none.jsonl"\n',
      {},
      "haft.toml:2:1: simulation.recording: Cannot read the recording none.jsonl: there is no such file.",
    ],
    [
      "a recording outside",
      '[simulation]\nrecording = "../none.jsonl"\n',
      {},
      'haft.toml:2:1: simulation.recording: must lie inside the folder of this file, and "../none.jsonl" does not; to use it anyway, write an absolute path.',
    ],
    [
      "a list of answers that is none",
      '[simulation]\nstubs = "stubs.json"\n',
      {},
      'haft.toml:2:1: simulation.stubs: stubs.json: Stubs must be an array, such as [{"tool": "mail::send", "output": {"sent": true}}].',
    ],
    [
      "a source of the options",
      "[simulation]\n",
      { override: "stub" as const },
      "haft.toml:1:2: simulation: the source stub is named, but nothing is configured to answer for it. Set simulation.stubs, an array of answers or the file that holds it.",
    ],
  ])("%s", async (_what, lines, options, problem) => {
    expect(await problems(await loaded(lines, { "stubs.json": "{}" }), options)).toEqual([problem]);
  });

  test("an invalid recording that is passed in is itself the error; a valid one is the first stand-in", async () => {
    const config = await loaded('[simulation]\nstandIn = "example"\n');
    await expect(buildAnswers(config, { override: "replay", recording: "hello\n" })).rejects.toMatchObject({
      code: "corrupt_record",
      message: expect.stringMatching(/^Line 1|^The first line|line 1/u),
    });
    expect((await buildAnswers(config, { recording: await recorded() })).answers.simulation).toEqual(["replay", "example"]);
  });

  test("all problems are reported", async () => {
    const config = await loaded(
      '[simulation]\nrecording = "a.jsonl"\nstubs = "b.yaml"\n[simulation.sources]\n"a::*" = ["replay", "stub", "lm"]\n',
    );
    expect((await problems(config)).map((line) => line.slice(0, 42))).toEqual([
      expect.stringContaining("haft.toml:2:1: simulation.recording"),
      expect.stringContaining("haft.toml:3:1: simulation.stubs"),
      expect.stringContaining('haft.toml:5:1: simulation.sources["a::*"]'),
    ]);
  });

  test("options that name no source throw invalid_argument", async () => {
    const config = await loaded("");
    await expect(buildAnswers(config, { override: [] })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "override names no source.",
    });
    await expect(buildAnswers(config, { otherwise: ["live", "lm"] })).rejects.toMatchObject({ code: "invalid_argument" });
  });
});
