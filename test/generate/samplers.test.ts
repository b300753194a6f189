import { describe, expect, test } from "vitest";
import type { Toolset } from "../../src/core/toolset.ts";
import { dataflow } from "../../src/generate/dataflow.ts";
import { DataflowGraph } from "../../src/generate/dataflow-graph.ts";
import { embeddings } from "../../src/generate/embeddings.ts";
import { enrich, type Enriched } from "../../src/generate/enrich.ts";
import { chainSampler, fanInSampler, fanOutSampler } from "../../src/generate/graph-samplers.ts";
import { neighborSampler } from "../../src/generate/neighbor-sampler.ts";
import { neighbors } from "../../src/generate/neighbors.ts";
import { randomSampler } from "../../src/generate/random-sampler.ts";
import { SamplingError, type SampleOptions, type Sampler } from "../../src/generate/sampler.ts";
import { isToolError } from "../../src/core/error.ts";
import { seededRandom } from "../../src/testing/fake-ports.ts";
import { TEXT, tool, toolset } from "./tools.ts";

/** 10 tools in `big` and 2 in `small`, which have a name in common. */
const MIXED = await enrich(
  [toolset("big", ...Array.from({ length: 10 }, (_, at) => tool(`t${at}`))), toolset("small", tool("t0"), tool("other"))],
  [],
);

/** `locate → weather → advise → mail`, and `news → mail`: each takes what the one before gives. */
const FLOW: Toolset = toolset(
  "flow",
  tool("mail", { advice: TEXT, headline: TEXT }, { receipt: TEXT }),
  tool("advise", { forecast: TEXT }, { advice: TEXT }),
  tool("weather", { city: TEXT }, { forecast: TEXT }),
  tool("locate", { address: TEXT }, { city: TEXT }),
  tool("news", { topic: TEXT }, { headline: TEXT }),
);
const CONNECTED = await enrich([FLOW, toolset("lonely", tool("hermit", { silence: TEXT }, { nothing: TEXT }))], [dataflow()]);

const ids = <Options extends SampleOptions>(sampler: Sampler<Options>, options?: Options): readonly string[] =>
  sampler.sample(options).map(({ id }) => id);

const SEEDS = Array.from({ length: 200 }, (_, seed) => seed);

/** What a sampler finds over many seeds, each sample once. */
function samplesOf<Options extends SampleOptions>(sampler: Sampler<Options | SampleOptions>): readonly string[] {
  return [...new Set(SEEDS.map((seed) => ids(sampler, { seed }).join(" ")))].sort();
}

function failureOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error: unknown) {
    return error;
  }
}

