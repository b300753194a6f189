/**
 * Builds the package where npm installs it from git, which packs a clone that has no `dist/`. npm runs this script after every install of the
 * repository too: there it does nothing, once there is a build, where the development packages are left out, and when `setup.mjs` installs.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const wanted = process.env.HAFT_PREPARE !== "no" && !existsSync(`${root}dist/index.js`) && existsSync(`${root}node_modules/rolldown`);
if (wanted) process.exitCode = spawnSync("node", ["scripts/build.mjs"], { cwd: root, stdio: "inherit" }).status ?? 1;
