import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { loadClientServers } from "../../src/config/load-client-servers.ts";
import { configError, configFolder } from "./config-folder.ts";

interface Read {
  readonly servers: Readonly<Record<string, unknown>>;
  readonly notes: readonly string[];
}

async function read(path: string, value: unknown): Promise<Read> {
  const folder = configFolder({ [path]: typeof value === "string" ? value : JSON.stringify(value) });
  const { entries, warnings } = await loadClientServers(join(folder, path), { environment: {}, project: folder });
  const shown = (text: string): string => text.replaceAll(folder, "DIR");
  return {
    servers: Object.fromEntries(
      entries.map(({ namespace, toolset }) => [namespace, JSON.parse(shown(JSON.stringify({ ...toolset, type: undefined })))]),
    ),
    notes: warnings.map((line) => shown(line).replace(/^\S+ /u, "")),
  };
}

const own = { enabled: true, trustAnnotations: false };
const started = { ...own, args: [], env: {}, cwd: "DIR" };
const reached = { ...own, headers: {} };
const LOGIN =
  'is ignored: a token goes into headers, such as Authorization = "Bearer ${TOKEN}"; or write auth = { type = "user-login" }, and log in with haft mcp login.';
const APPROVAL = "is ignored: calls are allowed under [permission], and asked for under [approval].";

interface Case {
  readonly client: string;
  readonly path: string;
  readonly text: unknown;
  readonly servers: Read["servers"];
  readonly notes?: readonly string[];
}

