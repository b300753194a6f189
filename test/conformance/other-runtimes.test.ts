/** The package under Bun, Deno, and the oldest and newest Node: the first program, a tool of zod, the streaming loop and the SQLite store. */
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

interface Runtime {
  /** Of npm, which has all of them. */
  readonly from: string;
  /** Below the folder of its package. @default its command in `node_modules/.bin` */
  readonly binary?: string;
  readonly args: readonly string[];
  readonly leavesOut?: string;
}

const STRICT = ["--pending-deprecation", "--throw-deprecation"];
/** Node 22 warns of its SQLite, and before 22.18 of TypeScript, which it runs with a flag alone. */
const NODE_22 = [...STRICT, "--disable-warning=ExperimentalWarning", "--experimental-strip-types"];
const NODE_BINARY = process.platform === "win32" ? "bin/node.exe" : "bin/node";
const RUNTIMES: Readonly<Record<string, Runtime>> = {
  bun: { from: "bun@1", args: ["run"] },
  deno: { from: "deno@2", args: ["run", "--allow-all", "--quiet", "--no-check", "--node-modules-dir=manual"] },
  "node-22.13.0": { from: "node@22.13.0", binary: NODE_BINARY, args: NODE_22, leavesOut: "stored-sessions.ts" },
  "node-22.23.3": { from: "node@22.23.3", binary: NODE_BINARY, args: NODE_22 }, // the first with a SQLite that is taken
  "node-26": { from: "node@26", binary: NODE_BINARY, args: STRICT },
};
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
  const packages = Object.entries(RUNTIMES).map(([name, { from }]) => `${name}@npm:${from}`);
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts=false", ...packages];
  try {
    await run("npm", args, { cwd: folder, shell: process.platform === "win32" });
    for (const name of Object.keys(RUNTIMES)) await run(binary(name), ["--version"], { cwd: folder });
  } catch (error: unknown) {
    failure = `The runtimes could not be installed: ${error instanceof Error ? error.message.slice(0, 500) : String(error)}`;
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

const CASES = Object.entries(RUNTIMES).flatMap(([runtime, { args, leavesOut }]) =>
  PROGRAMS.filter(({ program }) => program !== leavesOut).map((program) => ({ runtime, args, ...program })),
);

test.skipIf(!inCI).for(CASES)(
  `$runtime runs examples/$program ${IN_CI}`,
  { timeout: 240_000 },
  async ({ runtime, args, program, prints }, context) => {
    if (failure !== undefined) context.skip(failure);
    const env = { ...process.env, NO_COLOR: "1" };
    const { stdout, stderr } = await run(binary(runtime), [...args, program], { cwd: folder, env, timeout: 240_000 });
    expect(stderr).toBe("");
    if (prints) expect(stdout.trimEnd()).toBe(promisedOutput(readFileSync(join(root, "examples", program), "utf8")));
  },
);

function binary(name: string): string {
  const inPackage = RUNTIMES[name]?.binary;
  if (inPackage !== undefined) return join(folder, "node_modules", name, inPackage);
  return join(folder, "node_modules/.bin", process.platform === "win32" ? `${name}.cmd` : name);
}
