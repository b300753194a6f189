/** Engines of a configuration that stand in for tools: examples, recordings, written answers, searches. */
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { configuredRuntime } from "../../src/config/config.ts";
import { writeRecording } from "../../src/core/recording/recording.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { configFolder, problemsOf } from "./config-folder.ts";

const SHOP = `[toolsets.shop]
type = "inline"
engine = "sim"
tools = [{ name = "stock", description = "Counts.", parameters = { type = "object", properties = { id = { type = "integer" } } }, output_parameters = { type = "object", properties = { count = { type = "integer" }, name = { type = "string" } }, required = ["count", "name"] } }]

[toolsets.office]
type = "inline"
engine = "hands"
tools = [{ name = "wave", description = "Waves." }]

[engines.hands]
type = "stub"
stubs = [{ tool = "wave", output = { waved = true } }]

[engines.sim]
`;

async function runtimeOf(lines: string, files: Readonly<Record<string, string>> = {}): Promise<Runtime> {
  const folder = configFolder({ "haft.toml": `${SHOP}${lines}\n`, ...files });
  const runtime = createRuntime({ ...(await configuredRuntime(join(folder, "haft.toml"), { environment: {} })), ports: fakePorts() });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  return runtime;
}

const stock = (id: number) => ({ name: "shop::stock", input: { id } });

/** The text of a recording in which the shop had so many of a thing. */
async function recorded(): Promise<string> {
  await using runtime = createRuntime({
    ports: fakePorts(),
    toolsets: [
      { name: "shop", tools: [{ name: "stock", description: "", inputSchema: {}, execute: () => ({ count: 12, name: "nails" }) }] },
    ],
  });
  await runtime.open();
  const session = runtime.session();
  await session.execute([stock(1)]);
  let text = "";
  for await (const line of writeRecording(session.events(), { sessionId: session.id, exportedAt: 0 })) text += line;
  return text;
}

/** Why the toolset of the engine did not open, where the others did. */
async function failureOf(lines: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
  const runtime = await runtimeOf(lines, files);
  const report = await runtime.open();
  expect(report.failed.map(({ toolset }) => toolset)).toEqual(["shop"]);
  expect(await runtime.execute({ name: "office::wave", input: {} })).toMatchObject({ output: { waved: true } });
  return (report.failed[0]?.error.message ?? "").replaceAll(/\/\S*\//gu, "");
}

describe("type = example", () => {
  test("DESIGN 5 results are generated from the output schema, and equal for equal seeds", async () => {
    const outputs = [];
    for (const seed of ["7", "7", '"other"']) {
      const runtime = await runtimeOf(`type = "example"\nseed = ${seed}`);
      const result = await runtime.execute(stock(1));
      expect(result).toMatchObject({ status: "ok", origin: "simulated", output: { count: expect.any(Number), name: expect.any(String) } });
      outputs.push(result.output);
    }
    expect(outputs[1]).toEqual(outputs[0]);
    expect(outputs[2]).not.toEqual(outputs[0]);
  });
});

describe("type = replay", () => {
  test("calls get their recorded results, or the nearest if match is nearest", async () => {
    const files = { "shop.jsonl": await recorded() };
    const strict = await runtimeOf('type = "replay"\nrecording = "shop.jsonl"', files);
    expect(await strict.execute([stock(1), stock(1), stock(2)])).toMatchObject([
      { status: "ok", output: { count: 12, name: "nails" }, origin: "replay" },
      { error: { code: "not_found" } },
      { error: { code: "not_found" } },
    ]);
    const nearest = await runtimeOf('type = "replay"\nrecording = "shop.jsonl"\nmatch = "nearest"', files);
    expect(await nearest.execute([stock(2), stock(3)])).toMatchObject([{ output: { count: 12 } }, { output: { count: 12 } }]);
    const repeating = await runtimeOf('type = "replay"\nrecording = "shop.jsonl"\nrepeatLast = true', files);
    expect(await repeating.execute([stock(1), stock(1)])).toMatchObject([{ output: { count: 12 } }, { output: { count: 12 } }]);
  });

  test("a recording that is missing, invalid or damaged makes only its own toolsets unavailable, with the place", async () => {
    const lines = 'type = "replay"\nrecording = "shop.jsonl"';
    const start = 'Engine "sim" cannot be used: haft.toml:17:1: engines.sim.recording: ';
    expect(await failureOf(lines)).toBe(`${start}Cannot read the recording shop.jsonl: there is no such file.`);
    expect(await failureOf(lines, { "shop.jsonl": "hello\n" })).toMatch(new RegExp(`^${start}shop\\.jsonl: .*line 1`, "u"));
    const damaged = (await recorded()).replace("nails", "screws");
    expect(await failureOf(lines, { "shop.jsonl": damaged })).toMatch(new RegExp(`^${start}shop\\.jsonl: .*line \\d`, "u"));
  });
});

describe("type = stub", () => {
  const STUBS =
    "- { tool: stock, input: { id: 1 }, output: { count: 1, name: nails }, times: 1 }\n- { tool: stock, error: { message: Sold out. } }\n";

  test("results come from a file of stubs, in their order", async () => {
    const runtime = await runtimeOf('type = "stub"\nstubs = "stubs.yaml"', { "stubs.yaml": STUBS });
    expect(await runtime.execute([stock(1), stock(1)])).toMatchObject([
      { status: "ok", output: { count: 1, name: "nails" }, origin: "stub" },
      { status: "error", error: { message: "Sold out." } },
    ]);
    const json = await runtimeOf('type = "stub"\nstubs = "stubs.json"', {
      "stubs.json": '{"stubs":[{"tool":"*","output":{"count":3,"name":"x"}}]}',
    });
    expect(await json.execute(stock(9))).toMatchObject({ output: { count: 3 } });
  });

  test("a file of stubs that cannot be read makes only its own toolsets unavailable, with the place", async () => {
    const lines = 'type = "stub"\nstubs = "stubs.yaml"';
    const start = 'Engine "sim" cannot be used: haft.toml:17:1: engines.sim.stubs: ';
    expect(await failureOf(lines)).toBe(`${start}Cannot read the list of answers stubs.yaml: there is no such file.`);
    expect(await failureOf(lines, { "stubs.yaml": "- { tool: 5, output: 1 }\n" })).toBe(
      `${start}stubs.yaml: stubs[0].tool must be the name of a tool, or a pattern.`,
    );
    expect(await failureOf(lines, { "stubs.yaml": "- {" })).toMatch(new RegExp(`^${start}stubs\\.yaml:1:`, "u"));
  });
});

describe("an invalid stand-in engine is an error with its place", () => {
  test.each([
    ["a replay of nothing", 'type = "replay"', '15:2: engines.sim: "recording" is missing: the file with the recorded calls.'],
    [
      "a way to match that is not there",
      'type = "replay"\nrecording = "a"\nmatch = "near"',
      '18:1: engines.sim.match: must be one of "strict", "nearest", not "near".',
    ],
    ["stubs that are nowhere", 'type = "stub"', '15:2: engines.sim: "stubs" is missing: the list of answers, or the file that holds it.'],
    [
      "stubs that are no list",
      'type = "stub"\nstubs = 5',
      "17:1: engines.sim.stubs: must be an array of answers, or the file that holds it, not a number.",
    ],
    [
      "a stub without an answer",
      'type = "stub"\nstubs = [{ tool = "a" }]',
      "17:1: engines.sim.stubs: stubs[0] must have either an output or an error.",
    ],
    [
      "a variable in a path",
      'type = "stub"\nstubs = "${HOME}/a.yaml"',
      "17:1: engines.sim.stubs: the variable HOME is not allowed in a path; name it under allow in variables.",
    ],
    ["a key of another type", 'type = "example"\nmodel = "a/b"', "17:1: engines.sim.model: unknown key."],
    [
      "two words for one thing",
      'type = "search"\ndocuments = "a"\npath = "b"',
      "18:1: engines.sim.path: duplicates documents; remove one of them.",
    ],
    ["documents that are no lines", 'type = "search/file"\npath = "b"\nformat = "json"', '18:1: engines.sim.format: must be "jsonl"'],
    [
      "F0.50 a model of embeddings",
      'type = "search/in_memory"\npath = "b"\nembedding_model = "m"',
      "18:1: engines.sim.embedding_model: is not supported",
    ],
    [
      "F0.50 a probability of a search",
      'type = "search"\ndocuments = "a"\nerror_categories = [{ type = "index_not_found", probability = 2 }]',
      "18:49: engines.sim.error_categories[0].probability: must be a number from 0 to 1, not 2.",
    ],
  ])("%s", async (_what, lines, problem) => {
    const [first = ""] = await problemsOf("haft.toml", `${SHOP}${lines}\n`);
    expect(first).toContain(`haft.toml:${problem}`);
  });

  test("a path outside the folder is refused", async () => {
    const folder = configFolder({ "haft.toml": `${SHOP}type = "replay"\nrecording = "../a.jsonl"\n` });
    await expect(configuredRuntime(join(folder, "haft.toml"))).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining("must lie inside the folder"),
    });
  });
});

