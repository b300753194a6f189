import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Engine } from "../../src/core/engine.ts";
import { configuredRuntime, type ConfiguredRuntimeOptions, type Extensions } from "../../src/config/config.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { configError, configFolder, load, problemsOf } from "./config-folder.ts";
import { loadSource, namesOf } from "./source-context.ts";

const SEEDS = join(import.meta.dirname, "seeds");
const ROUTING = readFileSync(join(SEEDS, "routing.yaml.txt"), "utf8");
const ERRORS = readFileSync(join(SEEDS, "error-simulation.yaml.txt"), "utf8");
const WEATHER = "weather:\n  description: Tells the weather.\n  parameters: { type: object, properties: { place: { type: string } } }\n";

/** An engine that says its name and the tool it was asked for, made of whatever keys it is given. */
const parrot: Extensions = {
  engines: { parrot: (_options, { name }): Engine => ({ kind: "parrot", call: ({ tool }) => `${name} ${tool.name}` }) },
};

async function openRuntime(files: Readonly<Record<string, string>>, options: ConfiguredRuntimeOptions = {}): Promise<Runtime> {
  const folder = configFolder(files);
  const configured = await configuredRuntime(join(folder, Object.keys(files)[0] ?? ""), { environment: {}, ...options });
  const runtime = createRuntime({ ...configured, ports: fakePorts() });
  onTestFinished(async () => void (await runtime.close()));
  return runtime;
}

async function buildProblems(files: Readonly<Record<string, string>>, options: ConfiguredRuntimeOptions = {}): Promise<readonly string[]> {
  const folder = configFolder(files);
  const error = await configError(configuredRuntime(join(folder, Object.keys(files)[0] ?? ""), { environment: {}, ...options }));
  return error.details.map((line) => line.replaceAll(`${folder}/`, ""));
}

/** Without what the runtime brings along. */
function namesIn(runtime: Runtime): readonly string[] {
  return runtime.registry.names().filter((name) => !name.startsWith("haft::"));
}

describe("the fms-dgt examples", () => {
  test("F0.56 the routing example is read unchanged", async () => {
    const { config } = await load("haft.yaml", ROUTING);

    expect(config.registry).toEqual([
      {
        path: ["tools", "registry", 0],
        namespace: "weather_api",
        defaultEngine: true,
        toolset: { type: "file", enabled: true, path: "weather_tools.yaml", namespace: "weather_api", engine: "lm_sim" },
      },
      {
        path: ["tools", "registry", 1],
        namespace: "hr_api",
        defaultEngine: true,
        toolset: { type: "mcp", enabled: true, url: "http://localhost:8080", headers: {}, trustAnnotations: false, engine: "mcp_live" },
      },
    ]);
    expect([...config.engines]).toEqual([
      [
        "lm_sim",
        {
          type: "lm",
          model: { name: "ollama/granite3.3:8b" },
          modelKey: "lm_config",
          settings: {},
          path: ["tools", "engines", "lm_sim"],
          defaults: {},
        },
      ],
      [
        "mcp_live",
        {
          type: "mcp",
          server: { url: "http://localhost:8080", headers: {}, trustAnnotations: false },
          path: ["tools", "engines", "mcp_live"],
          defaults: {},
        },
      ],
    ]);
  });

  test("F0.56 the routing example builds unchanged, with an lm engine for one namespace and an MCP server for the other", async () => {
    const folder = configFolder({ "haft.yaml": ROUTING, "weather_tools.yaml": WEATHER });
    const { toolsets, sources = [] } = await configuredRuntime(join(folder, "haft.yaml"), { environment: {} });
    const loaded = (await Promise.all(sources.map(loadSource))).flatMap((source) => source.toolsets);

    expect([...loaded, ...(toolsets ?? [])].map(({ name, engine }) => [name, engine?.kind])).toEqual([
      ["weather_api", "lm"],
      ["hr_api", "mcp"],
    ]);
  });

  test("F0.46 F0.56 the error example is read unchanged, and its errors are not retried", async () => {
    const { config } = await load("haft.yaml", ERRORS);

    expect(config.engines.get("lm_sim")?.faults).toEqual({
      rules: [
        { type: "network_error", probability: 0.05, message: "Connection timed out", retryable: false },
        { type: "unparseable_result", probability: 0.05, retryable: false },
        { type: "schema_violation", probability: 0.05, message: "Tool execution failed", retryable: false },
      ],
    });
  });

  test("F0.58 an engine of an unregistered type makes only its own tools unavailable, and lists the known types", async () => {
    const text = `tools:
  registry:
    - { type: inline, namespace: sim, engine: oracle, tools: [{ name: a, description: A }] }
    - { type: inline, namespace: live, engine: live, tools: [{ name: a, description: A }] }
  engines: { oracle: { type: delphi }, live: { type: parrot } }
`;
    const runtime = await openRuntime({ "haft.yaml": text }, { extensions: parrot });
    const report = await runtime.open();

    expect(report.failed.map(({ toolset, error }) => [toolset, error.code, error.message])).toEqual([
      [
        "sim",
        "unavailable",
        'Engine "oracle" cannot be used: its type "delphi" is not registered. Known types: local, mcp, rest, search, lm, example, replay, stub, multi, parrot.',
      ],
    ]);
    expect(await runtime.execute({ name: "live::a", input: {} })).toMatchObject({ output: "live a" });
    expect(await runtime.execute({ name: "sim::a", input: {} })).toMatchObject({ error: { code: "unavailable" } });
  });
});

