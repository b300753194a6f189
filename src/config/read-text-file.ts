/** Reads a regular file as text, and nothing that only looks like one. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { ToolError } from "../core/error.ts";
import type { ErrorCode } from "../core/error-codes.ts";

export interface TextFile {
  readonly path: string;
  /** What it is, for messages: `configuration`. */
  readonly what: string;
  /** Of every error. */
  readonly code: ErrorCode;
  readonly maxBytes: number;
  /** What would work where the path is a folder, a pipe or a device. */
  readonly hint: string;
}

/**
 * The text of a regular file in UTF-8, without its byte order mark.
 *
 * @throws ToolError for everything else: no file, a folder, a pipe or device, too many bytes, another encoding
 */
export async function readTextFile(target: TextFile): Promise<string> {
  const file = await openFile(target);
  try {
    const info = await file.stat();
    if (info.isDirectory()) throw unreadable(target, "it is a folder", target.hint);
    if (!info.isFile()) throw unreadable(target, "it is not a regular file but a pipe, socket or device", target.hint);
    return decode(target, await readBytes(target, file));
  } finally {
    await file.close();
  }
}

async function openFile(target: TextFile): Promise<FileHandle> {
  try {
    return await open(target.path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)); // a pipe must not make us wait for a writer
  } catch (error: unknown) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") throw unreadable(target, "there is no such file", undefined, error);
    if (code === "EACCES" || code === "EPERM") throw unreadable(target, "this user may not read it", undefined, error);
    throw unreadable(target, `the system says ${String(code ?? error)}`, undefined, error);
  }
}

async function readBytes(target: TextFile, file: FileHandle): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(64 * 1024));
    if (bytesRead === 0) return Buffer.concat(chunks, total);
    total += bytesRead;
    if (total > target.maxBytes) throw unreadable(target, `it is larger than ${target.maxBytes} bytes`);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

function decode(target: TextFile, bytes: Buffer): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) throw notUtf8(target, "it is in UTF-16");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error: unknown) {
    throw notUtf8(target, "it is not valid UTF-8", error);
  }
  if (text.includes("\0")) throw notUtf8(target, "it holds NUL characters, as a file in UTF-16 does");
  return text;
}

function notUtf8(target: TextFile, reason: string, cause?: unknown): ToolError {
  return unreadable(target, reason, "Save it as UTF-8.", cause);
}

function unreadable({ path, what, code }: TextFile, reason: string, hint?: string, cause?: unknown): ToolError {
  return new ToolError(code, `Cannot read the ${what} ${path}: ${reason}.`, {
    ...(hint === undefined ? {} : { hint }),
    cause,
  });
}
