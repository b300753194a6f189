/** The seam for what is worked out about tools, rather than declared by them. */
import type { Log } from "../core/ports.ts";
import type { Tool } from "../core/tool.ts";
import type { Artifacts } from "./artifacts.ts";
import type { CatalogTool } from "./catalog.ts";

/**
 * Works something out about a collection of tools: a schema that is missing, a graph, vectors.
 *
 * It must give the same for the same tools, and leave the tools it is shown as they are.
 */
export interface Enrichment {
  /** The name of its artifact; no two of one run may share it. */
  readonly key: string;
  /** Enrichments whose artifacts it reads: they must be there, and run before it. */
  readonly dependsOn?: readonly string[];
  /** Enrichments that run before it where they are there. */
  readonly after?: readonly string[];
  /** Rejecting ends the whole run: what can be left out is logged and left out. */
  enrich(context: EnrichmentContext): EnrichmentResult | Promise<EnrichmentResult>;
}

/** The context of an enrichment, besides the tools. */
export interface EnrichmentContext {
  /** As the enrichments before left them. */
  readonly tools: readonly CatalogTool[];
  /** The artifacts of the enrichments before. */
  readonly artifacts: Artifacts;
  readonly signal: AbortSignal;
  readonly log: Log;
  progress(done: number, total: number): void;
}

/** The findings of an enrichment. */
export interface EnrichmentResult {
  /** By id, the tools that take the place of those shown. They must keep their names. */
  readonly tools?: ReadonlyMap<string, Tool>;
  /** The artifact that later enrichments and samplers read under `key`. */
  readonly artifact?: unknown;
}
