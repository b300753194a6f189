import { expect, test } from "vitest";
import type { ToolCall } from "../../src/core/call.ts";
import { ToolOutput } from "../../src/core/content.ts";
import type { Effects } from "../../src/core/resources/effects.ts";
import { ToolError } from "../../src/core/error.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import { toolDefinition } from "../../src/registry/tool-definition.ts";
import { withSuccessShape } from "../../src/registry/success-shape.ts";
import { mendJsonText } from "../../src/schema/json-text/mend-json-text.ts";
import { gate, testRuntime, tool } from "./bench-runtime.ts";

const echo = tool("echo", (input) => input, {
  inputSchema: { type: "object", properties: { a: { type: "integer" } }, required: ["a"], additionalProperties: false },
});

test("F2.14 F3.5 an unknown name gives a not_found result that suggests the nearest name", async () => {
  const { runtime } = testRuntime({ tools: [tool("search", () => 1)] });
  const result = await runtime.execute({ id: "c1", name: "serch", input: {} });
  expect(result.status).toBe("error");
  expect(result.id).toBe("c1");
  expect(result.error?.code).toBe("not_found");
  expect(`${result.error?.message} ${result.error?.hint ?? ""}`).toContain("search");
  expect(result.attempts).toBe(0);
});

test("F2.15 F3.6 F1.9 an input that breaks the schema never reaches the handler, and every violation is listed", async () => {
  let ran = 0;
  const { runtime } = testRuntime({ tools: [{ ...echo, execute: () => ran++ }] });
  const result = await runtime.execute({ name: "echo", input: { a: "x", b: 1 } });
  expect(ran).toBe(0);
  expect(result.error?.code).toBe("invalid_input");
  expect(result.error?.details?.some((detail) => detail.startsWith("$.a: expected type integer"))).toBe(true);
});

test.each([
  { allOf: [{ properties: { b: { type: "string" } } }] },
  { $ref: "#/$defs/more", $defs: { more: { properties: { b: { type: "string" } } } } },
  { anyOf: [{ properties: { b: { type: "string" } }, required: ["b"] }, { required: ["a"] }] },
  { anyOf: [{ required: ["b"] }, { required: ["c"] }] },
  { if: { required: ["a"] }, then: { required: ["b"] } },
  { dependencies: { a: ["b"] } },
  { dependentRequired: { a: ["b"] } },
])("the success shape keeps undeclared properties if any part of the schema allows them: %j", async (more) => {
  const parameters = { type: "object", properties: { a: { type: "string" } }, ...more };
  const shaped = withSuccessShape({ name: "t", description: "", parameters, execute: (input) => ({ success: true, input }) });
  const { runtime } = testRuntime({ tools: [shaped] });
  const result = await runtime.execute({ name: "t", input: { a: "1", b: "2" } });
  expect(result.output).toEqual({ success: true, input: { a: "1", b: "2" } });
});

test.each([
  {},
  { anyOf: [{ required: ["a"] }, { required: ["b"] }] },
  { oneOf: [{ properties: { a: { const: "1" } }, required: ["a"] }, { required: ["b"] }] },
  { allOf: [{ anyOf: [{ required: ["a"] }, { required: ["b"] }] }] },
  { if: { required: ["a"] }, then: { properties: { a: { minLength: 1 } } } },
  { dependencies: { b: ["a"] } },
  { $ref: "#/$defs/more", $defs: { more: { properties: { c: { type: "string" } } } } },
])("the success shape drops properties that no part of its schema declares: %j", async (more) => {
  const parameters = { type: "object", properties: { a: { type: "string" }, b: { type: "string" } }, ...more };
  const shaped = withSuccessShape({ name: "t", description: "", parameters, execute: (input) => ({ success: true, input }) });
  const { runtime } = testRuntime({ tools: [shaped] });
  const result = await runtime.execute({ name: "t", input: { a: "1", z: 2 } });
  expect(result).toMatchObject({ output: { success: true, input: { a: "1" } }, repairs: [{ path: "$.z", kind: "dropped" }] });
});

