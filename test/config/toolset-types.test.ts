import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { buildRuntimeParts } from "../../src/config/build/build-runtime-parts.ts";
import { programTools } from "../../src/compose/program/program-tools.ts";
import { configuredRuntime } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { ToolOutput } from "../../src/core/content.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { ToolMemory } from "../../src/engine/known-tools.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { configError, configFolder, load, problemsOf } from "./config-folder.ts";
import { loadSource, namesOf } from "./source-context.ts";

const toolset = (type: string, lines: string): string => `[toolsets.x]\ntype = "${type}"\n${lines}\n`;

describe("mcp", () => {
  test("F4.15 a server with a URL accepts every key", async () => {
    const { config } = await load(
      "haft.toml",
      toolset(
        "mcp",
        `url = "https://\${HOST}/mcp"\ntransport = "sse"\nheaders = { A = "env:KEY", B = "Bearer \${KEY}" }\nauth = { type = "client-credentials", clientId = "id", clientSecret = "env:KEY", scope = "s", issuer = "https://i" }\nallowPrivate = ["localhost"]\nverifyTls = false\nca = "ca.pem"\ntrustAnnotations = true\nmaxTools = 5\nprotocol = "legacy"\nopenTimeoutMs = 3\nisolation = "session"\nstart = "lazy"\nrename = { a = "b" }`,
      ),
      { HOST: "example.com", KEY: "swordfish" },
    );

    expect(config.toolsets.get("x")).toEqual({
      type: "mcp",
      enabled: true,
      url: "https://example.com/mcp",
      transport: "sse",
      headers: { A: "swordfish", B: "Bearer swordfish" },
      auth: { type: "client-credentials", clientId: "id", clientSecret: "swordfish", scope: "s", issuer: "https://i" },
      allowPrivate: ["localhost"],
      secrets: { KEY: "swordfish" }, // not HOST, which errors have to name
      verifyTls: false,
      ca: "ca.pem",
      trustAnnotations: true,
      maxTools: 5,
      rename: { a: "b" },
      protocol: "legacy",
      openTimeoutMs: 3,
      isolation: "session",
      start: "lazy",
    });
  });

  test.each([
    [
      "neither command nor url",
      "",
      '1:2: toolsets.x: "command" is missing: the program that runs the server; its arguments go in args; or "url", where the server is.',
    ],
    [
      "the program and its arguments in one array",
      'command = ["npx", "-y", "files@1"]',
      "3:1: toolsets.x.command: must be a string, not an array: the program that runs the server; its arguments go in args.",
    ],
    ["a program that is no text", "command = 3", "3:1: toolsets.x.command: must be a string, not a number."],
    ["both", 'command = "a"\nurl = "http://b"', "4:1: toolsets.x.url: a server has a command or a url, not both."],
    ["arguments of an address", 'url = "http://b"\nargs = ["a"]', /^haft\.toml:4:1: toolsets\.x\.args: unknown key\./u],
    [
      "the transport of another server",
      'command = "a"\ntransport = "http"',
      '4:1: toolsets.x.transport: must be one of "stdio", not "http".',
    ],
    [
      "a transport that there is not",
      'url = "http://b"\ntransport = "stdio"',
      '4:1: toolsets.x.transport: must be one of "auto", "http", "sse", not "stdio".',
    ],
    [
      "auth without a type",
      'url = "http://b"\nauth = { token = "x" }',
      '4:1: toolsets.x.auth: "type" is missing: one of "bearer", "basic", "client-credentials", "private-key-jwt", "user-login".',
    ],
    [
      "a token of another kind",
      'url = "http://b"\nauth = { type = "basic", token = "x", username = "u", password = "p" }',
      "4:26: toolsets.x.auth.token: unknown key. Known keys: type, username, password.",
    ],
    [
      "issue 19.7: logins of users as a word",
      'url = "http://b"\nauth = "user-login"',
      '4:1: toolsets.x.auth: must be an object with a type, such as { type = "user-login" }, not a string.',
    ],
    [
      "issue 19.7: an unknown kind of login",
      'url = "http://b"\nauth = { type = "user-logn" }',
      /type: must be one of "bearer", .*"user-login", not "user-logn"\. Did you mean "user-login"\?$/u,
    ],
    [
      "issue 19.7: an unknown key of a login",
      'url = "http://b"\nauth = { type = "user-login", clientID = "a" }',
      /auth\.clientID: unknown key\. Did you mean "clientId"\?$/u,
    ],
    [
      "issue 19.7: a secret for any authorization server",
      'url = "http://b"\nauth = { type = "user-login", clientId = "a", clientSecret = "b" }',
      /auth\.clientSecret: needs clientId and issuer, the only authorization server that it is sent to\.$/u,
    ],
    [
      "issue 19.7: a list of tools by a login",
      'url = "http://b"\nauth = { type = "user-login", listWith = { type = "user-login" } }',
      /listWith\.type: must be one of "bearer", "basic", "client-credentials", "private-key-jwt", not "user-login"\.$/u,
    ],
    [
      "issue 19.7: a list of tools without a token",
      'url = "http://b"\nauth = { type = "user-login", listWith = { type = "bearer" } }',
      /listWith: "token" is missing: the bearer token\.$/u,
    ],
    [
      "issue 19.7: an exchange of tokens",
      'url = "http://b"\nauth = { type = "token-exchange", clientId = "a" }',
      /auth\.type: is "token-exchange", which needs a function .* mcpToolset\(\) with auth\.subjectToken\. Or let users log in: "user-login"\.$/u,
    ],
    ["a name twice", 'url = "http://b"\nrename = { a = "c", b = "c" }', '4:21: toolsets.x.rename.b: gives the name "c", as "a" does.'],
    ["another isolation", 'url = "http://b"\nisolation = "call"', '4:1: toolsets.x.isolation: must be one of "session", not "call".'],
  ])("F0.57 %s is reported with its place", async (_what, lines, problem) => {
    expect(await problemsOf("haft.toml", toolset("mcp", lines))).toEqual([
      typeof problem === "string" ? `haft.toml:${problem}` : expect.stringMatching(problem),
    ]);
  });

  test("isolation gives every session its own engine, and the tools of a lazy server come from the tool memory", async () => {
    const remembered: Tool[] = [{ name: "known", description: "K", inputSchema: {} }];
    const memory: ToolMemory = { read: async () => remembered, write: async () => undefined };
    const folder = configFolder({
      "haft.toml": `[toolsets.a]\ntype = "mcp"\ncommand = "none"\nisolation = "session"\n[toolsets.b]\ntype = "mcp"\ncommand = "none"\nstart = "lazy"\n`,
    });
    const loaded = await loadConfig(join(folder, "haft.toml"));
    const { toolsets } = await buildRuntimeParts(loaded, { memory });

    expect(toolsets.map(({ name, engine }) => [name, engine?.kind, engine?.openSession === undefined])).toEqual([
      ["a", "mcp", false],
      ["b", "mcp", true],
    ]);
    const runtime = createRuntime({ toolsets: toolsets.slice(1), ports: fakePorts() });
    onTestFinished(async () => void (await runtime.close()));
    await runtime.open();
    expect(runtime.registry.names("b")).toEqual(["b::known"]);
  });
});

