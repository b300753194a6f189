/** The file of trajectories, one per line. An existing file is continued after its last complete line. */
import { constants, fstatSync, writeSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { syncFile } from "../../core/base/sync-file.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";

/** Receives lines. */
export interface LineSink {
  /** Resolves once the line, which ends with a line feed, need not be kept by the caller. */
  write(line: string): Promise<void>;
}

export interface TrajectoryFileOptions {
  /** The fingerprint that existing lines must have. */
  readonly plan: string;
  readonly seed: string;
  /** The possible beginnings of lines. */
  readonly openings: readonly string[];
  /** Whether an existing file is replaced. */
  readonly overwrite: boolean;
}

const PIECE_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;
const MAX_LINE_BYTES = 256 * 1024 * 1024;
const LIMITS = { maxChars: MAX_LINE_BYTES, maxNodes: MAX_LINE_BYTES, maxDepth: 256 } as const;

export class TrajectoryFile implements LineSink {
  readonly path: string;
  /** Number of complete lines that the file had. */
  readonly lines: number;
  readonly #file: FileHandle;
  #size: number;

  private constructor(path: string, file: FileHandle, { lines, size }: CompleteLines) {
    this.path = path;
    this.#file = file;
    this.lines = lines;
    this.#size = size;
  }

  /**
   * Opens a file for appending, and checks its beginning and its end.
   *
   * @throws ToolError `invalid_argument` for a path that cannot be written, and for a file with other content, as a rejection
   */
  static async open(path: string, options: TrajectoryFileOptions): Promise<TrajectoryFile> {
    const file = await openToAppend(path);
    try {
      if (!(await file.stat()).isFile()) throw new ToolError("invalid_argument", `Cannot write ${path}: it is not a regular file.`);
      if (options.overwrite) await file.truncate(0);
      const whole = await findCompleteLines(path, file);
      if (whole.lines > 0) await checkFirstLine(path, file, { ...whole, ...options });
      await checkIncompleteLine(path, file, { ...whole, ...options });
      return new TrajectoryFile(path, file, whole);
    } catch (thrown: unknown) {
      await file.close();
      throw thrown;
    }
  }

  /** Yields the complete lines that the file had; undefined for a line that is not a trajectory. */
  async *read(): AsyncGenerator<JsonObject | undefined, undefined, undefined> {
    if (this.#size === 0) return undefined;
    for await (const text of this.#file.readLines({ autoClose: false, start: 0, end: this.#size - 1 })) yield parseLine(text);
    return undefined;
  }

  /** Removes the incomplete last line of a process that was killed. */
  async truncateIncompleteLine(): Promise<void> {
    await this.#file.truncate(this.#size);
  }

  /** Appends a line with a synchronous write to the page cache, which takes a tenth of the time of an asynchronous one. */
  async write(line: string): Promise<void> {
    const bytes = Buffer.from(line);
    const { fd } = this.#file;
    try {
      if (fstatSync(fd).size !== this.#size) throw otherWriterError(this.path);
      for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done, bytes.length - done, this.#size + done);
    } catch (thrown: unknown) {
      throw thrown instanceof ToolError ? thrown : writeError(this.path, thrown);
    }
    this.#size += bytes.length;
  }

  /** Closes the file; resolves once everything is on disk. */
  async close(): Promise<void> {
    try {
      await syncFile(this.#file);
    } catch (thrown: unknown) {
      throw writeError(this.path, thrown);
    } finally {
      await this.#file.close();
    }
  }
}

/** Returns the flags. Windows cannot truncate a file open to append: there, writes give offsets. @see https://github.com/nodejs/node/issues/3177 */
export function appendFlags(platform: string = process.platform): number {
  return constants.O_RDWR | constants.O_CREAT | (platform === "win32" ? 0 : constants.O_APPEND);
}

async function openToAppend(path: string): Promise<FileHandle> {
  try {
    return await open(path, appendFlags());
  } catch (thrown: unknown) {
    throw new ToolError("invalid_argument", `Cannot write ${path}: ${describeThrown(thrown)}`, { cause: thrown });
  }
}

interface CompleteLines {
  readonly lines: number;
  /** The offset after the last complete line. */
  readonly size: number;
  readonly firstEnd: number;
  /** The size of the file. */
  readonly end: number;
}

async function findCompleteLines(path: string, file: FileHandle): Promise<CompleteLines> {
  const found = { lines: 0, size: 0, firstEnd: 0 };
  const buffer = Buffer.alloc(PIECE_BYTES);
  for (let position = 0; ;) {
    const { bytesRead } = await readInto(path, file, { buffer, position });
    if (bytesRead === 0) return { ...found, end: position };
    for (let at = buffer.indexOf(LINE_FEED); at >= 0 && at < bytesRead; at = buffer.indexOf(LINE_FEED, at + 1)) {
      found.size = position + at + 1;
      if (++found.lines === 1) found.firstEnd = found.size;
    }
    position += bytesRead;
  }
}

async function readInto(
  path: string,
  file: FileHandle,
  { buffer, position }: { readonly buffer: Buffer; readonly position: number },
): Promise<{ readonly bytesRead: number }> {
  try {
    return await file.read(buffer, 0, buffer.length, position);
  } catch (thrown: unknown) {
    throw writeError(path, thrown);
  }
}

/** @throws ToolError `invalid_argument` if the first line is not of this plan */
async function checkFirstLine(
  path: string,
  file: FileHandle,
  { firstEnd, plan, seed }: CompleteLines & TrajectoryFileOptions,
): Promise<void> {
  const line = parseLine(await readLine(path, file, { start: 0, end: firstEnd }));
  if (line === undefined) throw occupiedFileError(`${path} already exists, and contains something else.`);
  const metadata = readLineMetadata(line);
  const madeWith =
    metadata["seed"] === seed ? "another plan, other tools or another format or setting" : `the seed ${JSON.stringify(metadata["seed"])}`;
  if (metadata["plan"] !== plan) throw occupiedFileError(`${path} was made with ${madeWith}, so it cannot be continued.`);
}

/** Returns the error for missing or repeated lines. The lines before them are unchanged, and can be kept. */
export function changedFileError({ path, lines }: Pick<TrajectoryFile, "path" | "lines">, validLines: number): ToolError {
  return new ToolError(
    "invalid_argument",
    `${path} was changed after it was written: only the first ${validLines} of its ${lines} lines are there in order.`,
    {
      hint: `Copy those to a new file, as head -n ${validLines} does, and continue that; or set overwrite (--overwrite on the command line).`,
    },
  );
}

/**
 * Checks the text after the last complete line, so that unrelated content without a line feed is not truncated: it must begin like a line, and be
 * incomplete or of this plan.
 *
 * @throws ToolError `invalid_argument`
 */
async function checkIncompleteLine(path: string, file: FileHandle, options: CompleteLines & TrajectoryFileOptions): Promise<void> {
  const { size: start, end, openings, plan } = options;
  const text = await readLine(path, file, { start, end });
  const isOurs = openings.some((opening) => text.startsWith(opening) || opening.startsWith(text));
  const line = parseLine(text);
  if (!isOurs || (isCompleteJson(text) && (line === undefined || readLineMetadata(line)["plan"] !== plan)))
    throw occupiedFileError(`${path} already exists, and contains something else.`);
}

function isCompleteJson(text: string): boolean {
  try {
    parseJson(text, LIMITS);
    return true;
  } catch {
    return false;
  }
}

async function readLine(path: string, file: FileHandle, { start, end }: { readonly start: number; readonly end: number }): Promise<string> {
  if (end - start > MAX_LINE_BYTES) throw occupiedFileError(`${path} already exists, and contains something else.`);
  const buffer = Buffer.alloc(end - start);
  for (let done = 0; done < buffer.length;) {
    const { bytesRead } = await readInto(path, file, { buffer: buffer.subarray(done), position: start + done });
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer.toString("utf8");
}

/** Parses a line; undefined if it is not a trajectory. */
function parseLine(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text, LIMITS);
    return isJsonObject(value) && typeof readLineMetadata(value)["plan"] === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the fields that identify a line's conversation; in a provider's form they are in its `metadata`. */
export function readLineMetadata(line: JsonObject): JsonObject {
  const { metadata } = line;
  if (typeof metadata !== "string") return line;
  try {
    const parsed = parseJson(metadata, LIMITS);
    return isJsonObject(parsed) ? parsed : line;
  } catch {
    return line; // `metadata` is another text
  }
}

function occupiedFileError(message: string): ToolError {
  return new ToolError("invalid_argument", message, { hint: "Choose another name, or set overwrite (--overwrite on the command line)." });
}

function otherWriterError(path: string): ToolError {
  return new ToolError("conflict", `${path} was changed by something else while it was written.`, {
    hint: "Let one process at a time write to it.",
  });
}

function writeError(path: string, thrown: unknown): ToolError {
  return new ToolError("store_failed", `Cannot write ${path}: ${describeThrown(thrown)}`, {
    hint: "Once it can be written again, the same generation continues where the file ends.",
    cause: thrown,
  });
}
