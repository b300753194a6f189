import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig, type LoadedConfig } from "../../src/config/load-config.ts";
import { blankComments } from "../../src/documents/parse-json-file.ts";
import { configError, configFolder, problemsOf } from "./config-folder.ts";

async function read(path: string, value: unknown, environment: Readonly<Record<string, string>> = {}): Promise<LoadedConfig> {
  const folder = configFolder({ [path]: typeof value === "string" ? value : JSON.stringify(value) });
  return await loadConfig(join(folder, path), { environment });
}

const toolsetsOf = ({ config }: LoadedConfig) => Object.fromEntries(config.registry.map(({ namespace, toolset }) => [namespace, toolset]));

describe("configuration files of other MCP clients", () => {
  test("mcpServers of Claude are read unchanged, next to the client's own keys", async () => {
    const loaded = await read(
      "claude_desktop_config.json",
      {
        globalShortcut: "Ctrl+Space",
        mcpServers: {
          notes: { command: "npx", args: ["-y", "notes@1.0.0", "${HOME}/notes"], env: { KEY: "${KEY}" } },
          typed: { type: "stdio", command: "${BIN:-node}", args: ["${MISSING:-server.mjs}"] },
          local: { type: "local", command: "node", args: ["server.mjs"], tools: ["*"] },
          far: { type: "http", url: "https://example.com/mcp", headers: { Authorization: "Bearer ${env:KEY}" } },
          old: { type: "sse", url: "https://example.com/sse" },
          any: { url: "https://example.com" },
          off: {
            command: "x",
            env: { A: "${NOT_SET}", B: "${env:KEY}", C: "${C:-c}", D: "${input:key}" },
            disabled: true,
            alwaysAllow: ["a"],
          },
        },
      },
      { HOME: "/home/me", KEY: "k" },
    );
    const common = { type: "mcp", trustAnnotations: false };
    const started = { ...common, enabled: true, env: {}, cwd: loaded.folder };
    const reached = { ...common, enabled: true, headers: {} };

    expect(toolsetsOf(loaded)).toEqual({
      notes: { ...started, command: "npx", args: ["-y", "notes@1.0.0", "/home/me/notes"], env: { KEY: "k" } },
      typed: { ...started, command: "node", args: ["server.mjs"] },
      local: { ...started, command: "node", args: ["server.mjs"] },
      far: { ...reached, url: "https://example.com/mcp", transport: "http", headers: { Authorization: "Bearer k" } },
      old: { ...reached, url: "https://example.com/sse", transport: "sse" },
      any: { ...reached, url: "https://example.com" },
      off: { ...started, enabled: false, command: "x", args: [], env: { A: "${NOT_SET}", B: "${KEY}", C: "c", D: "${input:key}" } },
    });
    expect(loaded.sent.map(({ name }) => name)).toEqual(["KEY"]);
    expect(loaded.warnings.map((line) => line.replace(/^.*json/u, ""))).toEqual([
      expect.stringMatching(/^:1:\d+: mcpServers\.off\.alwaysAllow: is ignored: calls are allowed under \[permission\]/u),
    ]);
  });

  test("an argument can use a variable of its server's env, and replaced values are not expanded again", async () => {
    const a = { command: "npx", args: ["Authorization:${AUTH}", "${KEY}"], env: { AUTH: "Bearer ${KEY}" } };
    const loaded = await read(".mcp.json", { mcpServers: { a } }, { KEY: "${AUTH}" });
    expect(toolsetsOf(loaded)).toMatchObject({ a: { args: ["Authorization:Bearer ${AUTH}", "${AUTH}"], env: { AUTH: "Bearer ${AUTH}" } } });
  });

  test("the tool filters, timeouts and description of a server become those of its toolset", async () => {
    const a = { command: "a", includeTools: ["b"], excludeTools: ["c"], timeout: 9000, description: "d" };
    const expected = { include: ["b"], exclude: ["c"], timeoutMs: 9000, description: "d" };
    expect(toolsetsOf(await read(".gemini/settings.json", { mcpServers: { a } }))).toMatchObject({ a: expected });
  });

  test("servers of VS Code are read with comments, and run in the folder above .vscode", async () => {
    const text = `{
  // what the editor asks for
  "inputs": [{ "id": "key", "type": "promptString" }],
  "servers": {
    "a": { "type": "stdio", "command": "node", "args": ["\${workspaceFolder}/a.mjs", "// no comment",], /* there */ "cwd": "sub" },
    "b": { "type": "http", "url": "https://example.com//mcp" },
  },
}`;
    const loaded = await read(".vscode/mcp.json", text);
    const workspace = join(loaded.folder, "..");

    expect(toolsetsOf(loaded)).toMatchObject({
      a: { command: "node", args: [`${workspace}/a.mjs`, "// no comment"], cwd: `${workspace}/sub` },
      b: { url: "https://example.com//mcp", transport: "http" },
    });
  });

  test("client servers may be combined with Haft tables, whose keys are still checked", async () => {
    const both = { toolsets: { files: { type: "files", root: "." } }, mcpServers: { a: { command: "a" } } };
    const { config } = await read("haft.json", both);
    expect([[...config.toolsets.keys()], config.registry.map(({ namespace }) => namespace)]).toEqual([["files"], ["a"]]);
    expect(await problemsOf("haft.json", JSON.stringify({ ...both, tolsets: {} }))).toEqual([
      expect.stringContaining("tolsets: unknown key"),
    ]);
    expect(await problemsOf("haft.json", '{"servers": {"a": 1}}')).toEqual([expect.stringContaining("servers: unknown key")]);
  });

  test.each([
    ["haft.toml", '[permision]\ndeny = ["*"]\n[mcpServers.a]\ncommand = "a"\n'],
    ["work.toml", '[permision]\ndeny = ["*"]\n[mcpServers.a]\ncommand = "a"\n'],
    ["haft.json", '{"permision": {"deny": ["*"]}, "servers": {"a": {"command": "a"}}}'],
    [".mcp.json", '{"permision": {"deny": ["*"]}, "approval": {}, "mcpServers": {"a": {"command": "a"}}}'],
  ])("a misspelled limit next to servers in %s, which is a Haft configuration, is an error", async (path, text) => {
    expect(await problemsOf(path, text)).toEqual([expect.stringContaining('permision: unknown key. Did you mean "permission"?')]);
  });

  test.each([
    ["neither a command nor a url", { a: {} }, /mcpServers\.a: "command" is missing: the program that runs the server; or "url"/u],
    ["both", { a: { command: "a", url: "https://example.com" } }, /mcpServers\.a\.url: a server has a command or a url, not both/u],
    [
      "a type that is not known",
      { a: { type: "ws", url: "wss://example.com" } },
      /mcpServers\.a\.type: must be one of "stdio", "local", "http", "sse"/u,
    ],
    [
      "a server at an address without one",
      { a: { type: "http", command: "a" } },
      /mcpServers\.a: "url" is missing: where the server of type "http" is/u,
    ],
    [
      "a variable that is not set",
      { a: { command: "a", env: { B: "${env:NOT_SET}" } } },
      /mcpServers\.a\.env\.B: the environment variable NOT_SET is not set/u,
    ],
    [
      "what the editor asks a person",
      { a: { command: "a", args: ["${input:key}"] } },
      /mcpServers\.a\.args\[0\]: "\$\{input:key\}" is a value that the client asks a person for/u,
    ],
    [
      "a file of variables",
      { a: { command: "a", envFile: ".env" } },
      /mcpServers\.a\.envFile: is not read here; put its variables into env/u,
    ],
    ["a name that no toolset can have", { "a::b": { command: "a" } }, /The toolset name "a::b" holds "::"/u],
  ])("%s is an error with its place", async (_what, mcpServers, problem) => {
    const folder = configFolder({ ".mcp.json": JSON.stringify({ mcpServers }, undefined, 1) });
    const error = await configError(loadConfig(join(folder, ".mcp.json"), { environment: {} }));

    expect([error.message, ...error.details].join("\n")).toMatch(problem);
    expect(error.message).toMatch(/\.mcp\.json:[23]?\d*:?/u);
  });

  test("comments and trailing commas are replaced by spaces, but not within strings", () => {
    const text = '{"a": "// \\" /* ,]", // x\r\n "b": [1, /* y */ ], }';
    expect(blankComments(text)).toBe('{"a": "// \\" /* ,]",     \r\n "b": [1            ]  }'.replace("1            ", "1          "));
    expect(blankComments(text)).toHaveLength(text.length);
    expect(JSON.parse(blankComments(text))).toEqual({ a: '// " /* ,]', b: [1] });
  });
});
