import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PATIENCE_MS, folderWith, haft } from "./run-haft.ts";

const SERVER = `
import { createInterface } from "node:readline";
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const begun = { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };
  const tool = { name: "who", description: "Says who.", inputSchema: { type: "object" } };
  const results = { initialize: begun, "tools/list": { tools: [tool] }, "tools/call": { content: [{ type: "text", text: String(process.env.WHO) }] } };
  const result = results[method];
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error: { code: -32601, message: "no" } }) }));
});
`;
const CLIENT = {
  mcpServers: {
    me: {
      type: "stdio",
      command: process.execPath,
      args: ["server.mjs"],
      env: { WHO: "${env:NAME}", LEVEL: "${LEVEL:-info}" },
      autoApprove: ["who"],
    },
    far: { type: "http", url: "https://example.com/mcp", headers: { Key: "${NAME}" }, disabled: true },
  },
};

describe.concurrent("the configuration file of another MCP client", { timeout: PATIENCE_MS }, () => {
  const files = { ".mcp.json": JSON.stringify(CLIENT), "server.mjs": SERVER };
  const environment = { NAME: "Ada" };

  test("works unchanged as a configuration", async () => {
    const folder = folderWith(files);
    expect(await haft(["-c", ".mcp.json", "call", "me::who"], { folder, environment })).toMatchObject({ exitCode: 0, stdout: "Ada\n" });
  });

  test("is converted by haft import to a haft.toml that keeps variables as variables", async () => {
    const folder = folderWith(files);
    expect(await haft(["import", ".mcp.json", "--out", "haft.toml"], { folder })).toEqual({
      exitCode: 0,
      stdout: "haft.toml: written\n",
      stderr: expect.stringMatching(/^haft: \.mcp\.json:1:\d+: mcpServers\.me\.autoApprove: is ignored: .+\n$/u),
    });
    expect(readFileSync(join(folder, "haft.toml"), "utf8")).toBe(`[toolsets.me]
type = "mcp"
command = ${JSON.stringify(process.execPath)}
args = [ "server.mjs" ]

[toolsets.me.env]
WHO = "\${NAME}"
LEVEL = "info"

[toolsets.far]
type = "mcp"
enabled = false
url = "https://example.com/mcp"
transport = "http"

[toolsets.far.headers]
Key = "\${NAME}"
`);
    expect(await haft(["call", "me::who"], { folder, environment })).toMatchObject({ exitCode: 0, stdout: "Ada\n" });
    expect(await haft(["import", ".mcp.json", "--out", "haft.toml"], { folder })).toMatchObject({ exitCode: 2 });
  });

  test("is converted to a file that must be trusted, and haft import prints the command for it", async () => {
    const note = async (out: string, client: object, trust?: string): Promise<string> => {
      const folder = folderWith({ ".mcp.json": JSON.stringify({ mcpServers: { a: client } }), "sub/x": "", "my sub/x": "" });
      const environment = trust === undefined ? { HAFT_TRUST: "" } : { HAFT_TRUST: trust };
      return (await haft(["import", ".mcp.json", "--out", out], { folder, environment })).stderr;
    };
    const starts = { command: "node" };
    const text = (out: string, command: string): string =>
      `haft: ${out} starts programs or sends your variables: read it, then run ${command}.\n`;
    expect(await note("haft.toml", starts)).toBe(text("haft.toml", "haft trust"));
    expect(await note("sub/haft.json", starts)).toBe(text("sub/haft.json", "haft trust --config sub/haft.json"));
    expect(await note("my sub/haft.toml", starts)).toBe(text("my sub/haft.toml", "haft trust --config 'my sub/haft.toml'"));
    expect(await note("haft.toml", { url: "https://a.example", headers: { Key: "${KEY}" } })).toBe(text("haft.toml", "haft trust"));
    expect(await note("haft.toml", { url: "https://a.example" })).toBe("");
    expect(await note("haft.toml", { ...starts, disabled: true })).toBe("");
    expect(await note("other.toml", starts)).toBe("");
    expect(await note("haft.toml", starts, "all")).toBe("");
  });

  test("in TOML is converted to a configuration that can be checked, called and served", async () => {
    const text = `[mcp_servers.me]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ["server.mjs"]\nenv = { WHO = "Ada" }\ntool_timeout_sec = 60\n`;
    const folder = folderWith({ ".codex/config.toml": text, "server.mjs": SERVER });
    expect(await haft(["import", ".codex/config.toml", "--out", "haft.toml"], { folder })).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await haft(["check"], { folder })).toMatchObject({ exitCode: 0 });
    expect(await haft(["call", "me::who"], { folder })).toMatchObject({ exitCode: 0, stdout: "Ada\n" });
    const begin = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } };
    const lines = [
      { id: 1, method: "initialize", params: begin },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/list" },
    ];
    const input = lines.map((line) => `${JSON.stringify({ jsonrpc: "2.0", ...line })}\n`).join("");
    expect(await haft(["mcp"], { folder, input })).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('"name":"me__who"') });
  });

  test("is printed as JSON with --json, and written in the format of the output file's extension", async () => {
    const folder = folderWith({
      ".vscode/mcp.json": '{"servers": {"a": {"command": "node", "args": ["${env:A}"], "cwd": "${workspaceFolder}"}}}',
    });
    const toolsets = { a: { type: "mcp", command: "node", args: ["${A}"] } };

    const printed = await haft(["import", ".vscode/mcp.json", "--json"], { folder });
    expect(JSON.parse(printed.stdout)).toEqual({ toolsets });
    const written = await haft(["import", ".vscode/mcp.json", "--json", "--out", "haft.json"], { folder });
    expect(JSON.parse(written.stdout)).toEqual({ file: "haft.json", toolsets: ["a"] });
    expect(JSON.parse(readFileSync(join(folder, "haft.json"), "utf8"))).toEqual({ toolsets });
    expect(await haft(["import", ".vscode/mcp.json", "--out", "haft.txt"], { folder })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--out "haft.txt" must end in .toml or .json.'),
    });
  });

  test("keeps the working folder of its servers when the configuration is written elsewhere", async () => {
    const folder = folderWith({ "client/mcp.json": '{"mcpServers": {"a": {"command": "node"}}}' });
    const { stdout } = await haft(["import", "client/mcp.json", "--json"], { folder });
    expect(JSON.parse(stdout)).toEqual({ toolsets: { a: { type: "mcp", command: "node", cwd: join(folder, "client") } } });
  });

  test("with text that would become a variable is an error", async () => {
    const folder = folderWith({ ".mcp.json": '{"mcpServers": {"a": {"command": "node", "env": {"B": "env:C"}}}}' });
    expect(await haft(["import", ".mcp.json"], { folder })).toMatchObject({
      exitCode: 3,
      stdout: "",
      stderr: expect.stringContaining('mcpServers.a has "env:C", which names a variable in a haft.toml.'),
    });
  });

  test("leaves out a server with such text if there are other servers", async () => {
    const folder = folderWith({ ".mcp.json": '{"mcpServers": {"a": {"command": "env:C"}, "b": {"command": "node"}}}' });
    expect(await haft(["import", ".mcp.json"], { folder })).toEqual({
      exitCode: 0,
      stdout: '[toolsets.b]\ntype = "mcp"\ncommand = "node"\n',
      stderr: 'haft: mcpServers.a has "env:C", which names a variable in a haft.toml. It is left out.\n',
    });
  });

  test("with text that TOML cannot represent is an error that says so", async () => {
    const folder = folderWith({ ".mcp.json": '{"mcpServers": {"a": {"command": "node", "env": {"B\\ud800": "c"}}}}' });
    expect(await haft(["import", ".mcp.json"], { folder })).toEqual({
      exitCode: 3,
      stdout: "",
      stderr:
        "haft: invalid_config: The servers of .mcp.json cannot be written as TOML: key contains illegal lone surrogates.\n  Correct the text, or write JSON: --out haft.json.\n",
    });
  });

  test("is never overwritten by its own import", async () => {
    const text = '{"mcpServers": {"a": {"command": "node"}}, "other": 1}';
    const folder = folderWith({ "mcp.json": text });
    expect(await haft(["import", "mcp.json", "--out", "./mcp.json", "--overwrite"], { folder })).toMatchObject({
      exitCode: 2,
      stdout: "",
      stderr: expect.stringContaining("--out names the file mcp.json itself, which would be lost.\n  Choose another name."),
    });
    expect(readFileSync(join(folder, "mcp.json"), "utf8")).toBe(text);
  });

  test("without servers is an error", async () => {
    const folder = folderWith({ "empty.json": '{"mcpServers": {}}' });
    expect(await haft(["import", "empty.json"], { folder })).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining("empty.json has no servers.\n  Servers are under mcpServers, servers, mcp_servers, "),
    });
  });
});

test(
  "haft chat with --model needs no configuration, and without --model lists the files it looks for",
  { timeout: PATIENCE_MS },
  async () => {
    const folder = folderWith({ "other.txt": "" });
    expect(await haft(["chat", "--model", "ollama/qwen3"], { folder })).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await haft(["chat"], { folder })).toMatchObject({ exitCode: 3, stderr: expect.stringContaining("There is no haft.toml") });
  },
);