describe("openapi", () => {
  const every = `document = "api/petstore.json"
baseUrl = "https://\${HOST}/v1"
auth = { type = "oauth2", tokenUrl = "https://t", clientId = "id", clientSecret = "env:KEY", scopes = ["s"], audience = "a", send = "body" }
headers = { A = "env:KEY" }
documentHeaders = { B = "env:KEY" }
trustExtensions = true
allowPrivate = ["10.0.0.0/8"]
maxBytes = 10
maxRedirects = 0
verifyTls = false
ca = "ca.pem"
idempotencyHeader = "Idempotency-Key"
openTimeoutMs = 7
[toolsets.x.include]
tags = ["pets"]
[toolsets.x.exclude]
paths = ["DELETE /*"]
operations = ["drop*"]
[toolsets.x.rename]
get_pet = "pet"
[toolsets.x.effects]
"get*" = "readOnly"
add = { writes = ["pets"], idempotent = true, external = true, destructive = false, commutative = true }`;

  test("F0.19 accepts every key", async () => {
    const { config } = await load("haft.toml", toolset("openapi", every), { HOST: "example.com", KEY: "swordfish" });

    expect(config.toolsets.get("x")).toEqual({
      type: "openapi",
      enabled: true,
      document: "api/petstore.json",
      baseUrl: "https://example.com/v1",
      auth: {
        type: "oauth2",
        tokenUrl: "https://t",
        clientId: "id",
        clientSecret: "swordfish",
        scopes: ["s"],
        audience: "a",
        send: "body",
      },
      headers: { A: "swordfish" },
      documentHeaders: { B: "swordfish" },
      include: { tags: ["pets"] },
      exclude: { paths: ["DELETE /*"], operations: ["drop*"] },
      rename: { get_pet: "pet" },
      effects: {
        "get*": { writes: [], idempotent: true },
        add: { writes: ["pets"], idempotent: true, external: true, destructive: false, commutative: true },
      },
      secrets: { HOST: "example.com" },
      trustExtensions: true,
      allowPrivate: ["10.0.0.0/8"],
      maxBytes: 10,
      maxRedirects: 0,
      verifyTls: false,
      ca: "ca.pem",
      idempotencyHeader: "Idempotency-Key",
      openTimeoutMs: 7,
    });
  });

  test("auth may be set for each security scheme of the document", async () => {
    const lines =
      'document = "a.json"\n[toolsets.x.auth.key]\ntype = "apiKey"\nname = "X-Key"\nvalue = "env:KEY"\nin = "query"\n[toolsets.x.auth.login]\ntype = "basic"\nusername = "me"\npassword = "p"\n';
    const { config } = await load("haft.toml", toolset("openapi", lines), { KEY: "swordfish" });

    expect(config.toolsets.get("x")).toMatchObject({
      auth: {
        key: { type: "apiKey", in: "query", name: "X-Key", value: "swordfish" },
        login: { type: "basic", username: "me", password: "p" },
      },
    });
  });

  test.each([
    ["no document", "", '1:2: toolsets.x: "document" is missing: the OpenAPI document, a file or an address.'],
    ["the word of another program", 'spec = "a.json"', /^haft\.toml:1:2: toolsets\.x: "document" is missing/u],
    [
      "an effect that there is not",
      'document = "a.json"\neffects = { a = "reads" }',
      /^haft\.toml:4:13: toolsets\.x\.effects\.a: must be one of "pure", "readOnly", "external", not "reads"/u,
    ],
    [
      "an unknown filter",
      'document = "a.json"\ninclude = { tag = ["a"] }',
      '4:13: toolsets.x.include.tag: unknown key. Did you mean "tags"?',
    ],
    [
      "a pattern in place of a private host",
      'document = "a.json"\nallowPrivate = ["localhost:8080", "*.corp.example"]',
      /^haft\.toml:4:35: toolsets\.x\.allowPrivate\[1\]: is neither a host \("billing\.corp\.example"\), a host with its port/u,
    ],
    [
      "isolation, which it does not need",
      'document = "a.json"\nisolation = "session"',
      '4:1: toolsets.x.isolation: only a toolset of type "mcp" has it.',
    ],
  ])("F0.57 %s is reported with its place", async (_what, lines, problem) => {
    const [first] = await problemsOf("haft.toml", toolset("openapi", lines));

    expect(first).toEqual(typeof problem === "string" ? `haft.toml:${problem}` : expect.stringMatching(problem));
  });

  test("F0.19 a document next to the configuration provides tools with the settings of its toolset", async () => {
    const document = {
      openapi: "3.1.0",
      info: { title: "Pets", version: "1" },
      servers: [{ url: "https://example.com" }],
      paths: { "/pets": { get: { operationId: "listPets", responses: {} } } },
    };
    const folder = configFolder({
      "haft.toml": toolset("openapi", 'document = "pets.json"\ntimeoutMs = 5'),
      "pets.json": JSON.stringify(document),
    });
    const runtime = createRuntime({ ...(await configuredRuntime(join(folder, "haft.toml"))), ports: fakePorts() });
    onTestFinished(async () => void (await runtime.close()));

    expect((await runtime.open()).failed).toEqual([]);
    expect(runtime.registry.names("x")).toEqual(["x::listPets"]);
    expect(runtime.registry.get("x::listPets")?.settings.timeoutMs).toBe(5);
  });
});

