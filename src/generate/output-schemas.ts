/** Asks a model for the output schemas of tools that do not declare one. */
import { COUNT, checkNumber } from "../core/base/number-bounds.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import { copyJson, isJsonObject, type JsonValue } from "../core/base/json.ts";
import type { JsonSchema, Tool } from "../core/tool.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import { CACHE_OPTIONS, EnrichmentCache, toolKey, type EnrichmentCacheOptions } from "./enrichment-cache.ts";
import type { CatalogTool } from "./catalog.ts";
import type { Enrichment, EnrichmentContext, EnrichmentResult } from "./enrichment.ts";
import { readOutputSchema } from "./read-output-schema.ts";
import { runLimited } from "./run-limited.ts";

/** The prompt for a model that writes an output schema. */
export interface SchemaPrompt {
  readonly system: string;
  readonly user: string;
}

/** Answers one prompt, as text or as JSON. The signal aborts when the answer is not needed any more. */
export type SchemaModel = (prompt: SchemaPrompt, options: { readonly signal: AbortSignal }) => Promise<string | JsonValue>;

export interface OutputSchemasOptions extends EnrichmentCacheOptions {
  readonly model: SchemaModel;
  /** Maximum number of concurrent prompts. Integer ≥ 1. @default 8 */
  readonly concurrency?: number;
}

const OPTIONS: OptionNames<OutputSchemasOptions> = { ...CACHE_OPTIONS, model: true, concurrency: true };

export const OUTPUT_SCHEMAS = "output-schemas";

/**
 * Adds to every tool without an output schema the one that a model infers from its name, description and input schema.
 *
 * Tools with a schema are skipped. If a prompt fails, or its answer is not a usable schema, that is logged and the tool stays unchanged. The artifact
 * is a map of the inferred schemas by tool id. Answers received before a cancellation are kept in the cache. A tool that is unchanged since an
 * earlier run of this enrichment is not asked about again, unless `force` is set. Inferred schemas are validated against live results like any other:
 * a result that violates one becomes `partial`.
 *
 * @throws ToolError `invalid_argument` at once for invalid options
 */
export function outputSchemas(options: OutputSchemasOptions): Enrichment {
  checkKnownKeys(options, OPTIONS, "outputSchemas()");
  checkNumber(options.concurrency, "concurrency of outputSchemas()", COUNT);
  if (typeof options.model !== "function")
    throw new ToolError("invalid_argument", "outputSchemas() needs a model: a function that answers a prompt.");
  const earlierAnswers = new Map<string, JsonValue>();
  return { key: OUTPUT_SCHEMAS, enrich: (context) => inferSchemas(options, { context, earlierAnswers }) };
}

const DEFAULT_CONCURRENCY = 8;
const SYSTEM = `You describe what tools return. You are given the name, the description and the input schema of one tool as JSON.
Answer with the JSON Schema of what a successful call of it returns: an object with "properties", each with "type" and a short "description".
Answer with the JSON alone.`;

interface Question {
  readonly entry: CatalogTool;
  readonly key: string | undefined;
}

interface Answers {
  readonly schemas: Map<string, JsonSchema>;
  /** The new entries of the cache. */
  readonly learned: Map<string, JsonValue>;
}

interface InferenceState {
  readonly context: EnrichmentContext;
  /** The answers of earlier runs, by `toolKey`. */
  readonly earlierAnswers: Map<string, JsonValue>;
}

async function inferSchemas(options: OutputSchemasOptions, { context, earlierAnswers }: InferenceState): Promise<EnrichmentResult> {
  const cache = new EnrichmentCache(options, { type: OUTPUT_SCHEMAS, version: 1 }, context.log);
  const known = new Map(options.force === true ? [] : [...(await cache.read()), ...earlierAnswers]);
  const answers: Answers = { schemas: new Map(), learned: new Map() };
  const missing: Question[] = [];
  for (const entry of context.tools) {
    if (entry.tool.outputSchema !== undefined) continue;
    const key = toolKey(entry.tool);
    const cached = key === undefined ? undefined : readCachedSchema(known.get(key));
    if (cached === undefined) missing.push({ entry, key });
    else answers.schemas.set(entry.id, cached);
  }
  try {
    await requestSchemas(missing, { options, context, answers, cache });
  } finally {
    for (const [key, schema] of answers.learned) earlierAnswers.set(key, schema);
  }
  return toResult(context.tools, answers.schemas);
}

/** Returns a cached schema after checking it like a new one, because the file is untrusted. */
function readCachedSchema(cached: JsonValue | undefined): JsonSchema | undefined {
  if (!isJsonObject(cached)) return undefined;
  try {
    return compileSchema(cached).schema;
  } catch {
    return undefined;
  }
}

interface RequestContext {
  readonly options: OutputSchemasOptions;
  readonly context: EnrichmentContext;
  readonly answers: Answers;
  readonly cache: EnrichmentCache;
}

async function requestSchemas(questions: readonly Question[], requestContext: RequestContext): Promise<void> {
  const { options, context, answers, cache } = requestContext;
  let done = 0;
  try {
    await runLimited(
      questions,
      async (question) => {
        await requestSchema(question, requestContext);
        context.progress(++done, questions.length);
      },
      { concurrency: options.concurrency ?? DEFAULT_CONCURRENCY, signal: context.signal },
    );
  } finally {
    await cache.add(new Map(answers.learned));
  }
}

async function requestSchema({ entry, key }: Question, { options, context, answers }: RequestContext): Promise<void> {
  try {
    const schema = readOutputSchema(await options.model(createPrompt(entry.tool), { signal: context.signal }));
    answers.schemas.set(entry.id, schema);
    if (key !== undefined) answers.learned.set(key, copyJson(schema, { maxDepth: SCHEMA_DEPTH }).value);
  } catch (error: unknown) {
    if (context.signal.aborted) return;
    context.log.warn(`No output schema for ${entry.id}: ${ToolError.fromUnknown(error).message}`, { tool: entry.id });
  }
}

const SCHEMA_DEPTH = 256;

function createPrompt({ name, description, inputSchema }: Tool): SchemaPrompt {
  return { system: SYSTEM, user: JSON.stringify({ name, description, inputSchema }) };
}

function toResult(tools: readonly CatalogTool[], schemas: ReadonlyMap<string, JsonSchema>): EnrichmentResult {
  const changed = new Map<string, Tool>();
  for (const { id, tool } of tools) {
    const outputSchema = schemas.get(id);
    if (outputSchema !== undefined) changed.set(id, { ...tool, outputSchema });
  }
  return { tools: changed, artifact: schemas };
}
