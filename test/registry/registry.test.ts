import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { JsonSchema, Tool } from "../../src/core/tool.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { Registry } from "../../src/registry/registry.ts";
import { toolDefinition, toolFromJson } from "../../src/registry/tool-definition.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";

const CITY = { type: "object", properties: { city: { type: "string" } } };
const POINT = { type: "object", properties: { lat: { type: "number" } } };

function tool(name: string, more: Partial<Tool> = {}): Tool {
  return { name, description: `Does ${name}.`, inputSchema: CITY, ...more };
}

function failure(work: () => unknown): { readonly code: string; readonly message: string } {
  try {
    work();
  } catch (error: unknown) {
    if (error instanceof ToolError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("register", () => {
  test("F2.9 F0.7 rejects a name in use, with the tool and what to do in the message; another namespace may use it", () => {
    const registry = new Registry();
    registry.register(tool("get"));
    expect(failure(() => registry.register(tool("get")))).toEqual({
      code: "duplicate",
      message: 'Tool "default::get" is already registered. Unregister it first, or give this one another name.',
    });
    expect(registry.register(tool("get"), "weather").qualifiedName).toBe("weather::get");
    expect(registry.size).toBe(2);
  });

  test("F0.7 rejects an identical schema in any key order, and a different one unless overloads are allowed", () => {
    const registry = new Registry({ overloads: true });
    registry.register(tool("get", { inputSchema: { type: "object", title: "x" } }));
    const same = failure(() => registry.register(tool("get", { inputSchema: { title: "x", type: "object" } })));
    expect(same.code).toBe("duplicate");
    expect(same.message).toContain("identical");
    expect(failure(() => registry.register(tool("get", { inputSchema: POINT }), "default", { overload: false })).code).toBe("duplicate");
    registry.register(tool("get", { inputSchema: POINT }));
    expect(registry.overloads("get").map((registered) => registered.tool.inputSchema)).toEqual([{ type: "object", title: "x" }, POINT]);
  });

  test("F0.7 rejects an empty namespace, and one that makes the separator ambiguous", () => {
    const registry = new Registry();
    expect(failure(() => registry.register(tool("get"), "")).code).toBe("invalid_argument");
    expect(failure(() => registry.register(tool("get"), "a::b")).code).toBe("invalid_argument");
    expect(failure(() => registry.register(tool("b"), "a:")).message).toContain("colon");
    expect(registry.namespaces()).toEqual([]);
  });

  test("F4.1 quarantines a tool whose input is not an object, with the reason; defineTool throws", () => {
    const registry = new Registry();
    for (const type of ["array", ["string", "null"]])
      registry.register({ name: `ores-${String(type)}`, description: "Lists ores.", inputSchema: { type } });
    registry.register({ name: "either", description: "Lists ores.", inputSchema: { type: ["array", "object"] } });
    expect(registry.check().map(({ tool, error }) => [tool, error.code, error.message])).toEqual([
      ["default::ores-array", "unavailable", expect.stringContaining('type is "array"; the input of a tool must be an object')],
      ["default::ores-string,null", "unavailable", expect.stringContaining('type is ["string","null"]')],
    ]);
    expect(() => defineTool({ name: "ores", description: "", inputSchema: { type: "array" } })).toThrow(
      "the input of a tool must be an object",
    );
  });

  test.each([
    [false, "false allows nothing"],
    [{ const: "salt" }, 'const is "salt"'],
    [{ enum: [1, null, ["a"]] }, 'enum is [1,null,["a"]]'],
    [{ allOf: [{ required: ["a"] }, { type: "number" }] }, 'in allOf, type is "number"'],
    [{ anyOf: [{ type: "null" }, { type: "object", oneOf: [{ const: 1 }, false] }] }, 'in anyOf, type is "null"'],
    [{ enum: [1, { a: 1 }] }, undefined],
    [{ const: {} }, undefined],
    [{ anyOf: [{ type: "null" }, { properties: {} }] }, undefined],
    [{ oneOf: [] }, undefined],
  ])("F4.1 quarantines a tool if no object satisfies its input schema %j: %s", (inputSchema, reason) => {
    const registry = new Registry();
    registry.register({ name: "ores", description: "Lists ores.", inputSchema });
    const [quarantined] = registry.check();
    if (reason === undefined) expect(quarantined?.error.message ?? "").not.toContain("the input of a tool must be an object");
    else expect(quarantined?.error.message).toContain(`${reason}; the input of a tool must be an object`);
  });

  test("F2.9 accepts a name, a description and a handler: such a tool takes any object", async () => {
    const registry = new Registry();
    const { tool } = registry.register({ name: "smelt", description: "Smelts ore.", execute: (input: unknown) => input });
    expect(tool.inputSchema).toEqual({ type: "object" });
    expect((await createRuntime({ registry }).execute({ name: "smelt", input: { ore: "iron" } })).output).toEqual({ ore: "iron" });
  });

  test("F3.27 rejects an incomplete tool, listing everything that is missing", () => {
    const registry = new Registry();
    const incomplete = [
      { name: "half" },
      {},
      null,
      { ...tool("x"), description: 5 },
      tool(""),
      tool("x", { timeoutMs: -1 }),
      { ...tool("x"), tags: "a" },
    ];
    const messages = incomplete.map((given) => failure(() => registry.register(given as unknown as Tool)).message);
    expect(messages).toEqual([
      'The tool "half" lacks description.',
      "A tool lacks name, description.",
      "A tool must be an object with name, description and inputSchema.",
      'The tool "x" lacks description.',
      "A tool needs a name: a string that is not empty.",
      'timeoutMs of tool "x" is -1; it must be a number from 0 to 315576000000 (0 = no limit).',
      'tags of tool "x" is "a"; it must be an array of strings.',
    ]);
    expect(registry.size).toBe(0);
  });
});

describe("addToolset", () => {
  test("adds all tools or none: a name used twice within it leaves nothing behind", () => {
    const registry = new Registry();
    const { version } = registry;
    expect(failure(() => registry.addToolset({ name: "web" }, [tool("a"), tool("b"), tool("a")])).code).toBe("duplicate");
    expect([registry.size, registry.namespaces(), registry.has("web::b"), registry.version]).toEqual([0, [], false, version]);
  });

  test("rejects a second toolset of the same name, an engine without call() and settings out of range", () => {
    const registry = new Registry();
    registry.addToolset({ name: "web", tools: [tool("a")] });
    expect(failure(() => registry.addToolset({ name: "web" })).code).toBe("duplicate");
    expect(failure(() => registry.addToolset({ name: "x", engine: {} as never })).message).toContain("call()");
    expect(failure(() => registry.addToolset({ name: "x", defaults: { maxAttempts: 0 } })).message).toContain("maxAttempts");
    expect(registry.toolsets().map(({ name }) => name)).toEqual(["web"]);
  });

  test("F0.8 accepts overloads where the toolset allows them", () => {
    const registry = new Registry();
    registry.addToolset({ name: "geo", overloads: true }, [tool("find"), tool("find", { inputSchema: POINT })]);
    expect(registry.overloads("geo::find")).toHaveLength(2);
  });

  test("A16 A17 quarantines only the tool with an invalid schema, naming the tool and the place", () => {
    const registry = new Registry();
    const bad: readonly JsonSchema[] = [
      { type: "object", properties: { page: { exclusiveMinimum: true } } },
      { type: "something" },
      { type: "object", properties: { a: { type: "string", pattern: "(" } } },
      { required: "a" },
      { properties: [] },
      { $ref: "http://127.0.0.1:9/x" },
      "no schema" as unknown as JsonSchema,
    ];
    registry.addToolset({ name: "s" }, [
      ...bad.map((inputSchema, at) => tool(`bad_${at}`, { inputSchema })),
      tool("good"),
      tool("bad_output", { outputSchema: { type: 5 } as JsonSchema }),
    ]);
    const found = registry.check();
    expect(found.map((one) => one.tool)).toEqual([...bad.map((_, at) => `s::bad_${at}`), "s::bad_output"]);
    expect(new Set(found.map((one) => one.error.code))).toEqual(new Set(["unavailable"]));
    expect(found[0]?.error.message).toContain('"s::bad_0"');
    expect(found[0]?.error.message).toContain("#/properties/page/exclusiveMinimum");
    expect(found.at(-1)?.error.message).toContain("output schema");
    expect(registry.require("s::good").quarantine).toBeUndefined();
    expect(registry.require("s::good").inputValidator.check({ city: 1 })).toBe(false);
    expect(failure(() => registry.require("s::bad_1").inputValidator).message).toContain("something");
  });

  test("quarantines a tool whose schema cannot be hashed, without a duplicate error and without failing the toolset", () => {
    const circular: Record<string, unknown> = { type: "object" };
    circular["properties"] = { self: circular };
    const registry = new Registry();
    registry.addToolset({ name: "s", overloads: true }, [tool("x", { inputSchema: circular }), tool("x")]);
    expect(registry.check().map((one) => one.tool)).toEqual(["s::x"]);
  });
});

test("F4.10 tools of an engine that have no name or a taken name are left out with a warning", () => {
  const warnings: string[] = [];
  const registry = new Registry({ onWarning: (message) => warnings.push(message) });
  registry.addToolset({ name: "web" }, [tool("mine", { description: "The program's own." })]);
  const brought = [tool("new"), tool("mine"), {}, 5, tool("new"), { name: "no_schema", description: "" }, tool("\u0000")];
  expect(registry.addTools("web", brought as unknown as readonly Tool[])).toBe(2);
  expect(registry.names("web")).toEqual(["web::mine", "web::new", "web::no_schema"]);
  expect(registry.require("web::mine").tool.description).toBe("The program's own.");
  expect(registry.check().map((one) => one.tool)).toEqual(["web::no_schema"]);
  expect(warnings).toHaveLength(5);
  expect(failure(() => registry.addTools("webb", [])).message).toBe('No toolset "webb". Did you mean "web"?');
});

describe("a registry of two namespaces", () => {
  function twoNamespaces(): Registry {
    const registry = new Registry();
    registry.addToolset({ name: "weather", overloads: true }, [tool("get"), tool("get", { inputSchema: POINT }), tool("alert")]);
    registry.register(tool("zip"));
    registry.register(tool("alert"));
    return registry;
  }

  test("F0.10 F2.11 answers every query", () => {
    const registry = twoNamespaces();
    const [first, second] = registry.overloads("weather::get");
    expect(registry.get("weather::get")).toBe(first);
    expect(registry.overloads("weather::get")).toHaveLength(2);
    expect(registry.get("zip")?.qualifiedName).toBe("default::zip");
    expect(registry.get("alert")?.qualifiedName).toBe("default::alert");
    expect(registry.getByFingerprint("weather::get", second?.fingerprint ?? "")).toBe(second);
    expect(registry.getByFingerprint("zip", "any")?.qualifiedName).toBe("default::zip");
    expect(registry.names()).toEqual(["default::alert", "default::zip", "weather::alert", "weather::get"]);
    expect(registry.names("weather")).toEqual(["weather::alert", "weather::get"]);
    expect(registry.names(["weather", "default"])).toEqual(registry.names());
    expect(registry.list("weather").map((registered) => registered.qualifiedName)).toEqual([
      "weather::alert",
      "weather::get",
      "weather::get",
    ]);
    expect(registry.namespaces()).toEqual(["default", "weather"]);
    expect([...registry]).toHaveLength(registry.size);
  });

  test("F0.10 F2.11 returns nothing for unknown names", () => {
    const registry = twoNamespaces();
    expect([
      registry.get("weather::zip"),
      registry.overloads("x"),
      registry.getByFingerprint("weather::get", "x"),
      registry.list("x"),
      registry.names("x"),
    ]).toEqual([undefined, [], undefined, [], []]);
    expect(registry.has("weather::nothing")).toBe(false);
    expect(failure(() => registry.require("weather::gett"))).toEqual({
      code: "not_found",
      message: 'No tool "weather::gett". Did you mean "weather::get"?',
    });
  });

  test("F2.20 reports its size and content", () => {
    const registry = twoNamespaces();
    expect([registry.size, registry.has("weather::get"), registry.has("get"), registry.has("nothing")]).toEqual([5, true, true, false]);
    expect(inspect(registry)).toBe("Registry(5 tools in 2 toolsets)");
    expect(String(new Registry())).toBe("Registry(0 tools in 0 toolsets)");
  });

  test("F2.10 unregister returns true once, then false, and removes every overload", () => {
    const registry = twoNamespaces();
    expect(registry.unregister("get")).toBe(false);
    expect([registry.unregister("weather::get"), registry.unregister("weather::get")]).toEqual([true, false]);
    expect([registry.unregister("zip"), registry.unregister("default::zip")]).toEqual([true, false]);
    expect([registry.size, registry.names()]).toEqual([2, ["default::alert", "weather::alert"]]);
    registry.register(tool("zip"));
    expect(registry.has("zip")).toBe(true);
  });

  test("F4.9 lists its toolsets and tools, and removes a toolset completely", () => {
    const registry = twoNamespaces();
    expect(registry.toolsets().map(({ name }) => name)).toEqual(["weather", "default"]);
    expect([registry.removeToolset("weather"), registry.removeToolset("weather")]).toEqual([true, false]);
    expect([registry.size, registry.names(), registry.has("weather::get")]).toEqual([2, ["default::alert", "default::zip"], false]);
    registry.addToolset({ name: "weather" }, [tool("get")]);
    expect(registry.names("weather")).toEqual(["weather::get"]);
  });

  test("increases its version with each change and only then", () => {
    const registry = twoNamespaces();
    const changes: readonly (() => unknown)[] = [
      () => registry.register(tool("new")),
      () => registry.unregister("new"),
      () => registry.setEnabled("weather", false),
      () => registry.setToolsetState("weather", "closed"),
      () => registry.removeToolset("weather"),
    ];
    for (const change of changes) {
      const { version } = registry;
      change();
      expect(registry.version).toBeGreaterThan(version);
    }
    const { version } = registry;
    registry.list();
    registry.search({ text: "x" });
    registry.unregister("nothing");
    registry.removeToolset("nothing");
    registry.setToolsetState("nothing", "open");
    registry.check();
    expect(registry.version).toBe(version);
  });
});

test("F0.6 tools added as a list, one by one or from JSON make equal registries", () => {
  const tools = [tool("b", { tags: ["t"] }), tool("a")];
  const listed = new Registry();
  listed.addToolset({ name: "default", tools });
  const single = new Registry();
  for (const one of tools) single.register(one);
  const parsed = new Registry();
  for (const one of tools) {
    const { tool: read, namespace } = toolFromJson({
      name: one.name,
      description: one.description,
      parameters: one.inputSchema,
      tags: one.tags ?? [],
    });
    parsed.register(read, namespace);
  }
  const definitions = listed.list().map(toolDefinition);
  expect(single.list().map(toolDefinition)).toEqual(definitions);
  expect(parsed.list().map(toolDefinition)).toEqual(definitions);
});

describe("settings", () => {
  test("F3.29 are 30 s, no deadline, 4 attempts and 64 KiB by default", () => {
    expect(new Registry().register(tool("x")).settings).toEqual({
      timeoutMs: 30_000,
      deadlineMs: 0,
      maxAttempts: 4,
      maxResultBytes: 65_536,
      promoteAfterMs: 0,
    });
  });

  test("F4.8 are the tool's own, else its toolset's, else the runtime's", () => {
    const registry = new Registry({ defaults: { timeoutMs: 1, deadlineMs: 2, maxAttempts: 3 } });
    registry.addToolset({ name: "s", defaults: { timeoutMs: 10, deadlineMs: 20 } }, [tool("x", { timeoutMs: 0 }), tool("y")]);
    expect(registry.require("s::x").settings).toEqual({
      timeoutMs: 0,
      deadlineMs: 20,
      maxAttempts: 3,
      maxResultBytes: 65_536,
      promoteAfterMs: 0,
    });
    expect(registry.require("s::y").settings).toEqual({
      timeoutMs: 10,
      deadlineMs: 20,
      maxAttempts: 3,
      maxResultBytes: 65_536,
      promoteAfterMs: 0,
    });
  });
});

test("F4.5 a toolset is listed with its engine, settings and tools; requiring a tool it does not have throws", () => {
  const toolset = {
    name: "web",
    description: "The web.",
    engine: { kind: "test", call: () => 1 },
    maxConcurrent: 2,
    tools: [tool("search")],
  };
  const registry = new Registry();
  registry.addToolset(toolset);
  expect(registry.toolsets()).toEqual([toolset]);
  expect(registry.require("web::search").toolset).toBe(toolset);
  expect(failure(() => registry.require("web::fetch")).code).toBe("not_found");
});

test("registering neither compiles nor hashes schemas", () => {
  let reads = 0;
  const watched = new Proxy(
    { type: "object" },
    { get: (target, key) => (reads++, Reflect.get(target, key)), ownKeys: (target) => (reads++, Reflect.ownKeys(target)) },
  );
  const registry = new Registry();
  registry.addToolset({ name: "s" }, [tool("x", { inputSchema: { type: "object", properties: { list: { items: watched } } } })]);
  registry.resolve("x");
  expect(reads).toBe(0);
  expect(registry.require("s::x").quarantine).toBeUndefined();
  expect(reads).toBeGreaterThan(0);
});