describe("file", () => {
  const tools = "- { name: a, description: A }\n";

  test("F0.14 a path with an allowed variable is expanded, and one that is not allowed is refused with its place", async () => {
    const outside = configFolder({ "tools.yaml": tools });
    const text = `${toolset("file", 'path = "${DATA_DIR}/tools.yaml"')}[variables]\nallow = ["DATA_DIR"]\n`;
    const folder = configFolder({ "haft.toml": text });
    const { sources = [] } = await configuredRuntime(join(folder, "haft.toml"), { environment: { DATA_DIR: outside } });

    expect(namesOf((await Promise.all(sources.map(loadSource))).flatMap((loaded) => loaded.toolsets))).toEqual(["x: a"]);
    expect(await problemsOf("haft.toml", toolset("file", 'path = "${DATA_DIR}/tools.yaml"'), { DATA_DIR: outside })).toEqual([
      "haft.toml:3:1: toolsets.x.path: the variable DATA_DIR is not allowed in a path; name it under allow in variables.",
    ]);
  });

  test.each([
    ["${A:-$(id)}/t.yaml", '"${A:-$(id)}" does not name an environment variable; write ${NAME}, or env:NAME as the whole value.'],
    ["env:A", "must end in .yaml, .yml or .json."],
    ["tools.txt", "must end in .yaml, .yml or .json."],
  ])("J05 F0.14 the path %s is refused when the file is loaded", async (path, problem) => {
    expect(await problemsOf("haft.toml", toolset("file", `path = '${path}'`), { A: "/etc" })).toEqual([
      `haft.toml:3:1: toolsets.x.path: ${problem}`,
    ]);
  });

  test.each([
    [
      "../tools.yaml",
      /must lie inside the folder of this file, and "\.\.\/tools\.yaml" does not; to use it anyway, write an absolute path\.$/u,
    ],
    ["file:///etc/tools.yaml", /must be the path of a file, not the address "file:\/\/\/etc\/tools\.yaml"\.$/u],
  ])("J05 the path %s is refused when the runtime is built", async (path, problem) => {
    const folder = configFolder({ "haft.toml": toolset("file", `path = "${path}"`) });

    expect((await configError(configuredRuntime(join(folder, "haft.toml")))).message).toMatch(problem);
  });

  test("F0.15 F4.8 the toolset's name is the default namespace, and its settings apply to all namespaces", async () => {
    const folder = configFolder({
      "haft.toml": toolset("file", 'path = "t.yaml"\nmaxConcurrent = 2\ntimeoutMs = 9\ndescription = "Mine"'),
      "t.yaml": "a: { description: A }\nother:\n  - { name: b, description: B }\n",
    });
    const { sources = [] } = await configuredRuntime(join(folder, "haft.toml"));
    const [loaded] = await Promise.all(sources.map(loadSource));

    const common = { overloads: true, description: "Mine", maxConcurrent: 2, defaults: { timeoutMs: 9 } };
    expect(loaded?.toolsets).toEqual([
      { ...common, name: "x", tools: [{ name: "a", description: "A", inputSchema: {} }] },
      { ...common, name: "other", tools: [{ name: "b", description: "B", inputSchema: {} }] },
    ]);
  });

  test("F0.11 F4.10 an invalid change of a file keeps the loaded tools, and a corrected file replaces them", async () => {
    const { writeFileSync } = await import("node:fs");
    const folder = configFolder({ "haft.toml": toolset("file", 'path = "t.yaml"'), "t.yaml": tools });
    const runtime = createRuntime({ ...(await configuredRuntime(join(folder, "haft.toml"))), ports: fakePorts() });
    onTestFinished(async () => void (await runtime.close()));
    await runtime.open();
    const after = async (text: string): Promise<unknown> => {
      writeFileSync(join(folder, "t.yaml"), text);
      const { failed } = await runtime.refresh();
      return [runtime.registry.names("x"), failed.map(({ toolset: name, error }) => [name, error.code, error.message])];
    };

    expect(await after("- {")).toEqual([["x::a"], [["x", "invalid_config", expect.stringContaining("t.yaml")]]]);
    expect(await after(`${tools}- { name: b, description: B }\n`)).toEqual([["x::a", "x::b"], []]);
  });
});

