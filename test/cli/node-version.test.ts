import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { tooOld } from "../../src/cli/node-version.ts";
import { PATIENCE_MS, folderWith, haft } from "./run-haft.ts";

test("a Node before 22.13 is too old, and no later one", () => {
  expect(["v20.20.2", "v22.0.0", "v22.12.9", "v22.13.0", "v22.23.3", "v24.0.0", "v100.1.0"].map(tooOld)).toEqual([
    "haft needs Node 22.13 or newer; this is v20.20.2.",
    "haft needs Node 22.13 or newer; this is v22.0.0.",
    "haft needs Node 22.13 or newer; this is v22.12.9.",
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test(
  "on a Node that is too old the command says so, before anything that fails there is imported",
  async () => {
    // A stand-in for an old Node: its version, and one of the functions that it does not have.
    const folder = folderWith({
      "old.mjs": 'Object.defineProperty(process, "version", { value: "v20.9.0" });\ndelete Promise.withResolvers;\ndelete Map.groupBy;\n',
    });
    const environment = { NODE_OPTIONS: `--import=${pathToFileURL(`${folder}/old.mjs`).href}` };
    expect(await haft(["list"], { folder, environment })).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: "haft needs Node 22.13 or newer; this is v20.9.0.\n",
    });
  },
  PATIENCE_MS,
);
