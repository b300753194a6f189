/** Opens exactly the file that the path guard checked: a folder that was swapped for a link in between is detected. */
import { existsSync, type Stats } from "node:fs";
import { constants, mkdir, open, readlink, realpath, stat, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { systemErrorCode } from "../../core/base/system-error-code.ts";
import { fileError, refusalError } from "./file-error.ts";
import type { ResolvedPath } from "./workspace-path.ts";

/** Where the system reports which file a handle holds. Without it, the path is resolved and compared again after opening. */
const HANDLE_LINKS = "/proc/self/fd";
const HAS_HANDLE_LINKS = process.platform === "linux" && isAllowed(HANDLE_LINKS) && existsSync(HANDLE_LINKS);

/** Whether `node --permission` allows the folder. It checks paths as written, and a file of the project is not below this folder. */
function isAllowed(folder: string): boolean {
  return ["fs.read", "fs.write"].every((scope) => process.permission?.has(scope, folder) ?? true);
}

const MAX_TRIES = 3;
const MAX_COMPARISONS = 8;

export interface OpenFile {
  readonly handle: FileHandle;
  readonly stats: Stats;
}

/** An open folder. Children reached through `path` are its own, even if its name now leads elsewhere. */
export interface OpenFolder {
  readonly path: string;
  readonly handle: FileHandle;
}

/** Opens a regular file for reading. Never blocks on a pipe, follows no link, and fails if the file is no longer at its path. */
export async function openFile(resolved: ResolvedPath): Promise<OpenFile> {
  const handle = await openExactly(resolved.real, constants.O_RDONLY, resolved.shown);
  try {
    const stats = await handle.stat();
    if (stats.isDirectory()) throw refusalError(`${JSON.stringify(resolved.shown)} is a folder.`, "Use list to see what is in it.");
    if (!stats.isFile()) throw refusalError(`${JSON.stringify(resolved.shown)} is not a regular file but a pipe, socket or device.`);
    return { handle, stats };
  } catch (thrown: unknown) {
    await handle.close();
    throw fileError(thrown, { verb: "open", shown: resolved.shown });
  }
}

/** Opens a folder by its canonical path, with the same checks. */
export async function openFolder(real: string, shown: string): Promise<OpenFolder> {
  const handle = await openExactly(real, constants.O_RDONLY | constants.O_DIRECTORY, shown);
  return { handle, path: HAS_HANDLE_LINKS ? `${HANDLE_LINKS}/${handle.fd}` : real };
}

/** Opens the parent folder of a place, creating missing folders, accessible to the owner only. */
export async function openParent(resolved: ResolvedPath): Promise<OpenFolder> {
  if (resolved.missing.length === 0) return openFolder(dirname(resolved.real), resolved.shown);
  let real = resolved.existing;
  let folder = await openFolder(real, resolved.shown);
  for (const name of resolved.missing.slice(0, -1)) {
    try {
      await makeFolder(join(folder.path, name), resolved.shown);
      real = join(real, name);
      const next = await openFolder(real, resolved.shown);
      await folder.handle.close();
      folder = next;
    } catch (thrown: unknown) {
      await folder.handle.close();
      throw thrown;
    }
  }
  return folder;
}

/** The path of a place inside its opened parent. */
export function childPath(parent: OpenFolder, resolved: ResolvedPath): string {
  return join(parent.path, basename(resolved.real));
}

async function makeFolder(path: string, shown: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (thrown: unknown) {
    if (systemErrorCode(thrown) !== "EEXIST") throw fileError(thrown, { verb: "make the folders of", shown });
  }
}

/** Retries if another program replaced the file between opening and checking. */
async function openExactly(real: string, flags: number, shown: string): Promise<FileHandle> {
  for (let attempt = 1; attempt <= MAX_TRIES; attempt++) {
    try {
      const handle = await open(real, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      if (await isHandleOf(handle, real)) return handle;
      await handle.close();
    } catch (thrown: unknown) {
      throw fileError(thrown, { verb: "open", shown });
    }
  }
  throw refusalError(
    `Cannot open ${JSON.stringify(shown)}: its path changed while it was opened.`,
    "Another program is moving it; try again.",
  );
}

/** Whether a handle holds the file of this path: exact on Linux, elsewhere checked by comparing repeatedly. */
async function isHandleOf(handle: FileHandle, real: string): Promise<boolean> {
  if (HAS_HANDLE_LINKS) return (await readlink(`${HANDLE_LINKS}/${handle.fd}`)) === real;
  const opened = await handle.stat();
  for (let look = 1; look <= MAX_COMPARISONS; look++) {
    if ((await realpath(real)) !== real) return false;
    const now = await stat(real);
    if (opened.ino !== now.ino || opened.dev !== now.dev) return false;
  }
  return true;
}
