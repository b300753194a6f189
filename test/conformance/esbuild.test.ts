/** The package in one file that esbuild made: a store, and a pattern. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundle } from "../../scripts/bundle.ts";
import { IN_CI, inCI } from "../ci.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);
const shell = process.platform === "win32";

let folder = "";
/** Why esbuild could not be installed. */
let failure: string | undefined;

beforeAll(async () => {
  if (!inCI) return;
  folder = mkdtempSync(join(tmpdir(), "haft-esbuild-"));
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  try {
    await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", "esbuild@0.28"], { cwd: folder, shell });
    await run(join(folder, "node_modules/.bin/esbuild"), ["--version"], { shell });
  } catch (error: unknown) {
    failure = `esbuild could not be installed: ${error instanceof Error ? error.message.slice(0, 500) : String(error)}`;
    return;
  }
  await installPackage(join(folder, "node_modules"));
  const entry = readFileSync(join(root, "test/store/bundle-entry.ts"), "utf8")
    .replace('"../../src/runtime/runtime.ts"', '"haft"')
    .replace('"../../src/store/sqlite-store.ts"', '"haft/sqlite"')
    .replace('import("../../src/core/context.ts")', 'import("haft/session")');
  writeFileSync(join(folder, "entry.ts"), entry);
}, 300_000);

afterAll(() => {
  if (folder !== "") rmSync(folder, { recursive: true, force: true });
});

test.skipIf(!inCI).for(["esm", "cjs"] as const)(
  `bundled as %s, the program runs without node_modules ${IN_CI}`,
  { timeout: 240_000 },
  async (format, context) => {
    if (failure !== undefined) context.skip(failure);
    const place = mkdtempSync(join(tmpdir(), "haft-bundled-"));
    try {
      const file = join(place, format === "esm" ? "program.mjs" : "program.cjs");
      const args = ["entry.ts", "--bundle", "--platform=node", `--format=${format}`, "--log-level=error", `--outfile=${file}`];
      await run(join(folder, "node_modules/.bin/esbuild"), args, { cwd: folder, shell });
      const printed = async (): Promise<string> =>
        (await run(process.execPath, ["--no-warnings", file, join(place, "store.db")])).stdout.trim();
      expect([await printed(), await printed()]).toEqual(["[1,2]", "[3,4]"]);
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  },
);

/** The package as it is published, with what it depends on. */
async function installPackage(modules: string): Promise<void> {
  await bundle({ dir: join(modules, "haft/dist") });
  cpSync(join(root, "package.json"), join(modules, "haft/package.json"));
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { dependencies: Record<string, string> }; // ours
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(modules, name), "junction");
  }
}
