import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { findConfig, loadConfig } from "../../src/config/load-config.ts";
import { configError, configFolder, load, problemsOf } from "./config-folder.ts";

describe("problems", () => {
  test("all problems are reported at once, in the order of the file, each with file, line, column and key", async () => {
    const folder = configFolder({
      "haft.toml": `strict = true
[runtime]
timeout_ms = 5000
maxAttempts = 0
strict = "yes"

[toolsets.fs]
type = "filse"

[toolsets.work]
type = "files"
read_only = true
guard = "blok"
`,
    });
    const path = join(folder, "haft.toml");

    const error = await configError(loadConfig(path));

    expect(error.message).toBe(
      `${path}:1:1: strict: unknown key. Known keys: runtime, retry, circuit, permission, approval, cache, jobs, inputLimits, store, serve, worker, webhooks, model, loop, telemetry, findTools, extensions, variables, simulation, toolsets, engines, tools, channels, triggers, mcp, documentation. (and 7 more)`,
    );
    expect(error.details).toEqual([
      `${path}:1:1: strict: unknown key. Known keys: runtime, retry, circuit, permission, approval, cache, jobs, inputLimits, store, serve, worker, webhooks, model, loop, telemetry, findTools, extensions, variables, simulation, toolsets, engines, tools, channels, triggers, mcp, documentation.`,
      `${path}:3:1: runtime.timeout_ms: unknown key. Did you mean "timeoutMs"?`,
      `${path}:4:1: runtime.maxAttempts: must be an integer from 1 to 100, not 0.`,
      `${path}:5:1: runtime.strict: must be a boolean, not a string.`,
      `${path}:8:1: toolsets.fs.type: must be one of "files", "mcp", "module", "file", "inline", "openapi", "descriptors", "chains", "channels", "delegates", "triggers", "program", "shell", "python", "command", "http", "web", "ask", "memory", "notebook", "scratchpad", "skills", not "filse". Did you mean "files"?`,
      `${path}:10:2: toolsets.work: "root" is missing: the folder whose files the tools may use.`,
      `${path}:12:1: toolsets.work.read_only: unknown key. Did you mean "readOnly"?`,
      `${path}:13:1: toolsets.work.guard: must be one of "block", "warn", "off", not "blok". Did you mean "block"?`,
    ]);
  });

  test("a single problem is the whole message", async () => {
    const folder = configFolder({ "haft.yaml": "toolsets:\n  web:\n    type: mpc\n" });
    const path = join(folder, "haft.yaml");

    const problem = `${path}:3:5: toolsets.web.type: must be one of "files", "mcp", "module", "file", "inline", "openapi", "descriptors", "chains", "channels", "delegates", "triggers", "program", "shell", "python", "command", "http", "web", "ask", "memory", "notebook", "scratchpad", "skills", not "mpc". Did you mean "mcp"?`;
    expect(await configError(loadConfig(path))).toEqual(new ToolError("invalid_config", problem, { details: [problem] }));
  });

  const toolset = (lines: string): string => `[toolsets.x]\n${lines}\n`;
  test.each([
    [
      "no type",
      toolset("enabled = true"),
      '1:2: toolsets.x: "type" is missing: one of "files", "mcp", "module", "file", "inline", "openapi", "descriptors", "chains", "channels", "delegates", "triggers", "program", "shell", "python", "command", "http", "web", "ask", "memory", "notebook", "scratchpad", "skills".',
    ],
    [
      "an empty command",
      toolset('type = "mcp"\ncommand = ""'),
      "3:1: toolsets.x.command: must not be empty: the program that runs the server; its arguments go in args.",
    ],
    [
      "a command with its arguments",
      toolset('type = "mcp"\ncommand = ["npx", "x"]'),
      "3:1: toolsets.x.command: must be a string, not an array: the program that runs the server; its arguments go in args.",
    ],
    [
      "an argument that is a number",
      toolset('type = "mcp"\ncommand = "x"\nargs = ["a",\n  8080]'),
      "5:3: toolsets.x.args[1]: must be a string, not a number.",
    ],
    [
      "arguments as one string",
      toolset('type = "mcp"\ncommand = "x"\nargs = "-y x"'),
      "4:1: toolsets.x.args: must be an array of strings, not a string.",
    ],
    [
      "a variable that is not a string",
      toolset('type = "mcp"\ncommand = "x"\nenv = { PORT = 80 }'),
      "4:9: toolsets.x.env.PORT: must be a string, not a number.",
    ],
    ["variables as a list", toolset('type = "mcp"\ncommand = "x"\nenv = ["A=1"]'), "4:1: toolsets.x.env: must be an object, not an array."],
    [
      "the words of another tool",
      toolset('type = "mcp"\ncommand = "x"\nenvironment = {}'),
      '4:1: toolsets.x.environment: unknown key. Did you mean "env"?',
    ],
    ["a date", toolset('type = "files"\nroot = 2024-01-01'), "3:1: toolsets.x.root: must be a string, not a date."],
    [
      "a time below zero",
      toolset('type = "files"\nroot = "."\ntimeoutMs = -1'),
      "4:1: toolsets.x.timeoutMs: must be a number from 0 to 315576000000 (0 = no limit), not -1.",
    ],
    [
      "a time that is not a number",
      toolset('type = "files"\nroot = "."\ntimeoutMs = nan'),
      "4:1: toolsets.x.timeoutMs: must be a number from 0 to 315576000000 (0 = no limit), not NaN.",
    ],
    [
      "half an attempt",
      toolset('type = "files"\nroot = "."\nmaxAttempts = 1.5'),
      "4:1: toolsets.x.maxAttempts: must be an integer from 1 to 100, not 1.5.",
    ],
    [
      "the name of our own toolset",
      '[toolsets.haft]\ntype = "files"\nroot = "."',
      "1:2: toolsets.haft: is the name of a toolset that is built into Haft; choose another one.",
    ],
    [
      "both words for enabled",
      toolset('type = "files"\nroot = "."\nenabled = true\nenable = true'),
      "5:1: toolsets.x.enable: duplicates enabled; remove one of them.",
    ],
    [
      "a key of another type",
      toolset('type = "module"\npath = "x.js"\ncommand = "x"'),
      "4:1: toolsets.x.command: unknown key. Known keys: type, enabled, enable, description, maxConcurrent, shared, place, checkFormats, engine, timeoutMs, deadlineMs, maxAttempts, maxResultBytes, promoteAfterMs, path.",
    ],
    [
      "a name with a separator",
      '[toolsets."a::b"]\ntype = "files"\nroot = "."',
      '1:2: toolsets["a::b"]: The toolset name "a::b" holds "::", which separates toolset and tool.',
    ],
    [
      "an empty name",
      '[toolsets.""]\ntype = "files"\nroot = "."',
      '1:2: toolsets[""]: A toolset needs a name: a string that is not empty.',
    ],
    ["a toolset that is not a table", "[toolsets]\nx = 1", "2:1: toolsets.x: must be an object, not a number."],
    ["toolsets as a list", "[[toolsets]]\nname = 'x'", "1:3: toolsets: must be an object, not an array."],
    ["the table of another program", "[mcp_servers.x]\ncommand = 'x'", '1:2: mcp_servers: unknown key. Did you mean "toolsets"?'],
    ["a pattern that is not a string", '[permission]\nallow = ["a::*", 1]', "2:18: permission.allow[1]: must be a string, not a number."],
    ["a hold below zero", "[runtime]\norphanHoldMs = -1", "2:1: runtime.orphanHoldMs: must be a number from 0 to 315576000000, not -1."],
    [
      "a time to open of files",
      toolset('type = "files"\nroot = "."\nopenTimeoutMs = 1'),
      '4:1: toolsets.x.openTimeoutMs: only a toolset of type "mcp" or "openapi" has it.',
    ],
    [
      "a time to open of a module",
      toolset('type = "module"\npath = "x.js"\nopenTimeoutMs = 1'),
      '4:1: toolsets.x.openTimeoutMs: only a toolset of type "mcp" or "openapi" has it.',
    ],
    [
      "an engine of files",
      toolset('type = "files"\nroot = "."\nengine = "x"'),
      "4:1: toolsets.x.engine: a toolset of this type answers its calls itself.",
    ],
    [
      "trust in the annotations of a module",
      toolset('type = "module"\npath = "x.js"\ntrustAnnotations = true'),
      '4:1: toolsets.x.trustAnnotations: only a toolset of type "mcp" has it.',
    ],
    [
      "a time to open below zero",
      toolset('type = "mcp"\ncommand = "x"\nopenTimeoutMs = -1'),
      "4:1: toolsets.x.openTimeoutMs: must be a number from 0 to 315576000000, not -1.",
    ],
    ["an unknown list", "[approval]\nalwais = []", '2:1: approval.alwais: unknown key. Did you mean "always"?'],
    ["no TOML", '[toolsets.x]\ntype = "files', "2:8: not valid TOML: unfinished string."],
    ["a key given twice", "a = 1\na = 2", "2:1: not valid TOML: trying to redefine an already defined table or value."],
  ])("F0.57 %s is reported with its place", async (_what, text, problem) => {
    expect(await problemsOf("haft.toml", text)).toEqual([`haft.toml:${problem}`]);
  });

  test("JSON problems are reported with their place too", async () => {
    expect(await problemsOf("haft.json", '{\n\t"toolsets": {\n\t\t"y": {"type": "mcp", "command": 3}\n\t}\n}')).toEqual([
      "haft.json:3:24: toolsets.y.command: must be a string, not a number.",
    ]);
    expect(await problemsOf("haft.json", '{"runtime": {},}')).toEqual(['haft.json:1:16: Not valid JSON: a "," before "}".']);
    expect(await problemsOf("haft.json", '{\n  "runtime": {},\n  "runtime": {}}')).toEqual([
      'haft.json:3:3: Not valid JSON: the key "runtime" is given twice in one object.',
    ]);
    expect(await problemsOf("haft.json", "[]")).toEqual(["haft.json:1:1: a configuration must be an object, not an array."]);
  });

  test("the first twenty problems are reported, and the rest counted", async () => {
    const error = await configError(load("haft.toml", Array.from({ length: 30 }, (_, index) => `k${index} = 1`).join("\n")));

    expect(error.details).toHaveLength(20);
    expect(error.message).toMatch(/\(and 29 more\)$/u);
  });
});

