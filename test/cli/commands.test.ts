import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { PATIENCE_MS, PROJECT, folderWith, haft, masked } from "./run-haft.ts";
import { COMMANDS, loadCommand } from "../../src/cli/commands.ts";

const folder = folderWith(PROJECT);
const run = (...args: readonly string[]) => haft(args, { folder });

describe.concurrent("haft list", { timeout: PATIENCE_MS }, () => {
  test("prints one line per tool: its name, the effects of a call, its description without control characters", async () => {
    expect(await run("list", "math")).toEqual({
      exitCode: 0,
      stdout: `math::add     pure         Adds two whole numbers.
math::fail    reads        Always fails.\\u{202e}
math::forget  destructive  Forgets everything.
math::hang    reads        Never answers.
`,
      stderr: "",
    });
  });

  test("lists all enabled toolsets, and with --json each tool's definition", async () => {
    const { exitCode, stdout, stderr } = await run("list", "--json");
    const tools: readonly { readonly name: string }[] = JSON.parse(stdout);
    expect({ exitCode, stderr, names: tools.map((tool) => tool.name) }).toEqual({
      exitCode: 0,
      stderr: "",
      names: [
        ...["edit", "glob", "grep", "json_read", "json_write", "list", "multi_edit", "read", "write"].map((name) => `files::${name}`),
        "haft::read_result",
        ...["add", "fail", "forget", "hang"].map((name) => `math::${name}`),
      ],
    });
    expect(tools.find((tool) => tool.name === "math::forget")).toEqual({
      name: "math::forget",
      description: "Forgets everything.",
      inputSchema: { type: "object" },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    });
  });
});

describe.concurrent("haft search", { timeout: PATIENCE_MS }, () => {
  test("prints matching tools, best match first", async () => {
    expect(await run("search", "whole", "numbers", "--limit", "2")).toEqual({
      exitCode: 0,
      stdout:
        "math::add         pure         Adds two whole numbers.\nfiles::json_read  reads        Reads one value of a JSON file, or the whole of it. The file counts as read afterwards.\n",
      stderr: "",
    });
  });

  test("takes tools with any of the given tags, or with all of them", async () => {
    const names = ({ stdout }: { readonly stdout: string }): readonly string[] =>
      JSON.parse(stdout).map((tool: { readonly name: string }) => tool.name);
    const [any, all] = await Promise.all([
      run("search", "--tag", "sums", "--tag", "numbers", "--json"),
      run("search", "--tag", "sums", "--tag", "numbers", "--all-tags", "--json"),
    ]);
    expect([names(any), names(all)]).toEqual([["math::add", "math::fail"], ["math::add"]]);
  });

  test("reports on standard error that no tool matches, and exits with 1", async () => {
    expect(await run("search", "zeppelin")).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: "haft: No tool matches. haft list shows all of them.\n",
    });
  });
});

describe.concurrent("haft info", { timeout: PATIENCE_MS }, () => {
  test("shows description, input, output, effects and limits", async () => {
    expect(await run("info", "add")).toEqual({
      exitCode: 0,
      stdout: `math::add
Adds two whole numbers.

Input
  a  integer  required; The first.
  b  integer  default 1

Output
  sum  integer  required

Effects   pure, may be repeated
Time      5 s for an attempt, no limit for the call with its waits and retries
Attempts  at most 4
Tags      numbers, sums
`,
      stderr: "",
    });
  });

  test("prints one JSON object with --json", async () => {
    const { exitCode, stdout, stderr } = await run("info", "math::hang", "--json");
    expect({ exitCode, stderr, tool: JSON.parse(stdout) }).toEqual({
      exitCode: 0,
      stderr: "",
      tool: {
        name: "math::hang",
        description: "Never answers.",
        inputSchema: { type: "object" },
        annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
        settings: { timeoutMs: 0, deadlineMs: 0, maxAttempts: 4, maxResultBytes: 65_536, promoteAfterMs: 0 },
      },
    });
  });
});

