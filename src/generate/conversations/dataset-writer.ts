/** Writes the lines of a dataset, counts them per file, and tracks which conversations are among them. */
import type { JsonObject } from "../../core/base/json.ts";
import { ConversationKeys } from "./conversation-keys.ts";
import { DatasetCounts } from "./dataset-counts.ts";
import type { GenerationSummary } from "./generation-summary.ts";
import { readLineMetadata, type LineSink } from "./trajectory-file.ts";
import { LINE_OPENINGS, type TrajectoryFormat } from "./trajectory-formats.ts";
import { DatasetFiles, choosePart, testFilePath, type DatasetPart } from "./dataset-files.ts";
import type { Trajectory } from "./trajectory.ts";

export interface DatasetWriterOptions {
  readonly out: string | LineSink;
  readonly format: TrajectoryFormat;
  readonly overwrite: boolean;
  /** The share of conversations for tests; above 0 only if `out` is a path. */
  readonly split: number;
  readonly seed: string;
  /** The fingerprint of the plan. */
  readonly plan: string;
}

/** Returns JSON in which no character is a line break to any reader. */
function formatLine(line: JsonObject): string {
  return JSON.stringify(line).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

export class DatasetWriter {
  /** The keys of the conversations written, without those that ended with an error. */
  readonly keys = new ConversationKeys();
  readonly #options: DatasetWriterOptions;
  readonly #counts = new DatasetCounts();
  readonly #partCounts = { train: 0, test: 0 };
  #files: DatasetFiles | undefined;

  private constructor(options: DatasetWriterOptions) {
    this.#options = options;
  }

  /** @throws ToolError as `DatasetFiles.open`, as a rejection */
  static async open(options: DatasetWriterOptions): Promise<DatasetWriter> {
    const writer = new DatasetWriter(options);
    const { out, format, split, ...rest } = options;
    const onLine = (line: JsonObject, part: DatasetPart): void => {
      writer.#countLine(line, part);
      if (readLineMetadata(line)["error"] === undefined) writer.keys.add(line);
    };
    if (typeof out === "string")
      writer.#files = await DatasetFiles.open(out, { ...rest, openings: LINE_OPENINGS[format], isSplit: split > 0, onLine });
    return writer;
  }

  /** Number of lines that were in the file already. */
  get existing(): number {
    return this.#files?.existing ?? 0;
  }

  async write(line: JsonObject, trajectory: Trajectory): Promise<void> {
    const { out, split, seed } = this.#options;
    const part = split > 0 ? choosePart(trajectory, { seed, split }) : "train";
    const text = `${formatLine(line)}\n`;
    await (typeof out === "string" ? this.#files?.write(text, part) : out.write(text));
    this.#countLine(line, part);
  }

  /** Returns the counts of all lines, with a remark if one of the files is empty. */
  summary(): Pick<GenerationSummary, "dataset" | "split" | "notes"> {
    const { out, split, seed, plan } = this.#options;
    const dataset = this.#counts.summary({ seed, plan });
    if (split === 0 || typeof out !== "string") return { dataset, notes: [] };
    const { train, test } = this.#partCounts;
    const empty = test === 0 ? "tests" : "training";
    const note =
      `There is nothing for ${empty}: conversations of one template, or of the same tools in the same order, stay in one file. ` +
      "Use more templates or tools, other numbers of calls, or another seed.";
    return { dataset, split: { train, test, testFile: testFilePath(out) }, notes: train > 0 && test > 0 ? [] : [note] };
  }

  /** Resolves once everything is on disk. */
  async close(): Promise<void> {
    await this.#files?.close();
  }

  #countLine(line: JsonObject, part: DatasetPart): void {
    this.#partCounts[part]++;
    this.#counts.add(line);
  }
}