describe("variables", () => {
  const mcp = (values: string): string => `[toolsets.x]\ntype = "mcp"\ncommand = "x"\n${values}\n`;

  test("F4.15 a variable that is not set is reported with its place", async () => {
    expect(await problemsOf("haft.toml", mcp('args = ["a", "${ONE}"]\nenv = { K = "env:TWO" }'))).toEqual([
      "haft.toml:4:14: toolsets.x.args[1]: the environment variable ONE is not set.",
      "haft.toml:5:9: toolsets.x.env.K: the environment variable TWO is not set.",
    ]);
  });

  test.each(["${A:-$(id)}", "${}", "${A", "env:", "env:A B", "${A.B}"])(
    "J05 %s is not a variable, and is not evaluated",
    async (written) => {
      const environment = { A: "secret-value" };

      expect(await problemsOf("haft.toml", mcp(`env = { K = '${written}' }`), environment)).toEqual([
        `haft.toml:4:9: toolsets.x.env.K: ${JSON.stringify(written)} does not name an environment variable; write \${NAME}, or env:NAME as the whole value.`,
      ]);
    },
  );

  test("J05 no message contains the value of a variable", async () => {
    const problems = await problemsOf("haft.toml", mcp('args = ["${TOKEN}", 1]\nenv = { K = "env:TOKEN", L = "${TOKEN}${NONE}" }'), {
      TOKEN: "swordfish",
    });

    expect(problems).toHaveLength(2);
    expect(problems.join("\n")).not.toContain("swordfish");
  });

  test("F4.15 J05 variables are replaced once in env, args and root, and left as text elsewhere", async () => {
    const { config } = await load(
      "haft.toml",
      `[toolsets.x]
type = "mcp"
command = "\${HOME}/x"
description = "\${HOME}"
args = ["--at=\${HOME}/a\${HOME}", "plain $HOME"]
env = { ONE = "env:NESTED", TWO = "" }
[toolsets.y]
type = "files"
root = "\${HOME}/work"
`,
      { HOME: "/h", NESTED: "${HOME}" },
    );

    expect([...config.toolsets]).toEqual([
      [
        "x",
        {
          type: "mcp",
          enabled: true,
          description: "${HOME}",
          command: "${HOME}/x",
          args: ["--at=/h/a/h", "plain $HOME"],
          env: { ONE: "${HOME}", TWO: "" },
          trustAnnotations: false,
        },
      ],
      ["y", { type: "files", enabled: true, root: "/h/work" }],
    ]);
  });

  test("a disabled toolset needs no variables", async () => {
    const { config } = await load("haft.toml", mcp('enable = false\nenv = { K = "env:NOT_SET" }'));

    expect(config.toolsets.get("x")).toMatchObject({ enabled: false, env: { K: "env:NOT_SET" } });
  });
});

