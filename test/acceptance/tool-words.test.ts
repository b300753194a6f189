/** Tools as data and as objects, in the words of both seeds: attributes, defaults, round trips, registration. */
import { expect, test } from "vitest";
import { readOnly } from "../../src/core/resources/effects.ts";
import type { ToolCall } from "../../src/core/call.ts";
import type { ToolContext } from "../../src/core/context.ts";
import type { Tool } from "../../src/core/tool.ts";
import { Registry } from "../../src/registry/registry.ts";
import { toolFromJson, toolToJson } from "../../src/registry/tool-definition.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { FakeClock, fakePorts } from "../../src/testing/fake-ports.ts";
import { configFolder } from "../config/config-folder.ts";
import { fileSource } from "../../src/config/tools/file-source.ts";

const READS = { reads: ["sky"], writes: [] } as const;

test.each([["session" as const], [{ scope: "persistent", ttlMs: 90_000, identity: ["user"] } as const]])(
  "F0.2 what a tool says of its cache survives the round trip: %j",
  (cache) => {
    const registry = new Registry();
    const registered = registry.register({ name: "stars", description: "Names stars.", inputSchema: {}, effects: READS, cache }, "sky");
    const json: unknown = JSON.parse(JSON.stringify(toolToJson(registered)));

    expect(json).toMatchObject({ namespace: "sky", cache });
    expect(toolFromJson(json)).toEqual({
      namespace: "sky",
      tool: { name: "stars", description: "Names stars.", inputSchema: {}, effects: READS, cache },
    });
  },
);

/** Every field of a tool that is data, none with its default: the type lets none be forgotten. */
const DATA: Required<
  Omit<
    Tool,
    | "execute"
    | "reducer"
    | "parseInput"
    | "parseOutput"
    | "validate"
    | "supersedes"
    | "composite"
    | "approveWhole"
    | "unusable"
    | "environment"
  >
> = {
  name: "moons",
  title: "Moons",
  description: "Counts moons.",
  inputSchema: { type: "object", properties: { planet: { type: "string", pattern: "^[A-Z]" } }, required: ["planet"] },
  outputSchema: { type: "integer", minimum: 0 },
  effects: { reads: ["sky:{planet}"], writes: [], external: true },
  cache: { scope: "tick", ttlMs: 4_000 },
  tags: ["sky", "count"],
  category: "ASYNC_REQUIRED",
  documentation: "Rings are no moons.",
  requiresReading: true,
  promptContribution: { text: "Ask for one planet at a time.", bucket: "last" },
  providers: { "anthropic-messages": { type: "moons_20260101" } },
  requires: ["observer"],
  unknownKeys: "refuse",
  oncePerTurn: false,
  endsTurn: false,
  mode: "background",
  notify: false,
  providerExecuted: false,
  enabled: false,
  maxConcurrent: 3,
  workingFolder: "observatory",
  timeoutMs: 0,
  deadlineMs: 9,
  maxAttempts: 2,
  maxResultBytes: 0,
  promoteAfterMs: 0,
  metadata: { source: ["catalogue", { year: 1610 }] },
};

test("F0.2 every field of a tool that is data survives the round trip through JSON", () => {
  const registered = new Registry().register(DATA, "sky");
  expect(toolFromJson(JSON.parse(JSON.stringify(toolToJson(registered))))).toEqual({ tool: DATA, namespace: "sky" });
});

test("F0.2 a round trip keeps the namespace and drops what is empty", () => {
  const { tool, namespace } = toolFromJson({ name: "stars", namespace: "sky", output_parameters: {}, metadata: {} }, "other");
  const registered = new Registry().register(tool, namespace);

  expect(toolToJson(registered)).toEqual({ name: "stars", namespace: "sky", description: "", parameters: {} });
});

test("F3.16 the scope tick of a file is that of the turn", async () => {
  let runs = 0;
  const { tool } = toolFromJson({ name: "stars", effects: READS, cacheable: true, cache_scope: "tick" });
  const runtime = createRuntime({ tools: [{ ...tool, execute: () => ++runs }] });
  const session = runtime.session("night");
  const first = await session.execute([{ name: "stars" }, { name: "stars" }]);
  const second = await session.execute([{ name: "stars" }]);

  expect([...first, ...second].map(({ output, origin }) => [output, origin])).toEqual([
    [1, "live"],
    [1, "cache"],
    [2, "live"],
  ]);
});

