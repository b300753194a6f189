/** Builds something once for test files that run at the same time, each in a process of its own. */
import { mkdirSync, rmSync, statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** A build takes a few seconds; a lock that is older was left by one that was killed. */
const STALE_MS = 120_000;

export interface Building {
  /** Of its lock. */
  readonly name: string;
  /** Whether there is one, newer than all that it is made of. */
  isBuilt(): boolean;
  build(): Promise<unknown>;
}

/** Builds it where it is older than its sources, or waits until another process has. */
export async function builtOnce({ name, isBuilt, build }: Building): Promise<void> {
  const lock = fileURLToPath(new URL(`../node_modules/.cache/${name}`, import.meta.url));
  while (modifiedAt(lock) > 0 || !isBuilt()) {
    if (!takeLock(lock)) {
      await pause(200);
      continue;
    }
    try {
      if (!isBuilt()) await build();
    } finally {
      rmSync(lock, { recursive: true, force: true });
    }
  }
}

function takeLock(lock: string): boolean {
  mkdirSync(fileURLToPath(new URL("../node_modules/.cache", import.meta.url)), { recursive: true });
  if (Date.now() - modifiedAt(lock) > STALE_MS) rmSync(lock, { recursive: true, force: true });
  try {
    mkdirSync(lock);
    return true;
  } catch {
    return false;
  }
}

/** 0 where there is none. */
export function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