const SAME = {
  "haft.toml": `[runtime]
timeoutMs = 1000
deadlineMs = 5000
maxAttempts = 2
maxResultBytes = 100
maxConcurrent = 3
strict = true
orphanHoldMs = 50
durability = "async"
keepEvents = 500
agentName = "miller"
workingFolder = "work"
[retry]
delayMs = 10
factor = 1.5
maxDelayMs = 20
jitter = false
[circuit]
enabled = true
failures = 2
windowMs = 100
openMs = 10
probes = 3
minimumRate = 0.25
[permission]
allow = ["2::*", "1::*"]
deny = ["*::write"]
[approval]
always = ["1::*"]
never = []
timeoutMs = 7
[cache]
maxBytes = 0

[jobs]
maxRunning = 0
maxQueued = 5
maxPerPrincipal = 2
keepEnded = 0
keepEndedMs = 1
maxOutputChars = 9
keepStored = 3
keepStoredMs = 4

[inputLimits]
maxDepth = 8
maxNodes = 100
maxChars = 1000
maxWideKeys = 0
[store]
path = "data/haft.db"
busyTimeoutMs = 0
synchronous = "normal"
[toolsets.2]
type = "files"
root = "work"
guard = "warn"
readOnly = true
allowSensitive = ["package.json"]
unchangedReads = true
timeoutMs = 0
[toolsets.1]
type = "module"
path = "./tools.ts"
enabled = false
description = "Ours"
maxConcurrent = 1
[toolsets.0]
type = "mcp"
command = "server"
openTimeoutMs = 20
`,
  "haft.yaml": `runtime: { timeoutMs: 1000, deadlineMs: 5000, maxAttempts: 2, maxResultBytes: 100, maxConcurrent: 3, strict: true, orphanHoldMs: 50, durability: async, keepEvents: 500, agentName: miller, workingFolder: work }
retry: { delayMs: 10, factor: 1.5, maxDelayMs: 20, jitter: false }
circuit: { enabled: true, failures: 2, windowMs: 100, openMs: 10, probes: 3, minimumRate: 0.25 }
permission:
  allow: ["2::*", "1::*"]
  deny: ["*::write"]
approval: { always: ["1::*"], never: [], timeoutMs: 7 }
cache: { maxBytes: 0 }
jobs: { maxRunning: 0, maxQueued: 5, maxPerPrincipal: 2, keepEnded: 0, keepEndedMs: 1, maxOutputChars: 9, keepStored: 3, keepStoredMs: 4 }
inputLimits: { maxDepth: 8, maxNodes: 100, maxChars: 1000, maxWideKeys: 0 }
store: { path: data/haft.db, busyTimeoutMs: 0, synchronous: normal }
toolsets:
  "2": { type: files, root: work, guard: warn, readOnly: true, allowSensitive: [package.json], unchangedReads: true, timeoutMs: 0 }
  "1":
    type: module
    path: ./tools.ts
    enabled: false
    description: Ours
    maxConcurrent: 1
  "0": { type: mcp, command: server, openTimeoutMs: 20 }
`,
  "haft.json": `{
	"runtime": { "timeoutMs": 1000, "deadlineMs": 5000, "maxAttempts": 2, "maxResultBytes": 100, "maxConcurrent": 3, "strict": true, "orphanHoldMs": 50, "durability": "async", "keepEvents": 500, "agentName": "miller", "workingFolder": "work" },
	"retry": { "delayMs": 10, "factor": 1.5, "maxDelayMs": 20, "jitter": false },
	"circuit": { "enabled": true, "failures": 2, "windowMs": 100, "openMs": 10, "probes": 3, "minimumRate": 0.25 },
	"permission": { "allow": ["2::*", "1::*"], "deny": ["*::write"] },
	"approval": { "always": ["1::*"], "never": [], "timeoutMs": 7 },
	"cache": { "maxBytes": 0 },
	"jobs": { "maxRunning": 0, "maxQueued": 5, "maxPerPrincipal": 2, "keepEnded": 0, "keepEndedMs": 1, "maxOutputChars": 9, "keepStored": 3, "keepStoredMs": 4 },
	"inputLimits": { "maxDepth": 8, "maxNodes": 100, "maxChars": 1000, "maxWideKeys": 0 },
	"store": { "path": "data/haft.db", "busyTimeoutMs": 0, "synchronous": "normal" },
	"toolsets": {
		"2": { "type": "files", "root": "work", "guard": "warn", "readOnly": true, "allowSensitive": ["package.json"], "unchangedReads": true, "timeoutMs": 0 },
		"1": { "type": "module", "path": "./tools.ts", "enabled": false, "description": "Ours", "maxConcurrent": 1 },
		"0": { "type": "mcp", "command": "server", "openTimeoutMs": 20 }
	}
}`,
};