describe("F0.25 random", () => {
  test("draws exactly k different tools", () => {
    for (const seed of SEEDS) expect(new Set(ids(randomSampler(MIXED, { k: 5 }), { seed })).size).toBe(5);
  });

  test("the same seed draws the same sample in the same order, every time", () => {
    const sampler = randomSampler(MIXED, { k: 4, seed: "a" });

    expect([ids(sampler), ids(sampler), ids(randomSampler(MIXED, { k: 4, seed: "a" }))]).toEqual([
      ids(sampler),
      ids(sampler),
      ids(sampler),
    ]);
    expect(samplesOf(sampler).length).toBeGreaterThan(100);
  });

  test("without a seed it uses the randomness port", () => {
    const sampler = randomSampler(MIXED, { k: 4 });

    expect(ids(sampler, { random: seededRandom(1) })).toEqual(ids(sampler, { random: seededRandom(1) }));
  });

  test("tools of the same name in different namespaces are distinct", () => {
    expect([...ids(randomSampler(MIXED, { k: 12 }))].sort()).toEqual(MIXED.tools.map(({ id }) => id).sort());
  });

  test("only tools of the given namespaces are drawn, and a single sample may override them", () => {
    const sampler = randomSampler(MIXED, { k: 2, namespaces: ["small"], seed: 1 });

    expect([...ids(sampler)].sort()).toEqual(["small::other", "small::t0"]);
    expect(ids(sampler, { k: 3, namespaces: ["big"] }).every((id) => id.startsWith("big::"))).toBe(true);
    expect(ids(sampler).length).toBe(2);
  });

  test.each([
    ["proportional", 1_000 / 6],
    ["uniform", 500],
    [{ big: 3, small: 1 }, 250],
    [{ small: 1 }, 1_000],
  ] as const)("weights %o determine how often a namespace is drawn from", (weights, expected) => {
    const sampler = randomSampler(MIXED, { k: 1, weights });
    const drawn = Array.from({ length: 1_000 }, (_, seed) => ids(sampler, { seed })[0]);

    expect(Math.abs(drawn.filter((id) => id?.startsWith("small::")).length - expected)).toBeLessThan(60);
  });

  test("every tool of a namespace is equally likely at every place", () => {
    const sampler = randomSampler(MIXED, { k: 10, namespaces: ["big"] });
    const counts = new Map<string, number>();
    for (let seed = 0; seed < 2_000; seed++) {
      for (const [place, id] of ids(sampler, { seed }).entries()) counts.set(`${id} ${place}`, (counts.get(`${id} ${place}`) ?? 0) + 1);
    }

    expect(counts.size).toBe(100);
    for (const count of counts.values()) expect(Math.abs(count - 200)).toBeLessThan(80);
  });

  test("asking for more tools than exist throws with the existing tools", () => {
    const error = failureOf(() => randomSampler(MIXED, { k: 5, namespaces: ["small"], seed: 1 }).sample());

    expect(error).toBeInstanceOf(SamplingError);
    expect(isToolError(error)).toBe(true);
    expect(error).toMatchObject({ requested: 5, message: "The random sampler was asked for 5 tools, but there are only 2." });
    expect(error instanceof SamplingError && error.tools.map(({ id }) => id).sort()).toEqual(["small::other", "small::t0"]);
  });

  test.each([
    ["no k", { k: 0 }, "k of The random sampler is 0"],
    ["an unknown namespace", { k: 1, namespaces: ["smal"] }, 'was given the namespace "smal", which no tool has.'],
    ["a weight for an unknown namespace", { k: 1, weights: { other: 1 } }, 'was given the namespace "other", which no tool has.'],
    ["a weight below 0", { k: 1, weights: { big: -1 } }, 'was given the weight -1 for "big"; it takes a number from 0.'],
  ])("%s is rejected at once", (_what, options, message) => {
    expect(() => randomSampler(MIXED, options)).toThrow(message);
  });
});

describe("F0.25 chain", () => {
  test("draws tools in the order in which they feed each other", () => {
    expect(samplesOf(chainSampler(CONNECTED, { k: 4 }))).toEqual(["flow::locate flow::weather flow::advise flow::mail"]);
    expect(samplesOf(chainSampler(CONNECTED, { k: 3 }))).toEqual([
      "flow::locate flow::weather flow::advise",
      "flow::weather flow::advise flow::mail",
    ]);
  });

  test("every step of a chain is an edge of the graph", () => {
    const graph = CONNECTED.artifacts.require("dataflow", DataflowGraph);
    for (const seed of SEEDS) {
      const chain = ids(chainSampler(CONNECTED, { k: 2 }), { seed });
      expect(graph.out(chain[0] ?? "").map(({ to }) => to.tool)).toContain(chain[1]);
    }
  });

  test("a length beyond the longest path throws with the longest path", () => {
    const error = failureOf(() => chainSampler(CONNECTED, { k: 5, seed: 3 }).sample());

    expect(error).toMatchObject({
      requested: 5,
      message: "The chain sampler was asked for 5 tools, but found only 4 that feed each other in this way.",
    });
    expect(error instanceof SamplingError && error.tools.map(({ tool: { name } }) => name)).toEqual([
      "locate",
      "weather",
      "advise",
      "mail",
    ]);
  });

  test("cycles do not make a chain longer than its tools", async () => {
    const circle = await enrich(
      [toolset("a", tool("x", { one: TEXT }, { two: TEXT }), tool("y", { two: TEXT }, { one: TEXT }))],
      [dataflow()],
    );

    expect(samplesOf(chainSampler(circle, { k: 2 }))).toEqual(["a::x a::y", "a::y a::x"]);
    expect(() => chainSampler(circle, { k: 3 }).sample()).toThrow(SamplingError);
  });

  test("a search with many dead ends terminates", async () => {
    const tools = Array.from({ length: 40 }, (_, at) => tool(`t${at}`, { id: TEXT }, { id: TEXT }));
    const dense = await enrich([toolset("a", ...tools), toolset("b", tool("end", { id: TEXT }))], [dataflow({ maxEdges: 40 })]);

    expect(new Set(ids(chainSampler(dense, { k: 30, seed: 1 }))).size).toBe(30);
    expect(() => chainSampler(dense, { k: 42, seed: 1 }).sample()).toThrow(SamplingError);
  });

  test("only tools of the given namespaces and edges of the given score are followed", () => {
    expect(() => chainSampler(CONNECTED, { k: 2, namespaces: ["lonely"] }).sample()).toThrow("asked for 2 tools, but found only 1");
    expect(() => chainSampler(CONNECTED, { k: 2, minScore: 1.1 }).sample()).toThrow("asked for 2 tools, but found only 1");
  });
});

