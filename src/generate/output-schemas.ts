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
  const asked = new Map<string, JsonValue>();
  return { key: OUTPUT_SCHEMAS, enrich: (context) => inferAll(options, { context, asked }) };
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

interface Inferring {
  readonly context: EnrichmentContext;
  /** The answers of earlier runs, by `toolKey`. */
  readonly asked: Map<string, JsonValue>;
}

async function inferAll(options: OutputSchemasOptions, { context, asked }: Inferring): Promise<EnrichmentResult> {
  const cache = new EnrichmentCache(options, { type: OUTPUT_SCHEMAS, version: 1 }, context.log);
  const known = new Map(options.force === true ? [] : [...(await cache.read()), ...asked]);
  const answers: Answers = { schemas: new Map(), learned: new Map() };
  const open: Question[] = [];
  for (const entry of context.tools) {
    if (entry.tool.outputSchema !== undefined) continue;
    const key = toolKey(entry.tool);
    const kept = key === undefined ? undefined : readKept(known.get(key));
    if (kept === undefined) open.push({ entry, key });
    else answers.schemas.set(entry.id, kept);
  }
  try {
    await askAll(open, { options, context, answers, cache });
  } finally {
    for (const [key, schema] of answers.learned) asked.set(key, schema);
  }
  return resultOf(context.tools, answers.schemas);
}

/** Returns a cached schema after checking it like a new one, because the file is untrusted. */
function readKept(kept: JsonValue | undefined): JsonSchema | undefined {
  if (!isJsonObject(kept)) return undefined;
  try {
    return compileSchema(kept).schema;
  } catch {
    return undefined;
  }
}

interface Asking {
  readonly options: OutputSchemasOptions;
  readonly context: EnrichmentContext;
  readonly answers: Answers;
  readonly cache: EnrichmentCache;
}

async function askAll(questions: readonly Question[], asking: Asking): Promise<void> {
  const { options, context, answers, cache } = asking;
  let done = 0;
  try {
    await runLimited(
      questions,
      async (question) => {
        await askOne(question, asking);
        context.progress(++done, questions.length);
      },
      { concurrency: options.concurrency ?? DEFAULT_CONCURRENCY, signal: context.signal },
    );
  } finally {
    await cache.add(new Map(answers.learned));
  }
}

async function askOne({ entry, key }: Question, { options, context, answers }: Asking): Promise<void> {
  try {
    const schema = readOutputSchema(await options.model(promptFor(entry.tool), { signal: context.signal }));
    answers.schemas.set(entry.id, schema);
    if (key !== undefined) answers.learned.set(key, copyJson(schema, { maxDepth: SCHEMA_DEPTH }).value);
  } catch (error: unknown) {
    if (context.signal.aborted) return;
    context.log.warn(`No output schema for ${entry.id}: ${ToolError.fromUnknown(error).message}`, { tool: entry.id });
  }
}

const SCHEMA_DEPTH = 256;

function promptFor({ name, description, inputSchema }: Tool): SchemaPrompt {
  return { system: SYSTEM, user: JSON.stringify({ name, description, inputSchema }) };
}

function resultOf(tools: readonly CatalogTool[], schemas: ReadonlyMap<string, JsonSchema>): EnrichmentResult {
  const changed = new Map<string, Tool>();
  for (const { id, tool } of tools) {
    const outputSchema = schemas.get(id);
    if (outputSchema !== undefined) changed.set(id, { ...tool, outputSchema });
  }
  return { tools: changed, artifact: schemas };
}