describe("F0.56 the registry", () => {
  test("F0.56 an array under tools is a registry only", async () => {
    const runtime = await openRuntime({ "haft.yaml": "tools:\n  - { type: file, path: w.yaml }\n", "w.yaml": WEATHER });
    await runtime.open();

    expect(namesIn(runtime)).toEqual(["default::weather"]);
    expect(await runtime.execute({ name: "weather", input: {} })).toMatchObject({ error: { code: "not_executable" } });
  });

  test("F0.56 enrichments with the fms-dgt keys are read, and tables of other programs only with foreignKeys", async () => {
    const text = "task_name: x\ntools:\n  enrichments:\n    - { type: neighbors, model: m, k: 3 }\n";
    const folder = configFolder({ "haft.yaml": text });
    const { enrichments } = (await load("haft.yaml", text.slice(text.indexOf("tools")))).config;

    expect(enrichments).toMatchObject([{ type: "neighbors", k: 3 }]);
    expect(await buildProblems({ "haft.yaml": text })).toEqual([expect.stringMatching(/^haft\.yaml:1:1: task_name: unknown key\./u)]);
    expect(await configuredRuntime(join(folder, "haft.yaml"), { foreignKeys: true })).toMatchObject({ toolsets: [], sources: [] });
  });

  test("F0.57 the fms-dgt keys of a server and a service are read", async () => {
    const text = `tools:
  - { type: mcp, base_url: "http://localhost/mcp", bearer_token: "env:TOKEN", verify: false, timeout: 3, namespace: m }
  - { type: rest, spec: petstore.json, base_url: "http://localhost/v1", operation_ids: [a], basic_auth: [me, "\${TOKEN}"], verify: ca.pem, namespace: r }
`;
    const { config } = await load("haft.yaml", text, { TOKEN: "swordfish" });

    expect(config.registry.map((entry) => entry.toolset)).toEqual([
      {
        type: "mcp",
        enabled: true,
        timeoutMs: 3000,
        url: "http://localhost/mcp",
        headers: {},
        auth: { type: "bearer", token: "swordfish" },
        verifyTls: false,
        trustAnnotations: false,
      },
      {
        type: "openapi",
        enabled: true,
        document: "petstore.json",
        baseUrl: "http://localhost/v1",
        include: { operations: ["a"] },
        auth: { type: "basic", username: "me", password: "swordfish" },
        ca: "ca.pem",
      },
    ]);
  });
});

