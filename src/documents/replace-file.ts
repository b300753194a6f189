/** Writes a file so that a reader, or a crash, sees the old text or the new one and nothing between. */
import { open, realpath, rm, stat, type FileHandle } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { syncFile } from "../core/base/sync-file.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { renameFile } from "../core/rename-file.ts";
import { systemPorts } from "../core/system-ports.ts";

export interface ReplaceOptions {
  /** Of a new file; a file that is there keeps its own. @default 0o644 */
  readonly mode?: number;
}

/** Where the path is a link, what it leads to is replaced. @throws ToolError `store_failed` saying what the system says; the old file is whole then */
export async function replaceFile(path: string, text: string, { mode = 0o644 }: ReplaceOptions = {}): Promise<void> {
  const target = await realpath(path).catch(() => resolve(path));
  const temporary = join(dirname(target), `.${systemPorts.ids.next("haft")}.part`);
  try {
    const file = await open(temporary, "wx", mode);
    try {
      await keepMode(file, target);
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

async function keepMode(file: FileHandle, target: string): Promise<void> {
  const before = await stat(target).catch(() => undefined); // opening a pipe would wait for a writer
  if (before === undefined) return;
  if (!before.isFile() && !before.isDirectory()) throw new Error("it is not a regular file but a pipe, socket or device");
  await file.chmod(before.mode & 0o777);
}
