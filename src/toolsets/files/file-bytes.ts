/** Reads the bytes of an opened file in pieces, to bound memory and to let other work run. */
import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import { onNextTurn } from "../../core/system/lazy-timer.ts";
import type { OpenFile } from "./open-resolved-path.ts";

/** Maximum size of a text file that is loaded, to change it or to compare it byte by byte, in bytes. */
export const MAX_TEXT_BYTES = 10 * 1024 * 1024;
const PIECE_BYTES = 256 * 1024;
const MIN_PIECE_BYTES = 4096;

/** Yields the file from its start. The buffer is reused for the next piece, so copy what you keep. @throws the signal's reason when it aborts */
export async function* readFilePieces({ handle, stats }: OpenFile, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  const buffer = Buffer.allocUnsafe(Math.min(PIECE_BYTES, Math.max(stats.size + 1, MIN_PIECE_BYTES)));
  for (let position = 0; ;) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

export async function readHead(handle: FileHandle, maxBytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(maxBytes);
  const { bytesRead } = await handle.read(buffer, 0, maxBytes, 0);
  return buffer.subarray(0, bytesRead);
}

/** Returns the whole file, or undefined if it has more than `maxBytes`. */
export async function readWhole(
  file: OpenFile,
  limits: { readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<Buffer | undefined> {
  if (file.stats.size > limits.maxBytes) return undefined;
  const kept: Buffer[] = [];
  let size = 0;
  for await (const piece of readFilePieces(file, limits.signal)) {
    size += piece.length;
    if (size > limits.maxBytes) return undefined;
    kept.push(Buffer.from(piece));
  }
  return Buffer.concat(kept, size);
}

/** The state of a file at one moment. `hash` is empty for files that are too large to compare byte by byte. */
export interface Fingerprint {
  readonly mtimeMs: number;
  readonly size: number;
  readonly hash: string;
}

export function fingerprint(stats: Stats, bytes: Buffer | undefined): Fingerprint {
  const hash = bytes === undefined ? "" : createHash("sha256").update(bytes).digest("base64");
  return { mtimeMs: stats.mtimeMs, size: stats.size, hash };
}

export function isSameFingerprint(one: Fingerprint, other: Fingerprint): boolean {
  return one.mtimeMs === other.mtimeMs && one.size === other.size && one.hash === other.hash;
}

/** Lets other work of the program run before long work continues. */
export async function yieldToEventLoop(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => onNextTurn(resolve));
  signal.throwIfAborted();
}

/** @param hint a hint for the model; left out if no part of the file can be read */
export function fileTooLargeError(shown: string, maxBytes: number, hint?: string): ToolError {
  return new ToolError("too_large", `${JSON.stringify(shown)} is larger than ${maxBytes / 1024 / 1024} MiB.`, omitUndefined({ hint }));
}