test("the success shape does not reject properties that only a nested schema branch declares", async () => {
  const c = { properties: { c: { type: "string" } }, required: ["c"] };
  const parameters = { type: "object", properties: { a: { type: "string" } }, allOf: [{ anyOf: [c, { required: ["a"] }] }] };
  const shaped = withSuccessShape({ name: "t", description: "", parameters, execute: (input) => ({ success: true, input }) });
  const { runtime } = testRuntime({ tools: [shaped] });
  const results = await runtime.execute([{ c: "1" }, { a: "1", z: 2 }].map((input) => ({ name: "t", input })));
  expect(results.map(({ status }) => status)).toEqual(["ok", "ok"]);
});

test("F1.9 malformed JSON text as input is an invalid_input result", async () => {
  const { runtime } = testRuntime({ tools: [echo] });
  const result = await runtime.execute({ name: "echo", input: '{"a": ' });
  expect(result.error?.code).toBe("invalid_input");
});

const asIs = (name: string, effects: Effects) => tool(name, (input) => input, { inputSchema: { type: "object" }, effects });

test.each([
  '{"filter": {"id": 5}',
  '{"what": "a"',
  '{"amount":-}',
  '{"tags": ["a" "b"]}',
  '{"to":"bob@x.com,"cc":"eve@x.com"}',
  "{to: bob}",
])("F1.9 %j is ambiguous JSON: a writing tool rejects it with the position, a reading tool runs and lists the repairs", async (input) => {
  const { runtime } = testRuntime({
    tools: [asIs("writes", { writes: ["x"] }), asIs("reads", { reads: ["x"] }), tool("undeclared", () => 1, { effects: {} })],
  });
  const [writes, reads, undeclared] = await runtime.execute([
    { name: "writes", input },
    { name: "reads", input },
    { name: "undeclared", input },
  ]);
  expect([writes?.error?.code, undeclared?.error?.code]).toEqual(["invalid_input", "invalid_input"]);
  expect(writes?.error?.details?.[0]).toMatch(
    /^\$: Not valid JSON at line 1, column \d+: .+\. Send the complete arguments again as valid JSON\.$/u,
  );
  expect([reads?.status, reads?.repairs.map(({ kind }) => kind)]).toEqual(["ok", ["fixed-json"]]);
});

test.each<[string, JsonValue]>([
  [String.raw`{"pattern":"^\d+\s*$"}`, { pattern: String.raw`^\d+\s*$` }],
  ['{"to":"bob@x.com",,"cc":"eve@x.com"}', { to: "bob@x.com", cc: "eve@x.com" }],
])("F1.9 %s runs with the value of mendJsonText, every string intact", async (input, value) => {
  const { runtime } = testRuntime({ tools: [asIs("writes", { writes: ["x"] })] });
  const result = await runtime.execute({ name: "writes", input });
  expect([result.output, mendJsonText(input)]).toEqual([value, value]);
});

test("F2.16 F1.2 F3.30 a handler that throws gives an error result with its message, sync or async", async () => {
  const { runtime } = testRuntime({
    tools: [
      tool("sync", () => {
        throw new Error("no such city");
      }),
      tool("later", () => Promise.reject(new Error("no such city"))),
    ],
  });
  const results = await runtime.execute([{ name: "sync" }, { name: "later" }]);
  expect(results.map((result) => [result.status, result.error?.code, result.error?.message])).toEqual([
    ["error", "execution_failed", "no such city"],
    ["error", "execution_failed", "no such city"],
  ]);
});

test("F2.13 F2.18 F3.30 plain values and promises are awaited and returned", async () => {
  const { runtime } = testRuntime({
    tools: [tool("plain", () => 1), tool("later", async () => ({ b: [2] })), tool("nothing", () => undefined), tool("text", () => "hi")],
  });
  const results = await runtime.execute([{ name: "plain" }, { name: "later" }, { name: "nothing" }, { name: "text" }]);
  expect(results.map((result) => [result.status, result.output, result.origin])).toEqual([
    ["ok", 1, "live"],
    ["ok", { b: [2] }, "live"],
    ["ok", null, "live"],
    ["ok", "hi", "live"],
  ]);
});