test("F4.8 F4.13 a disabled toolset of any type is neither built nor read", async () => {
  const types: Readonly<Record<string, string>> = {
    file: 'path = "${NONE}/none.yaml"',
    descriptors: 'path = "${NONE}"',
    openapi: 'document = "none.json"\nheaders = { A = "env:NONE" }',
    mcp: 'url = "http://localhost"\nheaders = { A = "env:NONE" }',
    inline: "tools = []",
  };
  const text = Object.entries(types).map(([type, lines]) => `[toolsets.${type}]\ntype = "${type}"\nenabled = false\n${lines}\n`);
  const folder = configFolder({ "haft.toml": text.join("") });

  expect(await configuredRuntime(join(folder, "haft.toml"), { environment: {} })).toMatchObject({ toolsets: [], sources: [] });
});

test("F4.6 tools of a file can be called only between open and close", async () => {
  const folder = configFolder({
    "haft.toml": `extensions = ["e.mjs"]\nengines = { e = { type = "e" } }\n${toolset("file", 'path = "t.yaml"')}`,
    "t.yaml": "- { name: a, description: A }\n",
    "e.mjs": "export const haftEngines = { e: () => ({ kind: 'e', open: async () => [], call: () => 1, close: async () => {} }) };",
  });
  const runtime = createRuntime({ ...(await configuredRuntime(join(folder, "haft.toml"))), ports: fakePorts() });
  const call = { name: "x::a", input: {} };

  const before = await runtime.execute(call);
  await runtime.open();
  const between = await runtime.execute(call);
  await runtime.close();
  const after = await runtime.execute(call);

  expect([before, between, after].map((result) => ("error" in result ? result.error.code : result.output))).toEqual([
    "not_found",
    1,
    "unavailable",
  ]);
});

