/** Tools that others published, as far as they are at hand: `../shared/cases` or `$HAFT_CASES`. Figures are printed. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/core/base/json.ts";
import { parseJson } from "../../src/core/base/parse-json.ts";
import { seededRandom } from "../../src/core/base/seeded-random.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { Toolset } from "../../src/core/toolset.ts";
import { exampleEngine } from "../../src/engine/example.ts";
import { importOpenApi } from "../../src/engine/openapi/import-openapi.ts";
import { toolFromJson } from "../../src/registry/tool-definition.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { exampleValue } from "../../src/schema/example/example-value.ts";
import { inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";
import { schemaOfParameters, schemaOfTemplate, toolOf } from "../generate/conversations/published-tools.ts";

const CASES = process.env["HAFT_CASES"] ?? join(import.meta.dirname, "../../../shared/cases");
const LIMITS = { maxChars: Number.MAX_SAFE_INTEGER, maxDepth: 200 };

function read(path: string): JsonValue {
  const bytes = readFileSync(join(CASES, path));
  return parseJson((path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString(), LIMITS);
}

function lines(path: string): readonly JsonObject[] {
  const text = readFileSync(join(CASES, path), "utf8").trim();
  return text.split("\n").map((line) => objectOf(parseJson(line)));
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function objects(value: JsonValue): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

interface Count {
  /** Those whose own schemas cannot be used are put aside by the runtime, and not counted. */
  readonly tools: number;
  readonly putAside: readonly string[];
  readonly withSchema: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly notSimulated: number;
  readonly empty: readonly string[];
  readonly problems: readonly string[];
}

/** Of a collection with more tools than this, every third one is called. */
const CALLED_WHOLE = 300;

/** Calls tools once in one session, with an input made up from their schemas. */
async function callAll(runtime: Runtime, toolsets: readonly Toolset[]): Promise<Count> {
  const session = runtime.session();
  const putAside = runtime.registry.check().map(({ tool: name }) => name);
  const statuses: Record<string, number> = {};
  const problems: string[] = [];
  const empty: string[] = [];
  let [tools, withSchema, notSimulated] = [0, 0, 0];
  for (const { name: toolset, tools: list = [] } of toolsets) {
    const called = list.length > CALLED_WHOLE ? list.filter((_, index) => index % 3 === 0) : list;
    for (const each of called) {
      const name = `${toolset}::${each.name}`;
      if (putAside.includes(name)) continue;
      const input = exampleValue(each.inputSchema, { random: seededRandom(name) });
      const result = await session.execute({ id: name, name, input: objectOf(input.value) });
      tools++;
      if (each.outputSchema !== undefined) withSchema++;
      const { status } = result;
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (result.origin !== "simulated") notSimulated++;
      if (status !== "ok") problems.push(`${name}: ${JSON.stringify(Reflect.get(result, "error") ?? result.warnings).slice(0, 200)}`);
      const output: unknown = Reflect.get(result, "output");
      if (each.outputSchema === undefined && Object.keys(Object(output)).length === 0) empty.push(name);
    }
  }
  await session.close();
  return { tools, putAside, withSchema, statuses, notSimulated, empty, problems };
}

function withEngine(name: string, tools: readonly Tool[]): Toolset {
  return { name, overloads: true, engine: exampleEngine({ seed: 1 }), tools };
}

function unlikeNames(tools: readonly Tool[]): readonly Tool[] {
  return [...new Map(tools.map((each) => [each.name, each])).values()];
}

function publishedToolsets(): readonly Toolset[] {
  const toolbench = lines("toolbench/apis.jsonl").map((json) =>
    toolOf(json, json["id"], isJsonObject(json["templateResponse"]) ? schemaOfTemplate(json["templateResponse"]) : undefined),
  );
  const apiBank = objects(read("api-bank/tools.json")).map((json) =>
    toolOf(json, json["name"], schemaOfParameters(json["outputParameters"])),
  );
  const nestful = ["executable", "glaive", "sgd"].map((name) =>
    withEngine(
      `nestful-${name}`,
      unlikeNames(
        objects(read(`nestful/${name}.tools.json`)).map((json) => toolOf(json, json["name"], schemaOfParameters(json["outputParameters"]))),
      ),
    ),
  );
  const seeds = readdirSync(join(CASES, "fms-dgt"))
    .filter((file) => file.endsWith("-query_tools.yaml"))
    .map((file) => {
      const all: unknown = parse(readFileSync(join(CASES, "fms-dgt", file), "utf8"));
      return withEngine(
        file.replace("-query_tools.yaml", ""),
        unlikeNames(Object.values(Object(all)).map((json) => toolFromJson(json).tool)),
      );
    });
  return [withEngine("toolbench", unlikeNames(toolbench)), withEngine("api-bank", unlikeNames(apiBank)), ...nestful, ...seeds];
}

describe.skipIf(!existsSync(join(CASES, "toolbench")))(`F0.40 published tools (skipped when ${CASES} is absent)`, () => {
  testInCI(
    "of four collections load into one runtime, and called ones return valid, non-empty results marked as simulated",
    { timeout: 300_000 },
    async () => {
      const toolsets = publishedToolsets();
      const runtime = createRuntime({ toolsets, approval: { approve: () => "allow-once" } });
      const count = await callAll(runtime, toolsets);
      await runtime.close();

      console.log(
        `published: ${toolsets.map(({ name, tools }) => `${name} ${tools?.length}`).join(", ")}; ${JSON.stringify({ ...count, problems: count.problems.length })}`,
      );
      expect(count.problems.slice(0, 4)).toEqual([]);
      expect(count).toMatchObject({ notSimulated: 0, empty: [], statuses: { ok: count.tools } });
      expect(toolsets.flatMap(({ tools = [] }) => tools).length).toBeGreaterThan(10_000);
      expect(count.tools).toBeGreaterThan(3_300);
      expect(count.withSchema).toBeGreaterThan(500);
    },
  );

  const documents = [
    "httpbin.json",
    "slack.json",
    "slack-swagger2.json",
    ...(inCI ? ["github.json.gz", "stripe.json.gz", "kubernetes.json.gz"] : []),
  ];
  test.each(documents)("from the OpenAPI document %s get answers that match their response schemas", { timeout: 240_000 }, async (file) => {
    const imported = importOpenApi(objectOf(read(`openapi/${file}`)), { origin: file });
    const tools = imported.operations.map((operation) => operation.tool);
    const toolset: Toolset = { ...withEngine("rest", tools), checkFormats: false }; // as for tools that an engine brings
    const runtime = createRuntime({ toolsets: [toolset], approval: { approve: () => "allow-once" } });
    const count = await callAll(runtime, [toolset]);
    await runtime.close();

    console.log(`${file}: ${JSON.stringify({ ...count, problems: count.problems.length })}`);
    expect(count.problems.slice(0, 4)).toEqual([]);
    expect(count).toMatchObject({ notSimulated: 0, empty: [], statuses: { ok: count.tools } });
  });
});
