/** The dashboard as it is built, made once for test files that run at the same time. */
import { fileURLToPath } from "node:url";
import { buildDashboard } from "../../scripts/dashboard.ts";
import { builtOnce, isAsNewAs } from "../built-once.ts";

const DIST = fileURLToPath(new URL("../../dist/dashboard", import.meta.url));
const SOURCES = ["../../src/dashboard/", "../../src/client/", "../../src/core/", "../../src/server/api/"].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** Builds it where it is older than its sources. */
export function builtDashboard(): Promise<void> {
  return builtOnce({
    name: "dashboard-build",
    isBuilt: () => isAsNewAs(`${DIST}/index.html`, SOURCES),
    build: () => buildDashboard(DIST),
  });
}