test("F3.16 tick is another word for turn in code as well", async () => {
  let runs = 0;
  const runtime = createRuntime({
    tools: [
      { name: "stars", description: "", inputSchema: {}, effects: readOnly("sky"), cache: "tick", execute: () => ++runs },
      { name: "moons", description: "", inputSchema: {}, effects: readOnly("sky"), cache: { scope: "tick" }, execute: () => ++runs },
    ],
  });
  const session = runtime.session("night");
  const call = [{ name: "stars" }, { name: "stars" }, { name: "moons" }, { name: "moons" }];
  await session.execute(call);
  const again = await session.execute(call);

  expect(again.map(({ output, origin }) => [output, origin])).toEqual([
    [3, "live"],
    [3, "cache"],
    [4, "live"],
    [4, "cache"],
  ]);
});

test("F3.16 F3.29 cacheable, cache_scope and cache_ttl are read as the seed writes them: by default not cached, for the turn, without end, in seconds", () => {
  const base = { name: "stars", effects: READS };
  const cacheOf = (more: object) => toolFromJson({ ...base, ...more }).tool.cache;

  expect(cacheOf({})).toBeUndefined();
  expect(cacheOf({ cacheable: false, cache_scope: "session", cache_ttl: 5 })).toBeUndefined();
  expect(cacheOf({ cacheable: true })).toBe("turn");
  expect(cacheOf({ cacheable: true, cache_ttl: null })).toBe("turn");
  expect(cacheOf({ cacheable: true, cache_scope: "session" })).toBe("session");
  expect(cacheOf({ cacheable: true, cache_scope: "persistent", cache_ttl: 1.5 })).toEqual({ scope: "persistent", ttlMs: 1_500 });
});

test.each([
  [{ cacheable: "yes" }, /cacheable of tool "stars"/u],
  [{ cacheable: true, cache_scope: "week" }, /cache_scope of tool "stars".*"tick"/u],
  [{ cacheable: true, cache_ttl: -1 }, /cache_ttl of tool "stars"/u],
  [{ cacheable: true, cache: "turn" }, /cache.*cacheable/u],
])("F3.16 %j is refused with the key at fault", (more, problem) => {
  expect(() => toolFromJson({ name: "stars", effects: READS, ...more })).toThrow(problem);
});

test("F3.16 a turn keeps its results for all of its calls: those of handlers, and those of a program that holds it", async () => {
  let runs = 0;
  const stars = {
    name: "stars",
    description: "",
    inputSchema: {},
    effects: readOnly("sky"),
    cache: "tick",
    execute: () => ++runs,
  } as const;
  const night = {
    name: "night",
    description: "",
    inputSchema: {},
    composite: true,
    execute: async (_input: never, { execute }: ToolContext) => {
      const one = await execute({ name: "stars" });
      const [two] = await execute([{ name: "stars" }]);
      return [one.output ?? null, two?.output ?? null];
    },
  };
  const session = createRuntime({ tools: [stars, night] }).session("s");
  const outputs = async (names: readonly string[]) => (await session.execute(names.map((name) => ({ name })))).map(({ output }) => output);
  expect((await session.execute({ name: "night" })).output).toEqual([1, 1]);
  expect(await outputs(["stars", "night", "stars"])).toEqual([2, [2, 2], 2]);
  const held = await session.turn(async () => [await outputs(["stars"]), await outputs(["stars", "night"])]);
  expect(held).toEqual([[3], [3, [3, 3]]]);
  expect(await outputs(["stars"])).toEqual([4]);
});

test("F3.16 a tool in a file is cached by the seed's words, and its result runs out", async () => {
  const folder = configFolder({
    "sky.yaml": `sky:
  - { name: stars, parameters: {}, cacheable: true, cache_scope: session, cache_ttl: 60, effects: { reads: [sky], writes: [] } }
`,
  });
  const clock = new FakeClock();
  const ports = { ...fakePorts(), clock };
  let asked = 0;
  const engine = { kind: "sky", call: () => ++asked };
  const source = fileSource({ name: "sky", path: `${folder}/sky.yaml`, toolset: { engine } });
  const runtime = createRuntime({ sources: [source], ports });
  await runtime.open();
  const session = runtime.session("night");
  const ask = async () => (await session.execute({ name: "sky::stars" })).output;

  expect([await ask(), await ask()]).toEqual([1, 1]);
  await clock.advance(61_000);
  expect(await ask()).toBe(2);
  expect(ports.log.lines.filter(({ level }) => level === "warn")).toEqual([]);
});

