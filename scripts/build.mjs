/**
 * Empties dist/ and writes src/ into it: JavaScript in few files, and declarations.
 *
 * Node takes about half a millisecond to find and link a module, so a program that imports `haft` as it stands in src/ waits for hundreds
 * of files. The entries share chunks: what is imported late stays late, and nothing is there twice.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { bundle } from "./bundle.ts";
import { buildDashboard } from "./dashboard.ts";
import { dropDeclarations } from "./drop-declarations.mjs";
import { linkDeclarations } from "./link-declarations.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
const { status } = spawnSync("tsc", ["--singleThreaded", "-p", "tsconfig.build.json"], {
  cwd: root,
  stdio: "inherit",
  shell: process.platform === "win32",
});
if (status !== 0) process.exit(status ?? 1);
dropDeclarations(root, fileURLToPath(new URL("../dist", import.meta.url)));
linkDeclarations(root, fileURLToPath(new URL("../dist", import.meta.url)));

await bundle({ dir: fileURLToPath(new URL("../dist", import.meta.url)) });
await buildDashboard(fileURLToPath(new URL("../dist/dashboard", import.meta.url)));
chmodSync(new URL("../dist/cli/main.js", import.meta.url), 0o755); // npm does so only when it installs: a clone that is built anew stays linked
