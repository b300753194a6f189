/** Programs where a part of what they need is not there: the file of their thread, the package of their interpreter. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { expect, onTestFinished } from "vitest";
import { bundle } from "../../../scripts/bundle.ts";
import { testInCI } from "../../test-in-ci.ts";

const ENTRY = fileURLToPath(new URL("bundled-entry.ts", import.meta.url));
const DEPENDENCIES = ["croner", "get-east-asian-width", "kysely", "smol-toml", "yaml"];

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "haft-bundled-program-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const printed = async (file: string): Promise<unknown> =>
  JSON.parse((await promisify(execFile)(process.execPath, ["--no-warnings", file])).stdout);

testInCI(
  "issue 18 running a program in a bundle, or without the required package, fails with what is needed",
  async () => {
    const bundled = join(folder(), "program.mjs");
    const one = await rolldown({
      input: ENTRY,
      platform: "node",
      logLevel: "silent",
      resolve: { conditionNames: ["haft-source", "import", "node"] },
    });
    await one.write({ file: bundled, format: "esm", codeSplitting: false });
    await one.close();
    expect(await printed(bundled)).toEqual([
      "unavailable",
      "No program can be run: the file of its thread is missing, as happens in a bundled program.",
      "Mark the package haft as external in the bundler's settings.",
    ]);

    const installed = folder();
    await bundle({ dir: join(installed, "dist"), inlined: DEPENDENCIES });
    writeFileSync(join(installed, "package.json"), '{ "type": "module" }');
    const entry = 'import { createRuntime } from "./dist/index.js";\nimport { programToolset } from "./dist/public/program.js";\n';
    writeFileSync(join(installed, "entry.js"), entry + readFileSync(ENTRY, "utf8").replaceAll(/^import .*$/gmu, ""));
    expect(await printed(join(installed, "entry.js"))).toEqual([
      "unavailable",
      "The package quickjs-emscripten is not installed; programs written by models need it.",
      "npm install quickjs-emscripten",
    ]);
  },
  120_000,
);
