/** Samplers by name, for programs whose settings say which one draws. */
import { ToolError } from "../core/error.ts";
import { isOptionsObject } from "../core/base/wording.ts";
import { checkArgument } from "../core/check-argument.ts";
import { didYouMean } from "../core/base/near-names.ts";
import { own } from "../core/base/own.ts";
import type { Enriched } from "./enrich.ts";
import { chainSampler, fanInSampler, fanOutSampler } from "./graph-samplers.ts";
import { neighborSampler } from "./neighbor-sampler.ts";
import { randomSampler } from "./random-sampler.ts";
import type { SampleOptions, Sampler } from "./sampler.ts";

/** Options of a sampler; keys besides those of every sampler are its own. */
export type NamedSampleOptions = SampleOptions & { readonly k: number } & Readonly<Record<string, unknown>>;

/** Makes a sampler over enriched tools. @throws anything for options it cannot use */
export type SamplerFactory = (enriched: Enriched, options: NamedSampleOptions) => Sampler;

/** The samplers that need no registration, by the names that fms-dgt has for them. */
const SAMPLERS: Readonly<Record<string, SamplerFactory>> = {
  "tc/random": randomSampler,
  "tc/chain": chainSampler,
  "tc/fan_out": fanOutSampler,
  "tc/fan_in": fanInSampler,
  "tc/neighbor": neighborSampler,
};

/**
 * The samplers by their names, with a program's own besides ours: what it gives is a function that makes one.
 *
 * @throws ToolError `duplicate` for a name that is built in, `invalid_argument` for what is not a function
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
      const make = own(table, name);
      if (make === undefined) throw unknownSampler(name, Object.keys(table));
      return make(enriched, options);
    },
  };
}

/** Samplers that can be asked for by name. */
export interface NamedSamplers {
  readonly names: readonly string[];
  /** @throws ToolError `not_found` with the names there are; what the sampler throws for its options */
  make(name: string, enriched: Enriched, options: NamedSampleOptions): Sampler;
}

function unknownSampler(name: string, known: readonly string[]): ToolError {
  return new ToolError("not_found", `There is no sampler ${JSON.stringify(name)}. There are: ${known.join(", ")}.`, {
    hint: didYouMean(name, known) ?? "Register others by namedSamplers({ name: make }).",
  });
}
