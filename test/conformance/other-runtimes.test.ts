/** The package under Bun and Deno: the first program, a tool of zod, the streaming loop and the SQLite store. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PUBLISHED, builtPackage } from "../published-package.ts";
import { IN_CI, inCI } from "../ci.ts";
import { promisedOutput } from "../house/example-output.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);
/** How each of them runs a file; both come as packages of npm. */
const RUNTIMES = {
  bun: ["run"],
  deno: ["run", "--allow-all", "--quiet", "--no-check", "--node-modules-dir=manual"],
} as const;
const PACKAGES = ["bun@1", "deno@2"];
/** Objects that the first program prints look otherwise elsewhere: it asserts for itself. */
const PROGRAMS = [
  { program: "quick-start.ts", prints: false },
  { program: "loop-stream.ts", prints: true },
  { program: "loop-output.ts", prints: true },
  { program: "loop.ts", prints: true },
  { program: "stored-sessions.ts", prints: true },
] as const;

let folder = "";
/** Why the runtimes could not be installed. */
let failure: string | undefined;

beforeAll(async () => {
  if (!inCI) return;
  folder = mkdtempSync(join(tmpdir(), "haft-runtimes-"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module", "private": true }');
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts=false", ...PACKAGES];
  try {
    await run("npm", args, { cwd: folder, shell: process.platform === "win32" });
    for (const name of Object.keys(RUNTIMES)) await run(binary(name), ["--version"], { cwd: folder });
  } catch (error: unknown) {
    failure = `Bun and Deno could not be installed: ${error instanceof Error ? error.message.slice(0, 500) : String(error)}`;
    return;
  }
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  await builtPackage();
  cpSync(PUBLISHED, join(folder, "node_modules/haft"), { recursive: true });
  symlinkSync(join(root, "node_modules/zod"), join(folder, "node_modules/zod"), "junction");
  for (const { program } of PROGRAMS) cpSync(join(root, "examples", program), join(folder, program));
}, 300_000);

afterAll(() => {
  if (folder !== "") rmSync(folder, { recursive: true, force: true });
});

const CASES = Object.keys(RUNTIMES).flatMap((runtime) =>
  PROGRAMS.map((program) => ({ runtime: runtime as keyof typeof RUNTIMES, ...program })),
); // the keys of a literal

test.skipIf(!inCI).for(CASES)(
  `$runtime runs examples/$program ${IN_CI}`,
  { timeout: 240_000 },
  async ({ runtime, program, prints }, context) => {
    if (failure !== undefined) context.skip(failure);
    const env = { ...process.env, NO_COLOR: "1" };
    const { stdout, stderr } = await run(binary(runtime), [...RUNTIMES[runtime], program], { cwd: folder, env, timeout: 240_000 });
    expect(stderr).toBe("");
    if (prints) expect(stdout.trimEnd()).toBe(promisedOutput(readFileSync(join(root, "examples", program), "utf8")));
  },
);

function binary(name: string): string {
  return join(folder, "node_modules/.bin", process.platform === "win32" ? `${name}.cmd` : name);
}
