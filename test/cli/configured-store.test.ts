/** A configuration with a store, in the commands that need it for its toolsets alone, and as an MCP server. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test } from "vitest";
import { PATIENCE_MS, PROGRAM, folderWith, haft } from "./run-haft.ts";

const TOOL = `export const note = {
  name: "note",
  description: "Notes.",
  inputSchema: { type: "object", properties: {} },
  effects: { writes: ["pad"] },
  execute: () => "noted",
};
`;

function project(more: string = ""): string {
  const config = `[store]\npath = "haft.db"\n[toolsets.pad]\ntype = "module"\npath = "./pad.mjs"\n${more}`;
  return folderWith({ "pad.mjs": TOOL, "haft.toml": config });
}

test.each([
  ["list", []],
  ["check", []],
  ["search", ["note"]],
  ["info", ["pad::note"]],
  ["call", ["--simulate", "pad::note"]],
])("haft %s of a shared toolset needs no store of its own and creates none", { timeout: PATIENCE_MS }, async (command, args) => {
  const folder = project("shared = true\n");
  const { exitCode } = await haft([command, ...args, "--config", "haft.toml"], { folder });
  expect({ exitCode, isMade: existsSync(join(folder, "haft.db")) }).toEqual({ exitCode: 0, isMade: false });
});

test("haft mcp stores the calls of a client as one session", { timeout: PATIENCE_MS }, async () => {
  const folder = project("shared = true\n");
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
  const args = ["--conditions=haft-source", PROGRAM, "mcp", "--config", "haft.toml"];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd: folder }));
  onTestFinished(() => client.close());
  for (const _ of [1, 2])
    expect((await client.callTool({ name: "pad__note", arguments: {} })).content).toEqual([{ type: "text", text: "noted" }]);
  await client.close();
  const { stdout } = await haft(["audit", "--config", "haft.toml"], { folder });
  expect(new Set(stdout.match(/(?<=called pad::note: ok, .*, session )\S+/gu)).size).toBe(1);
  expect(stdout.match(/called pad::note: ok/gu)).toHaveLength(2);
});

test("haft call of a shared toolset fails with the reason if its store cannot be opened", { timeout: PATIENCE_MS }, async () => {
  const folder = project("shared = true\n");
  mkdirSync(join(folder, "haft.db"));
  const { exitCode, stderr } = await haft(["call", "pad::note", "--config", "haft.toml"], { folder });
  expect([exitCode, stderr]).toEqual([7, expect.stringMatching(/^haft: store_failed: The store .*haft\.db could not be opened/u)]);
});

test("tools cannot read the store that a command names, and still read other files", { timeout: PATIENCE_MS }, async () => {
  const config = '[toolsets.work]\ntype = "files"\nroot = "."\nallowSensitive = ["**"]\n';
  const call = (path: string) => `${JSON.stringify({ role: "assistant", calls: [{ name: "work::read", input: { path } }] })}\n`;
  const folder = folderWith({
    "haft.toml": config,
    "store.jsonl": call("own.txt"),
    "other.jsonl": call("other.txt"),
    "other.txt": "plain",
  });
  const run = async (file: string) => await haft(["run", file, "--store", "own.txt", "--json", "--config", "haft.toml"], { folder });
  const own = await run("store.jsonl");
  const other = await run("other.jsonl");
  expect([own.stdout.includes('"permission_denied"'), other.stdout.includes("plain")]).toEqual([true, true]);
});
