import { createServer, type IncomingMessage } from "node:http";
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { configuredRuntime } from "../../src/config/config.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import { readOnly } from "../../src/core/resources/effects.ts";
import { resultText, type ToolResult } from "../../src/core/result.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { HAS_SANDBOX, SANDBOX, folderWith } from "../toolsets/programs/program-room.ts";
import { configFolder, problemsOf } from "./config-folder.ts";
import { testInCI } from "../test-in-ci.ts";

function calls(toml: string, files: Readonly<Record<string, string>> = {}, environment: Readonly<Record<string, string>> = {}) {
  return callsIn(configFolder({ "haft.toml": toml, ...files }), environment);
}

async function callsIn(folder: string, environment: Readonly<Record<string, string>> = {}) {
  const runtime = createRuntime({ ...(await configuredRuntime(join(folder, "haft.toml"), { environment })), approval: { never: ["*"] } });
  onTestFinished(async () => void (await runtime.close()));
  expect((await runtime.open()).failed).toEqual([]);
  return async (name: string, input: JsonObject = {}): Promise<ToolResult> => await runtime.execute({ name, input });
}

/** What the only tool of a configuration is said to do. */
async function effectsOf(toml: string): Promise<unknown> {
  const runtime = createRuntime(await configuredRuntime(join(configFolder({ "haft.toml": toml }), "haft.toml"), { environment: {} }));
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  const [known] = ["t::run", "t::ask"].flatMap((name) => runtime.registry.get(name) ?? []);
  if (known === undefined) throw new Error("there is no such tool");
  return known.tool.effects;
}

const tool = (lines: string): string =>
  `[toolsets.t]\ntype = "command"\n[[toolsets.t.tools]]\nname = "run"\ndescription = "Runs."\n${lines}\n`;
const PRINT = `command = ["node", "-p", "JSON.stringify(process.argv.slice(1))", "--", "{text}", "--count={count}", "{list}", "{{braces}}"]
output = "json"
inputSchema = { type = "object", properties = { text = { type = "string" }, count = { type = "integer" }, list = { type = "array", items = { type = "string" } } } }`;