describe("F0.57 invalid entries", () => {
  const entry = (more: string): string => `    - { type: inline, tools: [], ${more} }\n`;
  const engines = "  engines: { one: { type: local }, two: { type: local } }\n";

  test.each([
    [
      "an engine that is not defined",
      `tools:\n  registry:\n${entry("engine: oen")}${engines}`,
      'haft.yaml:3:34: tools.registry[0].engine: no engine "oen" is defined; known engines: one, two. Did you mean "one"?',
    ],
    [
      "an engine where there are none",
      `tools:\n${entry("engine: one")}`,
      'haft.yaml:2:34: tools[0].engine: no engine "one" is defined; there are none under engines.',
    ],
    [
      "one namespace on two engines",
      `tools:\n  registry:\n${entry("namespace: a, engine: one")}${entry("namespace: a, engine: two")}${engines}`,
      'haft.yaml:4:7: tools.registry[1]: the namespace "a" is routed to two engines, one and two; give one of the entries another namespace.',
    ],
    [
      "one namespace on a server and on nothing",
      `tools:\n${entry("namespace: a")}    - { type: mcp, url: "http://localhost", namespace: a }\n`,
      'haft.yaml:3:7: tools[1]: the namespace "a" is routed to two engines, none and that of entry 2; give one of the entries another namespace.',
    ],
    [
      "an engine defined twice",
      `engines: { one: { type: local } }\ntools:\n${engines}`,
      "haft.yaml:3:14: tools.engines.one: is defined twice, here and under engines.",
    ],
    [
      "tools that are neither",
      "tools: yes\n",
      "haft.yaml:1:1: tools: must be an array of entries, or an object of registry, engines and enrichments, not a string.",
    ],
    [
      "F0.17 inline tools that are no list",
      "tools:\n  - { type: inline, tools: { a: 1 } }\n",
      "haft.yaml:2:21: tools[0].tools: must be an array of tools, not an object.",
    ],
    [
      "an engine without a type",
      "engines: { one: {} }\n",
      'haft.yaml:1:12: engines.one: "type" is missing: such as "lm", "mcp", or the name of an extension.',
    ],
    [
      "an unknown key of an engine",
      "engines: { one: { type: mcp, urll: x } }\n",
      expect.stringMatching(/^haft\.yaml:1:30: engines\.one\.urll: unknown key\. Did you mean/u),
    ],
    [
      "a namespace that no toolset can have",
      `tools:\n${entry('namespace: "a::b"')}`,
      'haft.yaml:2:34: tools[0].namespace: The toolset name "a::b" holds "::", which separates toolset and tool.',
    ],
  ])("F0.57 %s is an error with its place", async (_what, text, problem) => {
    expect(await buildProblems({ "haft.yaml": text })).toEqual([problem]);
  });
});

describe("F0.58 routing", () => {
  test("F0.58 a single engine answers for entries that name none, in the namespaces of their files; multi counts as none", async () => {
    const text =
      "tools:\n  registry: [{ type: file, path: w.yaml }]\n  engines: { all: { type: multi, engines: {} }, one: { type: parrot, n: 8 } }\n";
    const runtime = await openRuntime(
      { "haft.yaml": text, "w.yaml": `api:\n  - { name: a, description: A }\nother:\n  - { name: b, description: B }\n` },
      { extensions: parrot },
    );
    await runtime.open();

    expect(
      await runtime.execute([
        { name: "api::a", input: {} },
        { name: "other::b", input: {} },
      ]),
    ).toMatchObject([{ output: "one a" }, { output: "one b" }]);
  });

  test("F0.57 namespaces that name one engine share its instance", async () => {
    const text =
      "engines: { one: { type: parrot } }\ntools:\n  - { type: inline, namespace: a, tools: [{ name: x, description: X }] }\n  - { type: inline, namespace: b, tools: [{ name: x, description: X }] }\n";
    const folder = configFolder({ "haft.yaml": text });
    const { sources = [] } = await configuredRuntime(join(folder, "haft.yaml"), { extensions: parrot });
    const toolsets = (await Promise.all(sources.map(loadSource))).flatMap((loaded) => loaded.toolsets);

    expect(namesOf(toolsets)).toEqual(["a: x", "b: x"]);
    expect(toolsets[0]?.engine).toBe(toolsets[1]?.engine);
  });

  test("F0.57 two entries with the same server and namespace share one engine", async () => {
    const text = `tools:
  registry:
    - { type: mcp, url: "http://localhost:1/mcp", namespace: m }
    - { type: mcp, url: "http://localhost:1/mcp", namespace: m }
  engines: { live: { type: mcp, url: "http://localhost:1/mcp" } }
`;
    const { toolsets = [], sources = [] } = await configuredRuntime(join(configFolder({ "haft.yaml": text }), "haft.yaml"));
    const more = (await Promise.all(sources.map(loadSource))).flatMap((loaded) => loaded.toolsets);

    expect([...toolsets, ...more].map(({ name }) => name)).toEqual(["m", "m"]);
    expect(toolsets[0]?.engine).toBe(more[0]?.engine);
  });

  test("an extension's engine is created anew for each session if its configuration isolates sessions", async () => {
    let made = 0;
    const counting: Extensions = {
      engines: {
        count: () => ({
          kind: "count",
          call: (
            (number) => () =>
              number
          )(made++),
        }),
      },
    };
    const text =
      "engines: { c: { type: count, isolation: session } }\ntools: [{ type: inline, tools: [{ name: a, description: A, effects: { writes: [] } }] }]\n";
    const runtime = await openRuntime({ "haft.yaml": text }, { extensions: counting });
    await runtime.open();
    const [one, two] = [runtime.session(), runtime.session()];
    const call = { name: "a", input: {} };

    expect([await one.execute(call), await two.execute(call), await one.execute(call)]).toMatchObject([
      { output: 1 },
      { output: 2 },
      { output: 1 },
    ]);
  });

  test("F0.58 tools listed by a server are answered by the engine that its entry names", async () => {
    const text = `tools:
  registry: [{ type: mcp, command: server, namespace: m, engine: sim }]
  engines: { sim: { type: parrot } }
`;
    const { toolsets, sources } = await configuredRuntime(join(configFolder({ "haft.yaml": text }), "haft.yaml"), { extensions: parrot });

    expect([toolsets, sources?.map((source) => source.name)]).toEqual([[], ["m"]]);
  });
});

