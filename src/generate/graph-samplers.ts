/** Samplers of tools that feed each other, along the edges of the dataflow graph. */
import type { CatalogTool } from "./catalog.ts";
import { DATAFLOW } from "./dataflow.ts";
import { DataflowGraph, type DataflowEdge } from "./dataflow-graph.ts";
import type { Enriched } from "./enrich.ts";
import { SamplingError, prepareScoredDraw, type Draw, type SampleOptions, type Sampler, checkEnriched } from "./sampler.ts";
import { shuffle } from "../core/base/seeded-random.ts";
import { plural } from "../core/base/wording.ts";

/** Options for drawing tools along the edges between them. */
export interface GraphSampleOptions extends SampleOptions {
  /** Minimum score of the edges to follow. @default 0, all edges of the graph */
  readonly minScore?: number;
}

/** The options of a graph sampler, with the required `k`. */
export type NeededSampleOptions = GraphSampleOptions & { readonly k: number };

/**
 * Returns a sampler that draws `k` tools of which each can feed the next, in that order.
 *
 * Searches for a path from random starts, with backtracking, and gives up after some 10,000 steps for each tool of the sample; a long chain that is
 * rare may not be found.
 *
 * @throws ToolError at once: `not_found` if `dataflow()` was not run, `invalid_argument` for invalid options
 */
export function chainSampler(enriched: Enriched, options: NeededSampleOptions): Sampler<GraphSampleOptions> {
  return graphSampler(enriched, options, { owner: "The chain sampler", draw: drawChain });
}

/**
 * Returns a sampler that draws one tool, the first, and `k - 1` others that it can feed.
 *
 * @throws ToolError at once, as `chainSampler`
 */
export function fanOutSampler(enriched: Enriched, options: NeededSampleOptions): Sampler<GraphSampleOptions> {
  return graphSampler(enriched, options, { owner: "The fan-out sampler", draw: (draw, graph) => drawFan(draw, graph.out) });
}

/**
 * Returns a sampler that draws `k - 1` tools that can feed one other tool, which is the last.
 *
 * @throws ToolError at once, as `chainSampler`
 */
export function fanInSampler(enriched: Enriched, options: NeededSampleOptions): Sampler<GraphSampleOptions> {
  return graphSampler(enriched, options, { owner: "The fan-in sampler", draw: (draw, graph) => drawFan(draw, graph.in).reverse() });
}

/** Returns the tools adjacent to a tool that may be drawn, without duplicates. */
type ListAdjacent = (tool: CatalogTool) => readonly CatalogTool[];

interface GraphSamplerKind {
  readonly owner: string;
  /** Draws as many tools as it can find, at most `k`. */
  readonly draw: (draw: Draw, graph: { readonly out: ListAdjacent; readonly in: ListAdjacent }) => CatalogTool[];
}

function graphSampler(enriched: Enriched, options: NeededSampleOptions, { owner, draw }: GraphSamplerKind): Sampler<GraphSampleOptions> {
  checkEnriched(enriched, owner);
  const graph = enriched.artifacts.require(DATAFLOW, DataflowGraph);
  prepareScoredDraw(enriched, options, owner);
  return {
    sample(own = {}) {
      const all = { ...options, ...own };
      const prepared = prepareScoredDraw(enriched, all, owner);
      const tools = draw(prepared, createAdjacency(graph, prepared, all.minScore ?? 0));
      if (tools.length === prepared.k) return tools;
      throw new SamplingError(
        `${owner} was asked for ${plural(prepared.k, "tool")}, but found only ${tools.length} that feed each other in this way.`,
        {
          requested: prepared.k,
          tools,
          hint: "Ask for fewer, allow more namespaces or a lower minScore.",
        },
      );
    },
  };
}

function createAdjacency(
  graph: DataflowGraph,
  { allowed }: Draw,
  minScore: number,
): { readonly out: ListAdjacent; readonly in: ListAdjacent } {
  const listAdjacent = (edges: readonly DataflowEdge[], end: "from" | "to"): readonly CatalogTool[] => {
    const ids = new Set(edges.filter(({ score }) => score >= minScore).map((edge) => edge[end].tool));
    return Array.from(ids, (id) => allowed.get(id)).filter((tool) => tool !== undefined);
  };
  return { out: ({ id }) => listAdjacent(graph.out(id), "to"), in: ({ id }) => listAdjacent(graph.in(id), "from") };
}

const STEPS_PER_TOOL = 10_000;

function drawChain({ k, tools, random }: Draw, { out }: { readonly out: ListAdjacent }): CatalogTool[] {
  let best: readonly CatalogTool[] = [];
  let stepsLeft = STEPS_PER_TOOL * k;
  for (const start of shuffle(random, tools)) {
    const chain: CatalogTool[] = [start];
    const inChain = new Set([start.id]);
    const choices = [shuffle(random, k === 1 ? [] : out(start))];
    while (chain.length > 0) {
      if (chain.length > best.length) best = [...chain];
      if (best.length === k || stepsLeft-- <= 0) return [...best];
      const next = choices.at(-1)?.next();
      if (next === undefined || next.done === true) {
        choices.pop();
        const left = chain.pop();
        if (left !== undefined) inChain.delete(left.id);
      } else if (!inChain.has(next.value.id)) {
        chain.push(next.value);
        inChain.add(next.value.id);
        choices.push(shuffle(random, chain.length === k ? [] : out(next.value)));
      }
    }
  }
  return [...best];
}

/** Draws a hub and tools adjacent to it; the hub is first. */
function drawFan({ k, tools, random }: Draw, listAdjacent: ListAdjacent): CatalogTool[] {
  let best: CatalogTool[] = [];
  for (const hub of shuffle(random, tools)) {
    const fan = [hub];
    if (k > 1) {
      for (const other of shuffle(random, listAdjacent(hub))) {
        if (other.id !== hub.id) fan.push(other);
        if (fan.length === k) break;
      }
    }
    if (fan.length === k) return fan;
    if (fan.length > best.length) best = fan;
  }
  return best;
}
