/** Makes the enrichments of a configuration, and applies them to its tools before the runtime gets these. */
import type { ModelListeners } from "./model-listeners.ts";
import { ToolError } from "../../core/error.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { collectReply, endedWell, type Model } from "../../core/model.ts";
import type { Engine } from "../../core/engine.ts";
import type { SourceContext, ToolSource } from "../../core/source.ts";
import type { Tool } from "../../core/tool.ts";
import type { Toolset } from "../../core/toolset.ts";
import { listToolsets } from "../../generate/catalog.ts";
import { dataflow } from "../../generate/dataflow.ts";
import { enrich, type Enriched } from "../../generate/enrich.ts";
import type { EnrichedSource } from "../../generate/enriched-source.ts";
import type { Enrichment } from "../../generate/enrichment.ts";
import { neighbors } from "../../generate/neighbors.ts";
import { outputSchemas, type SchemaModel } from "../../generate/output-schemas.ts";
import { sortEnrichments } from "../../generate/sort-enrichments.ts";
import { buildModel } from "./build-model.ts";
import { EnrichedEngines, type ListedTools } from "./enriched-engines.ts";
import type { EnrichmentConfig } from "../tables/enrichment-config.ts";
import type { ExtensionContext, ExtensionTable } from "../extensions.ts";
import { factoryError } from "../extensions.ts";
import { filePath } from "../file-path.ts";
import type { Environment } from "../variables.ts";

/** Inputs for making an enrichment. */
export interface EnrichmentContext {
  readonly folder: string;
  readonly environment: Environment;
  readonly listeners: ModelListeners;
  readonly extensions: ExtensionTable;
  readonly resolve: (text: string) => string;
}

/** Makes an enrichment. Undefined if its type is not registered. @throws ToolError if its model or the enrichment itself cannot be made */
export async function makeEnrichment(config: EnrichmentConfig, context: EnrichmentContext): Promise<Enrichment | undefined> {
  switch (config.type) {
    case "output_parameters": {
      const { lm, concurrency, force, cache } = config;
      const { onMeter, onRetry } = context.listeners;
      const { model, meter } = buildModel(lm.model, {
        environment: context.environment,
        onRetry: (retry) => onRetry?.(retry, lm.model.name),
        keyName: `${config.path.join(".")}.${lm.modelKey}.api_key`,
      });
      onMeter?.(meter);
      const folder = cache === undefined ? {} : { cache: filePath(cache, context.folder), label: model.name };
      return outputSchemas({ model: schemaModel(model), ...folder, ...omitUndefined({ concurrency, force }) });
    }
    case "dataflow": {
      const { minScore, maxEdges } = config;
      return dataflow(omitUndefined({ minScore, maxEdges }));
    }
    case "neighbors":
      return neighbors(omitUndefined({ k: config.k }));
    case "other": {
      const { enrichmentType, options } = config;
      const make = context.extensions.enrichment(enrichmentType);
      if (make === undefined) return undefined;
      const { folder, resolve } = context;
      const extensionContext: ExtensionContext = { name: enrichmentType, folder, resolve, engine: undefined };
      try {
        return await make(options, extensionContext);
      } catch (thrown: unknown) {
        throw factoryError(enrichmentType, thrown);
      }
    }
  }
}

function schemaModel(model: Model): SchemaModel {
  return async ({ system, user }, { signal }) => {
    const messages = [{ role: "user", content: user, at: 0 }] as const;
    const reply = await collectReply(model.stream({ system, messages, responseFormat: {} }, { signal }));
    if (reply !== undefined && endedWell(reply.finish)) return reply.text;
    throw new ToolError("model_failed", `The reply of ${model.name} is incomplete: it ended with ${reply?.finish ?? "nothing"}.`);
  };
}

/** Removes enrichments whose dependencies were left out. */
export function removeIncomplete(enrichments: readonly Enrichment[]): readonly Enrichment[] {
  const keys = new Set(enrichments.map(({ key }) => key));
  const complete = enrichments.filter(({ dependsOn = [] }) => dependsOn.every((key) => keys.has(key)));
  return complete.length === enrichments.length ? complete : removeIncomplete(complete);
}

/**
 * Combines all toolsets and sources into one source, so that enrichments see all tools. If a source fails, its previous toolsets are kept. The tools
 * that an engine lists are enriched with the others when it opens and when it lists them again.
 */
