/** `tools.enrichments` of a configuration are made, run and checked, and samplers draw by their names (seed 000's YAML, F0.13). */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { buildRuntimeParts, configuredRuntime, loadConfig, type Extensions } from "../../src/config/config.ts";
import type { OpenReport, RefreshReport } from "../../src/registry/lifecycle/open-report.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { DataflowGraph, ToolNeighbors, embeddings, namedSamplers, type Enrichment } from "../../src/generate/generate.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { configError, configFolder, problemsOf } from "../config/config-folder.ts";
import { startProviderServer } from "../model/provider-server.ts";

const PORT = `
  registry:
    - type: inline
      namespace: harbour
      tools:
        - name: find_ship
          description: Finds a ship.
          parameters: { type: object, properties: { ship_name: { type: string } } }
          output_parameters: { type: object, properties: { berth_number: { type: integer } } }
    - type: inline
      namespace: crane
      tools:
        - name: move_crane
          description: Moves a crane.
          parameters: { type: object, properties: { berth_number: { type: integer } }, required: [berth_number] }
`;

async function partsOf(
  enrichments: string,
  more: { readonly extensions?: Extensions; readonly environment?: Record<string, string> } = {},
) {
  const folder = configFolder({ "haft.yaml": `tools:${PORT}${enrichments}` });
  const { extensions, environment = {} } = more;
  const loaded = await loadConfig(join(folder, "haft.yaml"), { environment, ...(extensions === undefined ? {} : { extensions }) });
  const parts = await buildRuntimeParts(loaded);
  const { toolsets, sources } = parts;
  const ports = fakePorts();
  const runtime = createRuntime({ toolsets, sources, ports });
  onTestFinished(async () => void (await runtime.close()));
  expect((await runtime.open()).failed).toEqual([]);
  return { loaded, runtime, enriched: parts.enriched?.enriched, ports };
}

test("F0.13 F0.25 F0.56 a dataflow that a configuration names is drawn over all entries, and a sampler follows it by name", async () => {
  const { runtime, enriched } = await partsOf("  enrichments: [{ type: dataflow }]\n");
  const edges = enriched?.artifacts.require("dataflow", DataflowGraph).edges;

  expect(edges?.map(({ from, to }) => [from.tool, to.tool])).toEqual([["harbour::find_ship", "crane::move_crane"]]);
  expect(runtime.registry.names()).toEqual(expect.arrayContaining(["crane::move_crane", "harbour::find_ship"]));
  if (enriched === undefined) throw new Error("nothing was enriched");
  const chain = namedSamplers().make("tc/chain", enriched, { k: 2, seed: 1 });
  expect(chain.sample().map(({ id }) => id)).toEqual(["harbour::find_ship", "crane::move_crane"]);
});

test("F0.22 F0.56 output_parameters asks the model that it names about the tools that say nothing, and the runtime has the schemas", async () => {
  const said = '{"type": "object", "properties": {"moved": {"type": "boolean"}}}';
  const ollama = await startProviderServer({ format: "ollama", script: [{ text: said }] });
  onTestFinished(() => ollama.close());
  const enrichments = "  enrichments: [{ type: output_parameters, lm_config: { type: ollama, model_id_or_path: granite } }]\n";
  const { runtime } = await partsOf(enrichments, { environment: { OLLAMA_HOST: ollama.url } });

  expect(ollama.requests).toHaveLength(1);
  expect(runtime.registry.require("crane::move_crane").tool.outputSchema).toMatchObject({ properties: { moved: { type: "boolean" } } });
  expect(runtime.registry.require("harbour::find_ship").tool.outputSchema).toMatchObject({ properties: { berth_number: {} } });
});

test("F0.13 an enrichment of the program is named like a built-in one, run after what it needs, and given its keys", async () => {
  const seen: unknown[] = [];
  const census = (options: object): Enrichment => ({
    key: "census",
    dependsOn: ["dataflow"],
    enrich: ({ tools }) => (seen.push(options), { artifact: tools.length }),
  });
  const embed = async (texts: readonly string[]) => texts.map((text) => [text.length, 1]);
  const extensions: Extensions = { enrichments: { census, embeddings: () => embeddings({ embed }) } };
  const { enriched } = await partsOf(
    "  enrichments: [{ type: neighbors, k: 1 }, { type: census, of: tools }, { type: embeddings, model: m }, { type: dataflow }]\n",
    { extensions },
  );

  expect(seen).toEqual([{ of: "tools" }]);
  expect(enriched?.artifacts.get("census")).toBe(2);
  expect(enriched?.artifacts.require("neighbors", ToolNeighbors)).toBeInstanceOf(ToolNeighbors);
});

test("F0.56 embeddings that nobody can make are left out with what needs them, and a warning says where", async () => {
  const { loaded, enriched, runtime } = await partsOf(
    "  enrichments:\n    - { type: embeddings, model: m }\n    - { type: neighbors }\n    - { type: dataflow }\n",
  );

  expect(loaded.warnings).toEqual([
    expect.stringMatching(/haft\.yaml:17:\d+: tools\.enrichments\[0\]\.type: is left out, and so is what needs it/u),
  ]);
  expect(enriched?.artifacts.keys()).toEqual(["dataflow"]);
  expect(runtime.registry.size).toBeGreaterThan(1);
});

