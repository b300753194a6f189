/** Replaces a file atomically: a reader, or a restart after a crash, sees either the old text or the new one. */
import { open, realpath, rm, stat, type FileHandle } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { syncFile } from "../core/base/sync-file.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { renameFile } from "../core/system/rename-file.ts";
import { systemPorts } from "../core/system/system-ports.ts";

export interface ReplaceOptions {
  /** Permissions of a new file; an existing file keeps its own. @default 0o644 */
  readonly mode?: number;
}

/** Replaces a file, or the file that a link leads to. @throws ToolError `store_failed` with the system's error; the old file is then unchanged */
export async function replaceFile(path: string, text: string, { mode = 0o644 }: ReplaceOptions = {}): Promise<void> {
  const target = await realpath(path).catch(() => resolve(path));
  const temporary = join(dirname(target), `.${systemPorts.ids.next("haft")}.part`);
  try {
    const file = await open(temporary, "wx", mode);
    try {
      await copyMode(file, target);
      await file.writeFile(text);
      await syncFile(file);
    } finally {
      await file.close();
    }
    await renameFile(temporary, target);
  } catch (thrown: unknown) {
    await rm(temporary, { force: true });
    throw new ToolError("store_failed", `Cannot write ${path}: ${describeThrown(thrown)}.`, { cause: thrown });
  }
}

async function copyMode(file: FileHandle, target: string): Promise<void> {
  const before = await stat(target).catch(() => undefined); // not opened: opening a pipe would wait for a writer
  if (before === undefined) return;
  if (!before.isFile() && !before.isDirectory()) throw new Error("it is not a regular file but a pipe, socket or device");
  await file.chmod(before.mode & 0o777);
}
