import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Engine } from "../../src/core/engine.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import { searchEngine, type SearchOptions } from "../../src/engine/search.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import { engineContext, request, toolContext } from "./engine-contexts.ts";
import { rejection } from "./mcp-engine.ts";

const CORPORA = join(process.env["HAFT_CASES"] ?? "../shared/cases", "fms-dgt/search-corpora");

function fileOf(...lines: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "haft-search-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "corpus.jsonl");
  writeFileSync(path, lines.join("\n"));
  return path;
}

const line = (id: string | number, text: string, more: JsonObject = {}): string => JSON.stringify({ id, text, ...more });

const ANIMALS = [
  { id: "cat", text: "A cat sleeps on the mat and dreams of mice.", legs: 4 },
  { id: "dog", text: "A dog guards the house." },
  { id: "mouse", text: "Mice fear cats. Mice love cheese. Mice are small." },
  { id: "fish", text: "Fish swim in the sea, where no house stands." },
];

async function openSearch(
  options: Partial<SearchOptions> = {},
): Promise<{ readonly engine: Engine; readonly warnings: readonly string[] }> {
  const log = new MemoryLog();
  const engine = searchEngine({ documents: ANIMALS, ...options });
  await engine.open?.(engineContext({ log }));
  return { engine, warnings: log.lines.map(({ message }) => message) };
}

async function find(input: JsonObject, options: Partial<SearchOptions> = {}): Promise<unknown> {
  const { engine } = await openSearch(options);
  return engine.call(request("search", input), toolContext());
}

const ids = (found: unknown): readonly unknown[] =>
  Array.isArray(found) ? found.map((document: { readonly id?: unknown }) => document.id) : [];

describe("F0.50 results", () => {
  test("are documents with id, text, score and the other fields as metadata, best match first", async () => {
    expect(await find({ query: "cat on a mat" })).toEqual([
      { id: "cat", text: ANIMALS[0]?.text, score: expect.any(Number), metadata: { legs: 4 } },
      { id: "dog", text: ANIMALS[1]?.text, score: expect.any(Number), metadata: {} },
      { id: "mouse", text: ANIMALS[2]?.text, score: expect.any(Number), metadata: {} },
    ]);
  });

  test("have scores between 0 and 1, higher for more and rarer words of the query", async () => {
    const found = await find({ query: "mice cheese" });
    const scores = Array.isArray(found) ? found.map(({ score }: { readonly score: number }) => score) : [];

    expect(ids(found)).toEqual(["mouse", "cat"]);
    expect(scores.every((score) => score > 0 && score < 1)).toBe(true);
    expect(ids(await find({ query: "the house" }))).toEqual(["dog", "fish", "cat"]);
  });

  test("are an empty array, not an error, if no document matches the query", async () => {
    expect([await find({ query: "submarine" }), await find({ query: "?!" }), await find({ query: "" })]).toEqual([[], [], []]);
  });

  test("omit documents below the threshold", async () => {
    expect(ids(await find({ query: "house of cheese" }, { threshold: 0.165 }))).toEqual(["mouse"]);
    expect(ids(await find({ query: "house of cheese" }, { threshold: 1 }))).toEqual([]);
  });

  test("are limited by size or limit, and to five by default", async () => {
    const documents = Array.from({ length: 12 }, (_, at) => ({ id: at, text: "the same" }));
    const counts = async (input: JsonObject, options: Partial<SearchOptions> = {}): Promise<number> =>
      ids(await find({ query: "same", ...input }, { documents, ...options })).length;

    expect([await counts({}), await counts({ size: 7 }), await counts({ limit: 3 }), await counts({}, { limit: 2 })]).toEqual([5, 7, 3, 2]);
    expect(ids(await find({ query: "same", limit: 3 }, { documents }))).toEqual(["0", "1", "2"]);
  });

  test.each([
    ["composed letters by decomposed ones", "un caf\u00e9 noir", "cafe\u0301"],
    ["decomposed letters by composed ones", "un cafe\u0301 noir", "CAF\u00c9"],
    ["an emoji", "it works \u{1f680}!", "\u{1f680}"],
    ["an emoji with a variation selector by the one without", "with \u2764\ufe0f from Oslo", "\u2764"],
    ["an emoji with a colour of the skin by any other", "well done \u{1f44d}\u{1f3fd}", "\u{1f44d}"],
    ["a flag", "from \u{1f1f3}\u{1f1f4} to Oslo", "\u{1f1f3}\u{1f1f4}"],
  ])("match %s", async (_what, text, query) => {
    const documents = [
      { id: "this", text },
      { id: "other", text: "Another text \u2600\ufe0f \u{1f1f3}\u{1f1f1}" },
    ];
    expect(ids(await find({ query }, { documents }))).toEqual(["this"]);
  });

  test("match plural and singular, any case, and scripts that do not separate words", async () => {
    const documents = [
      { id: "en", text: "Three Cities" },
      { id: "zh", text: "使用必应搜索指定的关键词" },
      { id: "de", text: "Größe" },
    ];

    expect(ids(await find({ query: "CITY" }, { documents }))).toEqual(["en"]);
    expect(ids(await find({ query: "搜索" }, { documents }))).toEqual(["zh"]);
    expect(ids(await find({ query: "größe" }, { documents }))).toEqual(["de"]);
  });
});

