/** Renames a written file over another, one process at a time. */
import { createHash } from "node:crypto";
import { linkSync, lstatSync, renameSync } from "node:fs";
import { link, lstat, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { systemErrorCode } from "../../core/base/system-error-code.ts";
import { renameFile } from "../../core/system/rename-file.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { sleep } from "../../processes/sleep.ts";

const TRY_EVERY_MS = 10;
/** Number of tries after which the lock counts as left by a killed process: a live one holds it only for a check and a rename. */
const MAX_TRIES = 100;

interface RenameOverOptions {
  /** Checks the target right before the rename. Nothing is written if it rejects. */
  readonly check: () => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Renames a file, or a hard link to it, to `target`.
 *
 * Between the check and the rename no other process does the same with this target. The lock is a hard link to the written file, which the rename
 * removes. A process that lost the lock because it was taken for killed waits for it and checks again. If the file system has no hard links, there is
 * no lock.
 */
export async function renameOver(written: string, target: string, { check, signal }: RenameOverOptions): Promise<void> {
  const lock = join(dirname(target), `.haft-${createHash("sha256").update(basename(target)).digest("hex").slice(0, 16)}.lock`);
  for (let own = await acquireLock(written, lock, signal); own !== undefined; own = await acquireLock(written, lock, signal)) {
    const isHeld = (): boolean => inodeSync(lock) === own;
    try {
      if (await tryRename(lock, target, { check, signal, isHeld })) return;
    } catch (thrown: unknown) {
      if (isHeld()) await rm(lock, { force: true });
      throw thrown;
    }
  }
  await tryRename(written, target, { check, signal, isHeld: () => true });
}

/** Returns false if the lock was lost. Checks again before each try, because a program that has the target open may write to it. */
async function tryRename(
  from: string,
  target: string,
  { check, signal, isHeld }: RenameOverOptions & { readonly isHeld: () => boolean },
): Promise<boolean> {
  let isRenamed = false;
  const move = async (): Promise<void> => {
    await check();
    signal.throwIfAborted();
    if (!isHeld()) return;
    renameSync(from, target); // synchronous, so that the lock that was just checked is the file that is renamed
    isRenamed = true;
  };
  await renameFile(from, target, { move });
  return isRenamed;
}

/**
 * Takes the lock and returns its inode, read by the lock's own path, because some file systems, such as sshfs, give each hard link another inode.
 * Undefined if the file system has no hard links.
 */
async function acquireLock(written: string, lock: string, signal: AbortSignal): Promise<number | undefined> {
  let holder: number | undefined;
  for (let tries = 0; ; tries++) {
    signal.throwIfAborted();
    try {
      linkSync(written, lock);
      const own = inodeSync(lock); // synchronous, so that a new lock is not broken as that of a killed process
      if (own !== undefined) return own;
    } catch (thrown: unknown) {
      if (systemErrorCode(thrown) !== "EEXIST") return undefined;
    }
    const now = await inodeOf(lock);
    if (now !== holder) [holder, tries] = [now, 0];
    if (holder !== undefined && tries >= MAX_TRIES) await breakStaleLock(lock, holder, written);
    else await sleep(systemPorts.clock, TRY_EVERY_MS); // real time: another process does not follow a virtual clock
  }
}

/** Removes the lock of a killed process. If two processes do this, the slower one may find the faster one's new lock, and puts it back. */
async function breakStaleLock(lock: string, holder: number, written: string): Promise<void> {
  const taken = `${written}.lock`;
  try {
    await rename(lock, taken);
    if ((await inodeOf(taken)) !== holder) await link(taken, lock);
  } catch (thrown: unknown) {
    if (!["ENOENT", "EEXIST"].includes(systemErrorCode(thrown) ?? "")) throw thrown;
  } finally {
    await rm(taken, { force: true });
  }
}

function inodeSync(path: string): number | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.ino;
}

async function inodeOf(path: string): Promise<number | undefined> {
  try {
    return (await lstat(path)).ino;
  } catch (thrown: unknown) {
    if (systemErrorCode(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}
