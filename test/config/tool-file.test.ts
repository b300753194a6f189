import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readToolFile, type ReadTools } from "../../src/config/tools/tool-file.ts";
import { configError, configFolder } from "./config-folder.ts";

async function read(
  name: string,
  text: string | Buffer,
  options: { readonly namespace?: string; readonly otherwise?: string } = {},
): Promise<ReadTools> {
  const path = join(configFolder({ [name]: text }), name);
  const tools = await readToolFile(path, { otherwise: "default", ...options });
  return {
    ...tools,
    problems: tools.problems.map((line) => line.replace(/^.*\//u, "")),
    unknown: tools.unknown.map((line) => line.replace(/^.*\//u, "")),
  };
}

/** `namespace::tool`, in the order of the file. */
function names({ tools }: ReadTools): readonly string[] {
  return [...tools].flatMap(([namespace, list]) => list.map((tool) => `${namespace}::${tool.name}`));
}

async function problem(name: string, text: string | Buffer): Promise<string> {
  const path = join(configFolder({ [name]: text }), name);
  return (await configError(readToolFile(path, { otherwise: "default" }))).message.replace(/^(Cannot read the tool file )?.*\//u, "$1");
}

const SCHEMA = { type: "object", properties: { key: { type: "string" } }, required: ["key"] };
const DEFINITION = { description: "Looks up.", parameters: SCHEMA };
const lookup = { name: "lookup", ...DEFINITION };
const TOOL = { name: "lookup", description: "Looks up.", inputSchema: SCHEMA };

test.each([
  [
    "tools.json",
    '[{"name": "find", "description": "Finds.", "parameters": {"properties": {"id": {"type": "integer", "maximum": 9223372036854775807}}}}]',
  ],
  ["tools.yaml", "- {name: find, description: Finds., parameters: {properties: {id: {type: int, maximum: 9223372036854775807}}}}"],
])("a file whose tools have bounds of 64 bits, as generated schemas do, is read: %s", async (name, text) => {
  const [tool] = (await read(name, text)).tools.get("default") ?? [];
  expect(tool?.inputSchema).toMatchObject({ properties: { id: { maximum: 2 ** 63 } } });
});

describe("shapes", () => {
  const shapes: Readonly<Record<string, unknown>> = {
    "namespace → list": { default: [lookup] },
    list: [lookup],
    "name → definition": { lookup: DEFINITION },
    "namespace and tools": { namespace: "default", tools: [lookup] },
    "the answer of an MCP server": { tools: [{ name: "lookup", description: "Looks up.", inputSchema: SCHEMA }], nextCursor: "2" },
    "the nested OpenAI shape": [{ type: "function", function: { ...lookup, strict: true } }],
    "the flat OpenAI shape": [{ type: "function", ...lookup }],
    "the Anthropic shape": [{ name: "lookup", description: "Looks up.", input_schema: SCHEMA }],
  };
  test.each(Object.entries(shapes))("F0.14 F0.16 %s yields the same tools in YAML and in JSON", async (_what, value) => {
    const json = JSON.stringify(value, null, "\t");
    const expected = { tools: new Map([["default", [TOOL]]]), problems: [], unknown: [], notes: [] };

    expect(await read("tools.json", json)).toEqual(expected);
    expect(await read("tools.yaml", json.replaceAll("\t", "  "))).toEqual(expected);
    expect(await read("TOOLS.YML", json.replaceAll("\t", " "))).toEqual(expected);
  });

  test("F0.16 a file with two namespaces loads both", async () => {
    const text = "api:\n  - { name: a, description: A }\n  - { name: b, description: B }\nother:\n  - { name: a, description: A }\n";

    expect(names(await read("tools.yaml", text))).toEqual(["api::a", "api::b", "other::a"]);
  });

  test("F0.16 namespaces and tools may be mixed in one object", async () => {
    expect(names(await read("tools.yaml", "namespace: mine\napi:\n  - { name: a, description: A }\nb: { description: B }\n"))).toEqual([
      "api::a",
      "mine::b",
    ]);
  });

  test.each([
    ["a text", "tools.yaml", "hello", "tools.yaml:1:1: a tool file holds an array or an object of tools, not a string."],
    [
      "a list of texts",
      "tools.yaml",
      "- hello\n",
      "tools.yaml:1:3: [0]: a tool must be an object with a name, a description and parameters, not a string.",
    ],
    ["a text for a list", "tools.yaml", "api: x\n", "tools.yaml:1:1: api: must be an array of tools or one tool, not a string."],
    [
      "tables of tables",
      "tools.yaml",
      "api:\n  a: { description: A }\n",
      "tools.yaml:1:1: api: is neither an array of tools nor a tool: it has no description and no parameters.",
    ],
    [
      "a namespace that is a number",
      "tools.json",
      '{"namespace": 3, "tools": []}',
      "tools.json:1:2: namespace: must be a string, not a number.",
    ],
    [
      "parameters as a list",
      "tools.yaml",
      "api:\n  - name: a\n    parameters: [x]\n",
      "tools.yaml:2:5: api[0]: parameters must be a JSON Schema, not an array.",
    ],
    ["no name", "tools.yaml", "- description: A\n", "tools.yaml:1:3: [0]: A tool needs a name: a string that is not empty."],
  ])("F0.16 %s is refused with file and key", async (_what, name, text, message) => {
    expect(await problem(name, text)).toBe(message);
  });

  test.each(["tools.txt", "tools", "tools.yaml.bak"])("F0.14 %s is refused because of its file name", async (name) => {
    expect(await problem(name, "[]")).toBe(`Cannot read the tool file ${name}: its name must end in .yaml, .yml or .json.`);
  });
});

describe("F0.15 namespaces", () => {
  const file = JSON.stringify({ namespace: "file", tools: [{ ...lookup, namespace: "own" }, lookup] });
  const bare = JSON.stringify([lookup]);

  test.each([
    ["a tool's own wins over all", file, { namespace: "argument" }, ["own::lookup", "argument::lookup"]],
    ["the argument wins over the file", JSON.stringify({ file: [lookup] }), { namespace: "argument" }, ["argument::lookup"]],
    ["the file wins over the default", file, {}, ["own::lookup", "file::lookup"]],
    ["the default is last", bare, { otherwise: "mine" }, ["mine::lookup"]],
  ])("F0.15 %s", async (_what, text, options, expected) => {
    expect(names(await read("tools.json", text, options))).toEqual(expected);
  });
});

describe("one tool", () => {
  test("F0.6 has every field of a Haft tool as data", async () => {
    const full = {
      name: "move",
      title: "Move",
      description: "Moves.",
      inputSchema: SCHEMA,
      outputSchema: { type: "string" },
      effects: { reads: ["a"], writes: ["b"], idempotent: true, external: false, destructive: true, commutative: false },
      tags: ["x"],
      category: "DANGEROUS",
      documentation: "Long.",
      requires: ["user"],
      unknownKeys: "refuse",
      oncePerTurn: false,
      endsTurn: true,
      providerExecuted: true,
      enabled: false,
      maxConcurrent: 2,
      timeoutMs: 5,
      deadlineMs: 6,
      maxAttempts: 7,
      maxResultBytes: 8,
      metadata: { from: "file" },
    };
    const { tools } = await read("tools.json", JSON.stringify([full]));

    expect(tools.get("default")).toEqual([full]);
  });

  test("F0.6 has its schemas under every common key, and {} as output counts as no output schema", async () => {
    const text = JSON.stringify({
      a: { description: "A", parameters: {}, output_parameters: {} },
      b: { description: "B", arguments: { properties: { x: { type: "dict" } } }, returns: { type: "float" } },
    });
    const { tools, notes } = await read("tools.json", text);

    expect(tools.get("default")).toEqual([
      { name: "a", description: "A", inputSchema: {} },
      { name: "b", description: "B", inputSchema: { properties: { x: { type: "object" } } }, outputSchema: { type: "number" } },
    ]);
    expect(notes.map((line) => line.replace(/^.*\//u, ""))).toEqual([
      'tools.json:1:65: b: arguments.properties.x.type: "dict" → "object"',
      'tools.json:1:65: b: returns.type: "float" → "number"',
    ]);
  });

  test("may have an effects preset, and MCP hints that only make it more cautious", async () => {
    const text = JSON.stringify([
      { name: "a", description: "", effects: "readOnly" },
      { name: "b", description: "", annotations: { readOnlyHint: true, destructiveHint: true } },
      { name: "c", description: "", cache: { scope: "session", ttlMs: 5 }, effects: { reads: ["x"] } },
    ]);
    const { tools } = await read("tools.json", text);

    expect(tools.get("default")).toEqual([
      { name: "a", description: "", inputSchema: {}, effects: { writes: [], idempotent: true } },
      { name: "b", description: "", inputSchema: {}, effects: { destructive: true } },
      { name: "c", description: "", inputSchema: {}, effects: { reads: ["x"] }, cache: { scope: "session", ttlMs: 5 } },
    ]);
  });

  test("F4.10 is reported with its place and left out if it is invalid, and the others load", async () => {
    const text = `api:
  - { name: good, description: G }
  - { name: "", description: no name }
  - { name: slow, description: S, timeoutMs: soon }
  - { name: wild, description: W, effects: { writes: 3 } }
  - { name: stray, description: W, effects: { writes: "stock:{itme}" }, parameters: { type: object, properties: { item: { type: string } } } }
  - { name: typo, description: T, effects: { destructve: true } }
  - { name: twice, description: T, parameters: {}, inputSchema: {} }
  - { name: number, description: 3 }
  - { name: sly, description: S, type: custom }
  - { name: often, description: S, maxAttempts: 1000 }
`;
    const result = await read("tools.yaml", text);

    expect(names(result)).toEqual(["api::good"]);
    expect(result.problems).toEqual([
      "tools.yaml:3:5: api[1]: A tool needs a name: a string that is not empty.",
      'tools.yaml:4:5: api[2]: timeoutMs of tool "slow" is "soon"; it must be a number from 0 to 315576000000 (0 = no limit).',
      'tools.yaml:5:5: api[3]: effects.writes of tool "wild" is 3; it must be a key or a template such as "stock:{item}", an array of them, or a function that returns them.',
      'tools.yaml:6:5: api[4]: effects.writes of tool "stray" names "{itme}", and the input has no property "itme". Did you mean "{item}"?',
      'tools.yaml:7:5: api[5]: Tool "typo" has an unknown field "effects.destructve". Did you mean "effects.destructive"?',
      "tools.yaml:8:5: api[6]: inputSchema and parameters are words for the same schema; keep one.",
      'tools.yaml:9:5: api[7]: description of tool "number" is 3; it must be a string.',
      'tools.yaml:10:5: api[8]: a tool of type "custom" is not read; a definition is of type "function".',
      'tools.yaml:11:5: api[9]: maxAttempts of tool "often" is 1000; it must be an integer from 1 to 100.',
    ]);
  });

  test("F4.10 is switched off by enable as well as by enabled, and left out if that is no boolean or both are given", async () => {
    const result = await read(
      "tools.yaml",
      "- { name: a, enabled: false }\n- { name: b, enable: false }\n- { name: c, enable: no }\n- { name: d, enabled: true, enable: false }\n- { name: e, enable: true }\n",
    );

    expect([...result.tools.values()].flat().map(({ name, enabled }) => [name, enabled])).toEqual([
      ["a", false],
      ["b", false],
      ["e", true],
    ]);
    expect(result.problems).toEqual([
      'tools.yaml:3:3: [2]: enabled of tool "c" is "no"; it must be a boolean.',
      "tools.yaml:4:3: [3]: enabled and enable are words for the same switch; keep one.",
    ]);
    expect(result.unknown).toEqual([]);
  });

  test("loads despite an unknown key, which is reported", async () => {
    const result = await read("tools.yaml", "- { name: a, description: A, timoutMs: 3 }\n");

    expect(names(result)).toEqual(["default::a"]);
    expect(result.unknown).toEqual(['tools.yaml:1:3: [0]: timoutMs: unknown key. Did you mean "timeoutMs"?']);
  });

  test("is left out if an unknown key seems to limit it, unless that is switched off", async () => {
    const limits = [
      "requires_approval: true",
      "confirm: always",
      "disabled: true",
      "permissions: [admin]",
      "Dangerous: 1",
      "efects: pure",
      "one_per_turn: true",
    ];
    const free = [
      "disabled: false",
      "requires_approval: null",
      "read_only: true",
      "timoutMs: 3",
      "require_approval: never",
      "disabled: 0",
      "required: [a]",
    ];
    const lines = [...limits, ...free].map((key, index) => `- { name: t${index}, description: A, ${key} }\n`);
    const result = await read("tools.yaml", lines.join(""));

    expect(names(result)).toEqual(free.map((_, index) => `default::t${index + limits.length}`));
    expect(result.problems).toHaveLength(limits.length);
    expect(result.problems.slice(0, 1)).toEqual([
      'tools.yaml:1:3: [0]: requires_approval is an unknown key that seems to limit the tool, so the tool is left out. What limits a tool: "enabled", "effects" (with destructive: true, approval is asked), and the tables [permission] and [approval] of a configuration.',
    ]);
    expect(result.problems[5]).toContain('Did you mean "effects"?');
  });

  test("may be overloaded with another schema; an overload with the same schema is reported", async () => {
    const text = JSON.stringify([lookup, { ...lookup, parameters: {} }, { ...lookup, description: "Again.", parameters: { ...SCHEMA } }]);
    const result = await read("tools.json", text);

    expect(names(result)).toEqual(["default::lookup", "default::lookup"]);
    expect(result.problems).toEqual([
      'tools.json:1:195: [2]: the tool "lookup" is already defined with the same input schema; an overload needs a different one.',
    ]);
  });

  test("J05 keeps a variable in its description as text", async () => {
    const { tools } = await read("tools.yaml", "- { name: a, description: '${AWS_SECRET_ACCESS_KEY} ${A:-$(id)}' }\n");

    expect(tools.get("default")?.[0]?.description).toBe("${AWS_SECRET_ACCESS_KEY} ${A:-$(id)}");
  });
});

describe("hostile files", () => {
  test("J01 an alias bomb is refused before it is expanded", async () => {
    const levels = "bcdefghi".split("").map((name, index) => `${name}: &${name} [${Array(9).fill(`*${"abcdefgh"[index]}`).join(", ")}]`);

    expect(await problem("tools.yaml", `a: &a [lol]\n${levels.join("\n")}\n`)).toMatch(/^tools\.yaml:\d+:\d+: more than 1000 aliases\.$/u);
  });

  test("J02 merge keys are refused, and __proto__ pollutes nothing", async () => {
    expect(await problem("tools.yaml", "a:\n  <<: { __proto__: { polluted: 1 } }\n")).toBe(
      "tools.yaml:2:3: merge keys (<<) are not supported; write the keys out.",
    );
    const { tools } = await read(
      "tools.json",
      '[{"name":"a","description":"","__proto__":{"polluted":1},"parameters":{"properties":{"__proto__":{"type":"string"}}}}]',
    );

    expect(tools.get("default")).toEqual([{ name: "a", description: "", inputSchema: { properties: {} } }]);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  test.each(["1e3", "012", "~", "true"])("J03 the tool name %s is not a string in YAML, and must be quoted", async (name) => {
    expect(await problem("tools.yaml", `${name}: { description: A }\n`)).toBe(
      `tools.yaml:1:1: the key ${name} is not a string in YAML; write it in quotes: "${name}".`,
    );
    expect(await problem("tools.yaml", `- { name: ${name}, description: A }\n`)).toBe(
      "tools.yaml:1:3: [0]: A tool needs a name: a string that is not empty.",
    );
  });

  test.each(["no", "on", "off", "2024-01-01"])("J03 the tool name %s is a string", async (name) => {
    expect(names(await read("tools.yaml", `${name}: { description: A }\n`))).toEqual([`default::${name}`]);
  });

  test("J06 F0.16 tens of thousands of overloads of one name are compared quickly, and a duplicate is left out", async () => {
    const overloads = Array.from({ length: 30_000 }, (_, index) => ({ name: "t", parameters: { properties: { [`a${index}`]: {} } } }));
    const { tools, problems } = await read("many.json", JSON.stringify([...overloads, overloads[7]]));

    expect([tools.get("default")?.length, problems.length]).toEqual([30_000, 1]);
    expect(problems[0]).toContain('[30000]: the tool "t" is already defined with the same input schema');
  });

  test("J03 a tool that appears twice in an object is refused", async () => {
    expect(await problem("tools.yaml", "a: { description: A }\na: { description: B }\n")).toBe(
      'tools.yaml:2:1: the key "a" appears twice.',
    );
  });

  test.each([
    ["UTF-16", Buffer.from("\uFEFF[]", "utf16le"), "it is in UTF-16."],
    ["no UTF-8", Buffer.from([0x61, 0xff]), "it is not valid UTF-8."],
    ["more than 16 MiB", `# ${"x".repeat(16 * 1024 * 1024)}`, "it is larger than 16777216 bytes."],
  ])("J06 %s is refused", async (_what, text, reason) => {
    expect(await problem("tools.yaml", text)).toBe(`Cannot read the tool file tools.yaml: ${reason}`);
  });

  test("J06 a byte order mark changes nothing", async () => {
    expect(names(await read("tools.json", `\uFEFF${JSON.stringify([lookup])}`))).toEqual(["default::lookup"]);
  });
});
