/**
 * Empties dist/ and writes src/ into it: JavaScript with source maps, in few files, and declarations.
 *
 * Node takes about half a millisecond to find and link a module, so a program that imports `haft` as it stands in src/ waits for hundreds
 * of files. The entries share chunks: what is imported late stays late, and nothing is there twice.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));
rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit", shell: process.platform === "win32" });
if (status !== 0) process.exit(status ?? 1);

const { exports, bin } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const entries = Object.values(exports).flatMap((entry) => (typeof entry === "object" ? [entry.default] : []));
/** Started as a thread of its own, by its file. */
const WORKER = "./dist/store/sqlite-worker.js";
const names = [...entries, ...Object.values(bin), WORKER].map((file) => /^(?:\.\/)?dist\/(.*)\.js$/u.exec(file)?.[1] ?? file);

const bundle = await rolldown({
  cwd: root,
  input: Object.fromEntries(names.map((name) => [name, `./src/${name}.ts`])),
  platform: "node",
  // Nothing is left out: the command line is run for what it does, and not for what it exports.
  treeshake: false,
  external: /^(?![./]|[A-Za-z]:)/u,
});
await bundle.write({
  dir: "dist",
  format: "esm",
  sourcemap: true,
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name].js",
});
await bundle.close();
