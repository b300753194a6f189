/** Searches documents that the program provides, without a service. @packageDocumentation */
import { quoteValue } from "../core/base/wording.ts";
import { COUNT, FRACTION, checkNumber } from "../core/base/number-bounds.ts";
import type { ToolContext } from "../core/context.ts";
import { readOnly } from "../core/resources/effects.ts";
import type { Engine, EngineContext, EngineRequest } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { Log } from "../core/ports.ts";
import type { Tool } from "../core/tool.ts";
import { DocumentIndex, type FoundDocument } from "./search/document-index.ts";
import { readCorpus, type CorpusOptions } from "./search/read-corpus.ts";

/** Options of a `searchEngine`: the documents, and which are found. */
export interface SearchOptions extends CorpusOptions {
  /** Maximum number of documents for a call that does not set it. Integer from 1 to 1,000. @default 5 */
  readonly limit?: number;
  /** Lowest score of a document that is found. From 0 to 1. @default 0 */
  readonly threshold?: number;
  /** The name of the engine's tool; null = it brings none, and answers the tools that its toolset declares. @default "search" */
  readonly toolName?: string | null;
  /** The description of the engine's tool for the model. */
  readonly description?: string;
}

const DEFAULT_LIMIT = 5;
const MAX_LIMIT = 1_000;
const DESCRIPTION =
  "Searches a collection of documents by words. Returns those that fit best, the best first; an empty list when none does.";

/**
 * A search over documents held in memory.
 *
 * `open` reads the documents, and `list`, at a refresh, reads them again; records that are not documents are left out with a warning. The engine
 * brings one tool, whose `query` is searched for, with at most `limit` or `size` documents. It also answers the other tools of its toolset: their
 * query is `query`, or else their only string. Documents are `{id, text, score, metadata}`; if none is found, the answer is `[]`.
 *
 * @throws ToolError `invalid_argument` at once for options that cannot work
 */
export function searchEngine(options: SearchOptions): Engine {
  checkOptions(options);
  return new SearchEngine(options);
}

class SearchEngine implements Engine {
  readonly kind = "search";
  readonly effectFree = true;
  readonly #options: SearchOptions;
  #index: DocumentIndex | undefined;
  #log: Log | undefined;

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  async open({ signal, log }: EngineContext): Promise<readonly Tool[]> {
    this.#log = log;
    return await this.#load(signal, log);
  }

  async list(signal: AbortSignal): Promise<readonly Tool[]> {
    if (this.#log === undefined) throw notOpenError();
    return await this.#load(signal, this.#log);
  }

  call({ input }: EngineRequest, context: ToolContext): readonly FoundDocument[] {
    if (this.#index === undefined) throw notOpenError();
    const { limit = DEFAULT_LIMIT, threshold = 0 } = this.#options;
    return this.#index.rank(readQuery(input, context.toolName), { limit: readLimit(input) ?? limit, threshold });
  }

  close(): Promise<void> {
    this.#index = undefined;
    this.#log = undefined;
    return Promise.resolve();
  }

  async #load(signal: AbortSignal, log: Log): Promise<readonly Tool[]> {
    this.#index = new DocumentIndex(await readCorpus(this.#options, { signal, log }));
    return this.#options.toolName === null ? [] : [searchTool(this.#options)];
  }
}

function notOpenError(): ToolError {
  return new ToolError("unavailable", "The search is not open.");
}

function searchTool({ toolName, description = DESCRIPTION, limit = DEFAULT_LIMIT }: SearchOptions): Tool {
  const count = { type: "integer", minimum: 1, maximum: MAX_LIMIT };
  return {
    name: toolName ?? "search",
    description,
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", description: "The words to search for." },
        limit: { ...count, description: `How many documents at most; ${limit} if left out.` },
        size: { ...count, description: "The same as limit." },
      },
      required: ["query"],
      additionalProperties: false,
    },
    outputSchema: {
      type: "array",
      items: {
        type: "object",
        properties: {
          id: { type: "string" },
          text: { type: "string" },
          score: { type: "number", description: "How well it fits, from 0 to 1." },
          metadata: { type: "object" },
        },
        required: ["id", "text", "score", "metadata"],
      },
    },
    effects: readOnly(),
  };
}

/** The text to search for. @throws ToolError `invalid_input` if there is no `query` and not exactly one string */
function readQuery(input: JsonObject, toolName: string): string {
  const query = Object.hasOwn(input, "query") ? input["query"] : undefined;
  if (typeof query === "string") return query;
  const texts = Object.values(input).filter((value) => typeof value === "string");
  const [only] = texts;
  if (only !== undefined && texts.length === 1) return only;
  throw new ToolError("invalid_input", `${toolName} needs a text to search for.`, {
    hint: 'Give the words as "query".',
    outcome: "not_started",
  });
}

/** The limit of a call: `size`, else `limit`, at most `MAX_LIMIT`. A value that is not an integer ≥ 1 is ignored. */
function readLimit(input: JsonObject): number | undefined {
  for (const name of ["size", "limit"]) {
    const value = Object.hasOwn(input, name) ? input[name] : undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= 1) return Math.min(value, MAX_LIMIT);
  }
  return undefined;
}

const OPTIONS: OptionNames<SearchOptions> = {
  documents: true,
  maxDocuments: true,
  idField: true,
  textField: true,
  limit: true,
  threshold: true,
  toolName: true,
  description: "string",
};

function checkOptions(options: SearchOptions): void {
  checkKnownKeys(options, OPTIONS, "searchEngine()");
  const { documents, idField, textField, limit, threshold, maxDocuments, toolName } = options;
  if (!Array.isArray(documents) && (typeof documents !== "string" || documents === ""))
    throw new ToolError("invalid_argument", "A search needs documents: the path of a file of JSON lines, or an array of records.");
  for (const [name, field] of Object.entries({ idField, textField, toolName })) {
    if (field === undefined || (typeof field === "string" && field !== "") || (name === "toolName" && field === null)) continue;
    throw new ToolError("invalid_argument", `${name} of a search is ${quoteValue(field)}; it takes a name.`);
  }
  checkNumber(limit, "limit of a search", { ...COUNT, max: MAX_LIMIT });
  checkNumber(threshold, "threshold of a search", FRACTION);
  checkNumber(maxDocuments, "maxDocuments of a search", COUNT);
}