test("F2.13 a missing or null input is an empty object, under any of the accepted keys", async () => {
  const { runtime } = testRuntime({ tools: [tool("echo", (input) => input)] });
  const calls = [{ name: "echo" }, { name: "echo", input: null }, { name: "echo", arguments: null }, { name: "echo", parameters: null }];
  const results = await runtime.execute(calls as readonly ToolCall[]);
  expect(results.map(({ output, repairs, warnings }) => [output, repairs, warnings])).toEqual(calls.map(() => [{}, [], []]));
});

test("F2.16 F2.18 a result has the duration of its call, waits between attempts included, for success and failure", async () => {
  const after = (ms: number) => new Promise<void>((resolve) => ports.clock.timer(resolve, ms));
  const { runtime, ports } = testRuntime({
    retry: { delayMs: 400, factor: 1, jitter: false },
    tools: [
      tool("bake", () => after(250).then(() => "bread")),
      tool("burn", () => after(80).then(() => Promise.reject(new Error("the oven is out")))),
      tool("fetch", (_, { attempt }) => {
        if (attempt === 1) throw Object.assign(new Error("down"), { code: "ECONNREFUSED" });
        return "flour";
      }),
    ],
  });
  const pending = runtime.execute([{ name: "bake" }, { name: "burn" }, { name: "fetch" }, { name: "nothing" }]);
  await ports.clock.advance(400);
  const results = await pending;
  expect(results.map(({ status, error, durationMs, attempts }) => [status, error?.message ?? "", durationMs, attempts])).toEqual([
    ["ok", "", 250, 1],
    ["error", "the oven is out", 80, 1],
    ["ok", "", 400, 2],
    ["error", expect.stringContaining("nothing"), 0, 0],
  ]);
});

test("F2.17 an output that breaks its schema is kept, and its result is partial and lists the violations", async () => {
  const { runtime } = testRuntime({
    tools: [tool("count", () => ({ n: "x" }), { outputSchema: { type: "object", properties: { n: { type: "integer" } } } })],
  });
  const result = await runtime.execute({ name: "count" });
  expect(result.status).toBe("partial");
  expect(result.output).toEqual({ n: "x" });
  expect(result.error?.code).toBe("invalid_output");
  expect(result.error?.details).toEqual(["$.n: expected type integer, got string"]);
});

test("F2.17 a long integer that was read as a string does not break a schema that says integer", async () => {
  const outputSchema = { type: "object", properties: { id: { type: "integer" } } };
  const { runtime } = testRuntime({ tools: [tool("find", () => ({ id: "1915883588174806058" }), { outputSchema })] });
  expect(await runtime.execute({ name: "find" })).toMatchObject({ status: "ok", output: { id: "1915883588174806058" } });
});

test("F2.18 validate: false skips the checks of input and output", async () => {
  const { runtime } = testRuntime({ tools: [{ ...echo, outputSchema: { type: "string" } }] });
  const result = await runtime.execute({ name: "echo", input: { a: "x" } }, { validate: false });
  expect([result.status, result.output]).toEqual(["ok", { a: "x" }]);
});

test("F1.39 F3.8 a number in a string is coerced and the repair is listed", async () => {
  const { runtime } = testRuntime({ tools: [echo] });
  const result = await runtime.execute({ name: "echo", input: { a: "5" } });
  expect(result.output).toEqual({ a: 5 });
  expect(result.repairs.map((repair) => [repair.path, repair.kind])).toEqual([["$.a", "coerced"]]);
});

