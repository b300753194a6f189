/** Waits until the data written to a file is on the disk. */
import { fsync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { promisify } from "node:util";
import { systemErrorCode } from "./system-error-code.ts";

/** Falls back to the file descriptor: `sync` of a handle in Yarn's Plug'n'Play only throws that it is not implemented. */
export async function syncFile(file: FileHandle): Promise<void> {
  try {
    await file.sync();
  } catch (thrown: unknown) {
    if (systemErrorCode(thrown) !== undefined) throw thrown;
    await promisify(fsync)(file.fd);
  }
}
