/** What it takes to bring in many tools at once: registries of growing size, a generated OpenAPI document, and GitHub's if it is at hand. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { isJsonObject, type JsonObject, type JsonValue } from "../src/core/base/json.ts";
import { importOpenApi } from "../src/engine/openapi/import-openapi.ts";
import { Registry } from "../src/registry/registry.ts";
import { modelTools } from "../src/compose/prompt/model-tools.ts";
import { goal, spell } from "./measure.ts";
import { makeTools, searchWords } from "./registry.ts";

const LOOK_UPS = 200_000;
const SEARCHES = 300;
const GITHUB_SECONDS = 5;
const GITHUB_BYTES = 512 * 1024 * 1024;
const CASES = process.env["HAFT_CASES"] ?? fileURLToPath(new URL("../../shared/cases", import.meta.url));

export function printImport(): void {
  console.log("\nOpenAPI documents, parsed JSON to tools");
  measureDocument(generatedDocument(100)); // so that the first row does not pay for the compiler
  console.log(`  generated, 1,000 operations   ${measureDocument(generatedDocument(1_000)).line}`);
  printGitHub();
  console.log("\nTools brought in at once");
  console.log(["tools", "load", "bytes each", "definitions", "again", "look-up", "search p50 / p99"].map(cell).join(""));
  measureRegistry(1_000);
  for (const count of [1_000, 10_000, 100_000]) console.log(measureRegistry(count));
}

const WIDTHS = [11, 11, 12, 13, 11, 10, 20];

function cell(text: string, column: number): string {
  return text.padStart(WIDTHS[column] ?? 0);
}

function measureRegistry(count: number): string {
  const tools = makeTools(count);
  const before = heapUsed();
  const registry = new Registry();
  const loadMs = time(() => registry.addToolset({ name: "big" }, tools));
  const bytes = (heapUsed() - before) / count;
  const firstMs = time(() => modelTools(registry));
  const laterMs = time(() => modelTools(registry));
  const lookUpMs = time(() => {
    for (let index = 0; index < LOOK_UPS; index++) registry.resolve(`big::tool_${index % count}`);
  });
  registry.search({ text: "warm up" });
  const searches = Array.from({ length: SEARCHES }, (_, index) => time(() => registry.search({ text: searchWords(index), limit: 10 })));
  searches.sort((one, other) => one - other);
  const cells = [
    spell(count),
    `${loadMs.toFixed(1)} ms`,
    bytes.toFixed(0),
    `${firstMs.toFixed(1)} ms`,
    `${laterMs.toFixed(3)} ms`,
    `${((lookUpMs * 1_000) / LOOK_UPS).toFixed(2)} µs`,
    `${(searches[SEARCHES / 2] ?? 0).toFixed(2)} / ${(searches[Math.floor(SEARCHES * 0.99)] ?? 0).toFixed(2)} ms`,
  ];
  return cells.map(cell).join("");
}

interface Import {
  readonly ms: number;
  /** What stays when it is done, the document not counted. */
  readonly bytes: number;
  readonly line: string;
}

function measureDocument(document: JsonObject): Import {
  const before = heapUsed();
  let operations = 0;
  let held: unknown;
  const ms = time(() => {
    const imported = importOpenApi(document, { origin: "bench" });
    operations = imported.operations.length;
    held = imported;
  });
  const bytes = heapUsed() - before;
  const checkMs = time(() => checkSchemas(held));
  const line = `${spell(operations)} tools in ${ms.toFixed(0)} ms, ${(bytes / 1024 / 1024).toFixed(1)} MiB; their schemas compiled in ${checkMs.toFixed(0)} ms`;
  return { ms, bytes, line };
}

function checkSchemas(imported: unknown): void {
  const { operations } = imported as ReturnType<typeof importOpenApi>;
  const registry = new Registry();
  registry.addToolset(
    { name: "api", overloads: true },
    operations.map(({ tool }) => tool),
  );
  registry.check();
}

function printGitHub(): void {
  const file = `${CASES}/openapi/github.json.gz`;
  if (!existsSync(file)) return console.log("  GitHub: not at hand (HAFT_CASES names the case folder)");
  let document: JsonValue = null;
  const parseMs = time(() => {
    document = JSON.parse(gunzipSync(readFileSync(file)).toString("utf8")) as JsonValue;
  });
  if (!isJsonObject(document)) return;
  const { ms, line } = measureDocument(document);
  const seconds = (parseMs + ms) / 1_000;
  const peak = process.resourceUsage().maxRSS * 1_024;
  console.log(`  GitHub, read in ${parseMs.toFixed(0)} ms`.padEnd(32) + line);
  console.log(
    `  ${goal(`read and imported in ≤ ${GITHUB_SECONDS} s`, seconds <= GITHUB_SECONDS)}, ` +
      `${goal("≤ 512 MiB resident at most", peak <= GITHUB_BYTES)} (${(peak / 1024 / 1024).toFixed(0)} MiB, the benchmark included)`,
  );
}

function generatedDocument(count: number): JsonObject {
  const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
  const content = (name: string): JsonObject => ({ "application/json": { schema: reference(name) } });
  const entries = Array.from({ length: count / 2 }, (_, index): [string, JsonObject] => [
    `/things${index}/{id}`,
    {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      get: {
        operationId: `getThing${index}`,
        summary: `Reads thing ${index}.`,
        parameters: [
          { name: "page", in: "query", schema: { type: "integer", minimum: 1 } },
          { name: "fields", in: "query", style: "form", explode: false, schema: { type: "array", items: { type: "string" } } },
        ],
        responses: { 200: { description: "ok", content: content(`Thing${index}`) } },
      },
      put: {
        operationId: `putThing${index}`,
        summary: `Writes thing ${index}.`,
        requestBody: { required: true, content: content(`Thing${index}`) },
        responses: { 200: { description: "ok", content: content(`Thing${index}`) } },
      },
    },
  ]);
  const schemas = Array.from({ length: count / 2 }, (_, index): [string, JsonObject] => [
    `Thing${index}`,
    {
      type: "object",
      required: ["id", "name"],
      properties: {
        id: { type: "string" },
        name: { type: "string", maxLength: 80 },
        size: { type: "number" },
        tags: { type: "array", items: { type: "string" } },
        parent: reference(`Thing${index}`),
      },
    },
  ]);
  return {
    openapi: "3.1.0",
    info: { title: "Generated", version: "1" },
    servers: [{ url: "https://api.example.com" }],
    paths: Object.fromEntries(entries),
    components: { schemas: Object.fromEntries(schemas) },
  };
}

function heapUsed(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function time(work: () => unknown): number {
  const startedAt = performance.now();
  work();
  return performance.now() - startedAt;
}