const CASES: readonly Case[] = [
  {
    client: "Codex",
    path: ".codex/config.toml",
    text: `model = "gpt-5"
[mcp_servers.files]
command = "npx"
args = ["files@1.0.0"]
env_vars = ["API_KEY", { name = "REGION", source = "local" }]
cwd = "sub"
startup_timeout_sec = 20
tool_timeout_sec = 1.5
enabled_tools = ["a"]
disabled_tools = ["b"]
[mcp_servers.files.env]
LEVEL = "info"
[mcp_servers.far]
url = "https://example.com/mcp"
bearer_token_env_var = "TOKEN"
enabled = false
http_headers = { Region = "eu" }
env_http_headers = { Key = "KEY" }
[mcp_servers.login]
url = "https://example.com/mcp"
oauth = { client_id = "a" }
tool_timeout_sec = "soon"
`,
    servers: {
      files: {
        ...started,
        command: "npx",
        args: ["files@1.0.0"],
        env: { API_KEY: "${API_KEY}", REGION: "${REGION}", LEVEL: "info" },
        cwd: "DIR/sub",
        include: ["a"],
        exclude: ["b"],
        openTimeoutMs: 20_000,
        timeoutMs: 1500,
      },
      far: {
        ...reached,
        enabled: false,
        url: "https://example.com/mcp",
        headers: { Authorization: "Bearer ${TOKEN}", Region: "eu", Key: "${KEY}" },
      },
      login: { ...reached, url: "https://example.com/mcp" },
    },
    notes: [
      `mcp_servers.login.oauth: ${LOGIN}`,
      "mcp_servers.login.tool_timeout_sec: is left out: a time limit is a number, not a string.",
    ],
  },
  {
    client: "opencode",
    path: "opencode.jsonc",
    text: `{ // settings
  "model": "a/b",
  "mcp": {
    "files": { "type": "local", "command": ["node", "a.mjs"], "environment": { "API_KEY": "{env:API_KEY}", "TOKEN": "{file:~/.my-token}" }, "timeout": 9000 },
    "far": { "type": "remote", "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer {env:TOKEN}" }, "enabled": false, "oauth": false },
  },
}`,
    servers: {
      files: {
        ...started,
        command: "node",
        args: ["a.mjs"],
        env: { API_KEY: "${API_KEY}", TOKEN: "${_MY_TOKEN}" },
        timeoutMs: 9000,
      },
      far: { ...reached, enabled: false, url: "https://example.com/mcp", headers: { Authorization: "Bearer ${TOKEN}" } },
    },
    notes: [
      'mcp.files.environment.TOKEN: "{file:~/.my-token}" is the text of a file, which is not read here; set the environment variable _MY_TOKEN.',
      `mcp.far.oauth: ${LOGIN}`,
    ],
  },
  {
    client: "opencode, with switches of tools",
    path: "opencode.json",
    text: { mcp: { a: { type: "local", command: ["node"] } }, tools: { "a_*": false, bash: true } },
    servers: { a: { ...started, command: "node" } },
    notes: ["tools: is ignored: list the tools of a server that are off in exclude of its toolset."],
  },
  {
    client: "Continue, in its config.json",
    path: "config.json",
    text: {
      experimental: {
        modelContextProtocolServers: [
          { transport: { type: "stdio", command: "node", args: ["a.mjs"], env: { LEVEL: "info" } } },
          { transport: { type: "sse", url: "https://example.com/sse" } },
        ],
      },
    },
    servers: {
      server1: { ...started, command: "node", args: ["a.mjs"], env: { LEVEL: "info" } },
      server2: { ...reached, url: "https://example.com/sse", transport: "sse" },
    },
  },
  {
    client: "Gemini",
    path: ".gemini/settings.json",
    text: {
      mcp: { excluded: ["x"] },
      mcpServers: {
        files: {
          command: "node",
          env: { API_KEY: "$API_KEY" },
          timeout: 9000,
          trust: true,
          description: "Files",
          includeTools: ["a,b"],
          excludeTools: ["c"],
        },
        far: { httpUrl: "https://example.com/mcp", headers: { Authorization: "Bearer $TOKEN" } },
      },
    },
    servers: {
      files: {
        ...started,
        command: "node",
        env: { API_KEY: "${API_KEY}" },
        timeoutMs: 9000,
        description: "Files",
        include: ["a", "b"],
        exclude: ["c"],
      },
      far: { ...reached, url: "https://example.com/mcp", transport: "http", headers: { Authorization: "Bearer ${TOKEN}" } },
    },
    notes: [`mcpServers.files.trust: ${APPROVAL}`, "mcp.excluded: is ignored: set enabled = false in each toolset that you do not want."],
  },
  {
    client: "Copilot",
    path: "mcp-config.json",
    text: {
      mcpServers: {
        some: { type: "local", command: "node", tools: ["a"], timeout: 9000 },
        all: { type: "local", command: "node", tools: ["*"] },
        none: { type: "http", url: "https://example.com", tools: [] },
      },
    },
    servers: {
      some: { ...started, command: "node", include: ["a"], timeoutMs: 9000 },
      all: { ...started, command: "node" },
      none: { ...reached, url: "https://example.com", transport: "http", exclude: ["*"] },
    },
  },
  {
    client: "Cline",
    path: "cline_mcp_settings.json",
    text: {
      mcpServers: {
        files: { transport: { type: "stdio", command: "node", args: ["a.mjs"] }, timeout: 60, autoApprove: ["a"] },
        far: { transport: { type: "streamableHttp", url: "https://example.com", headers: { Region: "eu" } }, disabled: true },
      },
    },
    servers: {
      files: { ...started, command: "node", args: ["a.mjs"], timeoutMs: 60_000 },
      far: { ...reached, enabled: false, url: "https://example.com", transport: "http", headers: { Region: "eu" } },
    },
    notes: [`mcpServers.files.autoApprove: ${APPROVAL}`],
  },
  {
    client: "Zed",
    path: "settings.json",
    text: `{ /* Zed */ "context_servers": {
      "new": { "source": "custom", "command": "node", "timeout": 60 },
      "old": { "source": "custom", "command": { "path": "node", "args": ["a.mjs"], "env": { "A": "b" } } },
      "market": { "source": "extension", "settings": {} },
    } }`,
    servers: {
      new: { ...started, command: "node", timeoutMs: 60_000 },
      old: { ...started, command: "node", args: ["a.mjs"], env: { A: "b" } },
    },
    notes: ["context_servers.market: is left out: it is part of that client, not a server that others can start."],
  },
  {
    client: "Goose",
    path: "goose/config.yaml",
    text: `
extensions:
  developer: { type: builtin, name: developer, enabled: true }
  files: { type: stdio, name: files, cmd: node, args: [a.mjs], envs: { A: b }, env_keys: [API_KEY], timeout: 300, available_tools: [], enabled: false }
  far: { type: streamable_http, uri: "https://example.com/mcp", headers: { Authorization: Bearer $TOKEN } }
`,
    servers: {
      files: {
        ...started,
        cwd: "DIR/goose",
        enabled: false,
        command: "node",
        args: ["a.mjs"],
        env: { API_KEY: "${API_KEY}", A: "b" },
        exclude: ["*"],
        timeoutMs: 300_000,
      },
      far: { ...reached, url: "https://example.com/mcp", transport: "http", headers: { Authorization: "Bearer ${TOKEN}" } },
    },
    notes: ["extensions.developer: is left out: it is part of that client, not a server that others can start."],
  },
  {
    client: "Continue",
    path: "config.yaml",
    text: `
mcpServers:
  - name: My files
    command: node
    env: { API_KEY: "\${{ secrets.API_KEY }}" }
    connectionTimeout: 500
  - name: far
    type: streamable-http
    url: https://example.com/mcp
    requestOptions: { headers: { Region: eu } }
    apiKey: \${{ secrets.TOKEN }}
`,
    servers: {
      "My files": { ...started, command: "node", env: { API_KEY: "${API_KEY}" }, openTimeoutMs: 500 },
      far: {
        ...reached,
        url: "https://example.com/mcp",
        transport: "http",
        headers: { Authorization: "Bearer ${TOKEN}", Region: "eu" },
      },
    },
  },
  {
    client: "VS Code",
    path: ".vscode/mcp.json",
    text: {
      inputs: [{ id: "github-token", type: "promptString", password: true }],
      servers: { a: { command: "node", env: { T: "${input:github-token}" }, envFile: "${workspaceFolder}/.env" } },
    },
    servers: { a: { ...started, command: "node", env: { T: "${GITHUB_TOKEN}" } } },
    notes: [
      'servers.a.env.T: "${input:github-token}" is a value that the client asks a person for, which is not done here; set the environment variable GITHUB_TOKEN.',
      'servers.a.envFile: is not read here; put its variables into env, such as "${NAME}".',
    ],
  },
  {
    client: "a workspace of VS Code",
    path: "my.code-workspace",
    text: `{ "settings": { "mcp": { "servers": { "a": { "command": "node" } } } }, }`,
    servers: { a: { ...started, command: "node" } },
  },
  {
    client: "fast-agent",
    path: "fastagent.config.yaml",
    text: "mcp:\n  servers:\n    a: { transport: sse, url: 'https://example.com/sse', read_timeout_seconds: 2 }\n",
    servers: { a: { ...reached, url: "https://example.com/sse", transport: "sse", timeoutMs: 2000 } },
  },
  {
    client: "an MCP bundle",
    path: "manifest.json",
    text: {
      manifest_version: "0.3",
      name: "notes",
      server: {
        type: "node",
        entry_point: "server/index.js",
        mcp_config: {
          command: "node",
          args: ["${__dirname}/server/index.js"],
          env: { KEY: "${user_config.api_key}" },
          platform_overrides: { win32: { command: "node.exe" } },
        },
      },
    },
    servers: { notes: { ...started, command: "node", args: ["DIR/server/index.js"], env: { KEY: "${API_KEY}" } } },
    notes: [
      'server.mcp_config.env.KEY: "${user_config.api_key}" is a value that the client asks a person for, which is not done here; set the environment variable API_KEY.',
      "server.mcp_config.platform_overrides: is ignored: write the command for this system into command and args.",
    ],
  },
  {
    client: "the MCP registry, with packages",
    path: "server.json",
    text: {
      name: "io.github.someone/notes",
      description: "Notes.",
      version: "1.0.0",
      packages: [
        {
          registryType: "oci",
          identifier: "ghcr.io/someone/notes",
          version: "1.0.0",
          transport: { type: "stdio" },
          runtimeArguments: [{ type: "named", name: "--network", value: "none" }],
          packageArguments: [
            { type: "positional", value: "{folder}" },
            { type: "positional", valueHint: "more" },
          ],
          environmentVariables: [
            { name: "API_KEY", isRequired: true, isSecret: true },
            { name: "LEVEL", default: "info" },
            { name: "OTHER" },
          ],
        },
        { registryType: "npm", identifier: "notes", version: "1.0.0", transport: { type: "stdio" } },
      ],
    },
    servers: {
      notes: {
        ...own,
        command: "docker",
        args: "run --network none -i --rm -e API_KEY -e LEVEL ghcr.io/someone/notes:1.0.0 ${FOLDER}".split(" "),
        env: { API_KEY: "${API_KEY}", LEVEL: "info" },
      },
    },
    notes: [
      "packages[1]: is left out: one way to reach the server is enough.",
      "packages[0].environmentVariables[2]: is left out: OTHER may be missing.",
      "packages[0].packageArguments[1]: is left out: it has no value. Write it into args.",
    ],
  },
  {
    client: "the MCP registry, with a remote",
    path: "server.json",
    text: {
      server: {
        name: "com.example/far",
        remotes: [
          {
            type: "streamable-http",
            url: "https://{tenant}.example.com/mcp",
            headers: [{ name: "X-Key", isRequired: true, value: "Key {api_key}" }],
          },
        ],
      },
      _meta: {},
    },
    servers: {
      far: { ...reached, url: "https://${TENANT}.example.com/mcp", transport: "http", headers: { "X-Key": "Key ${API_KEY}" } },
    },
  },
];

