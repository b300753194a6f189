import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import type { Toolset } from "../../src/core/toolset.ts";
import { dataflow } from "../../src/generate/dataflow.ts";
import { DataflowGraph } from "../../src/generate/dataflow-graph.ts";
import { enrich } from "../../src/generate/enrich.ts";
import { randomSampler } from "../../src/generate/random-sampler.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { toolFromJson } from "../../src/registry/tool-definition.ts";
import { IN_CI, inCI } from "../ci.ts";
import { CASES, hasLiveTools, liveTools } from "../fixtures/live-tools.ts";

const FOLDER = join(CASES, "fms-dgt");
/** What the runtime brings itself. */
const OWN_TOOLS = 1;

/** One toolset for each file; 8,086 tools in all four, 8,060 in the three of the open sample. */
function seedToolsets(): readonly Toolset[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith("-query_tools.yaml"));
  return files.map((file) => ({
    name: file.replace("-query_tools.yaml", ""),
    overloads: true,
    tools: Object.values<unknown>(parse(readFileSync(join(FOLDER, file), "utf8"))).map((json) => toolFromJson(json).tool),
  }));
}

test.skipIf(!inCI || !existsSync(FOLDER) || !hasLiveTools)(
  `L22 F0.21 F0.25 thousands of tools register at once: none is lost, one is quarantined, and all can be sampled (skipped without the case folder) ${IN_CI}`,
  { timeout: 240_000 },
  async () => {
    const seed = seedToolsets();
    const live = Array.from(liveTools(), ([name, tools]) => ({ name, tools }));
    const toolsets = [...seed, ...live];
    const count = (some: readonly Toolset[]): number => some.reduce((sum, { tools = [] }) => sum + tools.length, 0);

    const runtime = createRuntime({ toolsets });
    const { registry } = runtime;

    expect([live.length, count(live), registry.size]).toEqual([70, 527, count(seed) + 527 + OWN_TOOLS]);
    expect(count(seed)).toBeGreaterThanOrEqual(8_060);
    expect(registry.check().map(({ tool, error }) => [tool, error.code, error.message])).toEqual([
      ["pdf-reader-mcp::read_pdf", "unavailable", expect.stringMatching(/exclusiveMinimum/u)],
    ]);
    const shared = sharedNames(live);
    expect(shared.length).toBe(13);
    for (const [name, owners] of shared) {
      expect(owners.map((owner) => registry.require(`${owner}::${name}`).toolset.name)).toEqual(owners);
    }
    const enriched = await enrich(registry, [dataflow()]);
    const names = randomSampler(enriched, { k: 500, weights: "uniform", seed: 1 })
      .sample()
      .map(({ id }) => id);
    const known = new Set(enriched.tools.map(({ id }) => id));
    const { edges } = enriched.artifacts.require("dataflow", DataflowGraph);
    expect([known.size, new Set(names).size]).toEqual([count(toolsets), 500]);
    expect(edges.filter(({ from, to }) => !known.has(from.tool) || !known.has(to.tool) || from.tool === to.tool)).toEqual([]);
    expect(edges.length).toBeGreaterThan(100);
    await runtime.close();
  },
);

/** Names that tools of several toolsets bear, with the toolsets. */
function sharedNames(toolsets: readonly Toolset[]): readonly (readonly [name: string, owners: readonly string[]])[] {
  const owners = new Map<string, string[]>();
  for (const { name: owner, tools = [] } of toolsets) {
    for (const { name } of tools) owners.set(name, [...(owners.get(name) ?? []), owner]);
  }
  return [...owners].filter(([, names]) => names.length > 1);
}
