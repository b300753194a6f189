import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Random } from "../core/ports.ts";
import type { CatalogTool } from "./catalog.ts";
import type { Enriched } from "./enrich.ts";
import {
  SAMPLE_OPTIONS,
  SamplingError,
  checkNamespaces,
  prepareDraw,
  type Draw,
  type SampleOptions,
  type Sampler,
  checkEnriched,
} from "./sampler.ts";
import { shuffle } from "../core/base/seeded-random.ts";
import { plural } from "../core/base/wording.ts";
import { addTo } from "../core/base/add-to.ts";

/** Options for drawing tools at random. */
export interface RandomSampleOptions extends SampleOptions {
  /**
   * How likely each namespace is drawn from: `proportional` to its number of tools, so that all tools are equally likely; `uniform`, so that all
   * namespaces are equally likely; or a weight for each, 0 for a namespace without one.
   *
   * @default "proportional"
   */
  readonly weights?: "proportional" | "uniform" | Readonly<Record<string, number>>;
}

const OWNER = "The random sampler";

/**
 * Returns a sampler that draws `k` tools at random, in the order drawn. Tools with the same name in different namespaces are different tools.
 *
 * @throws ToolError `invalid_argument` at once for invalid options
 */
export function randomSampler(enriched: Enriched, options: RandomSampleOptions & { readonly k: number }): Sampler<RandomSampleOptions> {
  checkEnriched(enriched, OWNER);
  prepareRandomDraw(enriched, options);
  return { sample: (own = {}) => sampleRandom(enriched, { ...options, ...own }) };
}

function prepareRandomDraw(enriched: Enriched, options: RandomSampleOptions): Draw {
  checkKnownKeys(options, { ...SAMPLE_OPTIONS, weights: true }, OWNER);
  checkWeights(enriched, options.weights);
  return prepareDraw(enriched, options, OWNER);
}

interface Pool {
  /** Returns the current weight of the namespace, relative to the others. */
  readonly weigh: () => number;
  readonly tools: Iterator<CatalogTool, void>;
  left: number;
}

function sampleRandom(enriched: Enriched, options: RandomSampleOptions): readonly CatalogTool[] {
  const { k, tools, random } = prepareRandomDraw(enriched, options);
  const pools = makePools(tools, random, options.weights ?? "proportional");
  const sample: CatalogTool[] = [];
  while (sample.length < k) {
    const pool = choosePool(pools, random);
    const next = pool?.tools.next();
    if (pool === undefined || next === undefined || next.done === true) break;
    pool.left--;
    sample.push(next.value);
  }
  if (sample.length === k) return sample;
  throw new SamplingError(`${OWNER} was asked for ${plural(k, "tool")}, but there are only ${sample.length}.`, {
    requested: k,
    tools: sample,
  });
}

function makePools(tools: readonly CatalogTool[], random: Random, weights: NonNullable<RandomSampleOptions["weights"]>): readonly Pool[] {
  const byNamespace = new Map<string, CatalogTool[]>();
  for (const tool of tools) {
    addTo(byNamespace, tool.namespace, tool);
  }
  return Array.from(byNamespace, ([namespace, own]) => {
    const fixed = typeof weights === "string" ? 1 : weightOf(weights, namespace);
    const pool: Pool = {
      weigh: () => (pool.left === 0 ? 0 : weights === "proportional" ? pool.left : fixed),
      tools: shuffle(random, own),
      left: own.length,
    };
    return pool;
  });
}

function weightOf(weights: Readonly<Record<string, number>>, namespace: string): number {
  return Object.hasOwn(weights, namespace) ? (weights[namespace] ?? 0) : 0;
}

function choosePool(pools: readonly Pool[], random: Random): Pool | undefined {
  const weights = pools.map((pool) => pool.weigh());
  let left = random.next() * weights.reduce((sum, weight) => sum + weight, 0);
  let chosen: Pool | undefined;
  for (const [index, weight] of weights.entries()) {
    if (weight === 0) continue;
    chosen = pools[index];
    left -= weight;
    if (left < 0) break;
  }
  return chosen;
}

function checkWeights({ tools }: Enriched, weights: RandomSampleOptions["weights"]): void {
  if (weights === undefined || weights === "proportional" || weights === "uniform") return;
  if (typeof weights !== "object" || weights === null)
    throw new ToolError("invalid_argument", `${OWNER} takes the weights "proportional", "uniform", or a number for each namespace.`);
  checkNamespaces(tools, Object.keys(weights), OWNER);
  for (const [namespace, weight] of Object.entries(weights)) {
    if (Number.isFinite(weight) && weight >= 0) continue;
    throw new ToolError(
      "invalid_argument",
      `${OWNER} was given the weight ${String(weight)} for ${JSON.stringify(namespace)}; it takes a number from 0.`,
    );
  }
}