test("F0.21 F0.56 enrichments of which one needs another that is not there, or two that share a key, are refused", async () => {
  const lonely = (): Enrichment => ({ key: "dataflow", enrich: () => ({}) });
  await expect(
    partsOf("  enrichments: [{ type: dataflow }, { type: twin }]\n", { extensions: { enrichments: { twin: lonely } } }),
  ).rejects.toMatchObject({ code: "duplicate" });
});

test.each([
  [
    "a type that is not there",
    "{ type: datafow }",
    /^haft\.yaml:1:\d+: tools\.enrichments\[0\]\.type: "datafow" is not an enrichment\..*"dataflow"/u,
  ],
  ["no type", "{ model: m }", /tools\.enrichments\[0\].*type/u],
  ["a key that it does not have", "{ type: dataflow, minscore: 1 }", /tools\.enrichments\[0\]\.minscore: unknown key/u],
  ["a value out of range", "{ type: neighbors, k: 0 }", /tools\.enrichments\[0\]\.k/u],
  ["no model to ask", "{ type: output_parameters }", /tools\.enrichments\[0\].*model/u],
])("F0.13 F0.57 an enrichment with %s is refused with its place", async (_what, entry, problem) => {
  expect(await problemsOf("haft.yaml", `tools: { registry: [], enrichments: [${entry}] }`)).toEqual([expect.stringMatching(problem)]);
});

test("F0.13 an enrichment of a module of extensions is found, and one that no module brings is refused with its place", async () => {
  const folder = configFolder({
    "haft.yaml": "extensions: [./more.mjs]\ntools: { registry: [], enrichments: [{ type: stamp }, { type: stomp }] }\n",
    "more.mjs": 'export const haftEnrichments = { stamp: () => ({ key: "stamp", enrich: () => ({ artifact: 1 }) }) };\n',
  });
  const error = await configError(configuredRuntime(join(folder, "haft.yaml"), { environment: {} }));

  expect(error.details).toEqual([expect.stringMatching(/enrichments\[1\]\.type: "stomp" is not an enrichment\..*stamp/u)]);
});

test("F0.13 names of enrichments and samplers are given once, and unknown ones list those there are", async () => {
  const make = () => ({ key: "x", enrich: () => ({}) });
  const folder = configFolder({ "haft.yaml": "tools: []\n" });
  await expect(loadConfig(join(folder, "haft.yaml"), { extensions: { enrichments: { dataflow: make } } })).rejects.toMatchObject({
    code: "duplicate",
  });
  expect(() => namedSamplers({ "tc/random": () => ({ sample: () => [] }) })).toThrow(/"tc\/random" is built in/u);
  expect(() => namedSamplers({ mine: 5 as never })).toThrow(/"mine"/u);
  const { enriched } = await partsOf("  enrichments: [{ type: dataflow }]\n");
  if (enriched === undefined) throw new Error("nothing was enriched");
  const samplers = namedSamplers({ mine: (given) => ({ sample: () => given.tools.slice(0, 1) }) });

  expect(samplers.make("mine", enriched, { k: 1 }).sample()).toHaveLength(1);
  expect(() => samplers.make("tc/rendom", enriched, { k: 1 })).toThrow(
    /Known samplers: tc\/random, tc\/chain, tc\/fan_out, tc\/fan_in, tc\/neighbor, mine/u,
  );
  expect(() => samplers.make("toString", enriched, { k: 1 })).toThrow(/no sampler/u);
});

test("F0.11 F0.21 a file that cannot be read is in the reports of open and refresh, and fails strict, where tools are enriched", async () => {
  const entry = (name: string): string => `    - { type: file, path: ${name}.json, namespace: ${name} }\n`;
  const tools = '[{ "name": "load", "description": "Loads.", "parameters": {} }]';
  const text = `tools:\n  registry:\n${entry("crane")}${entry("harbour")}  enrichments:\n    - { type: dataflow }\n`;
  const folder = configFolder({ "haft.yaml": text, "crane.json": tools, "harbour.json": "[" });
  const path = join(folder, "haft.yaml");

  const strict = createRuntime({ ...(await configuredRuntime(path)), strict: true, ports: fakePorts() });
  await expect(strict.open()).rejects.toThrow(/"harbour".*harbour\.json/u);
  const runtime = createRuntime({ ...(await configuredRuntime(path)), ports: fakePorts() });
  onTestFinished(async () => void (await runtime.close()));
  const failedOf = ({ failed }: OpenReport | RefreshReport) => failed.map(({ toolset, error }) => [toolset, error.code]);
  const opened = await runtime.open();
  expect([opened.opened, failedOf(opened)]).toEqual([["crane"], [["harbour", "invalid_config"]]]);

  await writeFile(join(folder, "harbour.json"), tools);
  expect(failedOf(await runtime.refresh())).toEqual([]);
  await writeFile(join(folder, "harbour.json"), "[");
  expect(failedOf(await runtime.refresh())).toEqual([["harbour", "invalid_config"]]);
  expect(runtime.registry.has("harbour::load")).toBe(true);
});