test.each(Object.entries(SAME))("%s can set every key, and toolsets keep the order of the file", async (name, text) => {
  const { config, warnings } = await load(name, text);

  expect({ ...config, toolsets: [...config.toolsets] }).toEqual({
    runtime: {
      timeoutMs: 1000,
      deadlineMs: 5000,
      maxAttempts: 2,
      maxResultBytes: 100,
      maxConcurrent: 3,
      strict: true,
      orphanHoldMs: 50,
      durability: "async",
      keepEvents: 500,
      agentName: "miller",
      workingFolder: expect.stringMatching(/.[/\\]work$/u),
    },
    retry: { delayMs: 10, factor: 1.5, maxDelayMs: 20, jitter: false },
    circuit: { failures: 2, windowMs: 100, openMs: 10, probes: 3, minimumRate: 0.25 },
    permission: { allow: ["2::*", "1::*"], deny: ["*::write"] },
    approval: { always: ["1::*"], never: [], timeoutMs: 7 },
    cache: { maxBytes: 0 },
    jobs: {
      maxRunning: 0,
      maxQueued: 5,
      maxPerPrincipal: 2,
      keepEnded: 0,
      keepEndedMs: 1,
      maxOutputChars: 9,
      keepStored: 3,
      keepStoredMs: 4,
    },
    inputLimits: { maxDepth: 8, maxNodes: 100, maxChars: 1000, maxWideKeys: 0 },
    store: { path: "data/haft.db", busyTimeoutMs: 0, synchronous: "normal" },
    model: undefined,
    loop: {},
    simulation: undefined,
    extensions: [],
    documentation: new Map(),
    allowVariables: [],
    registry: [],
    channels: [],
    triggers: [],
    engines: new Map(),
    enrichments: [],
    toolsets: [
      [
        "2",
        {
          type: "files",
          enabled: true,
          root: "work",
          guard: "warn",
          readOnly: true,
          allowSensitive: ["package.json"],
          unchangedReads: true,
          timeoutMs: 0,
        },
      ],
      ["1", { type: "module", enabled: false, path: "./tools.ts", description: "Ours", maxConcurrent: 1 }],
      ["0", { type: "mcp", enabled: true, command: "server", args: [], env: {}, trustAnnotations: false, openTimeoutMs: 20 }],
    ],
  });
  expect(warnings).toEqual([]);
});