test("F3.2 parameters next to the name are taken as the input with a warning; an empty input stays empty", async () => {
  const { runtime } = testRuntime({ tools: [tool("echo", (input) => input)] });
  const misplaced: unknown = { tool: "echo", parameters: {}, city: "Oslo", reasoning: "look" };
  const [moved, empty] = await runtime.execute([misplaced, { name: "echo", input: {} }] as unknown as readonly ToolCall[]);
  expect(moved?.output).toEqual({ city: "Oslo" });
  expect(moved?.warnings).toEqual(['The input was next to the name instead of in "input": city.']);
  expect([empty?.output, empty?.warnings]).toEqual([{}, []]);
});

test("F4.28 A07 malformed calls get error results that describe the shape of a call", async () => {
  const { runtime } = testRuntime({ tools: [tool("echo", (input) => input)] });
  const hostile: unknown[] = [
    null,
    5,
    "echo",
    [],
    {},
    { name: 7 },
    { name: "" },
    {
      get name() {
        throw new Error("boom");
      },
    },
    { name: "echo", input: [1] },
    { name: "echo", input: 5 },
    { name: "echo", input: "" },
    { name: "echo", input: { f: () => 1 } },
  ];
  const results = await runtime.execute(hostile as unknown as readonly ToolCall[]);
  expect(results.map((result) => result.error?.code)).toEqual([
    ...Array<string>(8).fill("invalid_call"),
    ...Array<string>(4).fill("invalid_input"),
  ]);
});

test("F0.4 three calls, one without an id, give three results in order with ids echoed and names qualified", async () => {
  const { runtime } = testRuntime({ tools: [tool("echo", (input) => input), tool("fail", () => Promise.reject(new Error("no")))] });
  const results = await runtime.execute([{ id: "a", name: "echo" }, { name: "fail" }, { id: "c", name: "default::echo" }]);
  expect(results.map((result) => [result.id, result.name, result.status])).toEqual([
    ["a", "default::echo", "ok"],
    [undefined, "default::fail", "error"],
    ["c", "default::echo", "ok"],
  ]);
});

test("B14 calls with missing, empty or huge ids get their own call ids; a duplicate id is rejected with its position", async () => {
  const { runtime } = testRuntime({ tools: [tool("echo", (input) => input)] });
  const results = await runtime.execute([
    { id: "a", name: "echo", input: { n: 1 } },
    { id: "a", name: "echo", input: { n: 2 } },
    { id: "", name: "echo" },
    { id: null, name: "echo" },
    { id: "x".repeat(10_240), name: "echo" },
  ] as unknown as readonly ToolCall[]);
  expect(results.map((result) => result.error?.code)).toEqual([undefined, "invalid_call", undefined, undefined, undefined]);
  expect(new Set(results.map((result) => result.callId)).size).toBe(5);
});

test("F4.2 F4.3 B13 the handler gets frozen input, its tool's name and the program's data", async () => {
  const seen: unknown[] = [];
  const { runtime } = testRuntime({
    tools: [
      tool("look", (input, context) => {
        seen.push(Object.isFrozen(input), Object.isFrozen(input["list"]), context.toolName, context.data["user"], context.attempt);
        return null;
      }),
    ],
  });
  const sent = { list: [1] };
  await runtime.execute({ name: "look", input: sent }, { data: { user: "ada" } });
  expect(seen).toEqual([true, true, "default::look", "ada", 1]);
  expect(Object.isFrozen(sent)).toBe(false);
});

test("F3.29 a tool that requires data is unavailable without it", async () => {
  const { runtime } = testRuntime({ tools: [tool("say", () => "hi", { requires: ["character"] })] });
  const refused = await runtime.execute({ name: "say" });
  const ran = await runtime.execute({ name: "say" }, { data: { character: "Ada" } });
  expect([refused.error?.code, refused.error?.operatorHint, ran.output]).toEqual([
    "unavailable",
    "Give it as data: execute(calls, { data: { character: … } }).",
    "hi",
  ]);
});

test("F1.17 a provider-executed tool never runs in the runtime", async () => {
  let ran = 0;
  const { runtime } = testRuntime({ tools: [tool("web_search", () => ran++, { providerExecuted: true })] });
  expect((await runtime.execute({ name: "web_search" })).error?.code).toBe("not_executable");
  expect(ran).toBe(0);
});

