/** The seam for choosing tools that belong together, to generate data with. */
import { quoted, someOf } from "../core/base/wording.ts";
import { COUNT, checkNumber } from "../core/base/number-bounds.ts";
import { ToolError } from "../core/error.ts";
import { checkArgument, hasMethods } from "../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Random } from "../core/ports.ts";
import { didYouMean } from "../core/base/near-names.ts";
import { systemPorts } from "../core/system-ports.ts";
import type { CatalogTool } from "./catalog.ts";
import type { Enriched } from "./enrich.ts";
import { seededRandom } from "../core/base/seeded-random.ts";

/** Draws tools. Keeps nothing from one sample to the next. */
export interface Sampler<Options extends SampleOptions = SampleOptions> {
  /**
   * Draws one sample; its order means something. Options given here go before those of the sampler.
   *
   * @throws SamplingError when there are not as many tools as asked for; ToolError `invalid_argument` for options that cannot work
   */
  sample(options?: Options): readonly CatalogTool[];
}

/** How many tools are drawn, and how. */
export interface SampleOptions {
  /** How many tools: exactly so many, no two the same. Integer ≥ 1. */
  readonly k?: number;
  /** Only tools of these namespaces. @default all */
  readonly namespaces?: readonly string[];
  /** The same seed draws the same sample from the same tools. @default another sample each time */
  readonly seed?: number | string;
  /** Where randomness comes from, where there is no seed. */
  readonly random?: Random;
}

export const SAMPLE_OPTIONS: OptionNames<SampleOptions> = { k: true, namespaces: "strings", seed: true, random: true };

/** There are not as many tools as were asked for that belong together in this way. */
export class SamplingError extends ToolError {
  readonly requested: number;
  /** The most that were found. */
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
  /** By id, the same tools. */
  readonly allowed: ReadonlyMap<string, CatalogTool>;
  readonly random: Random;
}

/** @throws ToolError `invalid_argument` for a wrong `k`, and for a namespace that has no tool */
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

/** As `prepareDraw`, for samplers of tools that are alike or fit to some score. @throws ToolError `invalid_argument`, for other options too */
export function prepareScoredDraw(enriched: Enriched, options: SampleOptions & { readonly minScore?: number }, owner: string): Draw {
  checkKnownKeys(options, { ...SAMPLE_OPTIONS, minScore: true }, owner);
  const { minScore = 0 } = options;
  if (!Number.isFinite(minScore))
    throw new ToolError("invalid_argument", `minScore of ${owner} is ${quoted(minScore)}; it takes a number.`);
  return prepareDraw(enriched, options, owner);
}

/** @throws ToolError `invalid_argument` for a name that no tool has */
export function checkNamespaces(tools: readonly CatalogTool[], names: readonly string[], owner: string): void {
  const known = new Set(tools.map(({ namespace }) => namespace));
  const unknown = names.find((name) => !known.has(name));
  if (unknown === undefined) return;
  throw new ToolError("invalid_argument", `${owner} was given the namespace ${quoted(unknown)}, which no tool has.`, {
    hint: didYouMean(unknown, known) ?? `There is ${someOf([...known])}.`,
  });
}

/** Refuses what `enrich` did not make. @throws ToolError `invalid_argument` */
export function checkEnriched(enriched: Enriched, owner: string): void {
  checkArgument(
    hasMethods(enriched, "require"),
    owner,
    "enriched tools",
    enriched,
    "enrich(runtime.registry, enrichments) resolves to them.",
  );
}
