/** Empties dist/ and compiles src/ into it: JavaScript, declarations and source maps. */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit", shell: process.platform === "win32" });
process.exit(status ?? 1);