describe.concurrent("haft call", { timeout: PATIENCE_MS }, () => {
  test("prints the output on standard output and repairs on standard error", async () => {
    expect(await run("call", "add", '{"a": "2"}')).toEqual({
      exitCode: 0,
      stdout: '{\n  "sum": 3\n}\n',
      stderr: 'repaired $.a: "2" → 2\nfilled in $.b: missing → 1\n',
    });
  });

  test("reads the input from standard input for -, with or without a byte order mark", async () => {
    const { exitCode, stdout } = await haft(["call", "math::add", "-"], { folder, input: '\uFEFF{"a": 4, "b": 5}\n' });
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '{\n  "sum": 9\n}\n' });
  });

  test("prints text unquoted, so that it can be piped", async () => {
    expect(await run("call", "files::read", '{"path": "plan.md"}')).toEqual({
      exitCode: 0,
      stdout: "     1\t# Plan\n     2\t\n     3\tSleep.\n",
      stderr: "",
    });
  });

  test("prints the whole result with --json, whether the call succeeded or failed", async () => {
    const [fine, failed] = await Promise.all([run("call", "add", '{"a": 1, "b": 1}', "--json"), run("call", "add", "--json")]);
    expect([fine, failed].map(({ stdout, ...rest }) => ({ ...rest, stdout: masked(stdout) }))).toEqual([
      {
        exitCode: 0,
        stdout:
          '{"callId":"call_#","name":"math::add","status":"ok","origin":"live","attempts":1,"durationMs":0,"repairs":[],"warnings":[],"output":{"sum":2}}\n',
        stderr: "",
      },
      {
        exitCode: 5,
        stdout:
          '{"callId":"call_#","name":"math::add","status":"error","origin":"live","attempts":0,"durationMs":0,"repairs":[],"warnings":[],"error":{"code":"invalid_input","message":"The input of math::add does not fit its schema.","retryable":false,"outcome":"not_started","hint":"Its properties: a (required), b.","details":["$.a: required field missing"]}}\n',
        stderr: "",
      },
    ]);
  });

  test("runs a tool that needs approval only with --yes when there is no terminal", async () => {
    const [asked, allowed] = await Promise.all([run("call", "forget"), run("call", "forget", "--yes")]);
    expect([asked.exitCode, asked.stdout, asked.stderr.split("\n", 1)]).toEqual([
      6,
      "",
      ["haft: approval_required: math::forget needs approval, and no approver is configured. math::forget may destroy something."],
    ]);
    expect(allowed).toEqual({ exitCode: 0, stdout: "forgotten\n", stderr: "" });
  });

  test("D04 escapes the text of a tool's error, and exits with the code of the error table", async () => {
    expect(await run("call", "fail")).toEqual({ exitCode: 1, stdout: "", stderr: "haft: execution_failed: no luck \\u{200b}\n" });
  });
});

describe.concurrent("haft check", { timeout: PATIENCE_MS }, () => {
  test("prints how many tools each toolset has", async () => {
    expect(await run("check")).toEqual({
      exitCode: 0,
      stdout: "✓ math   4 tools\n✓ files  9 tools\n- old    disabled\nhaft.toml: no problems\n",
      stderr: "",
    });
  });

  test("prints one JSON object with --json", async () => {
    const { exitCode, stdout, stderr } = await run("check", "--json");
    expect({ exitCode, stderr, report: JSON.parse(stdout) }).toEqual({
      exitCode: 0,
      stderr: "",
      report: {
        config: "haft.toml",
        problems: 0,
        warnings: [],
        toolsets: [
          { name: "math", enabled: true, tools: 4, problems: [] },
          { name: "files", enabled: true, tools: 9, problems: [] },
          { name: "old", enabled: false, tools: 0, problems: [] },
        ],
      },
    });
  });
});