test("F1.3 content parts reach the result beside its JSON", async () => {
  const content = [
    { type: "text", text: "a cat" },
    { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" },
  ] as const;
  const { runtime } = testRuntime({ tools: [tool("draw", () => new ToolOutput({ content, output: { id: 1 }, metadata: { took: 2 } }))] });
  const result = await runtime.execute({ name: "draw" });
  expect([result.content, result.output, result.metadata]).toEqual([content, { id: 1 }, { took: 2 }]);
});

test("B05 unusual return values become documented JSON or a not_json error, and the process survives", async () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  const odd: Record<string, unknown> = {
    bigint: 1n,
    map: new Map([[1, 2]]),
    set: new Set([1]),
    date: new Date(Number.NaN),
    symbol: Symbol("x"),
    function: () => 1,
    cyclic,
    getter: {
      get boom() {
        throw new Error("no");
      },
    },
    proxy: new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error("no");
        },
      },
    ),
    nan: Number.NaN,
    thenThrows: {
      get then() {
        throw new Error("no");
      },
    },
  };
  const { runtime } = testRuntime({ tools: Object.entries(odd).map(([name, value]) => tool(name, () => value, { maxAttempts: 1 })) });
  const results = await runtime.execute(Object.keys(odd).map((name) => ({ name })));
  expect(results.map((result) => result.status)).toEqual(Object.keys(odd).map(() => "error"));
  const fine = await Promise.all(
    [{ at: new Date(0) }, Buffer.from("a"), new URL("http://a/")].map((value) =>
      testRuntime({ tools: [tool("x", () => value)] }).runtime.execute({ name: "x" }),
    ),
  );
  expect(fine.map((result) => result.output)).toEqual([{ at: "1970-01-01T00:00:00.000Z" }, { type: "Buffer", data: [97] }, "http://a/"]);
});

test("B04 unusual thrown values give one error result with a string message", async () => {
  const thrown: unknown[] = [
    null,
    undefined,
    "s",
    5,
    {
      get message() {
        throw 1;
      },
    },
    new Error("x".repeat(10_000_000)),
    new Proxy(
      {},
      {
        get() {
          throw 1;
        },
        getPrototypeOf() {
          throw 1;
        },
      },
    ),
  ];
  const { runtime } = testRuntime({
    tools: thrown.map((value, index) =>
      tool(
        `t${index}`,
        () => {
          throw value;
        },
        { maxAttempts: 1 },
      ),
    ),
  });
  const results = await runtime.execute(thrown.map((_, index) => ({ name: `t${index}` })));
  expect(results.map((result) => [result.status, typeof result.error?.message, (result.error?.message.length ?? 0) <= 4096])).toEqual(
    thrown.map(() => ["error", "string", true]),
  );
});

test("A01 a __proto__ key in an input never reaches the handler or a prototype", async () => {
  let got: unknown;
  const { runtime } = testRuntime({
    tools: [
      tool("echo", (input) => {
        got = Object.assign({}, input);
        return input;
      }),
    ],
  });
  const input: unknown = JSON.parse(
    '{"a":1,"__proto__":{"admin":true},"list":[{"__proto__":{"admin":true}}],"constructor":{"prototype":{"admin":true}}}',
  );
  const result = await runtime.execute({ name: "echo", input });
  expect(Reflect.get(got as object, "admin")).toBeUndefined();
  expect(Reflect.get({}, "admin")).toBeUndefined();
  expect(result.repairs.map((repair) => repair.path)).toEqual(["$.__proto__", "$.list[0].__proto__"]);
});

test("A02 names of built-in properties are unknown tools until they are registered, and then call their own handler", async () => {
  const names = ["__proto__", "constructor", "toString", "hasOwnProperty"];
  const { runtime } = testRuntime();
  const before = await runtime.execute(names.map((name) => ({ name })));
  expect(before.map((result) => result.error?.code)).toEqual(names.map(() => "not_found"));
  for (const name of names) runtime.registry.register(tool(name, () => name));
  const after = await runtime.execute(names.map((name) => ({ name })));
  expect(after.map((result) => result.output)).toEqual(names);
});