test("F3.25 F3.27 a plain tool with a wrong attribute is refused with its name and what would work", () => {
  const tool = { name: "blast", description: "Blasts.", inputSchema: {}, execute: () => 1 };
  for (const [wrong, problem] of [
    [{ category: "dangerous" }, /category of tool "blast" is "dangerous"; it must be .*"DANGEROUS"/u],
    [{ category: "WEIRD" }, /category of tool "blast"/u],
    [{ oncePerTurn: "yes" }, /oncePerTurn of tool "blast"/u],
    [{ unknownKeys: "whatever" }, /unknownKeys of tool "blast"/u],
    [{ effects: { write: ["x"] } }, /"blast".*"effects.write"/u],
  ] as const) {
    expect(() => createRuntime({ tools: [{ ...tool, ...wrong } as never] })).toThrow(problem);
    expect(() => new Registry().register({ ...tool, ...wrong } as never)).toThrow(problem);
  }
});

test("F3.25 a dangerous tool runs once a turn, and again in the next", async () => {
  const runtime = createRuntime({
    tools: [{ name: "blast", description: "", inputSchema: {}, category: "DANGEROUS", execute: () => "boom" }],
  });
  const session = runtime.session("cave");
  const codes = async () =>
    (await session.execute([{ name: "blast" }, { name: "blast" }])).map(({ error, output }) => error?.code ?? output);

  expect(await codes()).toEqual(["boom", "limit_exceeded"]);
  expect(await codes()).toEqual(["boom", "limit_exceeded"]);
});

test("F3.25 two different dangerous tools may run in one turn, each of them once", async () => {
  const dangerous = (name: string) => ({ name, description: "", inputSchema: {}, category: "DANGEROUS" as const, execute: () => name });
  const runtime = createRuntime({ tools: [dangerous("flood"), dangerous("drain")] });
  const results = await runtime.session().execute(["flood", "drain", "flood"].map((name) => ({ name })));

  expect(results.map(({ output, error }) => output ?? error?.code)).toEqual(["flood", "drain", "limit_exceeded"]);
});

test("F3.27 an incomplete tool is refused naming what is missing", () => {
  expect(() => new Registry().register({ name: "x" } as never)).toThrow(/description|inputSchema/u);
  expect(() => new Registry().register({ description: "d", inputSchema: {} } as never)).toThrow(/name/u);
});

test("F3.23 F3.27 F3.29 a tool that says no category is found among those that are chained freely", () => {
  const registry = new Registry();
  registry.register({ name: "plain", description: "", inputSchema: {} });
  registry.register({ name: "safe", description: "", inputSchema: {}, category: "SAFE_CHAIN" });
  registry.register({ name: "say", description: "", inputSchema: {}, category: "TERMINAL" });
  const names = (category: "SAFE_CHAIN" | "TERMINAL" | "DANGEROUS") => registry.search({ category }).map(({ tool }) => tool.name);

  expect([names("SAFE_CHAIN"), names("TERMINAL"), names("DANGEROUS")]).toEqual([["plain", "safe"], ["say"], []]);
  expect(() => registry.search({ category: "safe_chain" as never })).toThrow(
    "it is one of SAFE_CHAIN, TERMINAL, DANGEROUS, ASYNC_REQUIRED",
  );
  expect(registry.require("plain").category).toBe("SAFE_CHAIN");
});

test("F3.29 what a tool requires of its context refuses a call without it; none is required by default, unlike in the game of the seed", async () => {
  const execute = (_input: never, { data }: ToolContext) => data["character"] ?? "nobody";
  const runtime = createRuntime({
    tools: [
      { name: "pose", description: "", inputSchema: {}, requires: ["character"], execute },
      { name: "time", description: "", inputSchema: {}, execute },
    ],
  });
  const calls = [{ name: "pose" }, { name: "time" }];
  const without = await runtime.execute(calls);
  const withOne = await runtime.execute(calls, { data: { character: "Bo" } });

  expect(without.map(({ status, output }) => [status, output])).toEqual([
    ["error", undefined],
    ["ok", "nobody"],
  ]);
  expect(without[0]?.error?.message).toContain("character");
  expect(withOne.map(({ output }) => output)).toEqual(["Bo", "Bo"]);
});

