/** The files of a dataset: one, or one for training and one for tests, whose lines together are in the order of their indices. */
import { parse, join } from "node:path";
import { ToolError } from "../../core/error.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { seededRandom } from "../../core/base/seeded-random.ts";
import { TrajectoryFile, changedFileError, readLineMetadata, type TrajectoryFileOptions } from "./trajectory-file.ts";
import type { Trajectory } from "./trajectory.ts";

/** The part of a dataset: for training or for tests. */
export type DatasetPart = "train" | "test";

const DATASET_PARTS = ["train", "test"] as const;

/** Returns `train.test.jsonl` for `train.jsonl`. */
export function testFilePath(path: string): string {
  const { dir, name, ext } = parse(path);
  return join(dir, `${name}.test${ext}`);
}

/** Returns the part, which is the same for all conversations of one template, or of the same tools in the same order, to avoid leaks. */
export function choosePart(
  { messages, madeOf }: Trajectory,
  { seed, split }: { readonly seed: string; readonly split: number },
): DatasetPart {
  const called = messages.flatMap((message) => (message.role === "call" ? [message.call.name] : []));
  const group = madeOf === undefined ? ["called", ...called] : ["template", madeOf.messages];
  return seededRandom(`${seed}:split:${JSON.stringify(group)}`).next() < split ? "test" : "train";
}

export interface DatasetFilesOptions extends TrajectoryFileOptions {
  readonly isSplit: boolean;
  /** Called with each complete existing line, in the order of the indices. */
  readonly onLine: (line: JsonObject, part: DatasetPart) => void;
}

export class DatasetFiles {
  /** Number of complete lines that all files had. */
  readonly existing: number;
  readonly #files: readonly TrajectoryFile[];

  private constructor(files: readonly TrajectoryFile[], existing: number) {
    this.#files = files;
    this.existing = existing;
  }

  /**
   * Opens the files for appending. The incomplete last line of a process that was killed is removed.
   *
   * @throws ToolError `invalid_argument` for a path that cannot be written, and for files with other content, as a rejection
   */
  static async open(path: string, { isSplit, onLine, ...options }: DatasetFilesOptions): Promise<DatasetFiles> {
    const files: TrajectoryFile[] = [];
    try {
      for (const each of isSplit ? [path, testFilePath(path)] : [path]) files.push(await TrajectoryFile.open(each, options));
      const existing = await readLinesInOrder(files, { plan: options.plan, onLine });
      for (const file of files) await file.truncateIncompleteLine();
      return new DatasetFiles(files, existing);
    } catch (thrown: unknown) {
      await Promise.allSettled(files.map((file) => file.close())); // the first error is reported
      throw thrown;
    }
  }

  /** Resolves once the line, which ends with a line feed, need not be kept by the caller. */
  async write(line: string, part: DatasetPart): Promise<void> {
    await this.#files[DATASET_PARTS.indexOf(part)]?.write(line);
  }

  /** Closes the files; resolves once everything is on disk. */
  async close(): Promise<void> {
    await Promise.all(this.#files.map((file) => file.close()));
  }
}

/** @returns the total number of lines. @throws ToolError `invalid_argument` if a line is not of this plan, missing or repeated */
async function readLinesInOrder(
  files: readonly TrajectoryFile[],
  { plan, onLine }: Pick<DatasetFilesOptions, "plan" | "onLine">,
): Promise<number> {
  const readers = files.map((file) => file.read()[Symbol.asyncIterator]());
  try {
    const heads = await Promise.all(readers.map((reader) => reader.next()));
    for (let index = 0; ; index++) {
      const at = heads.findIndex(({ value, done }) => done !== true && isExpectedLine(value, { plan, index }));
      const [head, reader, part] = [heads[at], readers[at], DATASET_PARTS[at]];
      if (head?.value === undefined || reader === undefined || part === undefined) {
        if (heads.every(({ done }) => done)) return index;
        throw changedFilesError(files, index);
      }
      onLine(head.value, part);
      heads[at] = await reader.next();
    }
  } finally {
    for (const reader of readers) await reader.return(undefined);
  }
}

function isExpectedLine(line: JsonObject | undefined, { plan, index }: { readonly plan: string; readonly index: number }): boolean {
  if (line === undefined) return false;
  const metadata = readLineMetadata(line);
  return metadata["plan"] === plan && metadata["index"] === index;
}

function changedFilesError(files: readonly TrajectoryFile[], validLines: number): ToolError {
  const [only] = files;
  if (only !== undefined && files.length === 1) return changedFileError(only, validLines);
  return new ToolError(
    "invalid_argument",
    `${files.map(({ path }) => path).join(" and ")} were changed after they were written: only the first ${validLines} conversations are there in order.`,
    { hint: "Put both back as they were, choose another name, or set overwrite (--overwrite on the command line)." },
  );
}