describe("F0.13 extensions", () => {
  const text = "tools:\n  registry: [{ type: list, namespace: mine, word: hello }]\n";
  const list: Extensions = {
    sources: {
      list: (options, { name, resolve }) => ({
        name,
        load: async () => [
          { name, tools: [{ name: resolve(String(options["word"])), description: "", inputSchema: {}, execute: () => 1 }] },
        ],
      }),
    },
  };

  test("F0.13 a source passed by the program is used by its type name, in the registry and in toolsets", async () => {
    const runtime = await openRuntime(
      { "haft.yaml": `${text}toolsets: { own: { type: list, word: "env:WORD" } }\n` },
      { extensions: list, environment: { WORD: "bye" } },
    );
    await runtime.open();

    expect(namesIn(runtime)).toEqual(["mine::hello", "own::bye"]);
  });

  test("F0.13 a module named by the file provides engines and sources", async () => {
    const module = `export const haftEngines = { echo: (options) => ({ kind: "echo", call: ({ input }) => ({ ...options, ...input }) }) };
export const haftSources = { one: (_options, { name, engine }) => ({ name, load: async () => [{ name, engine, tools: [{ name: "t", description: "", inputSchema: {} }] }] }) };
`;
    const config = 'extensions = ["./mine.mjs"]\n[engines.e]\ntype = "echo"\nn = 1\n[toolsets.x]\ntype = "one"\nengine = "e"\n';
    const runtime = await openRuntime({ "haft.toml": config, "mine.mjs": module });
    await runtime.open();

    expect(await runtime.execute({ name: "x::t", input: { a: 2 } })).toMatchObject({ output: { n: 1, a: 2 } });
  });

  test("F0.13 an extension name that is built in or registered twice is an error", async () => {
    const load = async (extensions: Extensions): Promise<unknown> =>
      await configuredRuntime(join(configFolder({ "haft.yaml": "{}" }), "haft.yaml"), { extensions });

    await expect(load({ engines: { mcp: () => ({ kind: "x", call: () => 1 }) } })).rejects.toThrow(
      'The engine type "mcp" of the program is built in; give yours another name.',
    );
    await expect(load({ sources: { file: () => ({ name: "x", load: async () => [] }) } })).rejects.toThrow(
      'The source type "file" of the program is built in',
    );
    const twice = {
      "haft.toml": 'extensions = ["a.mjs", "b.mjs"]\n',
      "a.mjs": "export const haftEngines = { e: () => 1 };",
      "b.mjs": "export const haftEngines = { e: () => 1 };",
    };
    expect(await buildProblems(twice)).toEqual(['haft.toml:1:24: extensions[1]: The engine type "e" of b.mjs is registered already.']);
  });

  test.each([
    [
      "a type that nobody registered",
      { "haft.yaml": text },
      { sources: { lists: list.sources?.["list"] } },
      /must be one of .*"lists".*, not "list"\. Did you mean "lists"\?$/u,
    ],
    [
      "a type that no extension of the file brings",
      { "haft.yaml": `extensions: [x.mjs]\n${text}`, "x.mjs": "export const haftSources = {};" },
      {},
      /^haft\.yaml:3:\d+: tools\.registry\[0\]\.type: "list" is not registered\. Known types: files, mcp, module, file, inline, openapi, descriptors, chains, channels, delegates, triggers, program, shell, python, command, http, web, ask, memory, notebook, scratchpad, skills\./u,
    ],
    [
      "a factory that throws",
      { "haft.yaml": text },
      {
        sources: {
          list: () => {
            throw new Error("not today");
          },
        },
      },
      /"list" could not be made: not today$/u,
    ],
    [
      "a factory that makes nothing",
      { "haft.yaml": text },
      { sources: { list: () => null } },
      /"list" could not be made: its factory returned no source\.$/u,
    ],
    [
      "a module without extensions",
      { "haft.toml": 'extensions = ["x.mjs"]', "x.mjs": "export const a = 1;" },
      {},
      /^haft\.toml:1:15: extensions\[0\]: "x\.mjs" must export haftEngines, haftSources or haftEnrichments/u,
    ],
  ])("F0.13 %s is reported with its place", async (_what, files, extensions, message) => {
    expect(await buildProblems(files, { extensions: extensions as Extensions })).toEqual([expect.stringMatching(message)]);
  });
});

