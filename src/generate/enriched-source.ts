import { ToolError } from "../core/error.ts";
import { checkArgument, hasMethods } from "../core/check-argument.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { ToolSource } from "../core/source.ts";
import { enrich, type EnrichOptions, type Enriched } from "./enrich.ts";
import type { Enrichment } from "./enrichment.ts";
import { sortEnrichments } from "./sort-enrichments.ts";

/** A source whose tools have been enriched. */
export interface EnrichedSource extends ToolSource {
  /** The result of the latest successful load. @throws ToolError `unavailable` before the first one */
  readonly enriched: Enriched;
}

/**
 * Wraps a source, so that its tools are enriched before a runtime sees them, again at each refresh; each load replaces all artifacts of the one
 * before.
 *
 * Tools that engines list when they are opened are not enriched here: pass the registry to `enrich` for those, or name the enrichments in a
 * configuration. A runtime waits at most 30 seconds for a source: enrichments that ask a model about many tools need a cache, filled by `enrich`
 * beforehand.
 *
 * @throws ToolError at once, as `enrich` does
 */
export function enrichedSource(
  source: ToolSource,
  enrichments: readonly Enrichment[],
  options: Pick<EnrichOptions, "onProgress"> = {},
): EnrichedSource {
  checkArgument(
    hasMethods(source, "load"),
    "enrichedSource()",
    "a source of toolsets",
    source,
    "For example fileSource({ path }) of haft/config.",
  );
  checkKnownKeys(options, { onProgress: "function" }, "enrichedSource()");
  sortEnrichments(enrichments);
  let latest: Enriched | undefined;
  return {
    name: source.name,
    async load(context) {
      const { signal, log } = context;
      const loaded = await enrich(await source.load(context), enrichments, { ...options, signal, log });
      latest = loaded;
      return loaded.toolsets;
    },
    ...(source.watch === undefined ? {} : { watch: (changed) => source.watch?.(changed) ?? (() => undefined) }),
    get enriched() {
      if (latest === undefined) throw new ToolError("unavailable", `The source ${JSON.stringify(source.name)} was not loaded yet.`);
      return latest;
    },
  };
}
