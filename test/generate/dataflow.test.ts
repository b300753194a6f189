import { describe, expect, test } from "vitest";
import { inCI } from "../ci.ts";
import type { JsonSchema } from "../../src/core/tool.ts";
import type { Toolset } from "../../src/core/toolset.ts";
import { DataflowGraph } from "../../src/generate/dataflow-graph.ts";
import { dataflow, type DataflowOptions } from "../../src/generate/dataflow.ts";
import { ToolVectors, embeddings } from "../../src/generate/embeddings.ts";
import { enrich } from "../../src/generate/enrich.ts";
import { ToolNeighbors, neighbors } from "../../src/generate/neighbors.ts";
import { outputSchemas } from "../../src/generate/output-schemas.ts";
import { TEXT, objectOf, tool, toolset } from "./tools.ts";

async function graphOf(toolsets: readonly Toolset[], options: DataflowOptions = {}): Promise<DataflowGraph> {
  return (await enrich(toolsets, [dataflow(options)])).artifacts.require("dataflow", DataflowGraph);
}

/** The score of the one edge from an output `value` of one type to an input `value` of another; 0 where there is none. */
async function scoreOf(output: JsonSchema, input: JsonSchema): Promise<number> {
  const { edges } = await graphOf([toolset("a", tool("give", {}, { value: output }), tool("take", { value: input }))], { minScore: 0.01 });
  return edges[0]?.score ?? 0;
}

test("F0.23 an output city:string feeds an input city:string of another tool, and the reverse index matches", async () => {
  const graph = await graphOf([toolset("a", tool("locate", {}, { city: TEXT })), toolset("b", tool("weather", { city: TEXT }))]);

  const edge = { from: { tool: "a::locate", name: "city" }, to: { tool: "b::weather", name: "city" }, score: 1 };
  expect([graph.edges, graph.out("a::locate"), graph.in("b::weather")]).toEqual([[edge], [edge], [edge]]);
  expect([graph.in("a::locate"), graph.out("b::weather"), graph.out("nobody")]).toEqual([[], [], []]);
});

describe("F0.23 type score", () => {
  const NUMBER = { type: "number" };
  const INTEGER = { type: "integer" };
  const LIST = { type: "array", items: TEXT };
  const PLACE = objectOf({ lat: NUMBER, lon: NUMBER });
  const cases: readonly (readonly [what: string, output: JsonSchema, input: JsonSchema, score: number])[] = [
    ["the same", TEXT, TEXT, 1],
    ["integer to number", INTEGER, NUMBER, 0.8],
    ["number to integer", NUMBER, INTEGER, 0.8],
    ["objects with a property in common", PLACE, objectOf({ lat: NUMBER }), 0.9],
    ["an object of which nothing is known", { type: "object" }, PLACE, 0.7],
    ["objects with nothing in common", PLACE, objectOf({ street: TEXT }), 0],
    ["a list for one", LIST, TEXT, 0],
    ["one for a list", TEXT, LIST, 0],
    ["lists of the same", LIST, LIST, 1],
    ["lists of different things", LIST, { type: "array", items: PLACE }, 0],
    ["text for a number", TEXT, NUMBER, 0],
    ["a type that is not stated", {}, TEXT, 0.7],
    ["any schema", true, TEXT, 0.7],
    ["text or nothing", { type: ["string", "null"] }, TEXT, 1],
    ["one of several", { anyOf: [LIST, INTEGER] }, NUMBER, 0.8],
    ["an enumeration of texts", { enum: ["a", "b", null] }, TEXT, 1],
    ["a constant number", { const: 3 }, INTEGER, 1],
    ["a schema that leads in circles", { $ref: "#/properties/value" }, TEXT, 0.7],
  ];
  test.each(cases)("%s", async (_what, output, input, score) => {
    expect(await scoreOf(output, input)).toBeCloseTo(score, 10);
  });

  test("schemas that expand endlessly are read up to a limit", async () => {
    const wide = {
      allOf: Array.from({ length: 1_000 }, () => ({ $ref: "#" })),
      anyOf: Array.from({ length: 1_000 }, () => ({ $ref: "#" })),
    };
    const kinds = { type: Array.from({ length: 100_000 }, (_, at) => `kind${at}`) };
    const giving = { ...tool("give"), outputSchema: { ...wide, properties: { value: TEXT } } };

    const { edges } = await graphOf([toolset("a", giving, tool("take", { value: { ...wide, ...kinds } }))]);

    expect(edges).toMatchObject([{ from: { name: "value" }, to: { name: "value" }, score: 0.7 }]);
  });

  test("references within the document are followed", async () => {
    const giving = {
      ...tool("give"),
      outputSchema: { $ref: "#/$defs/Out", $defs: { Out: objectOf({ value: { $ref: "#/$defs/Text" } }), Text: TEXT } },
    };

    const { edges } = await graphOf([toolset("a", giving, tool("take", { value: TEXT }))]);

    expect(edges.map(({ score }) => score)).toEqual([1]);
  });
});