test("F0.17 inline tools of the configuration are called through their engine, and an invalid one is left out", async () => {
  const config = `[engines.p]\ntype = "parrot"\n[toolsets.mine]\ntype = "inline"\ntools = [{ name = "a", description = "A" }, { description = "no name" }, { name = "b", description = "B", namespace = "other" }]\n`;
  const runtime = await openRuntime({ "haft.toml": config }, { extensions: parrot });
  await runtime.open();

  expect(namesIn(runtime)).toEqual(["mine::a", "other::b"]);
  expect(await runtime.execute({ name: "mine::a", input: {} })).toMatchObject({ output: "p a" });
});

test("F0.50 F0.58 an engine with its own tools needs no others: a search over a file of documents", async () => {
  const text =
    "engines: { docs: { type: search, documents: docs.jsonl, limit: 1, timeout: 2 } }\ntools: [{ type: inline, namespace: docs, tools: [] }]\n";
  const runtime = await openRuntime({
    "haft.yaml": text,
    "docs.jsonl": '{"id":"1","text":"red apples"}\n{"id":"2","text":"green pears"}\n',
  });
  await runtime.open();

  expect(runtime.registry.get("docs::search")?.settings.timeoutMs).toBe(2000);
  expect(await runtime.execute({ name: "docs::search", input: { query: "pears" } })).toMatchObject({ output: [{ id: "2" }] });
});

test("F0.6 the same tools from a file, inline and a module give equal registries", async () => {
  const tool = { name: "a", description: "A", inputSchema: { type: "object" }, tags: ["x"] };
  const files = { "t.json": JSON.stringify([tool]), "t.mjs": `export default ${JSON.stringify(tool)};` };
  const names = async (config: string): Promise<unknown> => {
    const runtime = await openRuntime({ "haft.toml": config, ...files });
    await runtime.open();
    return runtime.registry.list("m").map((registered) => [registered.qualifiedName, registered.tool]);
  };

  const expected = [["m::a", tool]];
  expect(await names('[toolsets.m]\ntype = "file"\npath = "t.json"\n')).toEqual(expected);
  expect(await names('[toolsets.m]\ntype = "module"\npath = "t.mjs"\n')).toEqual(expected);
  expect(
    await names(
      '[toolsets.m]\ntype = "inline"\ntools = [{ name = "a", description = "A", parameters = { type = "object" }, tags = ["x"] }]\n',
    ),
  ).toEqual(expected);
});