test("A05 A06 deeply nested and huge inputs are rejected before the handler, and calls beside them run", async () => {
  const { runtime } = testRuntime({ tools: [tool("echo", () => "ran")], inputLimits: { maxNodes: 100_000, maxChars: 1_000_000 } });
  let deep: unknown = [];
  for (let level = 0; level < 100_000; level++) deep = [deep];
  const results = await runtime.execute([
    { name: "echo", input: { deep } },
    { name: "echo", input: { text: "x".repeat(2_000_000) } },
    { name: "echo", input: { list: Array.from({ length: 200_000 }, () => 0) } },
    { name: "echo", input: {} },
  ]);
  expect(results.map((result) => result.error?.code ?? result.output)).toEqual(["too_large", "too_large", "too_large", "ran"]);
});

test.each([
  ["depth", { maxDepth: 8 }, { deep: [[[[[[[[[[1]]]]]]]]]] }],
  ["values", { maxNodes: 50 }, { list: Array.from({ length: 100 }, () => 0) }],
  ["text", { maxChars: 100 }, { text: "\u0001".repeat(101) }],
  ["wide keys", { maxWideKeys: 1_000 }, Object.fromEntries(Array.from({ length: 1_100 }, (_, index) => [`k${index}`, 0]))],
])(
  "A05 A06 the limit on the %s of an input also holds for JSON text, in the whole input and in a part of it",
  async (_what, inputLimits, input) => {
    let ran = 0;
    const inputSchema = { type: "object", properties: { part: { type: "object" } } };
    const { runtime } = testRuntime({ tools: [tool("echo", () => ++ran, { inputSchema })], inputLimits });
    const text = JSON.stringify(input);
    const results = await runtime.execute([input, text, { part: text }].map((sent) => ({ name: "echo", input: sent })));
    expect(results.map(({ error }) => error?.code)).toEqual(["too_large", "too_large", "too_large"]);
    expect((await runtime.execute({ name: "echo", input: '{"part": {"a": 1}}' })).output).toBe(1);
    expect(ran).toBe(1);
  },
);

test("A08 NUL and lone surrogates go through unchanged", async () => {
  const { runtime } = testRuntime({ tools: [tool("echo", (input) => input)] });
  const input = { s: "a\u0000b", half: "\ud800" };
  expect((await runtime.execute({ name: "echo", input })).output).toEqual(input);
});

test("A09 -0 becomes 0, as in a recording, and a NaN in a result is an error, not null", async () => {
  const { runtime } = testRuntime({ tools: [tool("zero", (input) => input["n"]), tool("nan", () => [1, Number.NaN])] });
  const [zero, nan] = await runtime.execute([{ name: "zero", input: { n: -0 } }, { name: "nan" }]);
  expect(zero?.output).toBe(0); // not -0
  expect([nan?.error?.code, nan?.error?.message]).toEqual([
    "not_json",
    "default::nan ran, but its answer cannot be recorded: $[1]: NaN is not a JSON number",
  ]);
});

test("F3.9 violations of a tool's own validate are listed like those of its schema", async () => {
  const { runtime } = testRuntime({
    tools: [tool("move", () => 1, { validate: (input) => (input["from"] === input["to"] ? ["$.to: must differ from $.from"] : []) })],
  });
  const result = await runtime.execute({ name: "move", input: { from: 1, to: 1 } });
  expect([result.error?.code, result.error?.details]).toEqual(["invalid_input", ["$.to: must differ from $.from"]]);
});