describe("F0.23 similarity", () => {
  test("of names ignores case and separators", async () => {
    const { edges } = await graphOf([toolset("a", tool("give", {}, { userID: TEXT }), tool("take", { user_id: TEXT }))]);

    expect(edges).toMatchObject([{ from: { name: "userID" }, to: { name: "user_id" }, score: 1 }]);
  });

  test("of names that share a rare word is higher than of names that share a common one", async () => {
    const many = Array.from({ length: 20 }, (_, at) => tool(`t${at}`, { [`thing${at}_id`]: TEXT }));
    const tools = [
      tool("give", {}, { invoice_id: TEXT }),
      tool("rare", { invoice_key: TEXT }),
      tool("common", { order_id: TEXT }),
      ...many,
    ];

    const graph = await graphOf([toolset("a", ...tools)], { minScore: 0.01, maxEdges: 100 });
    const score = (to: string): number => graph.in(`a::${to}`)[0]?.score ?? 0;

    expect(score("rare")).toBeGreaterThan(score("common"));
    expect(score("common")).toBeGreaterThan(0);
  });

  test("of descriptions counts where names share no word", async () => {
    const described = (description: string): JsonSchema => ({ type: "string", description });

    const { edges } = await graphOf([
      toolset(
        "a",
        tool("give", {}, { q: described("ISO code of the country") }),
        tool("take", { c: described("The ISO code of a country") }),
        tool("other", { d: described("Colour of the car") }),
      ),
    ]);

    expect(edges).toMatchObject([{ from: { name: "q" }, to: { tool: "a::take", name: "c" } }]);
  });

  test("uses the tool's name for an output that is not an object", async () => {
    const giving = { ...tool("city"), outputSchema: TEXT };

    expect((await graphOf([toolset("a", giving, tool("take", { city: TEXT }))])).edges).toMatchObject([
      { from: { tool: "a::city", name: "$" } },
    ]);
  });

  test("can use the program's own vectors", async () => {
    const asked: string[] = [];
    const embed = (texts: readonly string[]): Promise<number[][]> => {
      asked.push(...texts);
      return Promise.resolve(texts.map((text) => (text.startsWith("car") || text.startsWith("vehicle") ? [1, 0] : [0, 1])));
    };

    const { edges } = await graphOf([toolset("a", tool("give", {}, { car: TEXT }), tool("take", { vehicle: TEXT, tree: TEXT }))], {
      embed,
    });

    expect([asked, edges]).toMatchObject([["car", "vehicle", "tree"], [{ from: { name: "car" }, to: { name: "vehicle" }, score: 1 }]]);
  });
});