test("F0.10 match gives the tool that a call would reach, in all namespaces or in those named", () => {
  const registry = new Registry({ overloads: true });
  const path = {
    name: "open",
    description: "",
    inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  };
  const url = {
    name: "open",
    description: "",
    inputSchema: { type: "object", properties: { url: { type: "string" } }, required: ["url"] },
  };
  registry.register(path, "disk");
  registry.register(url, "disk");
  registry.register(path, "tape");
  registry.register({ name: "wind", description: "", inputSchema: {} }, "tape");
  const matched = (call: ToolCall, namespaces?: readonly string[]) => {
    const found = registry.match(call, namespaces);
    return found === undefined
      ? undefined
      : [found.qualifiedName, Object.keys((found.tool.inputSchema as { properties?: object }).properties ?? {})];
  };

  expect(matched({ name: "disk::open", input: { url: "x" } })).toEqual(["disk::open", ["url"]]);
  expect(matched({ name: "disk::open", input: { path: "x" } })).toEqual(["disk::open", ["path"]]);
  expect(matched({ name: "open", input: { path: "x" } })).toBeUndefined();
  expect(matched({ name: "open", input: { path: "x" } }, ["tape"])).toEqual(["tape::open", ["path"]]);
  expect(matched({ name: "wind" })).toEqual(["tape::wind", []]);
  expect(matched({ name: "wind" }, ["disk"])).toBeUndefined();
  expect(matched({ name: "disk::open", input: { url: "x" } }, ["tape"])).toBeUndefined();
  expect(matched({ name: "nothing" })).toBeUndefined();
});

test("F0.10 match answers as a call is answered, whatever its input is, and never throws", async () => {
  const registry = new Registry({ overloads: true });
  const find = (description: string, properties: object, required: readonly string[] = []) =>
    registry.register(
      { name: "find", description, inputSchema: { type: "object", properties, required }, execute: () => description },
      "people",
    );
  find("by id", { id: { type: "integer" } }, ["id"]);
  find("by name", { surname: { type: "string" }, first: { type: "string" } }, ["surname"]);
  const runtime = createRuntime({ registry });
  const thrower = {
    get id() {
      throw new Error("no");
    },
  };
  const texts = ['{"id":7}', '{"surname":"Roe"}', '{"surname": "Roe",}', '```json\n{"surname":"Roe"}\n```', '{"first":"Jo"'];
  const inputs: readonly unknown[] = [
    ...texts,
    { id: 7 },
    { surname: "Roe" },
    { first: "Jo" },
    {},
    "x",
    null,
    undefined,
    thrower,
    [1],
    { id: 1n },
  ];
  for (const input of inputs) {
    const call = { name: "people::find", input };
    const { error, output } = await runtime.execute({ ...call, input });
    const matched = registry.match(call)?.tool.description;
    expect(["by id", "by name"]).toContain(matched);
    if (error === undefined) expect(output).toBe(matched);
  }
  for (const call of [undefined, null, 5, {}, { name: 5 }, { name: "__proto__" }, { name: "find::people" }])
    expect(registry.match(call as never)).toBeUndefined();
});

test("F0.10 every query of a registry with two namespaces", () => {
  const registry = new Registry({ overloads: true });
  registry.register({ name: "b", description: "", inputSchema: {} }, "two");
  registry.register({ name: "b", description: "", inputSchema: { type: "object" } }, "two");
  registry.register({ name: "a", description: "", inputSchema: {} }, "one");

  expect([registry.overloads("two::b").length, registry.overloads("two::c").length, registry.get("one::z")]).toEqual([2, 0, undefined]);
  expect([registry.namespaces(), registry.names(), registry.names("two"), registry.names(["one", "two"])]).toEqual([
    ["one", "two"],
    ["one::a", "two::b"],
    ["two::b"],
    ["one::a", "two::b"],
  ]);
  expect([registry.size, [...registry].length, registry.has("one::a"), registry.has("one::b")]).toEqual([3, 3, true, false]);
  const second = registry.overloads("two::b")[1];
  expect(registry.getByFingerprint("two::b", second?.fingerprint ?? "")).toBe(second);
  expect(registry.getByFingerprint("two::b", "0")).toBeUndefined();
  expect(registry.getByFingerprint("one::a", "0")?.qualifiedName).toBe("one::a");
});
