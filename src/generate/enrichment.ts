import type { Log } from "../core/ports.ts";
import type { Tool } from "../core/tool.ts";
import type { Artifacts } from "./artifacts.ts";
import type { CatalogTool } from "./catalog.ts";

/**
 * Computes something about a collection of tools: missing schemas, a graph, vectors.
 *
 * Must be deterministic for the same tools, and must not change the tools that it gets.
 */
export interface Enrichment {
  /** The name of its artifact; unique in a run. */
  readonly key: string;
  /** Enrichments whose artifacts it reads: they must be part of the run, and run before it. */
  readonly dependsOn?: readonly string[];
  /** Enrichments that run before it if they are part of the run. */
  readonly after?: readonly string[];
  /** Computes the artifact, new tools, or both. A rejection ends the whole run; for a single tool that fails, log it and leave it out. */
  enrich(context: EnrichmentContext): EnrichmentResult | Promise<EnrichmentResult>;
}

/** The tools and services that an enrichment gets. */
export interface EnrichmentContext {
  /** The tools as the previous enrichments left them. */
  readonly tools: readonly CatalogTool[];
  /** The artifacts of the previous enrichments. */
  readonly artifacts: Artifacts;
  readonly signal: AbortSignal;
  readonly log: Log;
  progress(done: number, total: number): void;
}

/** The result of an enrichment. */
export interface EnrichmentResult {
  /** The tools that replace the given ones, by id. They must keep their names. */
  readonly tools?: ReadonlyMap<string, Tool>;
  /** The artifact, which later enrichments and samplers read by `key`. */
  readonly artifact?: unknown;
}
