/** A lock file for one process at a time, so that two processes do not use the same refresh token. */
import { open, readFile, rm, stat } from "node:fs/promises";
import { systemErrorCode } from "../../../core/base/system-error-code.ts";
import type { Clock } from "../../../core/ports.ts";
import { createSecret } from "../../../net/secret.ts";
import { sleep } from "../../../processes/sleep.ts";

/** Age of an abandoned lock file, in milliseconds: longer than any flow may take, so its process has ended without removing it. */
const STALE_MS = 60_000;
const RETRY_MS = 50;

/** Runs `work` while this process has the lock file. @throws the reason of the signal; errors of the file system; as a rejection */
export async function withLockFile<T>(
  path: string,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  work: () => Promise<T>,
): Promise<T> {
  const owner = createSecret();
  let aheadMs: number | undefined;
  while (!(await tryCreateFile(path, owner))) {
    signal.throwIfAborted();
    const fileNow = aheadMs === undefined ? await readFileSystemTime(path) : aheadMs + clock.now();
    if (fileNow !== undefined) {
      aheadMs ??= fileNow - clock.now();
      await removeStale(path, fileNow);
    }
    await sleep(clock, RETRY_MS, signal);
  }
  try {
    return await work();
  } finally {
    if ((await readFile(path, "utf8").catch(() => "")) === owner) await rm(path, { force: true });
  }
}

async function tryCreateFile(path: string, owner: string): Promise<boolean> {
  try {
    const file = await open(path, "wx", 0o600);
    try {
      await file.writeFile(owner);
    } catch (thrown: unknown) {
      await rm(path, { force: true });
      throw thrown;
    } finally {
      await file.close();
    }
    return true;
  } catch (thrown: unknown) {
    if (systemErrorCode(thrown) === "EEXIST") return false;
    throw thrown;
  }
}

/**
 * Removes a lock file that its process left behind. Only one process removes it, the one that creates a second file for it; a second file that is as
 * old was left behind, too. Ages are measured with the clock of the file system, which on a share is another machine's. That clock is read again
 * before a lock counts as stale, as it may have been set.
 */
async function removeStale(path: string, about: number): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || about - found.mtimeMs < STALE_MS) return;
  const now = (await readFileSystemTime(path)) ?? -Infinity;
  const isStale = ({ mtimeMs }: { readonly mtimeMs: number }): boolean => now - mtimeMs >= STALE_MS;
  if (!isStale(found)) return;
  const claim = `${path}.${found.ino}-${Math.trunc(found.mtimeMs)}`;
  const claimed = await stat(claim).catch(() => undefined);
  if (claimed !== undefined && isStale(claimed)) await rm(claim, { force: true });
  if (!(await tryCreateFile(claim, ""))) return;
  const { ino, mtimeMs } = (await stat(path).catch(() => undefined)) ?? {};
  if (ino === found.ino && mtimeMs === found.mtimeMs) await rm(path, { force: true });
  await rm(claim, { force: true });
}

/**
 * The current time of the file system's clock, from a new file. The file always has the same name, so that a crash leaves at most one. Undefined
 * while another process creates it.
 */
async function readFileSystemTime(lockPath: string): Promise<number | undefined> {
  const path = `${lockPath}.time`;
  await rm(path, { force: true });
  if (!(await tryCreateFile(path, ""))) return undefined;
  const made = await stat(path).catch(() => undefined);
  await rm(path, { force: true });
  return made?.mtimeMs;
}
