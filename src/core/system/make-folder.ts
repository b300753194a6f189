/** Makes a folder and the folders above it. */
import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { systemErrorCode } from "../base/system-error-code.ts";

/**
 * Makes a folder with all missing folders above it; resolves without a change if it exists.
 *
 * Unlike `mkdir` with `recursive`, it ends in every folder: that one repeats itself forever, at full load, where an existing folder answers ENOENT, such
 * as `/proc` or a current folder that was removed, and reports ENOENT for a disk that is read-only. Rejects with the system's error.
 *
 * @param mode permissions of each new folder, as far as the umask allows
 */
export async function makeFolder(path: string, mode: number = 0o777): Promise<void> {
  const missing: string[] = [];
  let folder = resolve(path);
  while (!(await madeOrExists(folder, mode))) {
    missing.push(folder);
    folder = dirname(folder);
  }
  for (const child of missing.toReversed()) await makeOne(child, mode);
}

/** Resolves to false if the folder above is missing. Rejects for `/`, which has none. */
async function madeOrExists(folder: string, mode: number): Promise<boolean> {
  try {
    await makeOne(folder, mode);
    return true;
  } catch (thrown: unknown) {
    if (systemErrorCode(thrown) !== "ENOENT" || dirname(folder) === folder) throw thrown;
    return false;
  }
}

/** Accepts any error if the folder exists: systems answer EEXIST, EISDIR, EPERM or EROFS for it. */
async function makeOne(folder: string, mode: number): Promise<void> {
  try {
    await mkdir(folder, { mode });
  } catch (thrown: unknown) {
    const info = await stat(folder).catch(() => undefined);
    if (info?.isDirectory() !== true) throw thrown;
  }
}
