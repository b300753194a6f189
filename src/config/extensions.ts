/** Engines, sources and enrichments that a program registers by name, for a configuration to use. */
import type { Engine } from "../core/engine.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { ToolSource } from "../core/source.ts";
import type { Enrichment } from "../generate/enrichment.ts";
import { ENRICHMENT_TYPES } from "./tables/enrichment-config.ts";
import { TYPE_NAMES } from "./tables/toolset-config.ts";
import { moduleExports } from "./tools/module-tools.ts";
import { nearHint } from "./near-key.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

/** The second argument of a factory, after the keys of its table. */
export interface ExtensionContext {
  /** The name of the engine or toolset in the configuration. */
  readonly name: string;
  /** The absolute folder of the configuration, to which paths are relative. */
  readonly folder: string;
  /** Replaces `env:NAME` and `${NAME}` in a text; keys are passed unresolved. @throws ToolError `invalid_config` for a variable that is not set */
  readonly resolve: (text: string) => string;
  /** For a source: the engine that answers for its tools, if the configuration names one. */
  readonly engine: Engine | undefined;
}

/** Makes an engine, not yet opened, from the keys besides `type`. @throws any error for keys that it cannot use */
export type EngineFactory = (options: JsonObject, context: ExtensionContext) => Engine | Promise<Engine>;
/** Makes a source from the keys besides `type`. @throws any error for keys that it cannot use */
export type SourceFactory = (options: JsonObject, context: ExtensionContext) => ToolSource | Promise<ToolSource>;

/** Makes an enrichment from the keys besides `type`. @throws any error for keys that it cannot use */
export type EnrichmentFactory = (options: JsonObject, context: ExtensionContext) => Enrichment | Promise<Enrichment>;

/** The engines, sources and enrichments that a program adds to a configuration. */
export interface Extensions {
  readonly engines?: Readonly<Record<string, EngineFactory>>;
  readonly sources?: Readonly<Record<string, SourceFactory>>;
  readonly enrichments?: Readonly<Record<string, EnrichmentFactory>>;
}

/** The built-in types of engines. */
const ENGINE_TYPES = ["local", "mcp", "rest", "search", "lm", "example", "replay", "stub", "multi"] as const;
/** Aliases of built-in types. */
const ENGINE_ALIASES = ["openapi", "search/file", "search/in_memory"] as const;
/** The built-in types of toolsets, and an alias of one. */
const SOURCE_TYPES = [...TYPE_NAMES, "rest"];

/** The engines, sources and enrichments of a program by name, without duplicates of each other or of built-in ones. */
export class ExtensionTable {
  readonly #engines = new Map<string, EngineFactory>();
  readonly #sources = new Map<string, SourceFactory>();
  readonly #enrichments = new Map<string, EnrichmentFactory>();

  /** @throws ToolError `duplicate` for a name that is built in or added twice, `invalid_argument` for a factory that is not a function */
  add({ engines = {}, sources = {}, enrichments = {} }: Extensions, from: string): void {
    for (const [name, make] of Object.entries(engines))
      register(this.#engines, { name, make, builtIn: [...ENGINE_TYPES, ...ENGINE_ALIASES], what: "engine", from });
    for (const [name, make] of Object.entries(sources))
      register(this.#sources, { name, make, builtIn: SOURCE_TYPES, what: "source", from });
    for (const [name, make] of Object.entries(enrichments))
      register(this.#enrichments, { name, make, builtIn: ENRICHMENT_TYPES, what: "enrichment", from });
  }

  engine(type: string): EngineFactory | undefined {
    return this.#engines.get(type);
  }

  source(type: string): SourceFactory | undefined {
    return this.#sources.get(type);
  }

  enrichment(type: string): EnrichmentFactory | undefined {
    return this.#enrichments.get(type);
  }

  get enrichmentNames(): readonly string[] {
    return [...this.#enrichments.keys()];
  }

  get sourceNames(): readonly string[] {
    return [...this.#sources.keys()];
  }

  /** Returns the rest of the message "an engine of type …" for an unknown type. */
  unknownEngine(type: string): string {
    return unknownType(type, [...ENGINE_TYPES, ...this.#engines.keys()]);
  }

  unknownSource(type: string): string {
    return unknownType(type, [...TYPE_NAMES, ...this.#sources.keys()]);
  }
}

function unknownType(type: string, known: readonly string[]): string {
  return `${JSON.stringify(type)} is not registered. Known types: ${known.join(", ")}.${nearHint(type, known)}`;
}

interface Registration<Factory> {
  readonly name: string;
  readonly make: Factory;
  readonly builtIn: readonly string[];
  readonly what: "engine" | "source" | "enrichment";
  readonly from: string;
}

function register<Factory>(table: Map<string, Factory>, { name, make, builtIn, what, from }: Registration<Factory>): void {
  const quoted = JSON.stringify(name);
  if (builtIn.includes(name))
    throw new ToolError("duplicate", `The ${what} type ${quoted} of ${from} is built in; give yours another name.`);
  if (table.has(name)) throw new ToolError("duplicate", `The ${what} type ${quoted} of ${from} is registered already.`);
  if (typeof make !== "function")
    throw new ToolError("invalid_argument", `The ${what} type ${quoted} of ${from} must be a function that makes one.`);
  table.set(name, make);
}

/**
 * Imports the extensions of a module: its exports `haftEngines`, `haftSources` and `haftEnrichments`, objects of factories by name. Importing runs
 * the module.
 *
 * @throws ToolError `invalid_config`, whose message continues "extensions[0]: …"
 */
export async function loadExtension(path: string, folder: string): Promise<Extensions> {
  const exports = await moduleExports(path, folder);
  const engines: unknown = Reflect.get(exports, "haftEngines");
  const sources: unknown = Reflect.get(exports, "haftSources");
  const enrichments: unknown = Reflect.get(exports, "haftEnrichments");
  if (
    !isFactoryTable<EngineFactory>(engines) ||
    !isFactoryTable<SourceFactory>(sources) ||
    !isFactoryTable<EnrichmentFactory>(enrichments) ||
    (engines === undefined && sources === undefined && enrichments === undefined)
  ) {
    throw new ToolError(
      "invalid_config",
      `${JSON.stringify(path)} must export haftEngines, haftSources or haftEnrichments, objects of functions by name.`,
    );
  }
  return omitUndefined({ engines, sources, enrichments });
}

function isFactoryTable<Factory>(value: unknown): value is Readonly<Record<string, Factory>> | undefined {
  if (value === undefined) return true;
  return typeof value === "object" && value !== null && Object.values(value).every((item) => typeof item === "function");
}

/** Wraps the error of a factory as an error of the configuration. */
export function factoryError(type: string, thrown: unknown): ToolError {
  return new ToolError("invalid_config", `${JSON.stringify(type)} could not be made: ${describeThrown(thrown)}`, { cause: thrown });
}
