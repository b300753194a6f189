import type { CatalogTool } from "./catalog.ts";
import type { Enriched } from "./enrich.ts";
import { NEIGHBORS, ToolNeighbors } from "./neighbors.ts";
import { SamplingError, prepareScoredDraw, type Draw, type SampleOptions, type Sampler, checkEnriched } from "./sampler.ts";
import { shuffle } from "../core/base/seeded-random.ts";
import { plural } from "../core/base/wording.ts";

/** Options for drawing similar tools. */
export interface NeighborSampleOptions extends SampleOptions {
  /** Minimum similarity of neighbours. @default no minimum */
  readonly minScore?: number;
}

const OWNER = "The neighbour sampler";

/**
 * Returns a sampler that draws a random tool and its `k - 1` nearest neighbours, the nearest first.
 *
 * `k` can be at most 1 more than that of `neighbors()`.
 *
 * @throws ToolError at once: `not_found` if `neighbors()` was not run, `invalid_argument` for invalid options
 */
export function neighborSampler(
  enriched: Enriched,
  options: NeighborSampleOptions & { readonly k: number },
): Sampler<NeighborSampleOptions> {
  checkEnriched(enriched, OWNER);
  const neighbors = enriched.artifacts.require(NEIGHBORS, ToolNeighbors);
  prepareScoredDraw(enriched, options, OWNER);
  return {
    sample(own = {}) {
      const all = { ...options, ...own };
      return drawAlike(prepareScoredDraw(enriched, all, OWNER), neighbors, all.minScore ?? Number.NEGATIVE_INFINITY);
    },
  };
}

function drawAlike({ k, tools, allowed, random }: Draw, neighbors: ToolNeighbors, minScore: number): readonly CatalogTool[] {
  let best: readonly CatalogTool[] = [];
  for (const start of shuffle(random, tools)) {
    const alike = neighbors.of(start.id).filter(({ score }) => score >= minScore);
    const found = [start, ...alike.map(({ tool }) => allowed.get(tool)).filter((tool) => tool !== undefined)].slice(0, k);
    if (found.length === k) return found;
    if (found.length > best.length) best = found;
  }
  throw new SamplingError(`${OWNER} was asked for ${plural(k, "tool")}, but found only ${best.length} that are alike.`, {
    requested: k,
    tools: best,
    hint: "Ask for fewer, allow more namespaces or a lower minScore, or find more neighbours for each tool.",
  });
}
