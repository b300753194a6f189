import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Tool } from "../../src/core/tool.ts";
import { ToolVectors, embeddings } from "../../src/generate/embeddings.ts";
import { enrich } from "../../src/generate/enrich.ts";
import { outputSchemas, type OutputSchemasOptions } from "../../src/generate/output-schemas.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { TEXT, objectOf, tool, toolset } from "./tools.ts";

const CITY = objectOf({ city: TEXT });

/** One run, as another process would do it: which tools were asked about, what came out, and what was warned of. */
async function run(cache: string, tools: readonly Tool[], options: Partial<OutputSchemasOptions> = {}) {
  const asked: string[] = [];
  const log = new MemoryLog();
  const model: OutputSchemasOptions["model"] = ({ user }) => {
    asked.push(/"name":"([^"]+)"/u.exec(user)?.[1] ?? "");
    return Promise.resolve({ city: "string" });
  };
  const enriched = await enrich([toolset("a", ...tools)], [outputSchemas({ model, cache, ...options })], { log });
  return { asked, schemas: enriched.tools.map((entry) => entry.tool.outputSchema), warnings: log.lines.map(({ message }) => message) };
}

function fileIn(folder: string): string {
  const [name = "none", ...others] = readdirSync(join(folder, "enrichments/output-schemas"));
  expect(others).toEqual([]);
  return join(folder, "enrichments/output-schemas", name);
}

test("F0.24 F0.22 a second run reads enrichments/<type>/<sha256>.json and asks no model", async () => {
  const folder = temporaryFolder();

  await run(folder, [tool("one"), tool("two")]);

  expect(await run(folder, [tool("one"), tool("two")])).toEqual({ asked: [], schemas: [CITY, CITY], warnings: [] });
  expect(fileIn(folder)).toMatch(/enrichments\/output-schemas\/[0-9a-f]{64}\.json$/u);
});

test("F0.24 only new tools are asked about, and added to the cached ones", async () => {
  const folder = temporaryFolder();

  await run(folder, [tool("one")]);
  const second = await run(folder, [tool("one"), tool("two")]);
  const third = await run(folder, [tool("one"), tool("two")]);

  expect([second.asked, third.asked]).toEqual([["two"], []]);
});

test.each<[string, Tool]>([
  ["name", { ...tool("one", { id: TEXT }), name: "other" }],
  ["description", { ...tool("one", { id: TEXT }), description: "Now it says more." }],
  ["input schema", tool("one", { id: { type: "integer" } })],
])("F0.24 a changed %s makes it another tool", async (_what, changed) => {
  const folder = temporaryFolder();

  await run(folder, [tool("one", { id: TEXT })]);

  expect((await run(folder, [changed])).asked).toEqual([changed.name]);
});

test("F0.24 force computes everything again and stores it; another label has its own file", async () => {
  const folder = temporaryFolder();

  await run(folder, [tool("one")]);
  const forced = await run(folder, [tool("one")], { force: true });
  fileIn(folder);
  const labelled = await run(folder, [tool("one")], { label: "another model" });

  expect([forced.asked, labelled.asked, readdirSync(join(folder, "enrichments/output-schemas")).length]).toEqual([["one"], ["one"], 2]);
});

test.each([
  ["broken JSON", "{"],
  ["another kind of file", '{"entries":{}}'],
  ["no text at all", "\u0000"],
])("F0.24 a cache file with %s is ignored with one warning, and rewritten", async (_what, content) => {
  const folder = temporaryFolder();
  await run(folder, [tool("one")]);
  const file = fileIn(folder);
  writeFileSync(file, content);

  const broken = await run(folder, [tool("one")]);
  const after = await run(folder, [tool("one")]);

  expect(broken).toMatchObject({ asked: ["one"], schemas: [CITY] });
  expect(broken.warnings).toEqual([expect.stringContaining(`The enrichment cache ${file} is ignored: `)]);
  expect(after).toEqual({ asked: [], schemas: [CITY], warnings: [] });
});

test("F0.24 a cached entry that is not a usable schema is ignored", async () => {
  const folder = temporaryFolder();
  await run(folder, [tool("one"), tool("two")]);
  const file = fileIn(folder);
  const content = readFileSync(file, "utf8").replace(
    /\{"type":"object","properties":\{"city":\{"type":"string"\}\}\}/u,
    '{"type":"nonsense"}',
  );
  writeFileSync(file, content);

  expect(await run(folder, [tool("one"), tool("two")])).toMatchObject({ asked: [expect.any(String)], schemas: [CITY, CITY] });
});

test("F0.24 a folder that cannot be written only logs a warning", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "enrichments"), "in the way");

  const { schemas, warnings } = await run(folder, [tool("one")]);

  expect([schemas, warnings]).toEqual([[CITY], [expect.stringMatching(/^The enrichment cache .* cannot be written: /u)]]);
});

test("F0.24 answers from before a cancellation are cached", async () => {
  const folder = temporaryFolder();
  const controller = new AbortController();
  const model: OutputSchemasOptions["model"] = ({ user }) => {
    if (!user.includes('"two"')) return Promise.resolve({ city: "string" });
    controller.abort();
    return new Promise(() => undefined);
  };

  await expect(
    enrich([toolset("a", tool("one"), tool("two"))], [outputSchemas({ model, cache: folder, concurrency: 1 })], {
      signal: controller.signal,
    }),
  ).rejects.toThrow(expect.objectContaining({ code: "cancelled" }));

  expect((await run(folder, [tool("one"), tool("two")])).asked).toEqual(["two"]);
});

test("F0.23 F0.24 vectors are cached too, and vectors of another length are not mixed in", async () => {
  const folder = temporaryFolder();
  const asked: string[] = [];
  const vectorsOf = async (length: number, ...tools: readonly Tool[]) => {
    const embed = (texts: readonly string[]): Promise<number[][]> => {
      asked.push(...texts);
      return Promise.resolve(texts.map(() => [3, 4, ...Array<number>(length - 2).fill(0)]));
    };
    const { artifacts } = await enrich([toolset("a", ...tools)], [embeddings({ embed, cache: folder })]);
    return artifacts.require("embeddings", ToolVectors).entries();
  };

  const first = await vectorsOf(2, tool("one"));
  const second = await vectorsOf(2, tool("one"), tool("two", { id: TEXT }));

  expect(asked).toEqual(["one: ", "two:  (id)"]);
  const vector = Float32Array.of(0.6, 0.8);
  expect(first).toEqual([["a::one", vector]]);
  expect(second).toEqual([
    ["a::one", vector],
    ["a::two", vector],
  ]);
  await expect(vectorsOf(3, tool("one"), tool("three"))).rejects.toThrow(
    expect.objectContaining({ code: "invalid_output", message: "The vectors of tools differ in length: 2, 3." }),
  );
});

test("F0.24 concurrent runs leave a valid file, and earlier entries are not lost", async () => {
  const folder = temporaryFolder();
  await run(folder, [tool("zero")]);

  await Promise.all(["one", "two", "three"].map((name) => run(folder, [tool(name)])));
  const after = await run(folder, [tool("zero")]);

  expect(after).toEqual({ asked: [], schemas: [CITY], warnings: [] });
  fileIn(folder);
});

test("F0.24 a label cannot escape the folder", async () => {
  const folder = temporaryFolder();

  await run(join(folder, "inside"), [tool("one")], { label: "../../../outside" });

  expect([readdirSync(folder), readdirSync(join(folder, "inside/enrichments"))]).toEqual([["inside"], ["output-schemas"]]);
});
