/** The dashboard as it is built, made once for test files that run at the same time. */
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { buildDashboard } from "../../scripts/dashboard.ts";

const DIST = fileURLToPath(new URL("../../dist/dashboard", import.meta.url));
const LOCK = fileURLToPath(new URL("../../node_modules/.cache/dashboard-build", import.meta.url));
const SOURCES = ["../../src/dashboard/", "../../src/client/", "../../src/core/", "../../src/server/api/"].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);
/** A build takes a few seconds; a lock that is older was left by one that was killed. */
const STALE_MS = 120_000;

/** Builds it where it is older than its sources. */
export async function builtDashboard(): Promise<void> {
  while (!isNew()) {
    if (!takeLock()) {
      await pause(200);
      continue;
    }
    try {
      if (!isBuilt()) await buildDashboard(DIST);
    } finally {
      rmSync(LOCK, { recursive: true, force: true });
    }
  }
}

function takeLock(): boolean {
  mkdirSync(fileURLToPath(new URL("../../node_modules/.cache", import.meta.url)), { recursive: true });
  if (Date.now() - modifiedAt(LOCK) > STALE_MS) rmSync(LOCK, { recursive: true, force: true });
  try {
    mkdirSync(LOCK);
    return true;
  } catch {
    return false;
  }
}

/** Nothing is to be done, and nobody is doing it. */
function isNew(): boolean {
  return modifiedAt(LOCK) === 0 && isBuilt();
}

function isBuilt(): boolean {
  const builtAt = modifiedAt(`${DIST}/index.html`);
  if (builtAt === 0) return false;
  return SOURCES.every((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).every((name) => modifiedAt(folder + name) <= builtAt),
  );
}

/** 0 where there is none. */
function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