describe.concurrent("haft check of models", { timeout: PATIENCE_MS }, () => {
  test("a model whose server has no address is a problem, with its place and the variable to set, until the variable is set", async () => {
    const delegate = '[toolsets.team]\ntype = "delegates"\n[toolsets.team.delegates.ask]\ndescription = "Asks."\nmodel = "azure/gpt-5"\n';
    const folder = folderWith({ "haft.toml": `[model]\nname = "openai-compatible/qwen3"\n${delegate}` });
    const { exitCode, stdout } = await haft(["check"], { folder });
    const text = stdout.replaceAll(/\s+/gu, " ");
    expect(exitCode).toBe(3);
    expect(text).toContain(
      "haft.toml:1:2: model: The provider openai-compatible has no default address. Set baseUrl or OPENAI_COMPATIBLE_BASE_URL.",
    );
    expect(text).toContain("toolsets.team.delegates.ask.model: The address of azure-openai needs AZURE_RESOURCE_NAME, which is not set.");
    const environment = { OPENAI_COMPATIBLE_BASE_URL: "http://127.0.0.1:1/v1", AZURE_RESOURCE_NAME: "mine" };
    expect((await haft(["check"], { folder, environment })).stdout).not.toContain("address");
  });

  test.each([
    ['name = "antropic/claude"', 'haft.toml:1:2: model: No provider "antropic". Did you mean "anthropic"?'],
    ['name = "ollama/qwen3"\ntextFormat = "hermess"', 'haft.toml:1:2: model: There is no text format "hermess". Formats: '],
  ])("a model that cannot be created is a problem: %s", async (lines, problem) => {
    const { exitCode, stdout } = await haft(["check"], { folder: folderWith({ "haft.toml": `[model]\n${lines}\n` }) });
    expect([exitCode, stdout.replaceAll(/\s+/gu, " ")]).toEqual([3, expect.stringContaining(problem)]);
  });
});

