import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { ToolOutput } from "../../src/core/content.ts";
import type { Toolset } from "../../src/core/toolset.ts";
import { buildRuntimeParts } from "../../src/config/build/build-runtime-parts.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { engineContext, request, toolContext } from "../engine/engine-contexts.ts";
import { configError, configFolder } from "./config-folder.ts";

async function build(folder: string): Promise<readonly Toolset[]> {
  const loaded = await loadConfig(join(folder, "haft.toml"), { environment: { SECRET: "swordfish" } });
  return (await buildRuntimeParts(loaded)).toolsets;
}

/** The problems of building, without the folder before the name of the file. */
async function problems(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const folder = configFolder(files);
  const error = await configError(build(folder));
  return error.details.map((line) => line.replaceAll(`${folder}/`, ""));
}

const module = (path: string): string => `[toolsets.m]\ntype = "module"\npath = '${path}'\n`;
const tool = (name: string): string => `{ name: "${name}", description: "Does ${name}.", inputSchema: {}, execute: () => "${name}" }`;

describe("problems", () => {
  test("an option that an engine rejects is reported with the place of its key", async () => {
    const config = '[toolsets.api]\ntype = "openapi"\ndocument = "api.json"\nbaseUrl = "https://a.example/?key=1"\n';
    expect(await problems({ "haft.toml": config, "api.json": "{}" })).toEqual([
      "haft.toml:4:1: toolsets.api.baseUrl: baseUrl has a query or a fragment; paths are appended to it. For a key in the query, use auth of type apiKey.",
    ]);
  });

  test("a workspace that does not exist is reported with its place", async () => {
    const [line] = await problems({ "haft.toml": '[toolsets.fs]\ntype = "files"\nroot = "./none"\n' });

    expect(line).toMatch(/^haft\.toml:3:1: toolsets\.fs\.root: .*none/u);
  });

  test("problems of several toolsets are reported together, and nothing is built", async () => {
    const lines = await problems({ "haft.toml": `[toolsets.fs]\ntype = "files"\nroot = "haft.toml"\n${module("none.ts")}` });

    expect(lines).toEqual([
      expect.stringMatching(/^haft\.toml:3:1: toolsets\.fs\.root: /u),
      "haft.toml:6:1: toolsets.m.path: there is no file none.ts.",
    ]);
  });

  test.each([
    ["/etc/passwd", 'must be relative to the configuration file, not "/etc/passwd".'],
    ["file:///etc/x.js", 'must be relative to the configuration file, not "file:///etc/x.js".'],
    ["node:fs", 'must be relative to the configuration file, not "node:fs".'],
    ["tools.json", 'must end in .ts, .mts, .js, .mjs, and "tools.json" does not.'],
  ])("J05 the module %s is refused", async (path, reason) => {
    expect(await problems({ "haft.toml": module(path) })).toEqual([`haft.toml:3:1: toolsets.m.path: ${reason}`]);
  });

  test("J05 a module outside the folder is refused, by parent path and by link", async () => {
    const outside = mkdtempSync(join(tmpdir(), "haft-outside-"));
    onTestFinished(() => rmSync(outside, { recursive: true }));
    writeFileSync(join(outside, "evil.mjs"), "globalThis.evil = true;");
    const folder = configFolder({ "haft.toml": module("link.mjs") });
    symlinkSync(join(outside, "evil.mjs"), join(folder, "link.mjs"));

    const error = await configError(build(folder));

    expect(error.message).toBe(
      `${folder}/haft.toml:3:1: toolsets.m.path: must lie inside the folder of the configuration file, and "link.mjs" does not.`,
    );
    expect("evil" in globalThis).toBe(false);
  });

  test.each([
    ["throws", '\n\nthrow new Error("not today");', 'importing "tools.mjs" failed at tools.mjs:3: not today'],
    ["throws what is no error", 'throw "not today";', 'importing "tools.mjs" failed: not today'],
    ["exports nothing", "", '"tools.mjs" must export a tool, an array of tools or a toolset; it exports nothing.'],
    [
      "exports nothing of use",
      "export const limit = 3; export default { name: 1 };",
      '"tools.mjs" must export a tool, an array of tools or a toolset; none of its exports is one: default, limit.',
    ],
    [
      "exports two toolsets",
      'export const a = { name: "a", tools: [] }; export const b = { name: "b", tools: [] };',
      '"tools.mjs" must export one toolset, or tools; it has 2 toolsets and 0 tools.',
    ],
    [
      "exports a wrong tool",
      'export const slow = { name: "slow", description: "", inputSchema: {}, background: true, execute() {} };',
      'Tool "slow" has an unknown field "background".',
    ],
  ])("a module that %s is reported with its place", async (_what, text, reason) => {
    expect(await problems({ "haft.toml": module("tools.mjs"), "tools.mjs": text })).toEqual([
      expect.stringContaining(`haft.toml:3:1: toolsets.m.path: ${reason}`),
    ]);
  });
});

