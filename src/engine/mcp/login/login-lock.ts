/** A file that one process at a time has, so that two do not use up the same refresh token. */
import { open, readFile, rm, stat } from "node:fs/promises";
import { systemCode } from "../../../core/base/system-code.ts";
import type { Clock } from "../../../core/ports.ts";
import { newSecret } from "../../../net/secret.ts";
import { pause } from "../../../processes/pause.ts";

/** Longer than any flow may take: the process that has an older file has ended without removing it. */
const STALE_MS = 60_000;
const LOOK_MS = 50;

/** Runs `work` while this process has the file. @throws the reason of the signal where another process has it for too long; what the system says. By rejecting */
export async function withLockFile<T>(
  path: string,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  work: () => Promise<T>,
): Promise<T> {
  const owner = newSecret();
  let aheadMs: number | undefined;
  while (!(await created(path, owner))) {
    signal.throwIfAborted();
    const fileNow = aheadMs === undefined ? await fileTime(path) : aheadMs + clock.now();
    if (fileNow !== undefined) {
      aheadMs ??= fileNow - clock.now();
      await removeStale(path, fileNow);
    }
    await pause(clock, LOOK_MS, signal);
  }
  try {
    return await work();
  } finally {
    if ((await readFile(path, "utf8").catch(() => "")) === owner) await rm(path, { force: true });
  }
}

async function created(path: string, owner: string): Promise<boolean> {
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
    if (systemCode(thrown) === "EEXIST") return false;
    throw thrown;
  }
}

/**
 * Removes a lock whose process has ended: one process at a time, as it makes a second file for this lock. A second file that is as old was left as well. How old a
 * file is says the clock that wrote its time: that of the file system, which on a share is another machine's. It is read again for a lock that seems old, since it may
 * have been set.
 */
async function removeStale(path: string, about: number): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || about - found.mtimeMs < STALE_MS) return;
  const now = (await fileTime(path)) ?? -Infinity;
  const isStale = ({ mtimeMs }: { readonly mtimeMs: number }): boolean => now - mtimeMs >= STALE_MS;
  if (!isStale(found)) return;
  const claim = `${path}.${found.ino}-${Math.trunc(found.mtimeMs)}`;
  const claimed = await stat(claim).catch(() => undefined);
  if (claimed !== undefined && isStale(claimed)) await rm(claim, { force: true });
  if (!(await created(claim, ""))) return;
  const { ino, mtimeMs } = (await stat(path).catch(() => undefined)) ?? {};
  if (ino === found.ino && mtimeMs === found.mtimeMs) await rm(path, { force: true });
  await rm(claim, { force: true });
}

/**
 * The present time by the clock of the file system: that of a file which is new. It has the same name each time, so that one which is left by a crash does not stay.
 * Undefined while another process makes it.
 */
async function fileTime(beside: string): Promise<number | undefined> {
  const path = `${beside}.time`;
  await rm(path, { force: true });
  if (!(await created(path, ""))) return undefined;
  const made = await stat(path).catch(() => undefined);
  await rm(path, { force: true });
  return made?.mtimeMs;
}