describe("F0.50 a corpus", () => {
  test("is read from a JSON Lines file with configured field names", async () => {
    const documents = fileOf(
      '\uFEFF{"key": 7, "body": "The cat.", "metadata": {"source": "a"}, "year": 1999}',
      "",
      '{"key": "8", "body": "A dog."}\r',
    );

    expect(await find({ query: "cats" }, { documents, idField: "key", textField: "body" })).toEqual([
      { id: "7", text: "The cat.", score: expect.any(Number), metadata: { source: "a", year: 1999 } },
    ]);
  });

  test("leaves out invalid documents and reports their line numbers", async () => {
    const documents = fileOf(
      line(1, "good"),
      "{ broken",
      "[1]",
      line(1, "again"),
      '{"id": "x"}',
      '{"text": "no id"}',
      '{"id": "a", "id": "b", "text": "two ids"}',
      '{"id": "deep", "text": "t", "x": ' + "[".repeat(100) + "]".repeat(100) + "}",
      `{"id": "long", "text": "${"x".repeat(1_100_000)}"}`,
      line(2, "good too", { __proto__: null, toString: "no function" }),
    );

    const { engine, warnings } = await openSearch({ documents });

    const at = (number: number, reason: string): unknown =>
      expect.stringContaining(`corpus.jsonl:${number} is left out of the search: ${reason}`);
    expect(warnings).toEqual([
      at(2, "Not valid JSON at line 1, column 3"),
      at(3, "not a document: it is not an object."),
      at(4, 'an earlier document has the same id, "1".'),
      at(5, 'not a document: it has no text in "text".'),
      at(6, 'not a document: it has no "id" that is a string or a number.'),
      at(7, "Not valid JSON at line 1"),
      at(8, "The JSON text nests deeper than 64 levels, at line 1, column 97."),
      at(9, "the line has more than 1048576 characters."),
    ]);
    expect(ids(await engine.call(request("search", { query: "good" }), toolContext()))).toEqual(["1", "2"]);
  });

  test("with many invalid lines reports twenty and counts the rest", async () => {
    const { warnings } = await openSearch({ documents: Array.from({ length: 25 }, () => null) });

    expect([warnings.length, warnings[0], warnings.at(-1)]).toEqual([
      21,
      "document 1 is left out of the search: not a document: it is not an object.",
      "5 more are left out of the search.",
    ]);
  });

  test.each([
    [
      "is not there",
      () => ({ documents: "/no/such/corpus.jsonl" }),
      "Cannot read the corpus /no/such/corpus.jsonl: there is no such file.",
    ],
    ["is a folder", () => ({ documents: tmpdir() }), `Cannot read the corpus ${tmpdir()}: it is a folder.`],
    ["is too large", () => ({ documents: ANIMALS, maxDocuments: 3 }), "The corpus has more than 3 documents."],
  ])("that %s prevents the engine from opening", async (_what, options, message) => {
    expect(await rejection(openSearch(options()))).toMatchObject({ code: "unavailable", message });
  });

  test("is read again at a refresh, and retained if that fails", async () => {
    const documents = fileOf(line(1, "old"));
    const { engine } = await openSearch({ documents });
    const search = (query: string): unknown => engine.call(request("search", { query }), toolContext());
    const { signal } = new AbortController();

    writeFileSync(documents, line(2, "new"));
    await engine.list?.(signal);
    const after = [ids(await search("old")), ids(await search("new"))];
    rmSync(documents);

    expect(after).toEqual([[], ["2"]]);
    expect(await rejection(engine.list?.(signal))).toMatchObject({ code: "unavailable" });
    expect(ids(await search("new"))).toEqual(["2"]);
  });

  test.skipIf(!existsSync(CORPORA))(
    "of the seed data is searched with default and with configured fields (skipped without the case folder)",
    async () => {
      const canonical = await find(
        { query: "What do the mitochondria produce for a cell?" },
        { documents: join(CORPORA, "corpus_canonical.jsonl") },
      );
      const projected = await find(
        { query: "continents that drift apart", size: 1 },
        { documents: join(CORPORA, "corpus_projected.jsonl"), idField: "doc_id", textField: "body" },
      );

      expect(ids(canonical)[0]).toBe("doc_2");
      expect(projected).toEqual([
        {
          id: "p_3",
          text: expect.stringContaining("Continental drift"),
          score: expect.any(Number),
          metadata: { source_url: expect.any(String), category: expect.any(String) },
        },
      ]);
    },
  );
});