test("F3.10 a reading tool drops and reports keys that its schema forbids, and a writing tool rejects them", async () => {
  const { runtime } = testRuntime({
    tools: [
      { ...echo, name: "read", effects: { reads: ["x"] } },
      { ...echo, name: "write", effects: { writes: ["x"] } },
      withSuccessShape({ ...echo, name: "preset", execute: (input) => ({ success: true, input }), effects: { writes: ["x"] } }),
    ],
  });
  const [read, write, preset] = await runtime.execute(["read", "write", "preset"].map((name) => ({ name, input: { a: 1, extra: true } })));
  expect([read?.output, read?.repairs.map((repair) => repair.kind)]).toEqual([{ a: 1 }, ["dropped"]]);
  expect(write?.error?.code).toBe("invalid_input");
  expect([preset?.output, preset?.repairs.length]).toEqual([{ success: true, input: { a: 1 } }, 1]);
});

test("F3.19 F3.20 the success shape: malformed answers are invalid_output, and success: false is an error", async () => {
  const answers: unknown[] = [
    undefined,
    [],
    { success: "yes" },
    { success: true, error: 5 },
    { success: false, error: "no gold" },
    { success: true, data: 1, location: "hall" },
  ];
  const { runtime } = testRuntime({ tools: answers.map((answer, index) => withSuccessShape(tool(`t${index}`, () => answer))) });
  const results = await runtime.execute(answers.map((_, index) => ({ name: `t${index}` })));
  expect(results.map((result) => result.error?.code ?? result.output)).toEqual([
    "invalid_output",
    "invalid_output",
    "invalid_output",
    "invalid_output",
    "execution_failed",
    { success: true, data: 1, location: "hall" },
  ]);
  expect(results[4]?.error?.message).toBe("no gold");
});

test("F1.29 a large text is truncated, and read_result reads the rest in the same session only", async () => {
  const text = Array.from({ length: 5_000 }, (_, line) => `line ${line} äöü`).join("\n");
  const { runtime } = testRuntime({ tools: [tool("dump", () => text, { maxResultBytes: 1_000 })] });
  const session = runtime.session();
  const cut = await session.execute({ name: "dump" });
  expect(Buffer.byteLength(String(cut.output))).toBeLessThanOrEqual(1_300);
  expect(cut.truncation?.totalBytes).toBe(Buffer.byteLength(text));
  const handle = cut.truncation?.handle;
  const rest = await session.execute({ name: "read_result", input: { handle, offset: 4_998, limit: 2 } });
  expect(JSON.stringify(rest.output)).toContain("line 4999 äöü");
  const other = await runtime.session().execute({ name: "read_result", input: { handle } });
  expect(other.error?.code).toBe("not_found");
});

test("F4.24 each category of failure has its code", async () => {
  const { runtime, ports } = testRuntime({
    permission: { deny: ["default::secret"] },
    tools: [
      echo,
      tool("secret", () => 1),
      tool("hang", () => new Promise(() => {}), { timeoutMs: 50, maxAttempts: 1 }),
      tool(
        "net",
        () => {
          throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
        },
        { maxAttempts: 1 },
      ),
      tool("bug", () => {
        throw new TypeError("x is undefined");
      }),
      tool("domain", () => {
        throw new ToolError("execution_failed", "no such order", { hint: "List the orders first." });
      }),
    ],
  });
  const pending = runtime.execute(["echo", "secret", "hang", "net", "bug", "domain"].map((name) => ({ name })));
  await ports.clock.advance(50);
  const results = await pending;
  expect(results.map((result) => result.error?.code)).toEqual([
    "invalid_input",
    "permission_denied",
    "timeout",
    "network_error",
    "execution_failed",
    "execution_failed",
  ]);
  expect(results[5]?.error?.hint).toBe("List the orders first.");
});

test("F4.4 F3.1 F3.3 a call is recorded with its reasoning before anything runs, and its end after everything", async () => {
  const order: string[] = [];
  const { runtime, events } = testRuntime({
    tools: [
      tool(
        "echo",
        () => {
          order.push("handler");
          return 1;
        },
        {
          validate: () => {
            order.push("validate");
            return [];
          },
        },
      ),
    ],
    hooks: [
      {
        name: "h",
        beforeCall: () => {
          order.push("before");
        },
        afterCall: () => {
          order.push("after");
        },
      },
    ],
  });
  await runtime.execute({ name: "echo", reasoning: "because" });
  expect(order).toEqual(["before", "validate", "handler", "after"]);
  expect(events.map((event) => event.type)).toEqual(["call-start", "call-attempt", "call-end"]);
  expect(events[0]?.type === "call-start" ? events[0].call.reasoning : undefined).toBe("because");
});

