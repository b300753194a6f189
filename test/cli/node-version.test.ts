/** On a Node that is too old, the command and every import of the package say so at once, and a module in TypeScript what it needs. */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { findNodeVersionProblem } from "../../src/core/system/node-version.ts";
import { PUBLISHED, builtPackage } from "../published-package.ts";
import { IN_CI, inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";
import { PATIENCE_MS, folderWith, haft } from "./run-haft.ts";

const run = promisify(execFile);
const HAFT = `${PUBLISHED}/dist/cli/main.js`;
const SAID = /^haft needs Node 22\.13 or newer; this is Node \d+\.\d+\.\d+\. Install a newer one: https:\/\/nodejs\.org\.$/mu;

beforeAll(async () => {
  if (inCI) await builtPackage();
});

testInCI(
  "an outdated Node is reported before anything is imported that fails there",
  async () => {
    // A stand-in for an old Node: its version, and functions that it does not have.
    const folder = folderWith({
      "old.mjs": `Object.defineProperty(process, "versions", { value: { node: "20.9.0" } });
delete Promise.withResolvers;
delete Map.groupBy;
`,
    });
    await expect(run(process.execPath, [`--import=${pathToFileURL(`${folder}/old.mjs`).href}`, HAFT, "list"])).rejects.toMatchObject({
      code: 1,
      stdout: "",
      stderr: "haft needs Node 22.13 or newer; this is Node 20.9.0. Install a newer one: https://nodejs.org.\n",
    });
  },
  PATIENCE_MS,
);

test(
  "a TypeScript module on a Node that cannot run it fails with the Node version that can",
  async () => {
    const folder = folderWith({
      "haft.toml": '[toolsets.m]\ntype = "module"\npath = "tools.ts"\n[toolsets.n]\ntype = "module"\npath = "tools.mjs"\n',
      "tools.ts": "export const limit: number = 1;\n",
      "tools.mjs": 'export { limit } from "./more.mts";\n',
      "more.mts": "export const limit: number = 1;\n",
    });
    const environment = { NODE_OPTIONS: "--no-experimental-strip-types" }; // as before 22.18
    const { exitCode, stderr } = await haft(["check"], { folder, environment, ownProcess: true });
    const why = "this Node does not run TypeScript. Use Node 22.18 or newer, or a JavaScript file.";
    expect({ exitCode, said: stderr.match(/importing .*/gu) }).toEqual({
      exitCode: 3,
      said: [`importing "tools.ts" failed: ${why}`, `importing "tools.mjs" failed: ${why}`],
    });
  },
  PATIENCE_MS,
);

const old = oldNode();

test.skipIf(!inCI)(
  `on an outdated Node the command and every entry of the package name the required version ${IN_CI}${old === undefined ? " (there is no Node before 22.13 on the PATH)" : ""}`,
  async (context) => {
    if (old === undefined) return context.skip();
    await expect(run(old, [HAFT, "--version"])).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(SAID) });
    const { exports } = JSON.parse(readFileSync(`${PUBLISHED}/package.json`, "utf8")) as {
      readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
    };
    const said: Record<string, string> = {};
    for (const [entry, target] of Object.entries(exports)) {
      if (typeof target === "string" || entry === "./ports") continue; // haft/ports has types alone
      const code = `import(${JSON.stringify(pathToFileURL(join(PUBLISHED, target.default)).href)}).then(() => "it was loaded", (error) => error.message).then(console.log)`;
      said[entry] = (await run(old, ["--input-type=module", "--eval", code])).stdout.trim();
    }
    expect(Object.keys(said).length).toBeGreaterThan(20);
    expect(Object.entries(said).filter(([, line]) => !SAID.test(line))).toEqual([]);
  },
  PATIENCE_MS,
);

/** The first Node on the PATH that is too old, and still knows every function of Node that is imported by name. */
function oldNode(): string | undefined {
  const found = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, process.platform === "win32" ? "node.exe" : "node"));
  return found.find((node) => {
    if (!existsSync(node)) return false;
    const version = execFileSync(node, ["--version"], { encoding: "utf8" }).trim().slice(1);
    return findNodeVersionProblem({ node: version }) !== undefined && Number(version.split(".", 1)[0]) >= 20;
  });
}