describe("F0.50 the tool", () => {
  test("is read-only and is called through a runtime by its name", async () => {
    const runtime = createRuntime({ toolsets: [{ name: "library", engine: searchEngine({ documents: ANIMALS, toolName: "look_up" }) }] });
    await runtime.open();

    const results = await runtime.execute([
      { name: "library::look_up", input: { query: "cheese" } },
      { name: "library::look_up", input: { query: "cheese", limit: 0 } },
    ]);
    const simulated = await runtime.simulate({ name: "library::look_up", input: { query: "cheese" } });

    expect(results).toMatchObject([
      { status: "ok", output: [{ id: "mouse" }] },
      { status: "error", error: { code: "invalid_input" } },
    ]);
    expect(simulated.results).toMatchObject([{ status: "ok", output: [{ id: "mouse" }] }]);
    expect(runtime.registry.check()).toEqual([]);
    await runtime.close();
  });

  test("may be declared by the toolset, with the query in its only string property", async () => {
    const tools = [{ name: "wiki", description: "", inputSchema: { type: "object", properties: { words: { type: "string" } } } }];
    const runtime = createRuntime({ toolsets: [{ name: "library", tools, engine: searchEngine({ documents: ANIMALS, toolName: null }) }] });
    await runtime.open();

    const results = await runtime.execute([
      { name: "library::wiki", input: { words: "cheese" } },
      { name: "library::wiki", input: {} },
    ]);

    expect(results).toMatchObject([
      { status: "ok", output: [{ id: "mouse" }] },
      { error: { code: "invalid_input", message: "library::wiki needs a text to search for." } },
    ]);
    expect(runtime.registry.names("library")).toEqual(["library::wiki"]);
    await runtime.close();
  });

  test("cannot be called before open and after close", async () => {
    const { engine } = await openSearch();
    await engine.close?.();

    for (const closed of [engine, searchEngine({ documents: ANIMALS })]) {
      expect(() => closed.call(request("search", { query: "cat" }), toolContext())).toThrow("The search is not open.");
      expect(await rejection(closed.list?.(new AbortController().signal))).toMatchObject({ code: "unavailable" });
    }
  });

  test.each([
    ["no documents", { documents: "" }],
    ["a limit of 0", { limit: 0 }],
    ["a threshold above 1", { threshold: 1.5 }],
    ["an empty name", { toolName: "" }],
    ["an empty field", { idField: "" }],
    ["room for no documents", { maxDocuments: 0 }],
  ])("%s throws at once", (_what, options) => {
    expect(() => searchEngine({ documents: ANIMALS, ...options })).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  });
});
