/** Reads regular files as text, and refuses everything else. */
import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { ToolError } from "../core/error.ts";
import type { ErrorCode } from "../core/error-codes.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { systemErrorCode } from "../core/base/system-error-code.ts";

export interface TextFile {
  readonly path: string;
  /** The kind of file, for messages: `configuration`. */
  readonly what: string;
  /** The code of every error. */
  readonly code: ErrorCode;
  readonly maxBytes: number;
  /** The hint of the error for a folder, a pipe or a device. */
  readonly hint: string;
}

/** The fields that errors need. */
type ErrorFields = Pick<TextFile, "path" | "what" | "code">;
type Target = Omit<TextFile, "maxBytes">;

/**
 * Returns the text of a regular file in UTF-8, without a byte order mark.
 *
 * @throws ToolError for everything else: a missing file, a folder, a pipe or device, too many bytes, another encoding
 */
export async function readTextFile(target: TextFile): Promise<string> {
  const file = await openRegularFile(target);
  try {
    return decodeText(target, await readBytes(target, file));
  } finally {
    await file.close();
  }
}

/**
 * Yields the text in pieces, for a file of any size: only one piece is in memory at a time.
 *
 * @throws ToolError as `readTextFile`, without a limit on the size; while iterating
 */
export async function* readTextPieces(target: Target): AsyncGenerator<string, void, undefined> {
  const file = await openRegularFile(target);
  try {
    yield* decodePieces(target, readPieces(file));
  } finally {
    await file.close();
  }
}

/** Decodes UTF-8 text from pieces, which may be split anywhere. @throws ToolError while iterating, for anything else */
export async function* decodePieces(target: ErrorFields, pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for await (const piece of pieces) yield decoder.decode(piece, { stream: true });
    yield decoder.decode();
  } catch (error: unknown) {
    throw error instanceof TypeError ? notUtf8Error(target, "it is not valid UTF-8", error) : error;
  }
}

const PIECE_BYTES = 256 * 1024;
const CHUNK_BYTES = 64 * 1024;

async function* readPieces(file: FileHandle): AsyncGenerator<Uint8Array, void, undefined> {
  for (;;) {
    // with an explicit length: file handles of Yarn's Plug'n'Play read nothing without one
    const { bytesRead, buffer } = await file.read(Buffer.alloc(PIECE_BYTES), 0, PIECE_BYTES, null);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

async function openRegularFile(target: Target): Promise<FileHandle> {
  const file = await openFile(target);
  try {
    const info = await file.stat();
    if (info.isDirectory()) throw unreadableError(target, "it is a folder", target.hint);
    if (!info.isFile()) throw unreadableError(target, "it is not a regular file but a pipe, socket or device", target.hint);
    return file;
  } catch (error: unknown) {
    await file.close();
    throw error;
  }
}

async function openFile(target: Target): Promise<FileHandle> {
  try {
    // non-blocking, so that opening a pipe does not wait for a writer
    return await open(target.path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error: unknown) {
    const code = systemErrorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") throw unreadableError(target, "there is no such file", undefined, error);
    if (code === "EACCES" || code === "EPERM") throw unreadableError(target, "this user may not read it", undefined, error);
    throw unreadableError(target, `the system reports ${code ?? String(error)}`, undefined, error);
  }
}

async function readBytes(target: TextFile, file: FileHandle): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, null);
    if (bytesRead === 0) return Buffer.concat(chunks, total);
    total += bytesRead;
    if (total > target.maxBytes) throw unreadableError(target, `it is larger than ${target.maxBytes} bytes`);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

function decodeText(target: TextFile, bytes: Buffer): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) throw notUtf8Error(target, "it is in UTF-16");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error: unknown) {
    throw notUtf8Error(target, "it is not valid UTF-8", error);
  }
  if (text.includes("\0")) throw notUtf8Error(target, "it contains NUL characters, as a file in UTF-16 does");
  return text;
}

function notUtf8Error(target: ErrorFields, reason: string, cause?: unknown): ToolError {
  return unreadableError(target, reason, "Save it as UTF-8.", cause);
}

function unreadableError({ path, what, code }: ErrorFields, reason: string, hint?: string, cause?: unknown): ToolError {
  return new ToolError(code, `Cannot read the ${what} ${path}: ${reason}.`, omitUndefined({ hint, cause }));
}
