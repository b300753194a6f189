/** A registry of 100,000 tools: loading it, its first and later definitions, look-ups and search. */
import { modelTools } from "../src/compose/prompt/model-tools.ts";
import { Registry } from "../src/registry/registry.ts";
import { toolDefinition } from "../src/registry/tool-definition.ts";
import type { Tool } from "../src/core/tool.ts";
import { goal } from "./measure.ts";

const COUNT = 100_000;
const FIRST_TURN_MS = 300;
const LATER_TURN_MS = 1;

export function printRegistry(): void {
  const tools = makeTools(COUNT);
  gc();
  const heapBefore = process.memoryUsage().heapUsed;
  const registry = new Registry();
  const loadMs = time(() => registry.addToolset({ name: "big" }, tools));
  gc();
  const bytes = (process.memoryUsage().heapUsed - heapBefore) / COUNT;
  const firstMs = time(() => registry.list().map(toolDefinition));
  const laterMs = time(() => registry.list());
  const turns = firstTurns(tools);
  const lookUps = 1_000_000;
  const lookUpUs =
    (time(() => {
      for (let index = 0; index < lookUps; index++) registry.resolve(`big::tool_${index % COUNT}`);
    }) *
      1_000) /
    lookUps;
  registry.search({ text: "warm up" });
  const searches = Array.from({ length: 300 }, (_, index) => time(() => registry.search({ text: searchWords(index), limit: 10 }))).sort(
    (one, other) => one - other,
  );
  console.log(`\nA registry of ${COUNT.toLocaleString("en")} tools`);
  console.log(`  load                 ${loadMs.toFixed(0).padStart(8)} ms, ${bytes.toFixed(0)} bytes each beside the tools themselves`);
  console.log(`  first definitions    ${firstMs.toFixed(0).padStart(8)} ms`);
  console.log(`  later list           ${laterMs.toFixed(2).padStart(8)} ms`);
  console.log(
    `  tools for a model    ${turns.firstMs.toFixed(0).padStart(8)} ms in the first turn, ${turns.laterMs.toFixed(3)} ms in later ones; ${goal(
      `at most ${FIRST_TURN_MS} and ${LATER_TURN_MS} ms`,
      turns.firstMs <= FIRST_TURN_MS && turns.laterMs <= LATER_TURN_MS,
    )}`,
  );
  console.log(`  look-up              ${lookUpUs.toFixed(3).padStart(8)} µs`);
  console.log(`  search p50 / p99     ${(searches[150] ?? 0).toFixed(1).padStart(8)} / ${(searches[296] ?? 0).toFixed(1)} ms`);
}

/** What a loop's requests list, of a registry that nobody has asked before. */
function firstTurns(tools: readonly Tool[]): { readonly firstMs: number; readonly laterMs: number } {
  const registry = new Registry();
  registry.addToolset({ name: "big" }, tools);
  return { firstMs: time(() => modelTools(registry)), laterMs: time(() => modelTools(registry)) };
}

const VERBS = ["get", "list", "create", "update", "delete", "search", "send", "count", "export", "share"];
const NOUNS = ["order", "customer", "invoice", "ticket", "calendar", "message", "file", "report", "payment", "weather"];

/** Tools that differ in name and description. */
export function makeTools(count: number): readonly Tool[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `tool_${index}`,
    description: `${VERBS[index % 10]} a ${NOUNS[Math.floor(index / 10) % 10]} of account ${index}`,
    inputSchema: { type: "object", properties: { id: { type: "string" } } },
  }));
}

/** The words of the search of this number. */
export function searchWords(index: number): string {
  return `${VERBS[index % VERBS.length]} ${NOUNS[index % NOUNS.length]} ${index}`;
}

function time(work: () => unknown): number {
  const startedAt = performance.now();
  work();
  return performance.now() - startedAt;
}

function gc(): void {
  globalThis.gc?.();
}
