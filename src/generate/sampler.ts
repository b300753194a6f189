import { quoteValue, formatList } from "../core/base/wording.ts";
import { COUNT, checkNumber } from "../core/base/number-bounds.ts";
import { ToolError } from "../core/error.ts";
import { checkArgument, hasMethods } from "../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Random } from "../core/ports.ts";
import { didYouMean } from "../core/base/near-names.ts";
import { systemPorts } from "../core/system/system-ports.ts";
import type { CatalogTool } from "./catalog.ts";
import type { Enriched } from "./enrich.ts";
import { seededRandom } from "../core/base/seeded-random.ts";

/** Draws related tools, to generate data with. Stateless between samples. */
export interface Sampler<Options extends SampleOptions = SampleOptions> {
  /**
   * Draws one sample, whose order is significant. Options given here override those of the sampler.
   *
   * @throws SamplingError if there are not enough tools; ToolError `invalid_argument` for invalid options
   */
  sample(options?: Options): readonly CatalogTool[];
}

/** Options for drawing a sample. */
export interface SampleOptions {
  /** Exact number of tools, all different. Integer ≥ 1. */
  readonly k?: number;
  /** The namespaces to draw from. @default all */
  readonly namespaces?: readonly string[];
  /** Makes the sample reproducible for the same tools. @default none, each sample differs */
  readonly seed?: number | string;
  /** The source of randomness if there is no seed. */
  readonly random?: Random;
}

export const SAMPLE_OPTIONS: OptionNames<SampleOptions> = { k: true, namespaces: "strings", seed: true, random: true };

/** There are fewer tools than requested that are related in the required way. */
export class SamplingError extends ToolError {
  readonly requested: number;
  /** The largest sample that was found. */
  readonly tools: readonly CatalogTool[];

  constructor(message: string, sample: { readonly requested: number; readonly tools: readonly CatalogTool[]; readonly hint?: string }) {
    super("invalid_argument", message, sample.hint === undefined ? {} : { hint: sample.hint });
    this.requested = sample.requested;
    this.tools = sample.tools;
  }
}

/** The tools and options that one sample is drawn from. */
export interface Draw {
  readonly k: number;
  readonly tools: readonly CatalogTool[];
  /** The same tools, by id. */
  readonly allowed: ReadonlyMap<string, CatalogTool>;
  readonly random: Random;
}

/** Checks options and prepares a draw. @throws ToolError `invalid_argument` for an invalid `k`, and for a namespace without tools */
export function prepareDraw({ tools }: Enriched, options: SampleOptions, owner: string): Draw {
  const { k, namespaces, seed, random = systemPorts.random } = options;
  checkNumber(k, `k of ${owner}`, COUNT);
  checkNamespaces(tools, namespaces ?? [], owner);
  const wanted = namespaces === undefined ? undefined : new Set(namespaces);
  const offered = wanted === undefined ? tools : tools.filter(({ namespace }) => wanted.has(namespace));
  return {
    k: k ?? 1,
    tools: offered,
    allowed: new Map(offered.map((tool) => [tool.id, tool])),
    random: seed === undefined ? random : seededRandom(seed),
  };
}

/** Like `prepareDraw`, for samplers with a minimum score. @throws ToolError `invalid_argument`, also for unknown options */
export function prepareScoredDraw(enriched: Enriched, options: SampleOptions & { readonly minScore?: number }, owner: string): Draw {
  checkKnownKeys(options, { ...SAMPLE_OPTIONS, minScore: true }, owner);
  const { minScore = 0 } = options;
  if (!Number.isFinite(minScore))
    throw new ToolError("invalid_argument", `minScore of ${owner} is ${quoteValue(minScore)}; it takes a number.`);
  return prepareDraw(enriched, options, owner);
}

/** @throws ToolError `invalid_argument` for a namespace without tools */
export function checkNamespaces(tools: readonly CatalogTool[], names: readonly string[], owner: string): void {
  const known = new Set(tools.map(({ namespace }) => namespace));
  const unknown = names.find((name) => !known.has(name));
  if (unknown === undefined) return;
  throw new ToolError("invalid_argument", `${owner} was given the namespace ${quoteValue(unknown)}, which no tool has.`, {
    hint: didYouMean(unknown, known) ?? `Known namespaces: ${formatList([...known])}.`,
  });
}

/** Refuses objects that `enrich` did not create. @throws ToolError `invalid_argument` */
export function checkEnriched(enriched: Enriched, owner: string): void {
  checkArgument(
    hasMethods(enriched, "require"),
    owner,
    "enriched tools",
    enriched,
    "enrich(runtime.registry, enrichments) resolves to them.",
  );
}
