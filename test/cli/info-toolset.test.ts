import { describe, expect, test } from "vitest";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { configuredRuntime } from "../../src/config/config.ts";
import { join } from "node:path";
import { PATIENCE_MS, folderWith, haft } from "./run-haft.ts";

const KILN = {
  "haft.toml": '[toolsets.kiln]\ntype = "module"\npath = "./kiln.mjs"\n',
  "kiln.mjs": `export const fire = {
  name: "fire", description: "Fires the kiln.", documentation: "Never above 1,200 degrees.", requiresReading: true,
  inputSchema: { type: "object" }, effects: { reads: [], writes: [] }, execute: () => "hot",
};`,
};
const lines = (...names: readonly string[]): string =>
  names
    .map(
      (name) =>
        `${JSON.stringify({ role: "assistant", calls: [{ name, input: name === "manual::info" ? { name: "kiln::fire" } : {} }] })}\n`,
    )
    .join("");

describe.concurrent("a tool with requiresReading", { timeout: PATIENCE_MS }, () => {
  test("F1.7 F1.45 is refused in haft run with the call to make first, and runs once its documentation was read", async () => {
    const folder = folderWith({ ...KILN, "talk.jsonl": lines("kiln::fire", "manual::info", "kiln::fire") });
    const { stdout } = await haft(["run", "talk.jsonl", "--json"], { folder });
    const results: readonly { status: string; output?: string; error?: { code: string; message: string } }[] = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ status }) => status !== undefined);
    expect(results.map(({ status, output, error }) => [status, output ?? error?.code])).toEqual([
      ["error", "permission_denied"],
      ["ok", "Never above 1,200 degrees."],
      ["ok", "hot"],
    ]);
    expect(results[0]?.error?.message).toContain('call manual::info with {"name":"kiln::fire"} first');
  });

  test("F1.7 runs in haft call without reading, since a person calls it", async () => {
    const folder = folderWith(KILN);
    expect(await haft(["call", "kiln::fire"], { folder })).toEqual({ exitCode: 0, stdout: "hot\n", stderr: "" });
    expect((await haft(["call", "manual::info", '{"name":"fire"}'], { folder })).stdout).toBe("Never above 1,200 degrees.\n");
  });
});

describe.concurrent("documentation from the configuration that replaces a tool's own", { timeout: PATIENCE_MS }, () => {
  const files = {
    ...KILN,
    "haft.toml": `${KILN["haft.toml"]}\n[documentation]\n"kiln::fire" = "docs/fire.md"\n`,
    "docs/fire.md": "\nOur kiln stops at 900.\n",
  };

  test("F1.45 is returned by info, on the command line and in a program", async () => {
    const folder = folderWith(files);
    expect((await haft(["call", "manual::info", '{"name":"kiln::fire"}'], { folder })).stdout).toBe("Our kiln stops at 900.\n");
    const info = (await haft(["info", "fire"], { folder })).stdout;
    expect([info.includes("Our kiln stops at 900."), info.includes("1,200")]).toEqual([true, false]);
    const runtime = createRuntime(await configuredRuntime(join(folder, "haft.toml"), { environment: {} }));
    await runtime.open();
    expect((await runtime.execute({ name: "manual::info", input: { name: "fire" } })).output).toBe("Our kiln stops at 900.");
    expect((await runtime.execute({ name: "kiln::fire" }, { knowsDocumentation: true })).output).toBe("hot");
    expect((await runtime.execute({ name: "kiln::fire" })).error?.code).toBe("permission_denied");
    await runtime.close();
  });

  test("F1.45 a path outside the folder is refused with its place, and a missing file is named", async () => {
    const out = folderWith({ ...files, "haft.toml": '[documentation]\nfire = "../fire.md"\n' });
    expect((await haft(["list"], { folder: out })).stderr).toContain(
      "haft.toml:2:1: documentation.fire: must lie inside the folder of this file",
    );
    for (const path of [".env", "/etc/hosts.md"]) {
      const folder = folderWith({ "haft.toml": `[documentation]\nfire = "${path}"\n`, ".env": "KEY=1" });
      expect((await haft(["list"], { folder })).stderr).toContain(
        "documentation.fire: must be a Markdown file (.md) inside the folder of this file",
      );
    }
    const missing = folderWith({ ...KILN, "haft.toml": `${KILN["haft.toml"]}\n[documentation]\nfire = "none.md"\n` });
    const { exitCode, stderr } = await haft(["call", "kiln::fire"], { folder: missing });
    expect([exitCode, stderr]).toEqual([3, expect.stringMatching(/documentation .*none\.md: there is no such file/u)]);
  });
});