describe("F0.23 edges", () => {
  test("are limited to the ten strongest from one output into one namespace", async () => {
    const takers = Array.from({ length: 15 }, (_, at) => tool(`t${at}`, { city: at < 3 ? { type: "object" } : TEXT }));

    const graph = await graphOf([toolset("a", tool("give", {}, { city: TEXT })), toolset("b", ...takers), toolset("c", ...takers)]);

    expect(graph.out("a::give").map(({ to }) => to.tool)).toEqual(
      ["b", "c"].flatMap((namespace) => Array.from({ length: 10 }, (_, at) => `${namespace}::t${at + 3}`)),
    );
  });

  test("never lead from a tool to itself", async () => {
    expect((await graphOf([toolset("a", tool("echo", { text: TEXT }, { text: TEXT }))])).edges).toEqual([]);
  });

  test("are found for schemas that outputSchemas inferred, in either order of the two enrichments", async () => {
    const inferring = outputSchemas({
      model: ({ user }) => Promise.resolve(user.includes("locate") ? { city: "string" } : { done: "boolean" }),
    });

    const { artifacts } = await enrich([toolset("a", tool("locate"), tool("weather", { city: TEXT }))], [dataflow(), inferring]);

    expect(artifacts.require("dataflow", DataflowGraph).edges).toMatchObject([{ from: { tool: "a::locate" }, to: { tool: "a::weather" } }]);
  });

  test("between thousands of tools are found without comparing all of them", { timeout: 240_000 }, async () => {
    const COUNT = inCI ? 8_086 : 2_000;
    const words = ["user", "order", "city", "country", "date", "price", "name", "invoice", "currency", "account"];
    const word = (at: number): string => words[at % words.length] ?? "";
    const takes = (at: number) => ({ [`${word(at)}_${word(at * 7 + 3)}`]: TEXT, [`${word(at * 3)}_id_${at % 500}`]: TEXT });
    const gives = (at: number) => ({ [`${word(at * 11 + 1)}_${word(at * 5)}`]: TEXT, id: TEXT, [`${word(at)}_id_${at % 700}`]: TEXT });
    const tools = Array.from({ length: COUNT }, (_, at) => tool(`t${at}`, takes(at), gives(at)));
    const startedAt = performance.now();

    const graph = await graphOf([toolset("a", ...tools.slice(0, COUNT / 2)), toolset("b", ...tools.slice(COUNT / 2))]);

    console.log(`${COUNT} tools: ${graph.edges.length} edges in ${(performance.now() - startedAt).toFixed(0)} ms`);
    const out = graph.out("a::t0").filter(({ from }) => from.name === "user_order" || from.name === "order_user");
    expect([graph.edges.length > COUNT, out.length <= 20, graph.edges.every(({ from, to }) => from.tool !== to.tool)]).toEqual([
      true,
      true,
      true,
    ]);
  });

  test("with an invalid minScore or maxEdges are rejected", () => {
    expect(() => dataflow({ minScore: 0 })).toThrow("minScore of dataflow() is 0; it takes a number above 0, at most 1.");
    expect(() => dataflow({ maxEdges: 0.5 })).toThrow("maxEdges of dataflow() is 0.5; it takes an integer from 1.");
  });

  test("are no longer searched once the run is cancelled", async () => {
    const controller = new AbortController();
    const tools = Array.from({ length: 1_000 }, (_, at) => tool(`t${at}`, { id: TEXT }, { id: TEXT }));

    await expect(
      enrich([toolset("a", ...tools)], [dataflow()], { signal: controller.signal, onProgress: () => controller.abort() }),
    ).rejects.toThrow(expect.objectContaining({ code: "cancelled" }));
  });
});

describe("F0.23 embeddings and neighbors", () => {
  const AXES: Readonly<Record<string, readonly number[]>> = { rain: [2, 0], snow: [1.8, 0.6], mail: [0, 5], post: [0.1, 1] };
  const embed = (texts: readonly string[]): Promise<(readonly number[])[]> =>
    Promise.resolve(texts.map((text) => AXES[text.split(":")[0] ?? ""] ?? []));
  const TOOLS = toolset("a", ...Object.keys(AXES).map((name) => tool(name)));

  test("each tool has a vector of length 1, and its nearest tools by cosine, nearest first", async () => {
    const { artifacts } = await enrich([TOOLS], [neighbors({ k: 2 }), embeddings({ embed, batchSize: 3 })]);
    const found = artifacts.require("neighbors", ToolNeighbors);

    expect(artifacts.require("embeddings", ToolVectors).get("a::mail")).toEqual(Float32Array.of(0, 1));
    expect(found.of("a::rain")).toEqual([
      { tool: "a::snow", score: expect.closeTo(0.9487, 3) },
      { tool: "a::post", score: expect.closeTo(0.0995, 3) },
    ]);
    expect(found.of("a::mail").map((neighbor) => neighbor.tool)).toEqual(["a::post", "a::snow"]);
    expect(found.of("a::nobody")).toEqual([]);
  });

  test.each([
    ["too few", () => Promise.resolve([[1]]), "4 were requested, but 1 came back"],
    [
      "different lengths",
      (texts: readonly string[]) => Promise.resolve(texts.map((_, at) => Array<number>(at + 1).fill(1))),
      "they differ in length: 1, 2, 3, 4",
    ],
    [
      "no numbers",
      (texts: readonly string[]) => Promise.resolve(texts.map(() => [Number.NaN])),
      "one contains something other than numbers",
    ],
  ])("vectors that are %s are rejected", async (_what, embed, reason) => {
    await expect(enrich([TOOLS], [embeddings({ embed })])).rejects.toThrow(
      expect.objectContaining({ code: "invalid_output", message: `The embedding function returned no usable vectors: ${reason}.` }),
    );
  });

  test("neighbors without embeddings is rejected at once", () => {
    expect(() => enrich([TOOLS], [neighbors()])).toThrow('The enrichment "neighbors" needs "embeddings", which is not among them.');
  });
});
