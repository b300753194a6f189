/** Builds the dashboard alone: `node scripts/build-dashboard.ts`. */
import { fileURLToPath } from "node:url";
import { buildDashboard } from "./dashboard.ts";

await buildDashboard(fileURLToPath(new URL("../dist/dashboard", import.meta.url)));