describe("F0.25 fan", () => {
  test("out: the first tool feeds all others", async () => {
    const hub = await enrich(
      [toolset("a", tool("find", {}, { id: TEXT }), tool("show", { id: TEXT }), tool("sell", { id: TEXT }), tool("stop", { id: TEXT }))],
      [dataflow()],
    );

    expect(samplesOf(fanOutSampler(hub, { k: 4 })).every((sample) => sample.startsWith("a::find "))).toBe(true);
    expect(samplesOf(fanOutSampler(hub, { k: 3 })).length).toBe(6);
    expect(() => fanOutSampler(hub, { k: 5 }).sample()).toThrow(
      "The fan-out sampler was asked for 5 tools, but found only 4 that feed each other in this way.",
    );
  });

  test("in: the last tool is fed by all others", () => {
    expect(samplesOf(fanInSampler(CONNECTED, { k: 3 }))).toEqual([
      "flow::advise flow::news flow::mail",
      "flow::news flow::advise flow::mail",
    ]);
    expect(failureOf(() => fanInSampler(CONNECTED, { k: 4 }).sample())).toMatchObject({
      requested: 4,
      tools: [expect.anything(), expect.anything(), expect.objectContaining({ id: "flow::mail" })],
    });
  });
});

describe("F0.25 neighbours", () => {
  const near = async (): Promise<Enriched> => {
    const embed = (texts: readonly string[]): Promise<number[][]> => Promise.resolve(texts.map((text) => [1, Number(text.slice(0, 1))]));
    return await enrich(
      [toolset("a", tool("0"), tool("1"), tool("2")), toolset("b", tool("9"))],
      [embeddings({ embed }), neighbors({ k: 2 })],
    );
  };

  test("draws a tool and its nearest tools, nearest first", async () => {
    expect(samplesOf(neighborSampler(await near(), { k: 3 }))).toEqual([
      "a::0 a::1 a::2",
      "a::1 a::2 b::9",
      "a::2 a::1 b::9",
      "b::9 a::2 a::1",
    ]);
    expect(samplesOf(neighborSampler(await near(), { k: 2, minScore: 0.9 }))).toEqual(["a::1 a::2", "a::2 a::1", "b::9 a::2"]);
  });

  test("asking for more tools than are similar throws with the similar ones", async () => {
    const enriched = await near();

    expect(failureOf(() => neighborSampler(enriched, { k: 4 }).sample())).toMatchObject({ requested: 4, tools: { length: 3 } });
  });
});

test.each([
  ["chain", chainSampler, "dataflow"],
  ["fan-out", fanOutSampler, "dataflow"],
  ["fan-in", fanInSampler, "dataflow"],
  ["neighbour", neighborSampler, "neighbors"],
] as const)("F0.25 a %s sampler without its artifact is rejected when it is created", (_what, makeSampler, key) => {
  expect(() => makeSampler(MIXED, { k: 2 })).toThrow(
    expect.objectContaining({ code: "not_found", message: `There is no artifact "${key}".` }),
  );
});