test("F4.11 F4.15 descriptors and an mcp table of the requirements can be used in a configuration", async () => {
  const folder = configFolder({
    "haft.toml":
      '[toolsets.d]\ntype = "descriptors"\npath = "data/ensembles"\n[mcp.web]\ntransport = "http"\nurl = "https://example.com/${PART}"\nheaders = { A = "env:PART" }\n',
  });
  cpSync(join(SEEDS, "data"), join(folder, "data"), { recursive: true });
  const { toolsets, sources = [] } = await configuredRuntime(join(folder, "haft.toml"), { environment: { PART: "mcp" } });

  expect(toolsets?.map(({ name, engine }) => [name, engine?.kind])).toEqual([["web", "mcp"]]);
  expect(namesOf((await Promise.all(sources.map(loadSource))).flatMap((loaded) => loaded.toolsets))).toEqual(["io: read_file write_file"]);
  expect(await problemsOf("haft.toml", '[mcp.x]\ntransport = "stdio"\ncommand = ["a"]\nenvironment = { A = "env:NONE" }\n')).toEqual([
    "haft.toml:4:17: mcp.x.environment.A: the environment variable NONE is not set.",
  ]);
});

test("an MCP toolset takes effects, include, exclude and cwd from the configuration", async () => {
  const text = `[toolsets.m]
type = "mcp"
command = "server"
cwd = "inner"
include = ["read_*"]
exclude = ["read_all"]
effects = { "read_*" = "readOnly", other = { reads = "m:{id}", writes = ["m:all"], destructive = true } }
`;
  const { config } = await load("haft.toml", text);

  expect(config.toolsets.get("m")).toMatchObject({
    cwd: "inner",
    include: ["read_*"],
    exclude: ["read_all"],
    effects: { "read_*": { writes: [] }, other: { reads: "m:{id}", writes: ["m:all"], destructive: true } },
  });
  expect(
    await problemsOf(
      "haft.toml",
      '[toolsets.m]\ntype = "mcp"\ncommand = "x"\ninclude = [""]\neffects = { a = "readonly", b = { writes = "x:{" } }\n',
    ),
  ).toEqual([
    "haft.toml:4:12: toolsets.m.include[0]: must not be empty: the name of a tool, * for any characters.",
    'haft.toml:5:13: toolsets.m.effects.a: must be one of "pure", "readOnly", "external", not "readonly". Did you mean "readOnly"?',
    'haft.toml:5:35: toolsets.m.effects.b.writes: The resource key "x:{" cannot be read: "{" has no matching brace. Write the name of a property in braces, as in "stock:{item}", and "{{" or "}}" for a brace itself.',
  ]);
});

test("a server runs in its cwd, which must lie inside the folder of the configuration or be absolute", async () => {
  const script = "import { writeFileSync } from 'node:fs'; writeFileSync('here', process.cwd());";
  const config = (cwd: string): string =>
    `[toolsets.m]\ntype = "mcp"\ncommand = ${JSON.stringify(process.execPath)}\nargs = ["--input-type=module", "-e", ${JSON.stringify(script)}]\ncwd = ${JSON.stringify(cwd)}\n`;
  const folder = configFolder({ "haft.toml": config("inner"), "inner/x": "" });
  const runtime = createRuntime({ ...(await configuredRuntime(join(folder, "haft.toml"))) });
  await runtime.open(); // it ends at once
  await runtime.close();

  expect(readFileSync(join(folder, "inner/here"), "utf8")).toBe(join(folder, "inner"));
  expect(await buildProblems({ "haft.toml": config("..") })).toEqual([
    expect.stringMatching(/toolsets\.m\.\w+: must lie inside the folder/u),
  ]);
});

test.each(["stdio", "http", "sse"])("type %s sets the transport of a server in an mcp table", async (type) => {
  const server = type === "stdio" ? 'command = "server"' : 'url = "https://example.com/mcp"';
  const { config } = await load("haft.toml", `[mcp.m]\ntype = "${type}"\n${server}\n`);

  expect(config.registry[0]?.toolset).toMatchObject(type === "stdio" ? { command: "server" } : { transport: type });
});
