import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PATIENCE_MS, PROGRAM, PROJECT, folderWith, haft, type Finished } from "./run-haft.ts";
import { IN_CI, inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";

const project = folderWith(PROJECT);
const empty = folderWith({ "note.txt": "no configuration" });
const PIPE_HINT = "  Name a regular file, or pipe the data to standard input and name it -.";

/** What a command that is refused leaves behind: nothing on standard output. */
const refused = (exitCode: number, ...stderr: readonly string[]): Finished => ({ exitCode, stdout: "", stderr: `${stderr.join("\n")}\n` });

async function withConfig(files: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Finished> {
  return await haft(args, { folder: folderWith(files), environment: { DEMO_TOKEN: "s3cret-value" } });
}

describe.concurrent("an invalid command line exits with 2 and a hint", { timeout: PATIENCE_MS }, () => {
  const cases: readonly (readonly [readonly string[], string, string])[] = [
    [["lsit"], 'There is no command "lsit".', 'Did you mean "haft list"?'],
    [
      ["dance"],
      'There is no command "dance".',
      "Commands: chat, run, call, chain, generate, list, search, info, check, lock, trust, init, import, serve, worker, fleet, mcp, sessions, store, jobs, schedules, keys, audit, approvals, open, replay. See haft --help.",
    ],
    [["list", "--jsn"], "There is no option --jsn.", "Did you mean --json?"],
    [["list", "--yes"], "haft list takes no --yes.", "See haft list --help."],
    [["call"], "haft call needs <tool> [<json> | -].", `For example: haft call files::read '{"path": "notes.md"}'`],
    [
      ["info", "a", "b"],
      'haft info does not take the argument "b".',
      "Usage: haft info <tool>. Put an argument that has spaces in quotes.",
    ],
    [["list", "--config", "--json"], "--config needs a value.", "For example: --config ./haft.toml"],
    [["search"], "haft search needs words or a --tag to search for.", "For example: haft search read a file. To see all tools: haft list."],
  ];
  test.for(cases)("%j", async ([args, message, hint]) => {
    const { stdout, ...rest } = await haft(args, { folder: project });
    const answer = refused(2, `haft: invalid_argument: ${message}`, `  ${hint}`);
    expect(rest).toEqual({ exitCode: answer.exitCode, stderr: answer.stderr });
    expect(stdout === "").toBe(!args.includes("--json"));
  });

  test("a conversation file that does not exist, is a folder, or is not UTF-8 text", async () => {
    mkdirSync(join(empty, "folder"));
    const folder = folderWith({ ...PROJECT, "latin.jsonl": Buffer.from([0x7b, 0xe9, 0x7d]) });
    const runs = await Promise.all([
      haft(["run", "gone.jsonl"], { folder: empty }),
      haft(["run", "folder"], { folder: empty }),
      haft(["run", "latin.jsonl"], { folder }),
    ]);
    expect(runs).toEqual([
      refused(2, "haft: invalid_argument: Cannot read the file gone.jsonl: there is no such file."),
      refused(2, "haft: invalid_argument: Cannot read the file folder: it is a folder.", PIPE_HINT),
      refused(2, "haft: invalid_argument: Cannot read the file latin.jsonl: it is not valid UTF-8.", "  Save it as UTF-8."),
    ]);
  });

  test.skipIf(!inCI || !existsSync("/dev/zero"))(
    `an endless conversation is refused, as a named file and as standard input ${IN_CI}`,
    async () => {
      const endless = "/dev/zero";
      const [named, piped] = await Promise.all([
        haft(["run", endless], { folder: empty }),
        haft(["run", "-"], { folder: empty, input: "\n".repeat(64 * 1024 * 1024 + 1) }),
      ]);
      expect(named).toEqual(
        refused(
          2,
          `haft: invalid_argument: Cannot read the file ${endless}: it is not a regular file but a pipe, socket or device.`,
          PIPE_HINT,
        ),
      );
      expect(piped).toEqual(refused(2, "haft: invalid_argument: Standard input is larger than 67108864 bytes."));
    },
  );

  test.skipIf(spawnSync("mkfifo", ["--version"]).error !== undefined)(
    "a conversation in a pipe (needs mkfifo) is refused without waiting for its writer",
    async () => {
      const folder = folderWith({});
      spawnSync("mkfifo", [join(folder, "pipe")]);
      expect((await haft(["run", "pipe"], { folder })).exitCode).toBe(2);
    },
  );
});

describe.concurrent("an invalid configuration exits with 3 and names file, line and key", { timeout: PATIENCE_MS }, () => {
  test("no configuration at all", async () => {
    expect(await haft(["list"], { folder: empty })).toEqual(
      refused(
        3,
        `haft: invalid_config: There is no haft.toml, haft.yaml, haft.yml or haft.json in ${empty}.`,
        '  Name one with --config, or write one with haft init. A minimal one: toolsets.files = { type = "files", root = "." }',
      ),
    );
  });

  test("a configuration file that does not exist", async () => {
    expect(await haft(["check", "--config", "other.toml"], { folder: project })).toEqual(
      refused(3, "haft: invalid_config: Cannot read the configuration other.toml: there is no such file."),
    );
  });

  test("a single problem is the whole message; several problems are listed once each", async () => {
    const [one, several] = await Promise.all([
      withConfig({ "haft.toml": "[runtime]\nretries = 3\n" }, "list"),
      withConfig({ "haft.toml": '[runtime]\nretries = 3\ntimeoutMs = "5"\n[toolsets.files]\ntype = "files"\n' }, "check"),
    ]);
    expect(one).toEqual(refused(3, 'haft: invalid_config: haft.toml:2:1: runtime.retries: unknown key. Did you mean "maxAttempts"?'));
    expect(several).toEqual(
      refused(
        3,
        "haft: invalid_config: 3 problems",
        '  haft.toml:2:1: runtime.retries: unknown key. Did you mean "maxAttempts"?',
        "  haft.toml:3:1: runtime.timeoutMs: must be a number from 0 to 315576000000 (0 = no limit), not a string.",
        '  haft.toml:4:2: toolsets.files: "root" is missing: the folder whose files the tools may use.',
      ),
    );
  });

  test("a workspace or module that does not exist is reported before anything runs", async () => {
    const config = '[toolsets.files]\ntype = "files"\nroot = "nowhere"\n[toolsets.mine]\ntype = "module"\npath = "./mine.mjs"\n';
    const folder = folderWith({ "haft.toml": config, "a.jsonl": '{"role": "user", "content": "Hello."}' });
    expect(await haft(["run", "a.jsonl"], { folder })).toEqual(
      refused(
        3,
        "haft: invalid_config: 2 problems",
        `  haft.toml:3:1: toolsets.files.root: The workspace "${folder}/nowhere" cannot be used: it does not exist. Give the path of an existing folder that this process may read.`,
        `  haft.toml:6:1: toolsets.mine.path: there is no file ${folder}/mine.mjs.`,
      ),
    );
  });

  test("--json prints the error as one JSON object on standard output", async () => {
    const { exitCode, stdout } = await withConfig({ "haft.toml": "retries = 3\n" }, "list", "--json");
    const message =
      "haft.toml:1:1: retries: unknown key. Known keys: runtime, retry, circuit, permission, approval, cache, jobs, inputLimits, store, serve, worker, webhooks, model, loop, telemetry, findTools, extensions, variables, simulation, toolsets, engines, tools, channels, triggers, mcp, documentation.";
    expect({ exitCode, ...JSON.parse(stdout) }).toEqual({
      exitCode: 3,
      error: { code: "invalid_config", message, retryable: false, outcome: "not_started", details: [message] },
    });
  });

  test("haft check reports bad schemas, toolsets that fail to open and floating versions, and prints no secret", async () => {
    const files = {
      "haft.toml": `[toolsets.mine]
type = "module"
path = "./mine.mjs"

[toolsets.server]
type = "mcp"
command = "no-such-program"
args = ["--token", "\${DEMO_TOKEN}"]
env = { TOKEN = "env:DEMO_TOKEN" }

[toolsets.newest]
type = "mcp"
enabled = true
command = "npx"
args = ["no such package", "\${DEMO_TOKEN}"]
openTimeoutMs = 1
`,
      "mine.mjs": `export const good = { name: "good", description: "", inputSchema: {}, execute: () => 1 };
export const bad = { name: "bad", description: "", inputSchema: { type: "strin" }, execute: () => 1 };`,
    };
    expect(await withConfig(files, "check")).toEqual({
      exitCode: 3,
      stdout: `✗ mine    2 tools
    The tool "mine::bad" cannot be used because its input schema is wrong: The schema cannot be used: at #/type, "strin" is not a JSON type.
✗ server  0 tools
    MCP server "server" could not be opened: the command "no-such-program" was not found.
✗ newest  0 tools
    The toolset "newest" could not be opened: it did not open within 1 ms. Allow more time with openTimeoutMs.
haft.toml: 3 problems
`,
      stderr: `haft: haft.toml:15:1: toolsets.newest.args: npx runs whatever version of "no such package" is newest; name one exactly, such as "no such package@1.2.3".\n`,
    });
  });

  testInCI("haft check prints the stderr of a server that exited", async () => {
    const program = "console.error('TOKEN is not set'); process.exitCode = 1;";
    const toml = `[toolsets.server]\ntype = "mcp"\ncommand = ${JSON.stringify(process.execPath)}\nargs = ["-e", ${JSON.stringify(program)}]\n`;
    expect(await withConfig({ "haft.toml": toml }, "check")).toEqual({
      exitCode: 3,
      stdout: `✗ server  0 tools
    MCP server "server" could not be opened: it exited with code 1.
    TOKEN is not set
haft.toml: 1 problem
`,
      stderr: "",
    });
  });
});

test("a module that throws is named as the configuration spells it, including spaces", { timeout: PATIENCE_MS }, async () => {
  const folder = folderWith({
    "haft.toml": `[toolsets.desk]\ntype = "module"\npath = "my tools.mjs"\n`,
    "my tools.mjs": `\nthrow new Error("not today");\n`,
  });
  const { stderr } = await haft(["check"], { folder, ownProcess: true });
  expect(stderr).toContain('importing "my tools.mjs" failed at my tools.mjs:2: not today');
});

test("a TypeScript file with a syntax error is named with its line", { timeout: PATIENCE_MS }, async () => {
  const folder = folderWith({
    "haft.toml": `[toolsets.desk]\ntype = "module"\npath = "tools.ts"\n`,
    "tools.ts": "const first = 1;\n\nexport const tool = {;\n",
  });
  const { exitCode, stderr } = await haft(["check"], { folder, ownProcess: true });
  expect({ exitCode, stderr }).toEqual({
    exitCode: 3,
    stderr: expect.stringContaining('haft.toml:3:1: toolsets.desk.path: importing "tools.ts" failed at tools.ts:3: '),
  });
});

describe.concurrent("an invalid call exits with the exit code of its error", { timeout: PATIENCE_MS }, () => {
  const cases: readonly (readonly [readonly string[], number, readonly string[]])[] = [
    [["call", "ad"], 4, ['haft: not_found: No tool "ad". Did you mean "math::add"?']],
    [["info", "math::ad"], 4, ['haft: not_found: No tool "math::ad". Did you mean "math::add"?']],
    [["list", "mth"], 4, ['haft: not_found: There is no toolset "mth".', '  Did you mean "math"?']],
    [["call", "old::any"], 6, ['haft: unavailable: The toolset "old" is disabled in haft.toml.', "  Set enabled to true in toolsets.old."]],
    [
      ["call", "add", '{"b": "x"}'],
      5,
      [
        "haft: invalid_input: The input of math::add does not fit its schema.",
        "  $.a: required field missing",
        "  $.b: expected type integer, got string",
        "  Its properties: a (required), b.",
      ],
    ],
    [
      ["run", "--prompt", "- buy milk"],
      2,
      [
        "haft: invalid_argument: --prompt needs a value.",
        `  Write a value that begins with - in one piece: '--prompt=- buy milk'. For example: --prompt "What do the notes say?"`,
      ],
    ],
    [
      ["run", "--prompt", "--yes"],
      2,
      ["haft: invalid_argument: --prompt needs a value.", `  For example: --prompt "What do the notes say?"`],
    ],
    [
      ["call", "add", "{a: 1}"],
      5,
      [
        'haft: invalid_input: The input of the call: Not valid JSON at line 1, column 2: expected a key, found "a".',
        `  The input is one JSON object, quoted for the shell: '{"path": "notes.md"}'.`,
      ],
    ],
  ];
  test.for(cases)("%j", async ([args, exitCode, lines]) => {
    expect(await haft(args, { folder: project })).toEqual(refused(exitCode, ...lines));
  });
});

test.skipIf(process.platform === "win32").each([["run", "-"], ["call", "math::add", "-"], ["chat"]])(
  "a folder as standard input of %s is refused instead of being read as empty",
  (...args) => {
    const stdin = openSync(project, "r");
    const env = { PATH: process.env["PATH"], HAFT_TRUST: "all" };
    const model = args[0] === "chat" ? ["--model", "ollama/qwen3"] : [];
    const { status, stderr } = spawnSync(process.execPath, [PROGRAM, ...args, ...model], {
      cwd: project,
      env,
      stdio: [stdin, "pipe", "pipe"],
    });
    closeSync(stdin);
    expect([status, String(stderr)]).toEqual([2, expect.stringContaining("Standard input is a folder, not text.")]);
  },
);

test.for([
  [["serve", "--port"], "--port"],
  [["mcp", "--http"], "--http"],
] as const)("a port of %j that is already in use is reported with a hint", async ([args, option]) => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const address = other.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const folder = folderWith(PROJECT);
  const { exitCode, stderr } = await haft([...args, String(port)], { folder, environment: { HAFT_TOKEN: "0123456789abcdef0123" } });
  other.close();
  expect(exitCode).toBe(6);
  expect(stderr).toContain(`  Choose another with ${option} <port>, or ${option} 0 for any free one.\n`);
});

test.skipIf(process.platform === "win32")("a current folder that was removed is named as the problem", { timeout: PATIENCE_MS }, () => {
  const folder = folderWith({ "note.txt": "" });
  const command = 'rm -r "$PWD"; exec "$0" "$@" list --json';
  const { status, stdout, stderr } = spawnSync("sh", ["-c", command, process.execPath, PROGRAM], { cwd: folder, encoding: "utf8" });
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: "invalid_argument", message: "The current folder has been removed." } });
  expect(stderr).toContain("haft: invalid_argument: The current folder has been removed.\n  Change to another one with cd.\n");
  expect(status).toBe(2);
});