test.each(["haft.toml", "haft.yaml"])("an empty %s is an empty configuration", async (name) => {
  const { config } = await load(name, "");

  expect(config).toEqual({
    runtime: {},
    retry: {},
    circuit: {},
    permission: {},
    approval: {},
    cache: {},
    jobs: {},
    inputLimits: {},
    store: undefined,
    model: undefined,
    loop: {},
    simulation: undefined,
    extensions: [],
    documentation: new Map(),
    allowVariables: [],
    registry: [],
    channels: [],
    triggers: [],
    engines: new Map(),
    enrichments: [],
    toolsets: new Map(),
  });
});

test("J09 a server without an exact version causes a warning with its place", async () => {
  const { warnings } = await load("haft.toml", '[toolsets.x]\ntype = "mcp"\ncommand = "npx"\nargs = ["-y", "some-server"]\n');

  expect(warnings.map((line) => line.replace(/^.*\//u, ""))).toEqual([
    'haft.toml:4:1: toolsets.x.args: npx runs whatever version of "some-server" is newest; name one exactly, such as "some-server@1.2.3".',
  ]);
});

test("J09 a server installed next to the configuration, or above it, causes no warning", async () => {
  const text = '[toolsets.x]\ntype = "mcp"\ncommand = "npx"\nargs = ["-y", "@scope/server"]\n';
  const folder = configFolder({ "haft.toml": text, "below/haft.toml": text, "node_modules/@scope/server/package.json": "{}" });
  for (const path of ["haft.toml", "below/haft.toml"]) expect((await loadConfig(join(folder, path))).warnings).toEqual([]);
});

describe("findConfig", () => {
  test("several configurations in one folder are refused", () => {
    const folder = configFolder({ "haft.toml": "", "haft.json": "{}" });

    expect(() => findConfig(folder)).toThrow(
      new ToolError("invalid_config", `${folder} has haft.toml and haft.json: keep one, or name the one you mean.`),
    );
  });

  test("a configuration is found by its name, and a missing one is not an error", () => {
    const folder = configFolder({ "haft.yml": "", "other.toml": "" });

    expect(findConfig(folder)).toBe(join(folder, "haft.yml"));
    expect(findConfig(join(folder, "none"))).toBeUndefined();
  });
});
