import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { descriptorSource, descriptorsToTrust, type DescriptorSourceOptions } from "../../src/config/tools/descriptor-source.ts";
import { Registry } from "../../src/registry/registry.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { configError, configFolder } from "./config-folder.ts";
import { loadSource, namesOf } from "./source-context.ts";

const SEED = join(import.meta.dirname, "seeds/data/ensembles");

/** The seed's own two files, in a folder that may be added to. */
function seedFolder(files: Readonly<Record<string, string>> = {}): string {
  const folder = configFolder();
  cpSync(SEED, folder, { recursive: true });
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
  return folder;
}

function source(folder: string, options: Partial<DescriptorSourceOptions> = {}): ReturnType<typeof descriptorSource> {
  return descriptorSource({ name: "descriptors", path: folder, environment: {}, ...options });
}

async function warningsOf(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const folder = configFolder(files);
  const { warnings } = await loadSource(source(folder));
  return warnings.map((line) => line.replaceAll(`${folder}/`, ""));
}

async function openRuntime(folder: string, options: Partial<DescriptorSourceOptions> = {}): Promise<Runtime> {
  const runtime = createRuntime({ sources: [source(folder, options)], ports: fakePorts() });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  return runtime;
}

const READ_FILE = {
  name: "read_file",
  description: "Reads contents of a file",
  inputSchema: {
    type: "object",
    required: ["path"],
    properties: {
      path: { type: "string", description: "Absolute path to file" },
      encoding: { type: "string", description: "File encoding", default: "utf-8" },
    },
  },
};
const CODE = "export const read_file = (input) => `${input.path} in ${input.encoding}`;\nexport const version = 1;\n";

describe("the example descriptors of the requirements", () => {
  test("F4.11 F4.12 load unchanged, with the tool, its defaults, and a disabled tool for the missing file", async () => {
    const { toolsets, warnings } = await loadSource(source(SEED));

    expect(toolsets).toEqual([
      {
        name: "io",
        defaults: { timeoutMs: 30_000, maxAttempts: 4 },
        tools: [
          { ...READ_FILE, execute: expect.any(Function) },
          {
            name: "write_file",
            description: "Described in io/invokers/write_file.toml, which cannot be used.",
            inputSchema: {},
            unusable: `Cannot read the descriptor ${SEED}/io/invokers/write_file.toml: there is no such file.`,
          },
        ],
      },
    ]);
    expect(warnings).toEqual([
      `The tool "write_file" is disabled: ${SEED}/io.toml:13:3: invokers[1]: Cannot read the descriptor ${SEED}/io/invokers/write_file.toml: there is no such file.`,
    ]);
  });

  test("F4.12 the tool with the missing file is quarantined, and the other is not", async () => {
    const { toolsets } = await loadSource(source(SEED));
    const registry = new Registry();
    for (const toolset of toolsets) registry.addToolset(toolset);

    expect(registry.check().map(({ tool, error }) => [tool, error.code])).toEqual([["io::write_file", "unavailable"]]);
    expect(registry.check()[0]?.error.message).toBe(
      `The tool "io::write_file" cannot be used: Cannot read the descriptor ${SEED}/io/invokers/write_file.toml: there is no such file.`,
    );
  });

  test("F4.11 a single tool descriptor is a source as well", async () => {
    const { toolsets } = await loadSource(source(join(SEED, "io/invokers/read_file.toml")));

    expect(toolsets).toEqual([{ name: "descriptors", tools: [{ ...READ_FILE, execute: expect.any(Function) }] }]);
  });

  test("F4.14 a missing optional argument reaches the exported code with its default", async () => {
    const runtime = await openRuntime(seedFolder({ "code.mjs": CODE }), { module: "code.mjs" });

    expect(await runtime.execute({ name: "io::read_file", input: { path: "/a" } })).toMatchObject({ output: "/a in utf-8" });
  });

  test("F4.12 calls of a tool without code fail with the reason, whether no module or the wrong one is named", async () => {
    const unbound = await openRuntime(seedFolder());
    const wrong = await openRuntime(seedFolder({ "code.mjs": "export const other = () => 1;\n" }), { module: "code.mjs" });

    const call = { name: "io::read_file", input: { path: "/a" } };
    const [one, other] = [await unbound.execute(call), await wrong.execute(call)];

    expect(one).toMatchObject({
      error: {
        code: "not_executable",
        message: expect.stringMatching(/"read_file" of .*read_file\.toml has no code: set module in its descriptor/u),
      },
    });
    expect(other).toMatchObject({
      error: {
        code: "not_executable",
        message: expect.stringContaining('"code.mjs" exports no function or tool of this name; it exports other.'),
      },
    });
  });

  test.each([
    ["declares nothing, so it is called once", "", 1],
    ["only reads, so it is called four times", 'effects = "readOnly"\n', 4],
    ["may be repeated, so it is called four times", 'effects = { writes = ["file:a"], idempotent = true }\n', 4],
    ["writes, so it is called once", 'effects = { writes = ["file:a"] }\n', 1],
  ])("F4.12 three retries of a descriptor take effect only for repeatable calls: its tool %s", async (_what, effects, attempts) => {
    const folder = seedFolder({
      "code.mjs": `let calls = 0;
export const read_file = () => { calls++; throw Object.assign(new Error(\`network down \${calls}\`), { code: "ECONNREFUSED" }); };
`,
    });
    const file = join(folder, "io/invokers/read_file.toml");
    writeFileSync(file, readFileSync(file, "utf8").replace("[invoker]\n", `[invoker]\n${effects}`));
    const ports = fakePorts();
    const runtime = createRuntime({ sources: [source(folder, { module: "code.mjs" })], ports, retry: { delayMs: 0 } });
    onTestFinished(async () => void (await runtime.close()));
    await runtime.open();
    const call = runtime.execute({ name: "io::read_file", input: { path: "/a" } });
    await ports.clock.advance(100);

    expect(await call).toMatchObject({ attempts, error: { message: `network down ${attempts}` } });
    expect(runtime.registry.get("io::read_file")?.settings).toMatchObject({ timeoutMs: 30_000, maxAttempts: 4 });
  });

  test("F4.12 the timeout of a descriptor ends a call that never answers", async () => {
    const folder = seedFolder({ "code.mjs": "export const read_file = () => new Promise(() => {});\n" });
    const ports = fakePorts();
    const runtime = createRuntime({ sources: [source(folder, { module: "code.mjs" })], ports });
    onTestFinished(async () => void (await runtime.close()));
    await runtime.open();
    const call = runtime.execute({ name: "io::read_file", input: { path: "/a" } });
    await ports.clock.advance(30_000);

    expect(await call).toMatchObject({ error: { code: "timeout", message: expect.stringContaining("30") } });
  });
});

