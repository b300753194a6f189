/** A variable that is set to nothing must not change where a toolset works, or remove the toolset. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { ToolError } from "../../src/core/error.ts";
import { configFolder } from "./config-folder.ts";

const environment = { NONE: "", ALSO_NONE: "", SOME: "notes" };
const CALL = 'name = "a", description = "Gets.", effects = "readOnly", inputSchema = { type = "object" }';

async function problemsOf(toolset: string): Promise<unknown> {
  const folder = configFolder({ "haft.toml": `[variables]\nallow = ["NONE"]\n[toolsets.x]\n${toolset}\n`, "api.json": "{}" });
  const loaded = await loadConfig(join(folder, "haft.toml"), { environment }).catch((error: unknown) => error);
  return loaded instanceof ToolError ? loaded.message : "loaded";
}

test.each([
  ["root", 'type = "files"\nroot = "${NONE}"'],
  ["root", 'type = "shell"\nroot = "${NONE}"'],
  ["url", 'type = "mcp"\nurl = "${NONE}"'],
  ["url", 'type = "mcp"\nurl = "env:NONE"'],
  ["cwd", 'type = "mcp"\ncommand = "x"\ncwd = "${NONE}"'],
  ["path", 'type = "file"\npath = "${NONE}"'],
  ["baseUrl", `type = "http"\nbaseUrl = "\${NONE}"\ntools = [{ ${CALL}, method = "GET", path = "/a" }]`],
  ["baseUrl", 'type = "openapi"\ndocument = "api.json"\nbaseUrl = "${NONE}"'],
  ["search.url", 'type = "web"\nsearch = { provider = "searxng", url = "${NONE}" }'],
  ["folder", 'type = "notebook"\nfolder = "${NONE}"'],
])("F4.15 an empty variable as %s is a problem, as an empty text is: %s", async (key, toolset) => {
  expect(await problemsOf(toolset)).toContain(`toolsets.x.${key}: must not be empty, and the environment variable NONE is empty.`);
});

test.each([
  ["command", { command: "${NONE}" }],
  ["command[0]", { command: ["${NONE}", "x"] }],
  ["cwd", { command: "x", cwd: "${NONE}" }],
  ["url", { url: "${NONE}" }],
])("F4.15 an empty variable as %s of a server of another client's file is a problem: %j", async (key, server) => {
  const file = join(configFolder({ "mcp.json": JSON.stringify({ mcpServers: { x: server } }) }), "mcp.json");
  await expect(loadConfig(file, { environment })).rejects.toMatchObject({
    message: expect.stringContaining(`mcpServers.x.${key}: must not be empty, and the environment variable NONE is empty.`),
  });
});

test("all variables of an empty text are named", async () => {
  expect(await problemsOf('type = "files"\nroot = "${NONE}${ALSO_NONE}"')).toContain(
    "toolsets.x.root: must not be empty, and the environment variable NONE or ALSO_NONE is empty.",
  );
});

test("a text beside an empty variable, an empty header and an empty value of env are kept", async () => {
  expect(await problemsOf('type = "files"\nroot = "${NONE}${SOME}"')).toBe("loaded");
  expect(await problemsOf('type = "mcp"\ncommand = "x"\nargs = ["env:NONE"]\nenv = { A = "env:NONE" }')).toBe("loaded");
  expect(await problemsOf('type = "mcp"\nurl = "http://127.0.0.1:9/"\nheaders = { A = "env:NONE" }')).toBe("loaded");
});