describe("F0.50 a search with the fms-dgt keys", () => {
  const DOCUMENTS = ["red apple pie", "apple sauce", "plum cake", "apple cider", "apple", "apple tart", "apple juice"];
  const files = { "docs.jsonl": DOCUMENTS.map((body, index) => JSON.stringify({ doc_id: `d${index}`, body, lang: "en" })).join("\n") };
  const search = (more: string): string => `engines:
  find: { type: search/file, path: docs.jsonl, format: jsonl, projection: { body: text, doc_id: id }${more} }
tools:
  - { type: inline, namespace: find, engine: find, tools: [] }
`;

  async function found(more: string, input: object): Promise<ToolResult> {
    const folder = configFolder({ "haft.yaml": search(more), ...files });
    const runtime = createRuntime({ ...(await configuredRuntime(join(folder, "haft.yaml"), { environment: {} })), ports: fakePorts() });
    onTestFinished(async () => void (await runtime.close()));
    await runtime.open();
    return await runtime.execute({ name: "find::search", input });
  }

  test("F0.50 documents have id, text, score and metadata with all other fields; five are returned, or as many as the call asks", async () => {
    const { output } = await found("", { query: "apple" });
    expect(output).toHaveLength(5);
    expect(output).toContainEqual({ id: "d4", text: "apple", score: expect.any(Number), metadata: { lang: "en" } });
    expect((await found("", { query: "apple", size: 2 })).output).toHaveLength(2);
    expect((await found(", limit: 3", { query: "apple" })).output).toHaveLength(3);
    expect((await found(", limit: 3", { query: "apple", limit: 1 })).output).toHaveLength(1);
  });

  test("F0.50 documents below relevance_threshold are not returned", async () => {
    expect((await found(", relevance_threshold: 1", { query: "red apple pie of plums" })).output).toEqual([]);
  });

  test.each([
    ["empty_result", { status: "ok", fault: "empty_result", output: [] }],
    ["index_not_found", { status: "error", fault: "index_not_found", error: { message: "Simulated error: index_not_found" } }],
    ["network_error", { status: "error", fault: "network_error" }],
  ])("F0.50 its error_categories may have types of its own: %s", async (type, result) => {
    expect(await found(`, error_categories: [{ type: ${type}, probability: 1 }]`, { query: "apple" })).toMatchObject(result);
  });
});