describe("programs", () => {
  test("issue 18 mode and limits are read", async () => {
    const { config } = await load("haft.toml", toolset("program", 'mode = "only"\nmaxRunMs = 100\nmaxCalls = 5'));
    expect(config.toolsets.get("x")).toMatchObject({ type: "program", mode: "only", maxRunMs: 100, maxCalls: 5 });
    const offered = async (mode: string): Promise<readonly string[]> => {
      const shop = '[toolsets.shop]\ntype = "inline"\n[[toolsets.shop.tools]]\nname = "a"\ndescription = "A"\n';
      const folder = configFolder({ "haft.toml": `${toolset("program", `mode = "${mode}"`)}${shop}` });
      const runtime = createRuntime({ ...(await configuredRuntime(join(folder, "haft.toml"))), ports: fakePorts() });
      onTestFinished(async () => void (await runtime.close()));
      await runtime.open();
      return programTools(runtime.registry).map(({ name }) => name);
    };
    expect(await offered("only")).toEqual(["haft::read_result", "x::run_program"]);
    expect(await offered("alongside")).toEqual(["haft::read_result", "shop::a", "x::run_program"]);
  });

  test.each([
    ["another mode", 'mode = "alone"', '3:1: toolsets.x.mode: must be one of "alongside", "only", not "alone".'],
    ["too much memory", "maxMemoryMb = 4096", /maxMemoryMb: .* 16 to 1024/u],
    ["an unknown key", "maxCals = 4", /maxCals: unknown key.*maxCalls/u],
  ])("issue 18 %s is reported with its place", async (_what, lines, problem) => {
    expect(await problemsOf("haft.toml", toolset("program", lines))).toEqual([
      typeof problem === "string" ? `haft.toml:${problem}` : expect.stringMatching(problem),
    ]);
  });
});