describe("servers of other MCP clients", () => {
  test.each(CASES)("of $client are imported, with notes on what is not", async ({ path, text, servers, notes = [] }) => {
    expect(await read(path, text)).toEqual({ servers, notes });
  });

  test("of a project are read from the file of Claude Code for all projects, and take precedence over those of the user", async () => {
    const folder = configFolder({});
    const text = {
      mcpServers: { a: { command: "user" }, b: { command: "user" } },
      projects: { [folder]: { mcpServers: { a: { command: "project" } } }, "/elsewhere": { mcpServers: { c: { command: "c" } } } },
    };
    const file = join(configFolder({ ".claude.json": JSON.stringify(text) }), ".claude.json");
    const { entries, warnings } = await loadClientServers(file, { environment: {}, project: folder });
    expect(entries.map(({ namespace, toolset }) => [namespace, toolset])).toMatchObject([
      ["a", { command: "project", cwd: folder }],
      ["b", { command: "user" }],
    ]);
    expect(warnings.map((line) => line.replace(/^\S+ /u, ""))).toEqual([
      'projects["/elsewhere"].mcpServers: is left out: those servers belong to that folder. Run haft import there.',
      "mcpServers.a: is left out: another server of this file has the same name.",
    ]);
  });

  test.each([
    ["a variable", { env: { GITHUB_TOKEN: "abc" } }, "env.GITHUB_TOKEN"],
    ["an option", { args: ["--api-key=abcdef"] }, "args[0]"],
    ["a variable of a container", { args: ["run", "-e", "API_KEY=abcdef"] }, "args[2]"],
    ["a header of a bridge", { args: ["--header", "Authorization: Basic YTpi"] }, "args[1]"],
    ["the argument after an option", { args: ["--token", "abcdef"] }, "args[1]"],
  ])("with a secret in clear text in %s are imported with a warning that does not repeat the secret", async (_where, more, place) => {
    const { notes } = await read("mcp.json", { mcpServers: { a: { command: "node", ...more } } });
    expect(notes).toEqual([`mcpServers.a.${place}: is copied in clear text; put it into an environment variable and write "\${NAME}".`]);
  });

  test("with a secret in clear text in a URL or a header are imported with a warning", async () => {
    const a = { url: "https://example.com/mcp?api_key=abcdef", headers: { Authorization: "Bearer abc" } };
    const { notes } = await read("mcp.json", { mcpServers: { a } });
    expect(notes.map((line) => line.split(":")[0])).toEqual(["mcpServers.a.url", "mcpServers.a.headers.Authorization"]);
  });

  test("that cannot be used are left out, and the others imported", async () => {
    const bad = {
      socket: { type: "websocket", url: "ws://localhost:1" },
      args: { command: "node", args: [1] },
      variable: { command: "node", env: { A: "${A B}" } },
    };
    const { servers, notes } = await read("mcp.json", { mcpServers: { ...bad, good: { command: "node" } } });
    expect(Object.keys(servers)).toEqual(["good"]);
    expect(notes).toEqual([
      expect.stringMatching(/^mcpServers\.socket\.type: must be one of "stdio".*not "websocket"/u),
      "mcpServers.socket: is left out.",
      "mcpServers.args.args[0]: must be a string, not a number.",
      "mcpServers.args: is left out.",
      expect.stringMatching(/^mcpServers\.variable\.env\.A: "\$\{A B\}" does not name an environment variable/u),
      "mcpServers.variable: is left out.",
    ]);
  });

  test.each([
    ["without an object", "a", null, "must be an object, not empty."],
    ["that is an array", "a", [], "must be an object, not an array."],
    ["whose name has a line break", "a\nb", {}, 'The toolset name "a\\nb" has a control character'],
    ["whose name is empty", "", {}, "A toolset needs a name"],
    ["whose name is too long", "a".repeat(2_000), {}, "characters"],
  ])("%s are left out, and the others imported", async (_what, name, server, reason) => {
    const bad = server === null || Array.isArray(server) ? server : { command: "node" };
    const { servers, notes } = await read("mcp.json", { mcpServers: { [name]: bad, good: { command: "node" } } });
    expect(Object.keys(servers)).toEqual(["good"]);
    expect(notes).toEqual([expect.stringContaining(reason), expect.stringMatching(/: is left out\.$/u)]);
  });

  test.each([
    ["address", { url: "ftp://example.com" }, /must begin with http/u],
    ["text of an address", { url: "${HOST} and more" }, undefined],
    ["address of variables", { url: "https://${HOST}:${PORT}/mcp", headers: { Authorization: "Bearer ${TOKEN}" } }, undefined],
    ["header", { url: "https://example.com", headers: { "bad name": "a" } }, /is not a name for a header/u],
    ["value of a header", { url: "https://example.com", headers: { A: "a\nB: b" } }, /must be printable text/u],
    ["argument", { command: "node", args: ["a\u0000b"] }, /without NUL/u],
    ["variable", { command: "node", env: { A: "a\u0000" } }, /without NUL/u],
    ["folder", { command: "node", cwd: "a\u0000" }, /without NUL/u],
  ])("that would make a whole configuration invalid are left out: by their %s", async (_what, server, reason) => {
    const { servers, notes } = await read("mcp.json", { mcpServers: { a: server, good: { command: "node" } } });
    expect(Object.keys(servers)).toEqual(reason === undefined ? ["a", "good"] : ["good"]);
    expect(notes).toEqual(reason === undefined ? [] : [expect.stringMatching(reason), "mcpServers.a: is left out."]);
  });

  test("are imported without the headers that belong to the protocol", async () => {
    const headers = { Accept: "text/event-stream", "Content-Type": "application/json", Region: "eu" };
    expect(await read("mcp.json", { mcpServers: { a: { url: "https://example.com", headers } } })).toEqual({
      servers: { a: { ...reached, url: "https://example.com", headers: { Region: "eu" } } },
      notes: ["Accept", "Content-Type"].map(
        (name) => expect.stringMatching(new RegExp(`${name}.*: is left out: the header belongs to the protocol`, "u")) as string,
      ),
    });
  });

  test("in an array that have no name, or are not objects, are left out, and the others imported", async () => {
    const { servers, notes } = await read("config.yaml", "mcpServers: [{command: a}, {name: 5, command: b}, no, {name: good, command: c}]");
    expect(Object.keys(servers)).toEqual(["good"]);
    const left = [0, 1, 2].map((index) => expect.stringMatching(new RegExp(`^mcpServers\\[${index}\\]: is left out`, "u")) as string);
    expect(notes).toEqual(expect.arrayContaining(left));
  });

  test.each([{ disabled: true }, { enabled: false }, { enable: false }, { isActive: false }])(
    "that are disabled stay disabled: %j",
    async (off) => {
      expect((await read("mcp.json", { mcpServers: { a: { command: "node", ...off } } })).servers).toEqual({
        a: { ...started, command: "node", enabled: false },
      });
    },
  );

  test.each([
    ["${env:HOME}/sub", "${HOME}/sub"],
    ["sub/${NAME}", "DIR/sub/${NAME}"],
  ])("keep a variable in their working folder, which may be the whole path: %s", async (cwd, kept) => {
    expect(await read("mcp.json", { mcpServers: { a: { command: "node", cwd } } })).toEqual({
      servers: { a: { ...started, command: "node", cwd: kept } },
      notes: ["mcpServers.a.cwd: has a variable, which must be named under allow in variables, as the folder is a path."],
    });
  });

  test.each([
    ["cline_mcp_settings.json", 60, 60_000],
    [".roo/mcp.json", 60, 60_000],
    ["mcp.json", 60_000, 60_000],
    ["mcp.json", 1000, 1000],
  ])("of %s have a timeout of %d, which is %d milliseconds", async (path, timeout, timeoutMs) => {
    expect((await read(path, { mcpServers: { a: { command: "node", timeout } } })).servers).toMatchObject({ a: { timeoutMs } });
  });

  test("have no timeout where it could be in seconds or milliseconds", async () => {
    expect(await read("mcp.json", { mcpServers: { a: { command: "node", timeout: 60 } } })).toEqual({
      servers: { a: { ...started, command: "node" } },
      notes: ["mcpServers.a.timeout: is left out: 60 may be seconds or milliseconds here. Set timeoutMs in the toolset."],
    });
  });

  test("may have null for omitted values, and numbers for variables", async () => {
    const a = { command: "node", args: null, env: { PORT: 3000, DEBUG: true, NONE: null }, cwd: null, disabled: null, timeout: null };
    expect(await read("mcp.json", { mcpServers: { a } })).toEqual({
      servers: { a: { ...started, command: "node", env: { PORT: "3000", DEBUG: "true" } } },
      notes: [],
    });
  });

  test("have their own variables replaced in their arguments, as mcp-remote does", async () => {
    const args = ["--header", "Authorization:${AUTH}", "${OTHER}"];
    const { servers } = await read("mcp.json", { mcpServers: { a: { command: "npx", args, env: { AUTH: "Bearer ${TOKEN}" } } } });
    expect(servers).toMatchObject({
      a: { args: ["--header", "Authorization:Bearer ${TOKEN}", "${OTHER}"], env: { AUTH: "Bearer ${TOKEN}" } },
    });
  });

  test("get valid and unique toolset names", async () => {
    const server = (at: string) => ({ command: at });
    const { servers, notes } = await read("mcp.json", {
      mcpServers: {
        "a::b": server("1"),
        "c:": server("2"),
        "d:e": server("3"),
        "a-b": server("4"),
        "a::b:": server("5"),
        ":": server("6"),
      },
    });
    expect(servers).toEqual(
      Object.fromEntries(
        [
          ["a-b-2", "1"],
          ["c", "2"],
          ["d:e", "3"],
          ["a-b", "4"],
          ["a-b-3", "5"],
          ["server", "6"],
        ].map(([name = "", command]) => [name, { ...started, command }]),
      ),
    );
    expect(notes).toEqual([
      'mcpServers["a::b"]: is named "a-b-2" here: a name of a toolset has no "::" and no colon at its end.',
      'mcpServers["c:"]: is named "c" here: a name of a toolset has no "::" and no colon at its end.',
      'mcpServers["a::b:"]: is named "a-b-3" here: a name of a toolset has no "::" and no colon at its end.',
      'mcpServers[":"]: is named "server" here: a name of a toolset has no "::" and no colon at its end.',
    ]);
  });

  test("may have ~ as the user's home folder in command and cwd, and only there", async () => {
    const { servers } = await read("mcp.json", {
      mcpServers: { a: { command: "~/bin/a", args: ["~/x"], cwd: "~/b" }, c: { command: ["~/c"], cwd: "~d" } },
    });
    expect(servers).toEqual({
      a: { ...started, command: join(homedir(), "bin/a"), args: ["~/x"], cwd: join(homedir(), "b") },
      c: { ...started, command: join(homedir(), "c"), cwd: "DIR/~d" },
    });
  });

  test("have a note on %NAME%, which only the Windows shell replaces", async () => {
    const { servers, notes } = await read("mcp.json", {
      mcpServers: {
        a: { command: "%APPDATA%\\a.cmd", args: ["100%", "%TEMP%/a"] },
        b: { url: "https://b.example/%7Ea%C3%A9%20b/caf%C3%A9bar%20" },
        c: { url: "https://c.example/%TENANT%" },
      },
    });
    expect(servers["a"]).toMatchObject({ command: "%APPDATA%\\a.cmd", args: ["100%", "%TEMP%/a"] });
    expect(notes).toEqual([
      'mcpServers.a.command: "%APPDATA%" stays as it is written: only cmd.exe replaces it; write "${APPDATA}".',
      'mcpServers.a.args[1]: "%TEMP%" stays as it is written: only cmd.exe replaces it; write "${TEMP}".',
      'mcpServers.c.url: "%TENANT%" stays as it is written: only cmd.exe replaces it; write "${TENANT}".',
    ]);
  });

  test("with command substitution in a value are imported with a note", async () => {
    const { notes } = await read("crush.json", { mcp: { a: { type: "http", url: "https://example.com", headers: { A: "$(cat a)" } } } });
    expect(notes).toEqual(['mcp.a.headers.A: "$(…)" stays as it is written: no command is run for a value; write a variable.']);
  });

  test("keep Windows paths, and $NAME if the client does not replace it", async () => {
    const args = ["C:\\Users\\me\\a.js", "%APPDATA%\\npm", "$HOME/a", "{a}"];
    const { servers } = await read("mcp.json", { mcpServers: { a: { command: "C:\\node.exe", args } } });
    expect(servers).toEqual({ a: { ...started, command: "C:\\node.exe", args } });
  });

  test("in user settings run in the folder of the configuration, and those of a project in the project", async () => {
    const text = '{"mcpServers": {"a": {"command": "node"}, "b": {"command": "node", "args": ["${workspaceFolder}"]}}}';
    const home = configFolder({ ".cursor/mcp.json": text, "work/.cursor/mcp.json": text });
    vi.stubEnv("HOME", home);
    onTestFinished(() => void vi.unstubAllEnvs());
    const folders = async (path: string): Promise<readonly unknown[]> => {
      const { entries } = await loadClientServers(join(home, path), { environment: {}, project: "/project" });
      return entries.map(({ toolset }) => (toolset.type === "mcp" && toolset.url === undefined ? [toolset.cwd, ...toolset.args] : []));
    };
    expect(await folders(".cursor/mcp.json")).toEqual([[undefined], [undefined, "/project"]]);
    const work = join(home, "work");
    expect(await folders("work/.cursor/mcp.json")).toEqual([[work], [work, work]]);
  });
});

