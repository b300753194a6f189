/** Computes a vector for each tool with a function that the program provides. */
import { COUNT, checkNumber } from "../core/base/number-bounds.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { JsonValue } from "../core/base/json.ts";
import type { CatalogTool } from "./catalog.ts";
import { CACHE_OPTIONS, EnrichmentCache, toolKey, type EnrichmentCacheOptions } from "./enrichment-cache.ts";
import type { Enrichment, EnrichmentContext, EnrichmentResult } from "./enrichment.ts";
import { inputParameters } from "./tool-parameters.ts";
import { embedAll, toUnitVector, type EmbedOptions } from "./vectors.ts";

export interface EmbeddingsOptions extends Pick<EmbedOptions, "embed" | "batchSize" | "concurrency">, EnrichmentCacheOptions {}

const OPTIONS: OptionNames<EmbeddingsOptions> = { ...CACHE_OPTIONS, embed: true, batchSize: true, concurrency: true };

export const EMBEDDINGS = "embeddings";

/** The artifact of `embeddings()`: a vector of length 1 for each tool. */
export class ToolVectors {
  readonly #vectors: ReadonlyMap<string, Float32Array>;

  constructor(vectors: ReadonlyMap<string, Float32Array>) {
    this.#vectors = vectors;
  }

  /** Returns the vector of the tool with this id. */
  get(tool: string): Float32Array | undefined {
    return this.#vectors.get(tool);
  }

  entries(): readonly (readonly [tool: string, vector: Float32Array])[] {
    return [...this.#vectors];
  }
}

/**
 * Computes a vector from each tool's name, description and the names of its inputs. The artifact is a `ToolVectors`.
 *
 * @throws ToolError `invalid_argument` at once for invalid options; rejects if `embed` fails
 */
export function embeddings(options: EmbeddingsOptions): Enrichment {
  checkKnownKeys(options, OPTIONS, "embeddings()");
  if (typeof options.embed !== "function")
    throw new ToolError("invalid_argument", "embeddings() needs embed: a function that turns texts into vectors.");
  checkNumber(options.batchSize, "batchSize of embeddings()", COUNT);
  checkNumber(options.concurrency, "concurrency of embeddings()", COUNT);
  return { key: EMBEDDINGS, enrich: (context) => embedTools(options, context) };
}

async function embedTools(options: EmbeddingsOptions, context: EnrichmentContext): Promise<EnrichmentResult> {
  const { embed, batchSize = 64, concurrency = 4 } = options;
  const { signal, tools } = context;
  const cache = new EnrichmentCache(options, { type: EMBEDDINGS, version: 1 }, context.log);
  const known = await cache.read();
  const keys = tools.map(({ tool }) => toolKey(tool));
  const vectors = keys.map((key) => (key === undefined ? undefined : decodeVector(known.get(key))));
  const missing = [...tools.keys()].filter((index) => vectors[index] === undefined);
  const texts = missing.map((index) => toolText(tools[index]));
  const made = await embedAll(texts, { embed, batchSize, concurrency, signal, onProgress: (done, total) => context.progress(done, total) });
  const learned = new Map<string, JsonValue>();
  for (const [position, index] of missing.entries()) {
    const [key, vector] = [keys[index], made[position]];
    vectors[index] = vector;
    if (key !== undefined && vector !== undefined) learned.set(key, encodeVector(vector));
  }
  await cache.add(learned);
  return { artifact: new ToolVectors(toVectorMap(tools, vectors)) };
}

/** @throws ToolError `invalid_output` if cached vectors differ in length from new ones, as after a change of the model without a new label */
function toVectorMap(tools: readonly CatalogTool[], vectors: readonly (Float32Array | undefined)[]): ReadonlyMap<string, Float32Array> {
  const lengths = new Set(vectors.map((vector) => vector?.length));
  if (lengths.size > 1) {
    throw new ToolError("invalid_output", `The vectors of tools differ in length: ${[...lengths].join(", ")}.`, {
      hint: "Those in the cache come from another model: give each model its own label, or set force: true.",
    });
  }
  return new Map(tools.map(({ id }, index) => [id, vectors[index] ?? new Float32Array()]));
}

function toolText(entry: CatalogTool | undefined): string {
  if (entry === undefined) return "";
  const { name, description, inputSchema } = entry.tool;
  const inputs = inputParameters(inputSchema).map((parameter) => parameter.name);
  return `${name}: ${description}${inputs.length === 0 ? "" : ` (${inputs.join(", ")})`}`;
}

/** Returns the vector as little-endian 32-bit numbers in base64, a tenth of the size of its JSON. */
function encodeVector(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * BYTES);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * BYTES);
  return bytes.toString("base64");
}

function decodeVector(cached: JsonValue | undefined): Float32Array | undefined {
  if (typeof cached !== "string") return undefined;
  const bytes = Buffer.from(cached, "base64");
  if (bytes.length === 0 || bytes.length % BYTES !== 0) return undefined;
  const vector = Float32Array.from({ length: bytes.length / BYTES }, (_, index) => bytes.readFloatLE(index * BYTES));
  return vector.every((value) => Number.isFinite(value)) ? toUnitVector(vector) : undefined;
}

const BYTES = 4;
