/** Builds something once for test files that run at the same time, each in a process of its own. */
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export interface Building {
  /** Of its lock. */
  readonly name: string;
  /** Whether there is one, newer than all that it is made of. */
  isBuilt(): boolean;
  build(): Promise<unknown>;
}

/** Builds it where it is older than its sources, or waits until another process has. */
export async function builtOnce({ name, isBuilt, build }: Building): Promise<void> {
  const lock = fileURLToPath(new URL(`../node_modules/.cache/${name}.lock`, import.meta.url));
  while (modifiedAt(lock) > 0 || !isBuilt()) {
    if (!takeLock(lock)) {
      await pause(200);
      continue;
    }
    try {
      if (!isBuilt()) await build();
    } finally {
      rmSync(lock, { force: true });
    }
  }
}

/** The lock is a file with the number of the process that builds. One that was left by a process that was killed is removed. */
function takeLock(lock: string): boolean {
  mkdirSync(dirname(lock), { recursive: true });
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch {
    if (isLeft(lock)) rmSync(lock, { force: true });
    return false;
  }
}

function isLeft(lock: string): boolean {
  try {
    process.kill(Number(readFileSync(lock, "utf8")), 0);
    return false;
  } catch (error: unknown) {
    return Object(error).code === "ESRCH";
  }
}

/** Whether a file is there and as new as every file of the folders. */
export function isAsNewAs(path: string, folders: readonly string[]): boolean {
  const builtAt = modifiedAt(path);
  if (builtAt === 0) return false;
  const isOlder = (folder: string): boolean =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).every((name) => modifiedAt(join(folder, name)) <= builtAt);
  return folders.every(isOlder);
}

/** 0 where there is none. */
function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
