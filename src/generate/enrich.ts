/** Runs enrichments over tools, each after those it depends on. */
import { ToolError, describeThrown } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Log } from "../core/ports.ts";
import type { Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { safeLog } from "../core/system/safe-log.ts";
import { systemPorts } from "../core/system/system-ports.ts";
import { Artifacts } from "./artifacts.ts";
import { createCatalog, listToolsets, type CatalogTool, type ToolCollection } from "./catalog.ts";
import type { Enrichment, EnrichmentResult } from "./enrichment.ts";
import { sortEnrichments } from "./sort-enrichments.ts";

/** Options for a run of enrichments. */
export interface EnrichOptions {
  readonly signal?: AbortSignal;
  /** @default warnings go to standard error */
  readonly log?: Log;
  /** Called with the progress of each enrichment. Errors that it throws are ignored. */
  readonly onProgress?: (progress: EnrichmentProgress) => void;
}

/** The progress of a run. */
export interface EnrichmentProgress {
  /** The key of the enrichment that is running. */
  readonly enrichment: string;
  readonly done: number;
  readonly total: number;
}

/** Tools with the artifacts of a run. Immutable: after a refresh, enrich again. */
export class Enriched {
  readonly tools: readonly CatalogTool[];
  /** The given toolsets with the enriched tools, for use by a runtime or a source. */
  readonly toolsets: readonly Toolset[];
  readonly artifacts: Artifacts;
  readonly #byId: ReadonlyMap<string, CatalogTool>;

  constructor(toolsets: readonly Toolset[], tools: readonly CatalogTool[], artifacts: Artifacts) {
    this.tools = tools;
    this.toolsets = toToolsets(toolsets, tools);
    this.artifacts = artifacts;
    this.#byId = new Map(tools.map((tool) => [tool.id, tool]));
  }

  /** Returns the tool with this id. @throws ToolError `not_found` */
  require(id: string): CatalogTool {
    const tool = this.#byId.get(id);
    if (tool === undefined) throw new ToolError("not_found", `There is no tool ${JSON.stringify(id)} among those that were enriched.`);
    return tool;
  }
}

/**
 * Runs every enrichment once, one at a time, each after those it depends on, whatever the order of the array.
 *
 * The given tools are never changed: an enrichment that improves a tool creates a new one. Each call starts again from the tools as they are then, so
 * nothing of an earlier run remains.
 *
 * @throws ToolError at once: `duplicate` for two enrichments with one key, `invalid_argument` for a missing or circular dependency. Rejects with
 * `cancelled` if the signal aborts, and with the error of an enrichment that fails
 */
export function enrich(tools: ToolCollection, enrichments: readonly Enrichment[], options: EnrichOptions = {}): Promise<Enriched> {
  checkKnownKeys(options, { signal: "AbortSignal", log: "object", onProgress: "function" }, "enrich()");
  const ordered = sortEnrichments(enrichments);
  return runEnrichments(listToolsets(tools), ordered, options);
}

async function runEnrichments(toolsets: readonly Toolset[], ordered: readonly Enrichment[], options: EnrichOptions): Promise<Enriched> {
  const artifacts = new Map<string, unknown>();
  let tools = createCatalog(toolsets);
  for (const enrichment of ordered) {
    const result = await runEnrichment(enrichment, { tools, artifacts: new Artifacts(new Map(artifacts)), options });
    if (result.artifact !== undefined) artifacts.set(enrichment.key, result.artifact);
    if (result.tools !== undefined) tools = replaceTools(tools, result.tools, enrichment.key);
  }
  return new Enriched(toolsets, tools, new Artifacts(artifacts));
}

interface RunState {
  readonly tools: readonly CatalogTool[];
  readonly artifacts: Artifacts;
  readonly options: EnrichOptions;
}

async function runEnrichment(enrichment: Enrichment, { tools, artifacts, options }: RunState): Promise<EnrichmentResult> {
  const { signal = new AbortController().signal, onProgress } = options;
  const log = safeLog(options.log ?? systemPorts.log);
  throwIfAborted(signal, enrichment.key);
  try {
    const progress = (done: number, total: number): void => notify(onProgress, { enrichment: enrichment.key, done, total });
    const result = await enrichment.enrich({ tools, artifacts, signal, log, progress });
    throwIfAborted(signal, enrichment.key);
    return result;
  } catch (error: unknown) {
    throwIfAborted(signal, enrichment.key);
    if (error instanceof ToolError) throw error;
    throw new ToolError("execution_failed", `The enrichment ${JSON.stringify(enrichment.key)} failed: ${describeThrown(error)}`, {
      cause: error,
    });
  }
}

function throwIfAborted(signal: AbortSignal, key: string): void {
  if (signal.aborted) throw new ToolError("cancelled", `The enrichment ${JSON.stringify(key)} was cancelled.`, { cause: signal.reason });
}

function notify(listener: EnrichOptions["onProgress"], progress: EnrichmentProgress): void {
  try {
    listener?.(progress);
  } catch {
    // A listener that throws does not end the run.
  }
}

function replaceTools(tools: readonly CatalogTool[], changed: ReadonlyMap<string, Tool>, key: string): readonly CatalogTool[] {
  return tools.map((entry) => {
    const tool = changed.get(entry.id);
    if (tool === undefined) return entry;
    if (tool.name === entry.tool.name) return { ...entry, tool };
    throw new ToolError(
      "invalid_argument",
      `The enrichment ${JSON.stringify(key)} renamed ${JSON.stringify(entry.id)} to ${JSON.stringify(tool.name)}.`,
      {
        hint: "Other enrichments find tools by name: keep the names.",
      },
    );
  });
}

/** Returns the toolsets with the enriched tools, which are in the order of the toolsets' own. */
function toToolsets(toolsets: readonly Toolset[], tools: readonly CatalogTool[]): readonly Toolset[] {
  let next = 0;
  return toolsets.map((toolset) => {
    const count = toolset.tools?.length ?? 0;
    const own = tools.slice(next, next + count).map(({ tool }) => tool);
    next += count;
    return { ...toolset, tools: own };
  });
}