describe("tools that run a program", () => {
  test("G06 each argument stays one argument whatever it contains, and no shell reads it", async () => {
    const call = await calls(tool(PRINT));
    const text = "a b; $(touch x) `id` | & > \n %PATH% \"'";
    expect((await call("t::run", { text, count: 3, list: ["x", "y z"] })).output).toEqual([text, "--count=3", "x", "y z", "{braces}"]);
  });

  test("an argument without a value is left out", async () => {
    const call = await calls(tool(PRINT));
    expect((await call("t::run", { list: [] })).output).toEqual(["{braces}"]);
  });

  test("G05 a value that looks like an option is refused before --, and passed after it", async () => {
    const schema = 'inputSchema = { type = "object", properties = { a = {}, b = {} } }';
    const call = await calls(tool(`command = ["node", "-p", "process.argv.length", "{a}", "--", "{b}"]\n${schema}`));
    const refused = await call("t::run", { a: "--eval=process.exit(9)" });
    expect([refused.error?.code, refused.error?.message, refused.attempts]).toEqual([
      "invalid_input",
      'The value "--eval=process.exit(9)" for {a} begins with a dash, and would be read as an option of the program.',
      1,
    ]);
    expect((await call("t::run", { b: "--eval" })).status).toBe("ok");
    const list = await calls(tool('command = ["node", "{a}"]\ninputSchema = { type = "object", properties = { a = { type = "array" } } }'));
    expect((await list("t::run", { a: ["x", "-e"] })).error?.code).toBe("invalid_input");
  });

  test("G05 arguments too long for the system are invalid input, and no program is started", async () => {
    const call = await calls(
      tool('command = ["node", "--", "{a}"]\ninputSchema = { type = "object", properties = { a = { type = "string" } } }'),
    );
    const { error } = await call("t::run", { a: "x".repeat(4 * 1024 ** 2) });
    expect([error?.code, error?.outcome, error?.message, error?.hint]).toEqual([
      "invalid_input",
      "not_started",
      "The program could not be started: its arguments are too long for this system (2 arguments of 4194306 characters in all, the longest of 4194304 characters).",
      "Send fewer or shorter values in each call, for example a part of the list at a time.",
    ]);
  });

  test("G05 a list of any length becomes arguments, or a result that says that they are too long for the system", async () => {
    const schema = 'inputSchema = { type = "object", properties = { a = { type = "array", items = { type = "string" } } } }';
    const call = await calls(tool(`command = ["node", "-p", "process.argv.length", "--", "{a}"]\noutput = "json"\n${schema}`));
    const { error } = await call("t::run", { a: Array.from({ length: 130_000 }, () => "x".repeat(70)) });
    expect([error?.code, error?.outcome]).toEqual(["invalid_input", "not_started"]);
    expect(error?.message).toContain("130003 arguments");
  });

  const WHERE =
    'command = ["sh", "-c", "pwd; echo $A $B $C"]\noutput = "lines"\nworkingFolder = "sub"\nenvironment = { B = "tool", C = "env:C_OF_TOOL" }';

  test("F1.4 a tool has its own folder, relative to the root of its toolset, and its own variables, which override those of the toolset", async () => {
    const toml = tool(WHERE).replace('"command"\n', '"command"\nroot = "work"\nenv = { A = "all", B = "all" }\n');
    const folder = configFolder({ "haft.toml": toml, "work/sub/a.txt": "" });
    const call = await callsIn(folder, { C_OF_TOOL: "secret" });
    expect((await call("t::run")).output).toEqual([realpathSync(join(folder, "work/sub")), "all tool secret"]);
    expect(await problemsOf("haft.toml", toml)).toEqual([expect.stringContaining("C_OF_TOOL")]);
    const result = await (await callsIn(configFolder({ "haft.toml": toml, "work/a.txt": "" }), { C_OF_TOOL: "x" }))("t::run");
    expect([result.status, result.error?.outcome, result.error?.message]).toEqual([
      "error",
      "not_started",
      expect.stringContaining("work/sub"),
    ]);
  });

  test("F1.3 exit code 0 is success, other codes are errors with stderr, and okExitCodes are successes", async () => {
    const command = `command = ["node", "-e", "console.log(1); console.error('no luck'); process.exit(3)"]`;
    const failed = await (await calls(tool(command)))("t::run");
    expect(failed).toMatchObject({ status: "error", exitCode: 3, output: "1\n", error: { message: "node exited with code 3: no luck." } });
    const ok = await (await calls(tool(`${command}\nokExitCodes = [0, 3]`)))("t::run");
    expect(ok).toMatchObject({ status: "ok", output: "1\n", metadata: { exitCode: 3 } });
  });

  test("F1.3 JSON that is too long to be read whole ends with an error that says so, and shorter JSON is read", async () => {
    const call = await calls(
      tool(
        'command = ["node", "-p", "JSON.stringify(\'x\'.repeat(+process.argv[1]))", "--", "{n}"]\noutput = "json"\nmaxResultBytes = 0\n' +
          'inputSchema = { type = "object", properties = { n = { type = "integer" } } }',
      ),
    );
    const most = 1024 * 1024 - 3; // the quotes and the newline
    expect((await call("t::run", { n: most })).output).toBe("x".repeat(most));
    expect((await call("t::run", { n: most + 1 })).error).toMatchObject({
      code: "too_large",
      outcome: "unknown",
      message: "node wrote more than 1048576 characters, too many for output that is read as JSON.",
    });
  });

  test("G08 a program that writes without end is stopped, and the error says why", async () => {
    const { status, error } = await (await calls(tool('command = ["yes"]')))("t::run");
    expect([status, error?.message]).toEqual(["error", "yes was stopped: it wrote more than 64 MiB."]);
  });

  testInCI("standard input, output as lines, invalid JSON, a missing program, and a timeout", async () => {
    const schema = 'inputSchema = { type = "object", properties = { text = { type = "string" } } }';
    const upper = `"process.stdin.on('data', (d) => process.stdout.write(String(d).toUpperCase()))"`;
    const stdin = await calls(tool(`command = ["node", "-e", ${upper}]\nstdin = "<{text}>\\n{text}"\noutput = "lines"\n${schema}`));
    expect((await stdin("t::run", { text: "a" })).output).toEqual(["<A>", "A"]);
    const broken = await (await calls(tool('command = ["node", "-p", "`no JSON`"]\noutput = "json"')))("t::run");
    expect([broken.error?.code, broken.error?.message]).toEqual(["invalid_output", expect.stringMatching(/^node did not write JSON: /u)]);
    const missing = await (await calls(tool('command = ["no-such-program"]')))("t::run");
    expect(missing.error).toMatchObject({
      code: "unavailable",
      message: 'The program could not be started: the command "no-such-program" was not found.',
    });
    const slow = await (await calls(tool('command = ["sh", "-c", "echo 1; exec sleep 60"]\ntimeoutMs = 3000')))("t::run");
    expect(slow).toMatchObject({ status: "error", exitCode: -1, output: "1\n", error: { message: "sh was stopped: it took too long." } });
  });

  testInCI("a program that ignores SIGTERM is killed in time to answer with its output, and its call is not repeated", async () => {
    const script = "trap '' TERM; echo begun; while :; do sleep 0.1; done";
    const call = await calls(tool(`command = ["sh", "-c", "${script}"]\ntimeoutMs = 3000\neffects = { reads = [], writes = [] }`));
    expect(await call("t::run")).toMatchObject({
      status: "error",
      attempts: 1,
      exitCode: -1,
      output: "begun\n",
      error: { code: "execution_failed", message: "sh was stopped: it took too long." },
    });
  });

  describe.skipIf(!HAS_SANDBOX)(`issue 18 in a sandbox${SANDBOX}`, () => {
    const sandboxed = (lines: string, more = ""): string =>
      tool(lines).replace('"command"\n', `"command"\nsandbox = "bubblewrap"\n${more}`);

    test("F1.4 a tool has its own folder and variables there too", async () => {
      const toml = sandboxed(WHERE, 'root = "work"\nenv = { A = "all", B = "all" }\n');
      const folder = configFolder({ "haft.toml": toml, "work/sub/a.txt": "" });
      const inside = await (await callsIn(folder, { C_OF_TOOL: "x" }))("t::run");
      expect(inside.output).toEqual([join(folder, "work/sub"), "all tool x"]);
    });

    test("a program can change only its folder, has no network and cannot read other files; output and exit code are unchanged", async () => {
      const outside = folderWith({ "secret.txt": "the secret" }, "/var/tmp");
      const script = `touch inside; touch ${outside}/x; cat ${outside}/secret.txt; cat /proc/net/dev | grep -c eth; echo said; exit 3`;
      const lines = `command = ["sh", "-c", ${JSON.stringify(script)}]\nokExitCodes = [3]`;
      const folder = configFolder({ "haft.toml": sandboxed(lines, 'root = "work"\n'), "work/a.txt": "" });
      const call = await callsIn(folder);
      const result = await call("t::run");
      expect(result).toMatchObject({ status: "ok", output: "0\nsaid\n", metadata: { exitCode: 3 } });
      expect([existsSync(join(folder, "work/inside")), existsSync(join(outside, "x"))]).toEqual([true, false]);
    });

    testInCI("the program reads allowed folders, its variables and its input, and a tool can opt out of the sandbox", async () => {
      const outside = folderWith({ "notes.txt": "readable" }, "/var/tmp");
      const toml = sandboxed(
        `command = ["sh", "-c", "cat; cat ${outside}/notes.txt; echo $WHO"]\nstdin = "{text}-"\ninputSchema = { type = "object", properties = { text = { type = "string" } } }`,
        `read = [${JSON.stringify(outside)}]\nenv = { WHO = "me" }\n`,
      );
      const open = '[[toolsets.t.tools]]\nname = "open"\ndescription = "Outside."\nsandbox = "none"\n';
      const call = await calls(`${toml}${open}command = ["sh", "-c", "touch ${outside}/x && echo done"]\n`);
      expect((await call("t::run", { text: "in" })).output).toBe("in-readableme\n");
      expect([(await call("t::open")).output, existsSync(join(outside, "x"))]).toEqual(["done\n", true]);
    });

    testInCI(
      "a single tool can be sandboxed, and a program that times out returns its output so far",
      async () => {
        const outside = folderWith({}, "/var/tmp");
        const call = await calls(
          tool(`sandbox = "bubblewrap"\ntimeoutMs = 5000\ncommand = ["sh", "-c", "touch ${outside}/x; echo 1; sleep 60"]`),
        );
        expect(await call("t::run")).toMatchObject({ status: "error", exitCode: -1, output: "1\n" });
        expect(existsSync(join(outside, "x"))).toBe(false);
      },
      20_000,
    );
  });

  test.each([
    ["a sandbox that is none", 'sandbox = "docker"\n', /toolsets\.t\.sandbox: must be one of "bubblewrap", "none", not "docker"/u],
    ["a key of the sandbox without one", "network = true\n", /toolsets\.t\.network: belongs to a sandbox; add sandbox = "bubblewrap"/u],
  ])("issue 18 %s is reported with its place", async (_what, lines, problem) => {
    const toml = tool('command = ["a"]').replace('"command"\n', `"command"\n${lines}`);
    expect(await problemsOf("haft.toml", toml)).toEqual([expect.stringMatching(problem)]);
  });

  test("issue 18 a missing sandbox folder is reported with its place", async () => {
    const toml = tool('command = ["a"]').replace('"command"\n', '"command"\nsandbox = "bubblewrap"\nroot = "nowhere"\n');
    const folder = configFolder({ "haft.toml": toml });
    await expect(configuredRuntime(join(folder, "haft.toml"))).rejects.toThrow(
      /haft\.toml:4:1: toolsets\.t\.root: "[^"]*nowhere" cannot be used: it does not exist/u,
    );
  });

  test("a tool with declared effects and a cache runs, and an unknown effects preset is refused", async () => {
    const declared = await calls(tool('command = ["node", "-p", "1"]\neffects = "readOnly"\ncache = "turn"'));
    expect((await declared("t::run")).output).toBe("1\n");
    expect(await effectsOf(tool('command = ["node"]\neffects = "readOnly"'))).toEqual(readOnly());
    expect(await effectsOf(tool('command = ["node"]\neffects = { writes = ["disk"] }'))).toEqual({ writes: ["disk"] });
    expect(await effectsOf(tool('command = ["node"]'))).toBeUndefined();
    expect(await problemsOf("haft.toml", tool('command = ["node"]\neffects = "harmless"'))).toEqual([
      expect.stringContaining("effects must be an object, or one of"),
    ]);
  });

  test.each([
    [
      "a name that is no property",
      'command = ["a", "x", "{pth}"]\ninputSchema = { type = "object", properties = { path = {} } }',
      /tools\[0\]\.command\[2\]: the template "\{pth\}" names "\{pth\}", and the input has no property "pth"\. Did you mean "\{path\}"\?/u,
    ],
    [
      "a name where there is no input",
      'command = ["a", "{path}"]',
      /command\[1\]: the template "\{path\}" names "\{path\}", but the tool has no inputSchema\./u,
    ],
    [
      "a brace that is not closed",
      'command = ["a", "{path"]',
      /command\[1\]: the template "\{path" cannot be read: "\{" has no matching brace\./u,
    ],
    ["a name in the input of the program", 'command = ["a"]\nstdin = "{x}"', /stdin: the template "\{x\}"/u],
    [
      "a program that is a template",
      'command = ["{x}"]\ninputSchema = { type = "object", properties = { x = {} } }',
      /the first word of command must be a program/u,
    ],
    ["no program", "command = []", /command: must not be empty/u],
    ["a command for a shell", 'command = "ls -l"', /command: must be an array of strings, not a string\./u],
    ["nothing", "", /"command" is missing: the program and its arguments/u],
    ["an unknown key", 'command = ["a"]\nshel = true', /shel: unknown key/u],
    ["exit codes that are none", 'command = ["a"]\nokExitCodes = [0, 999]', /okExitCodes: must be an array of integers from 0 to 255\./u],
    [
      "a template of effects that names no property",
      'command = ["a"]\neffects = { writes = "file:{x}" }\ninputSchema = { type = "object", properties = { y = {} } }',
      /\{x\}/u,
    ],
  ])("%s is refused with its place", async (_what, lines, problem) => {
    const folder = configFolder({ "haft.toml": tool(lines) });
    const failure = await configuredRuntime(join(folder, "haft.toml"), { environment: {} }).then(
      () => [],
      (error: { message: string; details?: readonly string[] }) => [error.message, ...(error.details ?? [])],
    );
    expect(failure.join("\n")).toMatch(problem);
    expect(failure.join("\n")).toMatch(/haft\.toml:\d+:\d+: toolsets\.t\./u);
  });
});

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A service that answers with what it was sent. */
async function echo(): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const status = Number(/\/status\/(\d+)/u.exec(request.url ?? "")?.[1] ?? 200);
      const { method, url, headers } = request;
      response.writeHead(status, {
        "content-type": "application/json",
        ...(status === 302 ? { location: "http://169.254.169.254/" } : {}),
      });
      response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(chunks).toString() }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