describe("chains", () => {
  const chain = (lines: string): string => toolset("chains", `[toolsets.x.chains.trip]\n${lines}`);

  test("F2.24 steps and tool description are read, also under the keys of other systems", async () => {
    const steps = `steps = [{ tool = "a::b", inputMapping = { c = "d[0].e" }, outputKey = "f" }, { tool_name = "g", input_mapping = { h = { value = 1 } }, output_key = "i" }]`;
    const { config } = await load("haft.toml", chain(`description = "Trips."\n${steps}\nanswer_key = "f"`));
    const read = config.toolsets.get("x");
    const trip = read?.type === "chains" ? read.chains.get("trip") : undefined;
    expect(trip?.offer).toEqual({ name: "trip", description: "Trips.", answerKey: "f" });
    expect(trip?.chain.steps).toEqual([
      { tool: "a::b", inputMapping: { c: "d[0].e" }, outputKey: "f" },
      { tool: "g", inputMapping: { h: { value: 1 } }, outputKey: "i" },
    ]);
  });

  test.each([
    ["no chains", toolset("chains", ""), '1:2: toolsets.x: "chains" is missing: the chains by their names.'],
    ["no steps", chain('description = "D."'), '3:2: toolsets.x.chains.trip: "steps" is missing: the list of steps.'],
    [
      "an empty list of steps",
      chain('description = "D."\nsteps = []'),
      "5:1: toolsets.x.chains.trip.steps: is empty: a chain has at least one step.",
    ],
    ["no description", chain('steps = [{ tool = "a" }]'), '3:2: toolsets.x.chains.trip: "description" is missing: what the model reads.'],
    [
      "no tool",
      chain('description = "D."\nsteps = [{ outputKey = "a" }]'),
      /steps\[0\]: "tool" is missing: the name of the tool that the step calls\.$/u,
    ],
    [
      "a misspelt key",
      chain('description = "D."\nsteps = [{ tool = "a", outptKey = "a" }]'),
      /steps\[0\]\.outptKey: unknown key\. Did you mean "outputKey"\?$/u,
    ],
    [
      "a path that is none",
      chain('description = "D."\nsteps = [{ tool = "a", inputMapping = { b = "c[" } }]'),
      /inputMapping: .*"c\[", which is not a path/u,
    ],
    [
      "a source that is none",
      chain('description = "D."\nsteps = [{ tool = "a", inputMapping = { b = 3 } }]'),
      /inputMapping: The argument "b" of step 0 of the chain has no source\.$/u,
    ],
    [
      "two words for one key",
      chain('description = "D."\nsteps = [{ tool = "a", tool_name = "b" }]'),
      /tool_name: duplicates tool; remove one of them\.$/u,
    ],
    [
      "a name that no tool can have",
      toolset("chains", '[toolsets.x.chains."a\\u0001b"]\ndescription = "D."\nsteps = [{ tool = "a" }]'),
      /has a control character/u,
    ],
    [
      "an engine",
      toolset("chains", 'engine = "e"\n[toolsets.x.chains.trip]\ndescription = "D."\nsteps = [{ tool = "a" }]'),
      /toolsets\.x\.engine: a toolset of this type/u,
    ],
  ])("F2.25 %s is reported with its place", async (_what, text, problem) => {
    const [first = ""] = await problemsOf("haft.toml", text);
    if (typeof problem === "string") expect(first).toBe(`haft.toml:${problem}`);
    else expect(first).toMatch(problem);
  });
});

describe("delegates", () => {
  const delegate = (lines: string): string => toolset("delegates", `[toolsets.x.delegates.reader]\n${lines}`);

  test("F1.53 every key of a delegate is read", async () => {
    const lines = `description = "Reads."
title = "Read"
model = { name = "ollama/x", temperature = 0 }
allow = ["files::*"]
deny = ["files::write"]
share = "messages"
mode = "background"
timeoutMs = 5
system = "You read."
maxRounds = 3
budget = { tokens = { hard = 9 } }`;
    const { config } = await load("haft.toml", toolset("delegates", `maxRunning = 2\n[toolsets.x.delegates.reader]\n${lines}`));
    expect(config.toolsets.get("x")).toEqual({
      type: "delegates",
      enabled: true,
      maxRunning: 2,
      delegates: new Map([
        [
          "reader",
          {
            description: "Reads.",
            title: "Read",
            model: { name: "ollama/x", temperature: 0 },
            tools: { allow: ["files::*"], deny: ["files::write"] },
            share: "messages",
            mode: "background",
            timeoutMs: 5,
            loop: { system: "You read.", maxRounds: 3, budget: { tokens: { hard: 9 } } },
          },
        ],
      ]),
    });
  });

  test.each([
    ["no delegates", toolset("delegates", ""), /"delegates" is missing/u],
    ["no description", delegate('model = "ollama/x"'), /"description" is missing/u],
    ["a model that is not one", delegate('description = "D."\nmodel = "x"'), /delegates\.reader\.model: must be provider and model/u],
    ["a misspelt key", delegate('description = "D."\nshre = "task"'), /delegates\.reader\.shre: unknown key\. Did you mean "share"\?/u],
    [
      "another way to share",
      delegate('description = "D."\nshare = "all"'),
      /delegates\.reader\.share: must be one of "task", "messages", "conversation"/u,
    ],
    ["another mode", delegate('description = "D."\nmode = "stateful"'), /delegates\.reader\.mode: must be one of "direct", "background"/u],
    ["a pattern that is not one", delegate('description = "D."\nallow = [""]'), /delegates\.reader\.allow\[0\]/u],
    ["a number that cannot be", toolset("delegates", "maxRunning = 0\n[toolsets.x.delegates]"), /maxRunning/u],
    ["an engine", toolset("delegates", 'engine = "e"\n[toolsets.x.delegates]'), /toolsets\.x\.engine: a toolset of this type/u],
  ])("F1.53 %s is reported with its place", async (_what, text, problem) => {
    const [first = ""] = await problemsOf("haft.toml", text);
    expect(first).toMatch(problem);
  });

  test("F1.53 a delegate without a model is listed as unusable with the reason, and does not affect the others", async () => {
    const folder = configFolder({
      "haft.toml": `${delegate('description = "D."')}[toolsets.x.delegates.other]\ndescription = "O."\nmodel = "ollama/x"\n`,
    });
    const { toolsets } = await buildRuntimeParts(await loadConfig(join(folder, "haft.toml")));
    expect(toolsets[0]?.tools?.map(({ name, unusable }) => [name, unusable])).toEqual([
      ["reader", "It has no model: name one in toolsets.x.delegates.reader.model, or in model.name."],
      ["other", undefined],
    ]);
  });
});