export function createEnrichedSource(
  { toolsets, sources }: { readonly toolsets: readonly Toolset[]; readonly sources: readonly ToolSource[] },
  enrichments: readonly Enrichment[],
): EnrichedSource {
  sortEnrichments(enrichments);
  return new EnrichedToolSource(toolsets, sources, enrichments);
}

class EnrichedToolSource implements EnrichedSource {
  readonly name = "enrichments";
  readonly #toolsets: readonly Toolset[];
  readonly #sources: readonly ToolSource[];
  readonly #enrichments: readonly Enrichment[];
  readonly #engines = new EnrichedEngines((listed, context) => this.#enrichListed(listed, context));
  /** The toolsets that each source returned last. */
  readonly #loadedToolsets = new Map<ToolSource, readonly Toolset[]>();
  /** The listed tools, by the engine that the runtime has. */
  readonly #listedTools = new Map<Engine, ListedTools>();
  /** The end of the queue of runs, so that each run sees all tools of earlier runs. Never rejects. */
  #queueTail: Promise<unknown> = Promise.resolve();
  #latest: Enriched | undefined;

  constructor(toolsets: readonly Toolset[], sources: readonly ToolSource[], enrichments: readonly Enrichment[]) {
    this.#toolsets = toolsets;
    this.#sources = sources;
    this.#enrichments = enrichments;
  }

  get enriched(): Enriched {
    if (this.#latest === undefined) throw new ToolError("unavailable", "The tools of the configuration were not loaded yet.");
    return this.#latest;
  }

  async load(context: SourceContext): Promise<readonly Toolset[]> {
    await Promise.all(this.#sources.map((source) => this.#loadOne(source, context)));
    return (await this.#enqueueRun(context)).declared;
  }

  watch(changed: () => void): () => void {
    const stops = this.#sources.map((source) => source.watch?.(changed));
    return () => {
      for (const stop of stops) stop?.();
    };
  }

  async #loadOne(source: ToolSource, context: SourceContext): Promise<void> {
    try {
      this.#loadedToolsets.set(source, await source.load(context));
    } catch (thrown: unknown) {
      if (context.signal.aborted) throw thrown;
      context.failed?.(source.name, ToolError.fromUnknown(thrown, "unavailable"));
    }
  }

  async #enrichListed(listed: ListedTools, context: SourceContext): Promise<readonly Tool[]> {
    const { tools } = await this.#enqueueRun(context, listed);
    return listed.tools.map((tool) => tools.get(tool) ?? tool);
  }

  /** Runs the enrichments over all tools that are known when the run begins, one run at a time. */
  async #enqueueRun(context: SourceContext, newest?: ListedTools): Promise<Run> {
    const run = this.#queueTail.then(() => this.#runNow(context, newest));
    this.#queueTail = run.catch(() => {});
    return await run;
  }

  /** Tools whose enrichment fails are not part of later runs. */
  async #runNow({ signal, log }: SourceContext, newest: ListedTools | undefined): Promise<Run> {
    const given = this.#sources.flatMap((source) => this.#loadedToolsets.get(source) ?? []);
    const declared = listToolsets([...this.#toolsets, ...given]).map((toolset) => this.#engines.wrap(toolset));
    const known = new Map(this.#listedTools);
    if (newest !== undefined) known.set(newest.engine, newest);
    const listed = [...known.values()].flatMap(({ toolset: name, engine, tools }) => {
      const toolset = declared.find((one) => one.name === name && one.engine === engine);
      return toolset === undefined ? [] : listToolsets([{ ...toolset, tools }]);
    });
    const all = [...declared, ...listed];
    const enriched = await rejectOnAbort(enrich(all, this.#enrichments, { signal, log }), signal); // one that never ends must not block others
    if (newest !== undefined) this.#listedTools.set(newest.engine, newest);
    this.#latest = enriched;
    const before = all.flatMap(({ tools = [] }) => tools);
    const after = enriched.tools;
    const tools = new Map(before.map((tool, index) => [tool, after[index]?.tool ?? tool]));
    return { declared: enriched.toolsets.slice(0, declared.length), tools };
  }
}

/** The result of one run. */
interface Run {
  readonly declared: readonly Toolset[];
  /** The enriched tools, by the original tool. */
  readonly tools: ReadonlyMap<Tool, Tool>;
}
