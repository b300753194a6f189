/** A configuration keeps its own files from the tools that it configures. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildRuntimeParts } from "../../src/config/build/build-runtime-parts.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { configFolder } from "./config-folder.ts";

const CONFIG = `documentation = { "work::read" = "docs/read.md" }
extensions = []
[store]
path = "haft.db"
[serve.logins]
folder = "tokens"
[toolsets.work]
type = "files"
root = "."
allowSensitive = ["**"]
[toolsets.count]
type = "command"
root = "scripts"
tools = [
  { name = "words", description = "Counts words.", command = ["node", "--import=./hook.mjs", "count.mjs", "{file}.mjs"], effects = "readOnly", inputSchema = { type = "object", properties = { file = { type = "string" } } } },
  { name = "lines", description = "Counts lines.", command = ["./lines"] },
]
[toolsets.py]
type = "python"
enabled = false
root = "."
python = "bin/python"
[toolsets.far]
type = "mcp"
enabled = false
url = "https://mcp.example"
ca = "authorities.pem"
`;
const PROTECTED = ["haft.toml", "scripts/hook.mjs", "scripts/count.mjs", "scripts/lines", "bin/python", "docs/read.md", "authorities.pem"];
const HIDDEN = ["haft.db", "haft.db-wal", "tokens/ada.json"];
const ORDINARY = ["scripts/other.mjs", "count.mjs", "docs/write.md"];

async function opened(): Promise<{ readonly folder: string; readonly session: RuntimeSession }> {
  const files = [...PROTECTED, ...HIDDEN, ...ORDINARY].map((path) => [path, "secret: swordfish\n"]);
  const folder = configFolder({ ...Object.fromEntries(files), "haft.toml": CONFIG });
  const loaded = await loadConfig(join(folder, "haft.toml"));
  const { sources, toolsets } = await buildRuntimeParts(loaded);
  const runtime = createRuntime({ sources, toolsets });
  await runtime.open();
  return { folder, session: runtime.session() };
}

test.each(PROTECTED)("a tool of the files toolset cannot change %s, which the configuration is or names, and can read it", async (path) => {
  const { folder, session } = await opened();
  const before = readFileSync(join(folder, path), "utf8");
  expect((await session.execute({ name: "work::read", input: { path } })).status).toBe("ok");
  const { error } = await session.execute({ name: "work::write", input: { path, content: "x" } });
  expect(error).toMatchObject({ code: "permission_denied", outcome: "not_started" });
  expect(readFileSync(join(folder, path), "utf8")).toBe(before);
});

test.each(HIDDEN)("a tool of the files toolset can neither read nor search nor change %s", async (path) => {
  const { session } = await opened();
  for (const [tool, more] of [
    ["read", {}],
    ["write", { content: "x" }],
    ["grep", { pattern: "swordfish" }],
    ["json_read", {}],
  ] as const)
    expect((await session.execute({ name: `work::${tool}`, input: { path, ...more } })).error).toMatchObject({ code: "permission_denied" });
  const { content } = await session.execute({ name: "work::grep", input: { pattern: "swordfish" } });
  expect(JSON.stringify(content)).toContain("docs/write.md");
  expect(JSON.stringify(content)).not.toContain(path);
});

test.each(ORDINARY)("a tool of the files toolset can change %s, which the configuration does not name", async (path) => {
  const { session } = await opened();
  await session.execute({ name: "work::read", input: { path } });
  expect((await session.execute({ name: "work::write", input: { path, content: "x" } })).status).toBe("ok");
});