const http = (baseUrl: string, lines: string, more = ""): string =>
  `[toolsets.t]\ntype = "http"\nbaseUrl = "${baseUrl}"\n${more}\n[[toolsets.t.tools]]\nname = "ask"\ndescription = "Asks."\n${lines}\n`;
const PROPERTIES = `inputSchema = { type = "object", properties = { id = {}, tags = { type = "array" }, note = { type = "string" } } }`;

describe("tools that send a request", () => {
  test("URL, headers and body are filled from the input; parameters without a value are left out", async () => {
    const base = await echo();
    const lines = `method = "post"\nurl = "/users/{id}?tag={tags}&q={note}&fixed=1"\nheaders = { X-Note = "n:{note}", X-Id = "{id}" }\nbody = { id = "{id}", note = "<{note}>", tags = ["{tags}", 1] }\n${PROPERTIES}`;
    const call = await calls(http(`${base}/v1`, lines, 'headers = { Authorization = "Bearer ${TOKEN}" }'), {}, { TOKEN: "secret-token" });
    const result = await call("t::ask", { id: 7, tags: ["a b", "c&d"] });
    const { output } = result as unknown as { readonly output: Seen };
    expect([output.method, output.url, output.headers["x-id"], output.headers["x-note"], JSON.parse(output.body)]).toEqual([
      "POST",
      "/v1/users/7?tag=a%20b&tag=c%26d&fixed=1",
      "7",
      undefined,
      { id: 7, tags: [["a b", "c&d"], 1] },
    ]);
    expect([output.headers["content-type"], JSON.stringify(result).includes("secret-token")]).toEqual(["application/json", false]);
  });

  test("E12 credentials that a template has in clear text are struck out of answers and errors, and its other texts are not", async () => {
    const lines = `url = "/status/{id}?api_key=query%20key-1&page=ordinary-page"\nheaders = { X-Token = "header-token-1", X-Note = "ordinary-note" }\nbody = { tags = ["env:prod"], login = { password = "body-password-1" } }\n${PROPERTIES}`;
    const call = await calls(http(await echo(), `method = "POST"\n${lines}`));
    for (const id of [200, 500]) {
      const said = JSON.stringify(await call("t::ask", { id }));
      expect(said).not.toMatch(/query(?:%20| )key-1|header-token-1|body-password-1/u);
      for (const text of ["[api_key]", "[x-token]", "[password]", "ordinary-page", "ordinary-note", "env:prod"])
        expect(said.toLowerCase()).toContain(text);
    }
  });

  test("a value cannot leave its place in the URL", async () => {
    const call = await calls(http(await echo(), `url = "/users/{id}?q={note}"\n${PROPERTIES}`));
    const { output } = (await call("t::ask", { id: "../../admin?x=1#y", note: "a&b=c" })) as unknown as { readonly output: Seen };
    expect(output.url).toBe("/users/..%2F..%2Fadmin%3Fx%3D1%23y?q=a%26b%3Dc");
    for (const id of ["", ".", ".."]) expect((await call("t::ask", { id })).error?.code).toBe("invalid_input");
    expect((await call("t::ask", {})).error?.message).toBe("The path /users/{id} needs a value for each of its names.");
  });

  test("F06 a value cannot split a header or hold what a header cannot carry, errors carry the status, and a redirect to a private address is refused", async () => {
    const base = await echo();
    const call = await calls(http(base, `url = "/status/{id}"\nheaders = { X-Note = "{note}" }\n${PROPERTIES}`));
    for (const note of ["a\r\nX-Evil: 1", "é", "日", "x".repeat(8_193)])
      expect((await call("t::ask", { id: 200, note })).error).toMatchObject({
        code: "invalid_input",
        message: expect.stringMatching(/^"X-Note" is sent in a header/u) as string,
      });
    const failed = await call("t::ask", { id: 404 });
    expect([failed.status, resultText(failed)]).toEqual(["error", expect.stringContaining("HTTP 404")]);
    expect((await call("t::ask", { id: 302 })).error?.code).toBe("permission_denied");
  });

  test("F04 a redirect to another origin carries neither the headers of the toolset nor those of the tool", async () => {
    const target = (await echo()).replace("127.0.0.1", "localhost");
    const server = createServer((_request, response) => void response.writeHead(307, { location: `${target}/moved` }).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const base = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const lines = `url = "/"\nheaders = { X-Api-Key = "key-of-the-tool", X-Token = "{note}" }\n${PROPERTIES}`;
    const call = await calls(http(base, lines, `headers = { X-Key = "key-of-the-toolset" }\nallowPrivate = ["${target.slice(7)}"]`));
    const { output } = (await call("t::ask", { note: "a-token" })) as unknown as { readonly output: Seen };
    expect([output.url, Object.keys(output.headers).filter((name) => name.startsWith("x-"))]).toEqual(["/moved", []]);
  });

  test("a text body is sent as text/plain, with POST", async () => {
    const call = await calls(http(await echo(), `url = "/"\nbody = "note: {note}"\n${PROPERTIES}`));
    const { output } = (await call("t::ask", { note: "x" })) as unknown as { readonly output: Seen };
    expect([output.method, output.body, output.headers["content-type"]]).toEqual(["POST", "note: x", "text/plain; charset=utf-8"]);
    expect(await effectsOf(http("http://a", `url = "/"`))).toEqual({ external: true });
    expect(await effectsOf(http("http://a", `url = "/"\neffects = "readOnly"`))).toEqual(readOnly());
  });

  test.each([
    ["no address", 'url = "/"', "", /"baseUrl" is missing/u],
    [
      "an address that is elsewhere",
      'url = "https://evil.example"',
      "http://a",
      /url: the url "https:\/\/evil.example" must begin with one slash/u,
    ],
    ["an address of another host", 'url = "//evil.example"', "http://a", /must begin with one slash/u],
    ["a parameter without a name", `url = "/?{id}"\n${PROPERTIES}`, "http://a", /has a query parameter without a fixed name: \{id\}/u],
    [
      "a name that is no property",
      `url = "/{ids}"\n${PROPERTIES}`,
      "http://a",
      /url: the template "\/\{ids\}" names "\{ids\}", and the input has no property "ids"\. Did you mean "\{id\}"\?/u,
    ],
    ["one in a header", `url = "/"\nheaders = { A = "{x}" }\n${PROPERTIES}`, "http://a", /headers: A: the template/u],
    ["one deep in the body", `url = "/"\nbody = { a = [{ b = "{x}" }] }\n${PROPERTIES}`, "http://a", /body: the template "\{x\}"/u],
    [
      "a variable in a header",
      'url = "/"\nheaders = { Authorization = "env:KEY" }',
      "http://a",
      /headers: Authorization: env:KEY is not replaced/u,
    ],
    ["one deep in the body", 'url = "/"\nbody = { a = [{ b = "env:KEY" }] }', "http://a", /body: env:KEY is not replaced in a template/u],
    ["one in the query", 'url = "/?a=b&key=env:KEY"', "http://a", /url: key: env:KEY is not replaced in a template/u],
    ["a method that is none", 'url = "/"\nmethod = "G T"', "http://a", /method: the method "G T" is not an HTTP method/u],
    ["a service that is none", 'url = "/"', "ftp://a", /baseUrl: must be an http or https address/u],
    ["F1.4 a folder", 'url = "/"\nworkingFolder = "a"', "http://a", /workingFolder: belongs to tools that run a program/u],
    ["F1.4 variables", 'url = "/"\nenvironment = { A = "b" }', "http://a", /environment: belongs to tools that run a program/u],
    ["an unknown key", 'url = "/"\nquery = {}', "http://a", /query: unknown key/u],
  ])("%s is refused with its place", async (_what, lines, base, problem) => {
    const text = base === "" ? http("x", lines).replace('baseUrl = "x"', "") : http(base, lines);
    const folder = configFolder({ "haft.toml": text });
    const failure = await configuredRuntime(join(folder, "haft.toml"), { environment: {} }).then(
      () => [],
      (error: { message: string; details?: readonly string[] }) => [error.message, ...(error.details ?? [])],
    );
    expect(failure.join("\n")).toMatch(problem);
  });
});
