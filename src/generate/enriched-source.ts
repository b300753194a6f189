/** A source whose tools are enriched each time it is loaded. */
import { ToolError } from "../core/error.ts";
import { checkArgument, hasMethods } from "../core/check-argument.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { ToolSource } from "../core/source.ts";
import { enrich, type EnrichOptions, type Enriched } from "./enrich.ts";
import type { Enrichment } from "./enrichment.ts";
import { sortEnrichments } from "./sort-enrichments.ts";

/** A source of tools with what enrichments have added. */
export interface EnrichedSource extends ToolSource {
  /** The result of the latest load that went well. @throws ToolError `unavailable` before the first one */
  readonly enriched: Enriched;
}

/**
 * Wraps a source: what it loads is enriched before a runtime sees it, again at each refresh, and the artifacts of the load before are
 * replaced as a whole. Tools that engines bring when they are opened do not pass through here: give `enrich` the registry for those, or
 * name the enrichments in a configuration.
 * A runtime waits 30 seconds for a source: what asks a model about many tools wants a cache, filled by `enrich` beforehand.
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
    async load({ signal, log }) {
      const loaded = await enrich(await source.load({ signal, log }), enrichments, { ...options, signal, log });
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