test("haft check reports documentation that cannot be read, with its place", { timeout: PATIENCE_MS }, async () => {
  const folder = folderWith({ "haft.toml": '[documentation]\n"files::read" = "gone.md"\n' });
  const { exitCode, stdout } = await haft(["check"], { folder });
  expect([exitCode, stdout]).toEqual([
    3,
    expect.stringMatching(/haft\.toml:2:1: documentation\S*read"\]: Cannot read the documentation \S*gone\.md: /u),
  ]);
});

describe.concurrent("haft check of mistakes in a valid configuration", { timeout: PATIENCE_MS }, () => {
  const descriptor = (more: string): string => `[ensemble]
name = "io"
[defaults]
timeout = 30
max_retries = 3
[[invokers]]
name = "fetch"
description = "Fetches."
module = "code.mjs"
${more}`;
  const code = 'export const fetch = () => { throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" }); };\n';
  const config = '[toolsets.all]\ntype = "descriptors"\npath = "io.toml"\n[retry]\ndelayMs = 0\n';
  const project = (more: string): string => folderWith({ "haft.toml": config, "io.toml": descriptor(more), "code.mjs": code });

  test("F4.12 retries that are configured but never made are reported by check and info, with the effects to declare", async () => {
    const folder = project("");
    const check: unknown = JSON.parse((await haft(["check", "--json"], { folder })).stdout);
    expect(check).toMatchObject({
      problems: 0,
      toolsets: [
        {
          name: "io",
          warnings: [
            'fetch: up to 4 attempts are asked for, but it declares no effects, so a call that has begun is not repeated. Declare effects = "readOnly" or effects = { writes = [...], idempotent = true } where that is true.',
          ],
        },
      ],
    });
    const info = (await haft(["info", "io::fetch"], { folder })).stdout.replaceAll(/\s+/gu, " ");
    expect(info).toContain("Attempts 1 once a call has begun, because it is not declared repeatable; else at most 4");
    expect(info).toContain("! up to 4 attempts are asked for, but it declares no effects");
    expect(JSON.parse((await haft(["call", "io::fetch", "--json"], { folder })).stdout)).toMatchObject({ attempts: 1 });
  });

  test("F4.10 F4.12 a tool whose descriptor is missing is reported as one problem, once, with its place", async () => {
    const ensemble =
      '[ensemble]\nname = "orchard"\n[defaults]\nmax_retries = 3\n[[invokers]]\nsource = "pick.toml"\n[[invokers]]\nsource = "press.toml"\n';
    const pick = '[invoker]\nname = "pick"\ndescription = "Picks."\nmodule = "code.mjs"\neffects = "pure"\n';
    const files = { "haft.toml": config.replace("io.toml", "orchard.toml"), "orchard.toml": ensemble, "pick.toml": pick };
    const folder = folderWith({ ...files, "code.mjs": "export const pick = () => 1;\n" });
    const { exitCode, stdout } = await haft(["check"], { folder });
    expect([exitCode, stdout.replaceAll(`${folder}/`, "").replaceAll(/\n {4}/gu, " ")]).toEqual([
      3,
      '✗ orchard  2 tools The tool "press" is disabled: orchard.toml:7:3: invokers[1]: Cannot read the descriptor press.toml: there is no such file.\nhaft.toml: 1 problem\n',
    ]);
  });

  test("F4.12 a tool with repeatable effects is not reported, and its retries are made", async () => {
    const folder = project('effects = "readOnly"\n');
    expect(await haft(["check"], { folder })).toMatchObject({ exitCode: 0, stdout: "✓ io  1 tool\nhaft.toml: no problems\n" });
    expect(JSON.parse((await haft(["call", "io::fetch", "--json"], { folder })).stdout)).toMatchObject({ attempts: 4 });
  });

  test("a descriptor whose tool has no code is reported", async () => {
    const folder = folderWith({ "haft.toml": config, "io.toml": descriptor("").replace(/module.*\n/u, "") });
    expect((await haft(["check"], { folder })).stdout.replaceAll(/\s+/gu, " ")).toContain(
      "has no code: set module in its descriptor to the file that exports it; calls end with not_executable",
    );
  });

  test("a service on a private address named by its document is a problem, unless the configuration allows the address", async () => {
    const document = {
      openapi: "3.1.0",
      info: { title: "Shop", version: "1" },
      servers: [{ url: "http://127.0.0.1:9" }],
      paths: { "/a": { get: { operationId: "a", responses: { 200: { description: "" } } } } },
    };
    const shop = '[toolsets.shop]\ntype = "openapi"\ndocument = "shop.json"\n';
    const files = { "shop.json": JSON.stringify(document) };
    expect(await haft(["check"], { folder: folderWith({ ...files, "haft.toml": shop }) })).toMatchObject({
      exitCode: 3,
      stdout: `✓ shop  1 tool
Every call of its operations will be refused: Calls to 127.0.0.1:9 are not allowed: 127.0.0.1 is not a public address. To allow this server, list "127.0.0.1:9" in allowPrivate.
haft.toml: 1 problem
`,
    });
    const allowed = folderWith({ ...files, "haft.toml": `${shop}allowPrivate = ["127.0.0.1"]\n` });
    expect(await haft(["check"], { folder: allowed })).toMatchObject({ exitCode: 0 });
  });
});

describe.concurrent("haft check of sources", { timeout: PATIENCE_MS }, () => {
  const files = {
    "haft.toml": `[toolsets.all]
type = "file"
path = "tools.yaml"

[[tools]]
type = "inline"
namespace = "inline"
tools = [{ name = "one", description = "One." }]

[[tools]]
type = "file"
path = "none.yaml"
namespace = "gone"
`,
    "tools.yaml": `weather:
  - { name: bad, description: B, parameters: { type: strin } }
  - { name: wrong, description: [1] }
  - { name: good, description: G }
`,
  };

  test("F0.16 F4.10 reports the namespaces of files and entries, a broken schema, a tool that is left out and a source that failed", async () => {
    const sources = folderWith(files);
    const { exitCode, stdout, stderr } = await haft(["check", "--config", "haft.toml"], { folder: sources });
    expect({ exitCode, stdout: stdout.replaceAll(`${sources}/`, ""), stderr }).toEqual({
      exitCode: 3,
      stdout: `✗ weather  2 tools
    The tool "weather::bad" cannot be used because its input schema is wrong: The schema cannot be used: at #/type, "strin" is not a JSON type.
    ! bad, good: no handler, and no engine that its toolset names; calls end with not_executable, and only simulations are answered.
✓ inline   1 tool
    ! one: no handler, and no engine that its toolset names; calls end with not_executable, and only simulations are answered.
✗ gone     0 tools
    The toolset "gone" could not be opened: Cannot read the tool file none.yaml: there is no such file.
A tool is left out: tools.yaml:3:5: weather[1]: description of tool "wrong" is an array; it must be a string.
haft.toml: 3 problems
`,
      stderr: "",
    });
  });

  test("A23 warns about a default that does not fit its own schema, which is not a problem", async () => {
    const folder = folderWith({
      "haft.toml": `[toolsets.days]
type = "inline"
tools = [{ name = "list", description = "Lists days.", parameters = { type = "object", properties = { limit = { type = "integer", default = "ten" } } } }]
`,
    });
    expect(await haft(["check"], { folder })).toEqual({
      exitCode: 0,
      stdout:
        "✓ days  1 tool\n    ! list: no handler, and no engine that its toolset names; calls end with not_executable, and only simulations are answered.\n" +
        '    ! list: $.limit: the default "ten" does not fit its own schema and is never applied\nhaft.toml: no problems\n',
      stderr: "",
    });
  });

  test("F4.10 reports the same with --json", async () => {
    const sources = folderWith(files);
    const { exitCode, stdout } = await haft(["check", "--json"], { folder: sources });
    const report: unknown = JSON.parse(stdout);
    expect({ exitCode, report }).toMatchObject({
      exitCode: 3,
      report: {
        problems: 3,
        warnings: [expect.stringContaining("A tool is left out")],
        toolsets: [{ name: "weather" }, { name: "inline" }, { name: "gone" }],
      },
    });
  });

  test("F0.15 haft list of one namespace includes the tools of every source", async () => {
    const config = `${files["haft.toml"]}
[[tools]]
type = "inline"
tools = [{ name = "more", namespace = "weather", description = "More." }]
`;
    const sources = folderWith({ ...files, "haft.toml": config });
    const { stdout } = await haft(["list", "weather", "--json"], { folder: sources });
    const listed: readonly { readonly name: string }[] = JSON.parse(stdout);
    expect(listed.map(({ name }) => name)).toEqual(["weather::bad", "weather::good", "weather::more"]);
  });
});

describe.concurrent("help and version", { timeout: PATIENCE_MS }, () => {
  test("the program's help shows the first example of each command", async ({ expect }) => {
    const firsts = await Promise.all(
      Object.keys(COMMANDS).map(async (name) => {
        const command = await loadCommand(name);
        return (command !== undefined && "commands" in command ? command.commands[0] : command)?.examples[0];
      }),
    );
    expect(Object.values(COMMANDS).map(({ example }) => example)).toEqual(firsts);
  });

  test("without a command, help goes to standard error and the exit code is 2", async () => {
    const [help, bare] = await Promise.all([run("--help"), run()]);
    expect([help, bare]).toEqual([
      { exitCode: 0, stdout: help.stdout, stderr: "" },
      { exitCode: 2, stdout: "", stderr: help.stdout },
    ]);
    expect(help.stdout).toContain("Usage: haft <command>");
  });

  test("--version prints the version of the package", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    expect(await run("--version")).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: "" });
  });
});
