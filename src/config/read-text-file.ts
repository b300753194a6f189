/** Reads a configuration file as text, and nothing that only looks like one. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { ToolError } from "../core/error.ts";

/** The largest file that is read. */
const MAX_CONFIG_BYTES = 1024 * 1024;

/**
 * The text of a regular file of at most 1 MiB in UTF-8, without its byte order mark.
 *
 * @throws ToolError `invalid_config` for everything else: no file, a folder, a pipe or device, another encoding
 */
export async function readTextFile(path: string): Promise<string> {
  const file = await openFile(path);
  try {
    const info = await file.stat();
    if (info.isDirectory()) throw unreadable(path, "it is a folder", "Name the file inside it, such as haft.toml.");
    if (!info.isFile()) throw unreadable(path, "it is not a regular file but a pipe, socket or device");
    return decode(path, await readBytes(path, file));
  } finally {
    await file.close();
  }
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)); // a pipe must not make us wait for a writer
  } catch (error: unknown) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") throw unreadable(path, "there is no such file", undefined, error);
    if (code === "EACCES" || code === "EPERM") throw unreadable(path, "this user may not read it", undefined, error);
    throw unreadable(path, `the system says ${String(code ?? error)}`, undefined, error);
  }
}

async function readBytes(path: string, file: FileHandle): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(64 * 1024));
    if (bytesRead === 0) return Buffer.concat(chunks, total);
    total += bytesRead;
    if (total > MAX_CONFIG_BYTES) throw unreadable(path, `it is larger than ${MAX_CONFIG_BYTES} bytes`);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

function decode(path: string, bytes: Buffer): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) throw notUtf8(path, "it is in UTF-16");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error: unknown) {
    throw notUtf8(path, "it is not valid UTF-8", error);
  }
  if (text.includes("\0")) throw notUtf8(path, "it holds NUL characters, as a file in UTF-16 does");
  return text;
}

function notUtf8(path: string, reason: string, cause?: unknown): ToolError {
  return unreadable(path, reason, "Save it as UTF-8.", cause);
}

function unreadable(path: string, reason: string, hint?: string, cause?: unknown): ToolError {
  return new ToolError("invalid_config", `Cannot read the configuration ${path}: ${reason}.`, {
    ...(hint === undefined ? {} : { hint }),
    cause,
  });
}
