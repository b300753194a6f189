/** Puts a written file in the place of another, one process at a time. */
import { createHash } from "node:crypto";
import { linkSync, lstatSync, renameSync } from "node:fs";
import { link, lstat, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { systemCode } from "../../core/base/system-code.ts";
import { renameFile } from "../../core/rename-file.ts";
import { systemPorts } from "../../core/system-ports.ts";
import { pause } from "../../processes/pause.ts";

const TRY_EVERY_MS = 10;
/** A process has the lock for a look and a rename: one that has it for so many tries was killed. */
const MAX_TRIES = 100;

interface Placing {
  /** The last look at the file that is replaced. Nothing is written where it rejects. */
  readonly check: () => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Renames a file, or a second name of it, to `target`.
 *
 * Between the look and the rename no other process does the same with this target. The lock is a second name of the written file itself, which the
 * rename takes away: a process that lost it, as it was taken for a killed one, waits for it and looks once more. Where the file system has no
 * such names there is no lock.
 */
export async function putInPlace(written: string, target: string, { check, signal }: Placing): Promise<void> {
  const lock = join(dirname(target), `.haft-${createHash("sha256").update(basename(target)).digest("hex").slice(0, 16)}.lock`);
  for (let own = await takeLock(written, lock, signal); own !== undefined; own = await takeLock(written, lock, signal)) {
    const isHeld = (): boolean => inodeNow(lock) === own;
    try {
      if (await placed(lock, target, { check, signal, isHeld })) return;
    } catch (thrown: unknown) {
      if (isHeld()) await rm(lock, { force: true });
      throw thrown;
    }
  }
  await placed(written, target, { check, signal, isHeld: () => true });
}

/** False where the lock was lost. Looks again before each try: a program that has the target open may write to it. */
async function placed(
  from: string,
  target: string,
  { check, signal, isHeld }: Placing & { readonly isHeld: () => boolean },
): Promise<boolean> {
  let isPlaced = false;
  const move = async (): Promise<void> => {
    await check();
    signal.throwIfAborted();
    if (!isHeld()) return;
    renameSync(from, target); // at once: what has the name of the lock is what is put in place
    isPlaced = true;
  };
  await renameFile(from, target, { move });
  return isPlaced;
}

/**
 * The inode that the lock has by its own name: some file systems, such as sshfs, give each name another one. Undefined where the file system has
 * no second names.
 */
async function takeLock(written: string, lock: string, signal: AbortSignal): Promise<number | undefined> {
  let holder: number | undefined;
  for (let tries = 0; ; tries++) {
    signal.throwIfAborted();
    try {
      linkSync(written, lock);
      const own = inodeNow(lock); // at once: a new lock is not taken for that of a killed process
      if (own !== undefined) return own;
    } catch (thrown: unknown) {
      if (systemCode(thrown) !== "EEXIST") return undefined;
    }
    const now = await inodeOf(lock);
    if (now !== holder) [holder, tries] = [now, 0];
    if (holder !== undefined && tries >= MAX_TRIES) await breakLock(lock, holder, written);
    else await pause(systemPorts.clock, TRY_EVERY_MS); // another process does not go by a virtual clock
  }
}

/** Of two processes that break a lock, the slower one may find that of the faster one: it gives it back. */
async function breakLock(lock: string, holder: number, written: string): Promise<void> {
  const taken = `${written}.lock`;
  try {
    await rename(lock, taken);
    if ((await inodeOf(taken)) !== holder) await link(taken, lock);
  } catch (thrown: unknown) {
    if (!["ENOENT", "EEXIST"].includes(systemCode(thrown) ?? "")) throw thrown;
  } finally {
    await rm(taken, { force: true });
  }
}

function inodeNow(path: string): number | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.ino;
}

async function inodeOf(path: string): Promise<number | undefined> {
  try {
    return (await lstat(path)).ino;
  } catch (thrown: unknown) {
    if (systemCode(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}