test("F4.13 disabled toolsets are skipped and not imported; the others keep their order", async () => {
  const folder = configFolder({
    "haft.toml": `[toolsets.2]\ntype = "module"\npath = "two.mjs"\n[toolsets.off]\ntype = "module"\npath = "off.mjs"\nenabled = false\n[toolsets.1]\ntype = "module"\npath = "one.mjs"\n`,
    "one.mjs": `export default ${tool("one")};`,
    "two.mjs": `export default ${tool("two")};`,
    "off.mjs": "globalThis.imported = true;",
  });

  const toolsets = await build(folder);

  expect(toolsets.map((toolset) => toolset.name)).toEqual(["2", "1"]);
  expect("imported" in globalThis).toBe(false);
});

test("a module's tools are found under every export name, each once, and other exports are ignored", async () => {
  const folder = configFolder({
    "haft.toml": module("./tools.ts"),
    "tools.ts": `interface Unused { readonly a: string }\nexport const one = ${tool("one")};\nexport const rest = [${tool("two")}, one];\nexport default one;\nexport const version = "1";\n`,
  });

  const [toolset] = await build(folder);

  expect(toolset).toMatchObject({ name: "m" });
  expect(toolset?.tools?.map((found) => found.name)).toEqual(["one", "two"]);
});

test("settings of the file override those of a toolset, and its other settings are kept", async () => {
  const folder = configFolder({
    "haft.toml": `${module("tools.mjs")}description = "Ours"\nmaxConcurrent = 2\ntimeoutMs = 1\n`,
    "tools.mjs": `export default { name: "theirs", description: "Theirs", tools: [${tool("one")}], defaults: { timeoutMs: 9, maxAttempts: 1 }, overloads: true, openTimeoutMs: 30 };`,
  });

  expect(await build(folder)).toEqual([
    {
      name: "m",
      description: "Ours",
      tools: [expect.objectContaining({ name: "one" })],
      overloads: true,
      maxConcurrent: 2,
      openTimeoutMs: 30,
      defaults: { timeoutMs: 1, maxAttempts: 1 },
    },
  ]);
});

test("the root of a files toolset is relative to the configuration file", async () => {
  const folder = configFolder({ "haft.toml": '[toolsets.fs]\ntype = "files"\nroot = "work"\nreadOnly = true\n', "work/a.txt": "a" });

  const [toolset] = await build(folder);

  expect(toolset?.name).toBe("fs");
  expect(toolset?.description).toContain(join(folder, "work"));
  expect(toolset?.tools?.map((found) => found.name)).toContain("read");
  expect(toolset?.tools?.map((found) => found.name)).not.toContain("write");
});

test("F4.15 F4.33 a server is started by its command, in the folder of the file, with its variables", async () => {
  const folder = configFolder({
    "haft.toml": `[toolsets.strange]\ntype = "mcp"\ncommand = '${process.execPath}'\nargs = ['${fileURLToPath(new URL("../fixtures/strange-server.mjs", import.meta.url))}']\ntrustAnnotations = true\nopenTimeoutMs = 30\n[toolsets.strange.env]\nDOOR_PLACE = "env:SECRET"\n`,
  });

  const [toolset] = await build(folder);
  onTestFinished(() => toolset?.engine?.close?.());
  const tools = await toolset?.engine?.open?.(engineContext());
  const answer = await toolset?.engine?.call(request("environment"), toolContext());

  expect(toolset).toEqual({ name: "strange", engine: expect.anything(), openTimeoutMs: 30 });
  expect(tools?.map((found) => found.name)).toContain("environment");
  expect(answer).toBeInstanceOf(ToolOutput);
  expect(answer).toMatchObject({ output: { DOOR_PLACE: "swordfish" } });
});