describe("ensembles", () => {
  test("F4.13 disabled ensembles and disabled tools are skipped, and the order of the file is kept", async () => {
    const folder = configFolder({
      "a.toml": `[ensemble]\nname = "second"\n[[invokers]]\nname = "z"\ndescription = "Z"\n[[invokers]]\nname = "off"\ndescription = "O"\nenabled = false\n[[invokers]]\nname = "y"\ndescription = "Y"\n`,
      "b.toml": '[ensemble]\nname = "off"\nenabled = false\n',
      "c.toml": '[ensemble]\nname = "first"\nenable = true\n',
      "notes.txt": "not read",
    });
    const { toolsets, warnings } = await loadSource(source(folder));

    expect(namesOf(toolsets)).toEqual(["second: z y", "first: "]);
    expect(warnings).toEqual([]);
  });

  test("F4.10 an invalid ensemble is reported and left out, and the others load", async () => {
    const files = {
      "1.toml": "[ensemble]\nenabled = true\n",
      "2.toml": '[ensemble]\nname = "x"\ntimeout = 3\n',
      "3.toml": "not toml",
      "4.toml": 'title = "x"\n',
      "5.toml": '[ensemble]\nname = "a::b"\n',
      "6.toml": '[ensemble]\nname = "good"\n[[invokers]]\nname = "g"\ndescription = "G"\n',
    };

    expect(await warningsOf(files)).toEqual([
      'A descriptor is left out: 1.toml:1:2: ensemble: "name" is missing: what its tools are grouped under.',
      "A descriptor is left out: 2.toml:3:1: ensemble.timeout: unknown key. Known keys: name, enabled, enable, description, module.",
      expect.stringMatching(/^A descriptor is left out: 3\.toml:1:\d+: not valid TOML: /u),
      "A descriptor is left out: 4.toml:1:1: a descriptor has [ensemble], [invoker] or [mcp.NAME].",
      'A descriptor is left out: 5.toml:2:1: ensemble.name: The toolset name "a::b" holds "::", which separates toolset and tool.',
    ]);
  });

  test("F4.10 a file may have an ensemble, a tool and servers, and an invalid one of them does not take the others along", async () => {
    const ensemble = '[ensemble]\nname = "e"\n[[invokers]]\nname = "one"\ndescription = "O"\n';
    const tool = '[invoker]\nname = "t"\ndescription = "T"\n';
    const server = '[mcp.m]\ntransport = "http"\nurl = "http://127.0.0.1:9/mcp"\n';
    const loaded = async (text: string): Promise<readonly string[]> => {
      const folder = configFolder({ "a.toml": text });
      const { toolsets, warnings } = await loadSource(source(folder));
      return [...namesOf(toolsets), ...warnings.map((line) => line.replaceAll(`${folder}/`, ""))];
    };

    expect(await loaded(ensemble + tool + server)).toEqual(["m: ", "e: one", "descriptors: t"]);
    expect(await loaded(`${ensemble}${tool}${server}headers = { Authorization = "env:UNSET" }\n`)).toEqual([
      "e: one",
      "descriptors: t",
      "a.toml:12:13: mcp.m.headers.Authorization: the environment variable UNSET is not set.",
    ]);
    expect(await loaded(`${ensemble}${tool}retries = 3\n${server}`)).toEqual([
      "m: ",
      "e: one",
      'a.toml:6:2: invoker: retries: unknown key. Did you mean "maxAttempts"?',
    ]);
    expect(await loaded(`[ensemble]\ndescription = "E"\n${tool}${server}`)).toEqual([
      "m: ",
      "descriptors: t",
      'a.toml:1:2: ensemble: "name" is missing: what its tools are grouped under.',
    ]);
  });

  test("F4.10 F4.13 a tool with a file of its own is left out if anything in the file is invalid, such as whether it is enabled", async () => {
    const tool = '[invoker]\nname = "t"\ndescription = "T"\n';

    expect(
      await warningsOf({
        "1.toml": `${tool}enabled = "false"\n`,
        "2.toml": `${tool}[argumens]\ntype = "object"\n`,
        "3.toml": `${tool}timeout = "soon"\n`,
        "4.toml": `${tool}retries = 3\n`,
        "5.toml": tool,
      }),
    ).toEqual([
      "A descriptor is left out: 1.toml:4:1: invoker.enabled: must be a boolean, not a string.",
      'A descriptor is left out: 2.toml:4:2: argumens: unknown key. Did you mean "arguments"?',
      "A descriptor is left out: 3.toml:4:1: invoker.timeout: must be a number from 0 to 315576000, not a string.",
      'A descriptor is left out: 4.toml:1:2: invoker: retries: unknown key. Did you mean "maxAttempts"?',
    ]);
  });

  test("F4.7 F4.10 two files that give one ensemble a tool of the same name disable it, and the reason names both", async () => {
    const text = '[ensemble]\nname = "e"\n[[invokers]]\nname = "one"\ndescription = "O"\n';
    const other = '[ensemble]\nname = "other"\n[[invokers]]\nname = "one"\ndescription = "O"\n';
    const folder = configFolder({ "1.toml": text, "2.toml": text, "3.toml": other, "code.mjs": "export const one = () => 1;\n" });
    const runtime = await openRuntime(folder, { module: "code.mjs" });

    expect(await runtime.execute([{ name: "e::one" }, { name: "other::one" }])).toMatchObject([
      {
        status: "error",
        error: {
          code: "unavailable",
          message: 'The toolset "e" could not be opened: Two tools of the toolset "e" are named "one". Give one of them another name.',
        },
      },
      { status: "ok", output: 1 },
    ]);
  });

  test("F4.8 settings of a tool override those of its ensemble, which override those of the source", async () => {
    const folder = configFolder({
      "a.toml": `[ensemble]\nname = "a"\n[defaults]\ntimeout = 1.5\n[[invokers]]\nname = "slow"\ndescription = "S"\ntimeout = 60\nmax_retries = 0\ntags = ["x"]\neffects = { writes = [] }\n[invokers.arguments]\ntype = "object"\n[invokers.returns]\ntype = "string"\n`,
    });
    const { toolsets } = await loadSource(source(folder, { toolset: { maxConcurrent: 2, defaults: { timeoutMs: 9, maxResultBytes: 5 } } }));

    expect(toolsets).toEqual([
      {
        name: "a",
        maxConcurrent: 2,
        defaults: { timeoutMs: 1500, maxResultBytes: 5 },
        tools: [
          {
            name: "slow",
            description: "S",
            tags: ["x"],
            effects: { writes: [] },
            timeoutMs: 60_000,
            maxAttempts: 1,
            inputSchema: { type: "object" },
            outputSchema: { type: "string" },
            execute: expect.any(Function),
          },
        ],
      },
    ]);
  });

  test("F4.12 a tool is bound to the exported tool, whose other fields apply where the descriptor has none", async () => {
    const folder = configFolder({
      "a.toml": '[ensemble]\nname = "a"\nmodule = "code/tools.mjs"\n[[invokers]]\nname = "one"\ndescription = "From the descriptor"\n',
      "code/tools.mjs":
        'export default [{ name: "one", description: "From code", inputSchema: { type: "object" }, effects: { writes: [] }, execute: () => 1 }];\n',
    });
    const { toolsets } = await loadSource(source(folder));

    expect(toolsets[0]?.tools).toEqual([
      {
        name: "one",
        description: "From the descriptor",
        inputSchema: { type: "object" },
        effects: { writes: [] },
        execute: expect.any(Function),
      },
    ]);
  });

  test("F4.12 F3.9 a tool that is a class instance keeps its methods, and one without a handler fails without asking for approval", async () => {
    const folder = configFolder({
      "a.toml":
        '[ensemble]\nname = "a"\nmodule = "tools.mjs"\n[[invokers]]\nname = "one"\ndescription = "D"\n[[invokers]]\nname = "two"\ndescription = "D"\neffects = { writes = ["x"], destructive = true }\n',
      "tools.mjs":
        'class Base { step = 2; execute({ n }) { return n * this.step; } }\nclass One extends Base { name = "one"; description = "C"; inputSchema = { type: "object" }; }\nexport default new One();\n',
    });
    const asked: string[] = [];
    const approve = ({ toolName }: { readonly toolName: string }) => (asked.push(toolName), "allow-once" as const);
    const { toolsets } = await loadSource(source(folder));
    const runtime = createRuntime({ toolsets, approval: { approve } });
    await runtime.open();
    const results = await runtime.execute([{ name: "a::one", input: { n: 4 } }, { name: "a::two" }]);
    expect(results.map(({ output, error, attempts }) => [output ?? error?.code, attempts])).toEqual([
      [8, 1],
      ["not_executable", 0],
    ]);
    expect(asked).toEqual([]);
  });

  test("a tool with an unknown key is left out, and of two tools with one name the first is kept", async () => {
    const entry = (name: string, more = ""): string => `[[invokers]]\nname = "${name}"\ndescription = "D"\n${more}`;

    expect(
      await warningsOf({ "a.toml": `[ensemble]\nname = "a"\n${entry("one")}${entry("two", "retries = 3\n")}${entry("one")}` }),
    ).toEqual([
      'A tool is left out: a.toml:6:3: invokers[1]: a.toml: retries: unknown key. Did you mean "maxAttempts"?',
      'A tool is left out: a.toml has the tool "one" more than once.',
    ]);
  });

  test("F4.10 an invalid setting leaves out its tool, and the others load", async () => {
    const folder = configFolder({
      "a.toml": `[ensemble]\nname = "a"\n[[invokers]]\nname = "bad"\ndescription = "B"\ntimeout = "soon"\n[[invokers]]\nname = "good"\ndescription = "G"\n`,
    });
    const { toolsets, warnings } = await loadSource(source(folder));

    expect(namesOf(toolsets)).toEqual(["a: good"]);
    expect(warnings).toEqual([`${folder}/a.toml:6:1: invokers[0].timeout: must be a number from 0 to 315576000, not a string.`]);
  });

  test("J05 a descriptor outside the folder is not read, by parent path, link or URL", async () => {
    const outside = configFolder({ "evil.toml": '[invoker]\nname = "evil"\ndescription = "E"\n' });
    const folder = configFolder({
      "a.toml": `[ensemble]\nname = "a"\n[[invokers]]\nsource = "../evil.toml"\n[[invokers]]\nsource = "link.d/evil.toml"\n[[invokers]]\nsource = "file:///etc/passwd"\n`,
    });
    symlinkSync(outside, join(folder, "link.d"));
    const { toolsets, warnings } = await loadSource(source(folder));

    expect(toolsets[0]?.tools?.map(({ name, unusable }) => [name, unusable])).toEqual([
      ["evil", expect.stringContaining('"../evil.toml" does not')],
      ["passwd", expect.stringContaining('not the address "file:///etc/passwd"')],
    ]);
    expect(warnings).toHaveLength(4); // the last says that two of them would bear one name
    expect(warnings.join("\n")).toContain('"../evil.toml" does not');
    expect(warnings.join("\n")).toContain('"link.d/evil.toml" does not');
    expect(warnings.join("\n")).toContain('not the address "file:///etc/passwd"');
  });

  test("J08 a descriptor changed since it was trusted starts nothing, and one that starts nothing is read without trust", async () => {
    const server = (name: string): string => `[mcp.${name}]\ncommand = ["node", "server.mjs"]\n`;
    const folder = configFolder({
      "plain.toml": '[ensemble]\nname = "plain"\n[[invokers]]\nname = "t"\ndescription = "T"\n[[invokers]]\nsource = "tools/u.toml"\n',
      "tools/u.toml": '[invoker]\nname = "u"\ndescription = "U"\nmodule = "code.mjs"\n',
      "server.toml": server("one"),
      "sender.toml": '[mcp.two]\nurl = "https://example.com"\n[mcp.two.headers]\nkey = "env:KEY"\n',
    });
    const options = { environment: { KEY: "swordfish" }, allowedInPaths: new Set<string>() };
    const starting = await descriptorsToTrust(folder, options);
    const names = ({ file }: { readonly file: string }): string => file.replace(`${folder}/`, "");
    const lines = starting.map(({ file, starts, sends }) => [
      names({ file }),
      [...starts, ...sends].map((line) => line.replace(`${folder}/`, "")),
    ]);
    expect(lines).toEqual([
      ["tools/u.toml", ['tools/u.toml imports "code.mjs"']],
      ["sender.toml", ["sender.toml sends the variable KEY"]],
      ["server.toml", ["server.toml runs node server.mjs"]],
    ]);

    const trusted = new Set(starting.map(({ digest }) => digest));
    writeFileSync(join(folder, "server.toml"), server("other"));
    const { toolsets, warnings } = await loadSource(source(folder, { environment: options.environment, trusted }));
    expect(namesOf(toolsets)).toEqual(["plain: t u", "two: "]);
    expect(warnings).toEqual([`A descriptor is left out: ${folder}/server.toml has changed since it was trusted.`]);

    const nobody = await loadSource(source(folder, { environment: options.environment, trusted: new Set() }));
    expect(nobody.toolsets.map(({ name, tools }) => [name, tools?.map((tool) => tool.unusable)])).toEqual([
      ["plain", [undefined, `${folder}/tools/u.toml has changed since it was trusted.`]],
    ]);
  });

  test("J07 descriptors that refer to each other end at once, and ten thousand entries are refused", async () => {
    const circle = {
      "a.toml": '[ensemble]\nname = "a"\n[[invokers]]\nsource = "b.toml"\n',
      "b.toml": '[ensemble]\nname = "b"\n[[invokers]]\nsource = "a.toml"\n',
    };
    expect(await warningsOf(circle)).toEqual([
      'The tool "b" is disabled: a.toml:3:3: invokers[0]: b.toml describes no tool: it has no [invoker].',
      'The tool "a" is disabled: b.toml:3:3: invokers[0]: a.toml describes no tool: it has no [invoker].',
    ]);

    const many = `[ensemble]\nname = "many"\n${'[[invokers]]\nsource = "x.toml"\n'.repeat(10_000)}`;
    const error = await configError(loadSource(source(configFolder({ "a.toml": many }))));
    expect(error.message).toMatch(/^.*a\.toml:2003:3: invokers\[1000\]: at most 1000 invokers are read\.$/u);
  });
});

