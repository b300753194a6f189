/** The dashboard as it is built, made once for test files that run at the same time. */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildDashboard } from "../../scripts/dashboard.ts";
import { builtOnce, modifiedAt } from "../built-once.ts";

const DIST = fileURLToPath(new URL("../../dist/dashboard", import.meta.url));
const SOURCES = ["../../src/dashboard/", "../../src/client/", "../../src/core/", "../../src/server/api/"].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** Builds it where it is older than its sources. */
export function builtDashboard(): Promise<void> {
  return builtOnce({ name: "dashboard-build", isBuilt, build: () => buildDashboard(DIST) });
}

function isBuilt(): boolean {
  const builtAt = modifiedAt(`${DIST}/index.html`);
  if (builtAt === 0) return false;
  return SOURCES.every((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).every((name) => modifiedAt(folder + name) <= builtAt),
  );
}