test("B12 ten thousand interleaved calls of a hundred sessions each see their own session", async () => {
  const doors = Array.from({ length: 100 }, () => gate());
  const { runtime } = testRuntime({
    tools: [
      tool("who", async (input, context) => {
        await doors[Number(input["door"])]?.promise;
        return context.sessionId;
      }),
    ],
  });
  const sessions = Array.from({ length: 100 }, () => runtime.session());
  const pending = sessions.flatMap((session, at) =>
    Array.from({ length: 100 }, (_, door) =>
      session.execute({ name: "who", input: { door: (door + at) % 100 } }).then((result) => result.output === session.id),
    ),
  );
  for (const door of doors.toReversed()) door.open();
  const right = await Promise.all(pending);
  expect(right.filter((ok) => !ok)).toEqual([]);
});

test("F1.1 a tool of four fields is listed with its schema and runs", async () => {
  const { runtime } = testRuntime({ tools: [{ name: "least", description: "Does the least.", inputSchema: {}, execute: () => "done" }] });
  const [definition] = runtime.registry.list("default").map(toolDefinition);
  expect([definition?.name, definition?.description, definition?.inputSchema]).toEqual([
    "default::least",
    "Does the least.",
    { type: "object" },
  ]);
  expect((await runtime.execute({ name: "least" })).output).toBe("done");
});

test("F2.19 a result is plain JSON and survives serialization", async () => {
  const { runtime, ports } = testRuntime({ maxAttempts: 1, tools: [echo, tool("deaf", () => new Promise(() => {}), { timeoutMs: 5 })] });
  const pending = runtime.execute([{ id: "a", name: "echo", input: { a: "1" } }, { name: "deaf" }, { name: "nowhere" }]);
  await ports.clock.advance(5);
  const results = await pending;
  expect(JSON.parse(JSON.stringify(results))).toEqual(results);
});

test("F3.7 changes to an input are reported, and the handler receives the cleaned value", async () => {
  const { runtime } = testRuntime({
    tools: [
      tool("add", (input) => input, {
        inputSchema: {
          type: "object",
          properties: { n: { type: "integer" }, unit: { type: "string", default: "m" } },
          additionalProperties: false,
        },
      }),
    ],
  });
  const result = await runtime.execute({ name: "add", input: { n: "2", stray: 1 } });
  expect(result.output).toEqual({ n: 2, unit: "m" });
  expect(new Map(result.repairs.map((repair) => [repair.path, repair.kind]))).toEqual(
    new Map([
      ["$.n", "coerced"],
      ["$.stray", "dropped"],
      ["$.unit", "defaulted"],
    ]),
  );
});

test("A20 text from a model is never evaluated and stays unchanged", async () => {
  const { runtime } = testRuntime({ tools: [tool("echo", (input) => input)] });
  const input = { x: '__import__("os").system("id")', y: "process.exit(1)", z: "${7*7}" };
  expect((await runtime.execute({ name: "echo", input })).output).toEqual(input);
});

test("F1.31 a handler may destructure its context, progress and log included", async () => {
  const { runtime, events, ports } = testRuntime({
    tools: [
      tool("work", (_, { progress, log, signal, sessionId }) => {
        progress({ done: 1, total: 2 });
        log("half way");
        return [signal.aborted, sessionId !== ""];
      }),
    ],
  });
  expect((await runtime.execute({ name: "work" })).output).toEqual([false, true]);
  expect(events.flatMap((event) => (event.type === "call-progress" ? [event.update] : []))).toEqual([{ done: 1, total: 2 }]);
  expect(ports.log.lines.map((line) => line.message).slice(1)).toEqual(["half way"]);
});
