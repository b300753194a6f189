/** Generates training data: infers output schemas and which tool's output feeds which tool's input, then samples tools that belong together. */
import assert from "node:assert/strict";
import { createRuntime, type Tool } from "haft";
import {
  DataflowGraph,
  chainSampler,
  dataflow,
  enrich,
  fanInSampler,
  outputSchemas,
  randomSampler,
  type SamplingError,
} from "haft/generate";

const tool = (name: string, ...inputs: readonly string[]): Tool => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: "object", properties: Object.fromEntries(inputs.map((input) => [input, { type: "string" }])) },
});
const runtime = createRuntime({
  toolsets: [
    { name: "maps", tools: [tool("locate", "address"), tool("route", "city")] },
    { name: "weather", tools: [tool("forecast", "city"), tool("warn", "forecast", "route")] },
  ],
});

// A fake model. A real program calls a model here; `cache: ".cache"` keeps its answers in that folder.
const answers = new Map<string, Record<string, string>>([
  ["locate", { city: "string" }],
  ["route", { route: "string" }],
  ["forecast", { forecast: "string" }],
]);
const model = ({ user }: { readonly user: string }) => Promise.resolve(answers.get(JSON.parse(user).name) ?? "I cannot say.");
const log = { debug() {}, warn: (message: string) => console.log(`warning: ${message}`) };

const enriched = await enrich(runtime.registry, [dataflow(), outputSchemas({ model })], { log });
const graph = enriched.artifacts.require("dataflow", DataflowGraph);
console.log(`${graph.edges.length} edges, of which weather::forecast has ${graph.out("weather::forecast").length}`);

const names = (tools: readonly { readonly id: string }[]) => tools.map(({ id }) => id).join(" → ");
console.log(`chain: ${names(chainSampler(enriched, { k: 3, seed: 1 }).sample())}`);
console.log(`fan-in: ${names(fanInSampler(enriched, { k: 3 }).sample({ seed: 2 }))}`);
const random = randomSampler(enriched, { k: 2, weights: { maps: 3, weather: 1 }, seed: "a" });
assert.deepEqual(random.sample(), random.sample());

try {
  chainSampler(enriched, { k: 4 }).sample({ seed: 1 });
} catch (error) {
  const { message, tools } = error as SamplingError;
  console.log(`${message} The longest: ${names(tools)}`);
}
await runtime.close();

/* Prints:
warning: No output schema for weather::warn: Not valid JSON at line 1, column 1: expected a value, found "I".
4 edges, of which weather::forecast has 1
chain: maps::locate → weather::forecast → weather::warn
fan-in: weather::forecast → maps::route → weather::warn
The chain sampler was asked for 4 tools, but found only 3 that feed each other in this way. The longest: maps::locate → weather::forecast → weather::warn
*/