describe("memory", () => {
  test("F1.70 issue 18 all stored sessions are searched if the configuration says so, and by default only the own session", async () => {
    for (const [lines, finds] of [
      ['sessions = "all"', true],
      ["", false],
    ] as const) {
      const folder = configFolder({ "haft.toml": `[store]\npath = "haft.db"\n${toolset("memory", lines)}` });
      const runtime = createRuntime(await configuredRuntime(join(folder, "haft.toml")));
      await runtime.open();
      const other = runtime.session("other");
      await other.addMessage({ role: "user", content: "The code is walnut." });
      await other.close();
      const search = { name: "x::search_memory", input: { query: "walnut" } };
      const { output } = await runtime.session("own").execute(search);
      expect(String(output).includes("The code is walnut.")).toBe(finds);
      await runtime.close();
    }
  });

  test("F1.70 issue 18 an unknown value of sessions is reported with its place", async () => {
    expect(await problemsOf("haft.toml", toolset("memory", 'sessions = "some"'))).toEqual([
      'haft.toml:3:1: toolsets.x.sessions: must be one of "own", "all", not "some".',
    ]);
  });
});

describe("artifacts", () => {
  const reading = async (lines: string) => {
    const folder = configFolder({ "haft.toml": lines });
    return { folder, options: await configuredRuntime(join(folder, "haft.toml")) };
  };

  test("F1.19 artifacts are kept in the store, in a folder or nowhere, as configured", async () => {
    const inStore = await reading('[runtime]\nartifacts = "store"\n[store]\npath = "haft.db"\n');
    expect(inStore.options.artifacts).toBe(inStore.options.store?.artifacts);
    expect((await reading('[runtime]\nartifacts = "none"\n')).options.artifacts).toBe(false);
    expect((await reading("")).options.artifacts).toBeUndefined();

    const { folder, options } = await reading('[runtime]\nartifacts = "./files"\n');
    const runtime = createRuntime({ ...options, tools: [PICTURE] });
    const { content } = await runtime.session().execute({ name: "picture" });
    const uri = content?.[0]?.type === "file" ? content[0].uri : "";
    expect(readFileSync(join(folder, "files", uri.replace("artifact:", "")), "utf8")).toBe("picture");
    await runtime.close();
  });

  test("F1.19 a missing store and an empty folder are reported with their place", async () => {
    expect(await problemsOf("haft.toml", '[runtime]\nartifacts = "store"\n')).toEqual([
      'haft.toml:2:1: runtime.artifacts: keeps files in the store, and there is no [store]. Name a folder, such as "./artifacts".',
    ]);
    expect(await problemsOf("haft.toml", '[runtime]\nartifacts = ""\n')).toEqual(["haft.toml:2:1: runtime.artifacts: must not be empty."]);
  });
});

const PICTURE: Tool = {
  name: "picture",
  description: "Shows a picture.",
  inputSchema: {},
  effects: { reads: [] },
  execute: () => new ToolOutput({ content: [{ type: "image", mediaType: "image/png", data: Buffer.from("picture").toString("base64") }] }),
};
