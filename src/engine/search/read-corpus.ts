/** Reads the documents of a corpus from an array or a file of JSON lines, and leaves out invalid ones. */
import { ToolError } from "../../core/error.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import type { Log } from "../../core/ports.ts";
import { readTextPieces } from "../../documents/read-text-file.ts";
import { readDocument, type DocumentFields, type SearchDocument } from "./document.ts";

export interface CorpusOptions extends DocumentFields {
  /** The path of a file with one JSON object per line, or the records themselves. */
  readonly documents: string | readonly unknown[];
  /** Maximum number of documents; a larger corpus is refused. Integer ≥ 1. @default 1_000_000 */
  readonly maxDocuments?: number;
}

export interface CorpusContext {
  readonly signal: AbortSignal;
  readonly log: Log;
}

const DEFAULT_MAX_DOCUMENTS = 1_000_000;
const MAX_LINE_CHARS = 1024 * 1024;
/** Maximum number of invalid records that are logged one by one; the rest is counted. */
const MAX_NAMED = 20;

/**
 * Reads the file line by line. A line that is too long, not JSON, not a document, or that repeats an id is left out with a warning that names file
 * and line. Empty lines are ignored.
 *
 * @throws ToolError `unavailable` if the file cannot be read or the corpus is too large, `cancelled` if the signal aborts; as a rejection
 */
export async function readCorpus(options: CorpusOptions, context: CorpusContext): Promise<readonly SearchDocument[]> {
  const { documents, maxDocuments = DEFAULT_MAX_DOCUMENTS } = options;
  const reader = new CorpusReader(options, maxDocuments, context.log);
  if (typeof documents === "string") {
    for await (const { text, number } of linesOf(documents)) {
      if (context.signal.aborted) throw new ToolError("cancelled", `Reading the corpus ${documents} was cancelled.`);
      reader.add(`${documents}:${number}`, () => parseLine(text));
    }
  } else {
    for (const [index, record] of documents.entries()) reader.add(`document ${index + 1}`, () => record);
  }
  reader.reportSkipped();
  return reader.documents;
}

class CorpusReader {
  readonly documents: SearchDocument[] = [];
  readonly #options: DocumentFields;
  readonly #maxDocuments: number;
  readonly #log: Log;
  readonly #ids = new Set<string>();
  #skippedCount = 0;

  constructor(options: DocumentFields, maxDocuments: number, log: Log) {
    this.#options = options;
    this.#maxDocuments = maxDocuments;
    this.#log = log;
  }

  add(place: string, read: () => unknown): void {
    try {
      const document = readDocument(read(), this.#options);
      if (this.#ids.has(document.id))
        throw new ToolError("duplicate", `an earlier document has the same id, ${JSON.stringify(document.id)}`);
      this.#ids.add(document.id);
      this.documents.push(document);
    } catch (error: unknown) {
      if (++this.#skippedCount <= MAX_NAMED)
        this.#log.warn(`${place} is left out of the search: ${ToolError.fromUnknown(error).message.replace(/\.$/u, "")}.`);
    }
    if (this.documents.length > this.#maxDocuments)
      throw new ToolError("unavailable", `The corpus has more than ${this.#maxDocuments} documents.`, {
        operatorHint: "Set maxDocuments.",
      });
  }

  reportSkipped(): void {
    const more = this.#skippedCount - MAX_NAMED;
    if (more > 0) this.#log.warn(`${more} more ${more === 1 ? "is" : "are"} left out of the search.`);
  }
}

function parseLine(text: string | undefined): unknown {
  if (text === undefined) throw new ToolError("too_large", `the line has more than ${MAX_LINE_CHARS} characters`);
  return parseJson(text);
}

interface Line {
  /** Starts at 1. */
  readonly number: number;
  /** Undefined for a line that is too long. */
  readonly text: string | undefined;
}

async function* linesOf(path: string): AsyncGenerator<Line, void, undefined> {
  const hint = "Give the path of a file with one JSON object per line.";
  let number = 1;
  let line = "";
  for await (const piece of readTextPieces({ path, what: "corpus", code: "unavailable", hint })) {
    const parts = piece.split("\n");
    for (const [index, part] of parts.entries()) {
      if (index > 0) {
        yield* toLine(line, number++);
        line = "";
      }
      // one character more is kept, to detect that the line is too long
      line += part.slice(0, MAX_LINE_CHARS + 1 - line.length);
    }
  }
  yield* toLine(line, number);
}

function* toLine(line: string, number: number): Generator<Line, void, undefined> {
  if (line.length > MAX_LINE_CHARS) yield { number, text: undefined };
  else if (line.trim() !== "") yield { number, text: line };
}
