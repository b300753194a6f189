/** Samplers by name, for programs that choose one in their settings. */
import { ToolError } from "../core/error.ts";
import { isOptionsObject } from "../core/base/wording.ts";
import { checkArgument } from "../core/check-argument.ts";
import { didYouMean } from "../core/base/near-names.ts";
import { getOwn } from "../core/base/get-own.ts";
import type { Enriched } from "./enrich.ts";
import { chainSampler, fanInSampler, fanOutSampler } from "./graph-samplers.ts";
import { neighborSampler } from "./neighbor-sampler.ts";
import { randomSampler } from "./random-sampler.ts";
import type { SampleOptions, Sampler } from "./sampler.ts";

/** Options of a named sampler; keys that are not common to all samplers are its own. */
export type NamedSampleOptions = SampleOptions & { readonly k: number } & Readonly<Record<string, unknown>>;

/** Creates a sampler over enriched tools. @throws any error for options that it cannot use */
export type SamplerFactory = (enriched: Enriched, options: NamedSampleOptions) => Sampler;

/** The built-in samplers, by the names that fms-dgt has for them. */
const SAMPLERS: Readonly<Record<string, SamplerFactory>> = {
  "tc/random": randomSampler,
  "tc/chain": chainSampler,
  "tc/fan_out": fanOutSampler,
  "tc/fan_in": fanInSampler,
  "tc/neighbor": neighborSampler,
};

/**
 * Returns the built-in samplers by name, together with the program's own, for which it passes factories.
 *
 * @throws ToolError `duplicate` for a built-in name, `invalid_argument` for a factory that is not a function
 */
export function namedSamplers(registered: Readonly<Record<string, SamplerFactory>> = {}): NamedSamplers {
  checkArgument(isOptionsObject(registered), "namedSamplers()", "an object of functions by their names", registered);
  for (const [name, make] of Object.entries(registered)) {
    if (Object.hasOwn(SAMPLERS, name))
      throw new ToolError("duplicate", `The sampler ${JSON.stringify(name)} is built in; give yours another name.`);
    if (typeof make !== "function")
      throw new ToolError("invalid_argument", `The sampler ${JSON.stringify(name)} must be a function that makes one.`);
  }
  const table = { ...SAMPLERS, ...registered };
  return {
    names: Object.keys(table),
    make(name, enriched, options) {
      const make = getOwn(table, name);
      if (make === undefined) throw unknownSampler(name, Object.keys(table));
      return make(enriched, options);
    },
  };
}

/** Samplers that can be created by name. */
export interface NamedSamplers {
  readonly names: readonly string[];
  /** Creates a sampler. @throws ToolError `not_found`, with the known names; any error of the sampler for its options */
  make(name: string, enriched: Enriched, options: NamedSampleOptions): Sampler;
}

function unknownSampler(name: string, known: readonly string[]): ToolError {
  return new ToolError("not_found", `There is no sampler ${JSON.stringify(name)}. Known samplers: ${known.join(", ")}.`, {
    hint: didYouMean(name, known) ?? "Register others with namedSamplers({ name: make }).",
  });
}