describe("F4.15 servers", () => {
  const text = `[mcp.files]\ntransport = "stdio"\ncommand = ["server", "--root", "/x"]\nenvironment = { KEY = "env:KEY" }\n[mcp.web]\ntransport = "http"\nurl = "https://example.com/mcp"\nheaders = { Authorization = "env:KEY" }\n`;

  test("F4.15 stdio and http entries become engines, which are reused at each load", async () => {
    const made = source(configFolder({ "mcp.toml": text }), { environment: { KEY: "swordfish" } });
    const [first, second] = [await loadSource(made), await loadSource(made)];

    expect(first.toolsets.map(({ name, engine }) => [name, engine?.kind])).toEqual([
      ["files", "mcp"],
      ["web", "mcp"],
    ]);
    expect(first.toolsets.map(({ engine }, index) => engine === second.toolsets[index]?.engine)).toEqual([true, true]);
  });

  test("F4.15 a missing variable is an error that names it", async () => {
    const error = await configError(loadSource(source(configFolder({ "mcp.toml": text.slice(0, text.indexOf("[mcp.web]")) }))));

    expect(error.message).toMatch(/mcp\.toml:4:17: mcp\.files\.environment\.KEY: the environment variable KEY is not set\.$/u);
  });
});

test("F4.11 the fixtures are the original text of the requirements", () => {
  expect(existsSync(join(SEED, "io/invokers/write_file.toml"))).toBe(false);
  expect(readFileSync(join(SEED, "io.toml"), "utf8").split("\n", 2)).toEqual(["# data/ensembles/io.toml", "[ensemble]"]);
});