describe("a file without servers", () => {
  test.each([
    [{ openapi: "3.1.0", info: {}, paths: {} }, 'it is an OpenAPI document. Use it as the document of a toolset of type = "openapi".'],
    [{ registry: {}, displayName: "Docker MCP Catalog" }, "it is a catalog of Docker's MCP servers. Docker's gateway serves them all"],
  ])("of a known other format is refused with the way to use it", async (document, reason) => {
    const file = join(configFolder({ "a.json": JSON.stringify(document) }), "a.json");
    const error = await configError(loadClientServers(file, { environment: {}, project: "/" }));
    expect(`${error.message} ${error.operatorHint}`).toContain(`a.json has no servers: ${reason}`);
  });

  test("in which no server can be imported is refused, with the reason for each server", async () => {
    const file = join(configFolder({ "config.yaml": "extensions: {a: {type: builtin, enabled: true}}" }), "config.yaml");
    const error = await configError(loadClientServers(file, { environment: {}, project: "/" }));
    expect([error.message, error.details]).toEqual([
      `${file} has no server that can be used.`,
      [`${file}:1:14: extensions.a: is left out: it is part of that client, not a server that others can start.`],
    ]);
  });

  test.each([
    ["a.mcpb", "unzip it, and import its manifest.json"],
    ["mcp.xml", "save that as mcp.json"],
  ])("with the name %s is refused with a hint", async (name, hint) => {
    const file = join(configFolder({ [name]: "" }), name);
    const error = await configError(loadClientServers(file, { environment: {}, project: "/" }));
    expect(error.operatorHint).toContain(hint);
  });
});
