import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { createRuntime, defineTool, pure, type Effects, type JsonObject, type Runtime, type RuntimeOptions, type Tool } from "haft";
import { createChain, type ChainStep } from "haft/chain";
import { runSequence } from "haft/sequence";
import { memoryStore } from "haft/store";
import { formatJsonPath, type JsonValue } from "../../../src/core/base/json.ts";
import { FailingStore } from "../../runtime/session/failing-store.ts";

/** A kitchen: recipes are looked up, scaled and printed. */
function kitchen(options: Partial<RuntimeOptions> = {}): { readonly runtime: Runtime; readonly seen: JsonObject[] } {
  const seen: JsonObject[] = [];
  const tool = (name: string, execute: (input: JsonObject) => unknown, more: object = {}): unknown =>
    defineTool({
      name,
      description: name,
      inputSchema: { type: "object" },
      effects: pure,
      execute: (input: JsonObject) => {
        seen.push({ [name]: input });
        return execute(input);
      },
      ...more,
    });
  const tools = [
    tool("find", ({ dish }) => ({ recipe: { dish, steps: [{ grams: 200 }, { grams: 50 }], "odd key": "salt" }, servings: 2 })),
    tool("scale", ({ grams, factor }) => ({ total: Number(grams) * Number(factor) }), {
      inputSchema: { type: "object", properties: { grams: { type: "number" }, factor: { type: "number" } }, required: ["grams", "factor"] },
    }),
    tool("say", ({ total }) => `Take ${String(total)} g.`),
    tool("burn", () => {
      throw new Error("The oven is off.");
    }),
    tool("half", () => ({ done: "no" }), { outputSchema: { type: "object", properties: { done: { type: "boolean" } } } }),
    tool("slow", async () => ({ baked: await Promise.resolve(true) }), { mode: "background" }),
    tool("long", () => ({ text: "x".repeat(5_000), end: "here" }), { maxResultBytes: 100 }),
  ];
  const runtime = createRuntime({ toolsets: [{ name: "kitchen", tools: tools as never }], maxAttempts: 1, ...options });
  onTestFinished(async () => void (await runtime.close()));
  return { runtime, seen };
}

const FIND: ChainStep = { tool: "kitchen::find" };

describe("F2.22 a step", () => {
  test("maps arguments from the context and stores its output under a key", async () => {
    const { runtime, seen } = kitchen();
    const chain = createChain([
      { tool: "find", inputMapping: { dish: "order.dish" }, outputKey: "found" },
      { tool: "scale", inputMapping: { grams: "found.recipe.steps[1].grams", factor: { value: 3 } }, outputKey: "scaled" },
    ]);
    const result = await chain.run(runtime, { order: { dish: "soup" } });
    expect(seen).toEqual([{ find: { dish: "soup" } }, { scale: { grams: 50, factor: 3 } }]);
    expect(result).toMatchObject({ success: true, errors: [], context: { order: { dish: "soup" }, scaled: { total: 150 } } });
    expect(Object.keys(result.context)).toEqual(["order", "found", "scaled"]);
  });

  test("without a mapping receives the whole context, and without an output key merges its output's keys into the context", async () => {
    const { runtime, seen } = kitchen();
    const result = await createChain([FIND, { tool: "say", inputMapping: {} }]).run(runtime, { dish: "pie", servings: 9 });
    expect(seen[1]).toEqual({ say: { dish: "pie", servings: 2, recipe: expect.anything() } });
    expect(result.context["servings"]).toBe(2);
  });

  test("whose output is not an object and that has no output key adds a warning", async () => {
    const { runtime } = kitchen();
    const result = await createChain([{ tool: "say", inputMapping: { total: "n" } }]).run(runtime, { n: 4 });
    expect(result).toMatchObject({ success: true, context: { n: 4 } });
    expect(result.warnings).toEqual([
      "Step 0 (say) returned a string, which has no keys for the context: give the step an outputKey to keep it.",
    ]);
  });

  test("stores a hostile output key such as __proto__ as an ordinary key", async () => {
    const { runtime } = kitchen();
    const { context } = await createChain([{ ...FIND, outputKey: "__proto__" }]).run(runtime, { dish: "x" });
    expect(Object.keys(context)).toEqual(["dish", "__proto__"]);
    expect(Object.getPrototypeOf(context)).toBe(Object.prototype);
    expect(({} as { servings?: unknown }).servings).toBeUndefined();
  });

  test("of a background tool is awaited, and the context gets the whole output even if it is truncated for the model", async () => {
    const { runtime } = kitchen();
    const result = await createChain([{ tool: "slow" }, { tool: "long" }]).run(runtime.session(), {});
    expect(result).toMatchObject({ success: true, context: { baked: true, end: "here" } });
    expect(result.stepResults.map(({ status }) => status)).toEqual(["ok", "ok"]);
  });
});

describe("F2.23 a path", () => {
  const scale = (grams: string | { path: string; default: number }): ChainStep => ({
    tool: "scale",
    inputMapping: { grams, factor: { value: 1 } },
  });

  test.each(["a.b[0].c", 'a["b"][0].c', "$.a.b[0]['c']", "a.b.0.c"])("%s resolves to the value", async (path) => {
    const { runtime, seen } = kitchen();
    await createChain([scale(path)]).run(runtime, { a: { b: [{ c: 7 }] } });
    expect(seen).toEqual([{ scale: { grams: 7, factor: 1 } }]);
  });

  test("that does not exist in the chain's input is reported with its step before any call runs", async () => {
    const { runtime, seen } = kitchen();
    const chain = createChain([
      { ...FIND, outputKey: "found" },
      scale("a.b[2].c"),
      scale("found.recipe.grams"), // only a run knows
      { ...scale("nowhere"), outputKey: "scaled" },
      scale({ path: "nowhere", default: 1 }),
      scale("nowhere.else"), // may be a key of the output of the step before
    ]);
    const input = { a: { b: [{ c: 7 }] } };
    const errors = [
      'Step 1 of the chain (scale): the argument "grams" comes from "a.b[2].c", which does not exist: [2] is not in an array of 1 item.',
    ];
    expect(await chain.run(runtime, input)).toMatchObject({ success: false, stepResults: [], context: input, errors });
    const check = chain.validate(runtime, input);
    expect(check.valid ? [] : check.problems.map(({ step }) => step)).toEqual([1]);
    expect(chain.validate(runtime)).toEqual({ valid: true });
    const tool = createChain([{ ...FIND, outputKey: "found" }, scale("gram")]).toTool({ name: "all", description: "All" });
    runtime.registry.register(tool);
    expect(await runtime.session().execute({ name: "all", input: {} })).toMatchObject({
      status: "error",
      error: { code: "invalid_input", outcome: "not_started", message: expect.stringContaining('"gram" is not in the context') },
    });
    expect(seen).toEqual([]);
  });

  test("that does not exist in a step's output fails the step that uses it, with the path in the error, and its tool is not called", async () => {
    const { runtime, seen } = kitchen();
    const result = await createChain([{ ...FIND, outputKey: "found" }, scale("found.recipe.steps[2].grams")]).run(runtime, {});
    expect(result).toMatchObject({ success: false, stepResults: [{ status: "ok" }] });
    expect(result.errors).toEqual([
      'Step 1 (scale) failed: the argument "grams" comes from "found.recipe.steps[2].grams", which does not exist: [2] is not in an array of 2 items.',
    ]);
    expect(seen).toHaveLength(1);
  });

  test("with a default uses the default only if the path does not exist", async () => {
    const { runtime, seen } = kitchen();
    const chain = createChain([scale({ path: "a.b", default: 5 })]);
    await chain.run(runtime, {});
    await chain.run(runtime, { a: { b: 8 } });
    await createChain([{ tool: "say", inputMapping: { total: { path: "a.b", default: 5 } } }]).run(runtime, { a: { b: null } });
    expect(seen).toEqual([{ scale: { grams: 5, factor: 1 } }, { scale: { grams: 8, factor: 1 } }, { say: { total: null } }]);
  });

  test.each(["", "$", "a..b", "a[", "a[-1]", "a b]", ".".repeat(20_000)])("%j is rejected when the step is added", (path) => {
    expect(() => createChain([{ tool: "x", inputMapping: { y: path } }])).toThrow(/The argument "y" of step 0 of the chain comes from/u);
  });
});

describe("F2.24 a chain", () => {
  test("is built step by step, returns a copy of its steps, and can be cleared", () => {
    const chain = createChain().addStep(FIND).addStep({ tool: "say", outputKey: "text" });
    expect([chain.length, String(chain)]).toEqual([2, "Chain(kitchen::find → say)"]);
    (chain.steps as ChainStep[]).pop();
    expect(chain.steps).toEqual([
      { tool: "kitchen::find", inputMapping: {}, outputKey: "" },
      { tool: "say", inputMapping: {}, outputKey: "text" },
    ]);
    expect(Object.isFrozen(chain.steps[0])).toBe(true);
    chain.clear();
    expect(chain.length).toBe(0);
  });

  test("that is cleared during a run finishes the run with its original steps", async () => {
    const { runtime } = kitchen();
    const chain = createChain([FIND, { tool: "say" }]);
    const running = chain.run(runtime, { dish: "x" });
    chain.clear();
    expect((await running).stepResults).toHaveLength(2);
  });

  test.each<[string, unknown, RegExp]>([
    ["a misspelt key", { tool: "x", outputkey: "y" }, /has no option "outputkey"/u],
    ["a tool that is no string", { tool: 3 }, /Step 0 of the chain has a tool that is not a string/u],
    ["an output key that is no string", { tool: "x", outputKey: 1 }, /outputKey of step 0/u],
    ["a mapping that is no object", { tool: "x", inputMapping: ["a"] }, /inputMapping of step 0 of the chain is not an object/u],
    ["a source that is none", { tool: "x", inputMapping: { a: 3 } }, /The argument "a" of step 0 of the chain has no source/u],
    ["a source with a misspelt key", { tool: "x", inputMapping: { a: { path: "b", defualt: 1 } } }, /has no option "defualt"/u],
    ["a mapping that is no JSON", { tool: "x", inputMapping: { a: { value: () => 1 } } }, /inputMapping of step 0/u],
  ])("with %s throws when it is created", (_, step, message) => {
    expect(() => createChain([step as ChainStep])).toThrow(message);
  });
});

test("F2.25 validation reports each problem with the index of its step", () => {
  const { runtime } = kitchen();
  expect(createChain().validate(runtime)).toMatchObject({ valid: false, problems: [{ step: -1, message: "The chain has no steps." }] });
  const chain = createChain([FIND, { tool: "" }, FIND, { tool: "kitchen::fnd" }, { tool: "scale", inputMapping: { grams: "a" } }]);
  const check = chain.validate(runtime.session());
  expect(check.valid ? [] : check.problems.map(({ step, tool, message }) => [step, tool, message])).toEqual([
    [1, "", "Step 1 of the chain names no tool."],
    [3, "kitchen::fnd", expect.stringMatching(/^Step 3 of the chain: No tool "kitchen::fnd"/u)],
    [4, "scale", expect.stringMatching(/^Step 4 of the chain \(scale\): .*factor/u)],
  ]);
  expect(createChain([FIND, FIND]).validate(runtime)).toEqual({ valid: true });
});

describe("F2.26 running", () => {
  test("an invalid chain runs nothing, and a run does not change its input", async () => {
    const { runtime, seen } = kitchen();
    const input = { dish: "x", list: [1] };
    const result = await createChain([FIND, { tool: "nowhere" }]).run(runtime, input);
    expect(result).toMatchObject({ success: false, stepResults: [], context: input, durationMs: 0 });
    expect(result.errors).toHaveLength(1);
    expect(seen).toEqual([]);
    await createChain([FIND]).run(runtime, input);
    expect(input).toEqual({ dish: "x", list: [1] });
  });

  test("with validateTools: false, an empty chain succeeds and a missing tool is a failed step", async () => {
    const { runtime, seen } = kitchen();
    expect(await createChain().run(runtime, { a: 1 }, { validateTools: false })).toMatchObject({
      success: true,
      context: { a: 1 },
      errors: [],
    });
    const result = await createChain([FIND, { tool: "nowhere" }]).run(runtime, {}, { validateTools: false });
    expect(seen).toHaveLength(1);
    expect(result.stepResults.map(({ status, error }) => [status, error?.code])).toEqual([
      ["ok", undefined],
      ["error", "not_found"],
    ]);
  });

  test.each<[unknown, RegExp]>([
    [[], /input of a chain must be an object/u],
    [null, /input of a chain must be an object/u],
    [{ a: () => 1 }, /input of the chain is not JSON: \$\.a/u],
    [circular(), /input of the chain is not JSON: \$\.a: is circular/u],
  ])("an input that is not a JSON object is rejected (case %#)", async (input, message) => {
    const { runtime } = kitchen();
    const run = createChain([FIND]).run(runtime, input as JsonObject);
    await expect(run).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringMatching(message) });
  });
});

function circular(): unknown {
  const value: { a?: unknown } = {};
  return Object.assign(value, { a: value });
}

describe("F2.27 a failed step", () => {
  const steps: readonly ChainStep[] = [
    FIND,
    { tool: "burn", outputKey: "burnt" },
    { tool: "half", outputKey: "half" },
    { tool: "say", outputKey: "text" },
  ];

  test("ends the chain and has the last result", async () => {
    const { runtime } = kitchen();
    const result = await createChain(steps).run(runtime, { dish: "x" });
    expect(result.stepResults.map(({ name }) => name)).toEqual(["kitchen::find", "kitchen::burn"]);
    expect(result.errors).toEqual(["Step 1 (burn) failed: The oven is off."]);
    expect(result.success).toBe(false);
  });

  test("with stopOnFailure: false leaves out its output and the chain continues; a partial result counts as failed", async () => {
    const { runtime } = kitchen();
    const result = await createChain(steps).run(runtime, { dish: "x" }, { stopOnFailure: false });
    expect(result.stepResults.map(({ status }) => status)).toEqual(["ok", "error", "partial", "ok"]);
    expect(Object.keys(result.context)).toEqual(["dish", "recipe", "servings", "text"]);
    expect(result.errors.filter((line) => line.startsWith("Step "))).toEqual([
      "Step 1 (burn) failed: The oven is off.",
      expect.stringMatching(/^Step 2 \(half\) failed: /u),
    ]);
    expect(result.success).toBe(false);
  });

  test("that was cancelled ends the chain even with stopOnFailure: false", async () => {
    const { runtime, seen } = kitchen();
    const cancel = new AbortController();
    runtime.subscribe((event) => void (event.type === "call-end" && cancel.abort()));
    const result = await createChain([FIND, FIND, FIND]).run(runtime.session(), {}, { signal: cancel.signal, stopOnFailure: false });
    expect(result.stepResults.map(({ status }) => status)).toEqual(["ok", "cancelled"]);
    expect(result.success).toBe(false);
    expect(seen).toHaveLength(1);
  });
});

test("F2.28 the result is complete, frozen JSON", async () => {
  const { runtime } = kitchen();
  const result = await createChain([FIND]).run(runtime, { dish: "x" });
  expect(Object.keys(result).sort()).toEqual(["context", "durationMs", "errors", "stepResults", "success", "warnings"]);
  expect(JSON.parse(JSON.stringify(result))).toEqual(result);
  expect([result, result.context, result.stepResults].every(Object.isFrozen)).toBe(true);
});

test("F2.26 a chain run again with its idempotency key calls no step twice, and a different chain with that key is a conflict", async () => {
  let down = true;
  const calls: string[] = [];
  const book = defineTool({
    name: "book",
    description: "Books",
    inputSchema: { type: "object" },
    effects: { external: true },
    execute: () => {
      calls.push("book");
      return { booking: calls.length };
    },
  });
  const mail = defineTool({
    name: "mail",
    description: "Mails",
    inputSchema: { type: "object" },
    effects: { external: true },
    execute: () => {
      calls.push("mail");
      if (down) throw new Error("The server is down.");
      return { sent: true };
    },
  });
  const runtime = createRuntime({ tools: [book, mail], store: memoryStore() });
  onTestFinished(async () => void (await runtime.close()));
  const session = runtime.session("trip");
  const chain = createChain([{ tool: "book" }, { tool: "mail", inputMapping: { id: "booking" } }]);
  expect((await chain.run(session, {}, { idempotencyKey: "trip-1" })).success).toBe(false);
  down = false;
  const again = await chain.run(session, {}, { idempotencyKey: "trip-1" });
  expect(calls).toEqual(["book", "mail"]);
  expect(again.context).toEqual({ booking: 1 });
  await expect(chain.run(session, {}, { idempotencyKey: "trip-2" })).resolves.toMatchObject({
    success: true,
    context: { booking: 3, sent: true },
  });
  await expect(createChain([{ tool: "mail" }]).run(session, {}, { idempotencyKey: "trip-1" })).rejects.toMatchObject({ code: "conflict" });
});

test("F2.26 a chain whose process was killed goes on, under its key, behind the steps that were called", async () => {
  const calls: string[] = [];
  const reached = Promise.withResolvers<void>();
  const start = (store: FailingStore, isFirst: boolean): Runtime => {
    const step = (name: string, effects: Effects, execute: () => unknown = () => ({ [name]: calls.length })): Tool =>
      defineTool({ name, description: name, inputSchema: { type: "object" }, effects, execute: () => (calls.push(name), execute()) });
    const look = step("look", { reads: ["x"] }, () => (isFirst ? (reached.resolve(), new Promise(() => {})) : { look: "free" }));
    return createRuntime({ tools: [step("book", { external: true }), look, step("mail", { external: true })], store });
  };
  const chain = createChain([{ tool: "book" }, { tool: "look" }, { tool: "mail" }]);
  const store = new FailingStore();
  void chain.run(start(store, true).session("trip"), {}, { idempotencyKey: "trip-1" }).catch(() => {});
  await reached.promise;
  await store.logs.get("trip")?.whenDurable();

  const next = start(store.crash(), false);
  onTestFinished(async () => void (await next.close()));
  const result = await chain.run(await next.resume("trip"), {}, { idempotencyKey: "trip-1" });
  expect(result).toMatchObject({ success: true, context: { book: 1, look: "free", mail: 4 } });
  expect(calls).toEqual(["book", "look", "look", "mail"]);
});

test("F2.23 a chain and a sequence resolve the same path alike: to the same value, or with the same error", async () => {
  const key = fc.string({ unit: fc.constantFrom("a", "b", "0", "1", "_", "-"), minLength: 1, maxLength: 3 });
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      fc.integer(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(key, tie("value"), { maxKeys: 3 }).map((fields) => Object.fromEntries(Object.entries(fields))),
    ),
  }));
  let answer: JsonValue = null;
  const tool = (name: string, execute: (input: JsonObject) => unknown) =>
    defineTool({ name, description: name, inputSchema: { type: "object" }, effects: pure, execute });
  const runtime = createRuntime({ tools: [tool("get", () => ({ got: answer })), tool("use", ({ it }) => ({ used: it ?? null }))] });
  onTestFinished(async () => void (await runtime.close()));
  await fc.assert(
    fc.asyncProperty(value, fc.array(fc.oneof(key, fc.nat(3)), { maxLength: 4 }), async (got, steps) => {
      answer = got;
      const path = formatJsonPath(["got", ...steps]).slice(1); // without its $
      const chain = await createChain([
        { tool: "get", outputKey: "first" },
        { tool: "use", inputMapping: { it: `first${path}` } },
      ]).run(runtime, {});
      const sequence = await runSequence(runtime, [
        { id: "first", name: "get", input: {} },
        { name: "use", input: { it: `$first${path}` } },
      ]);
      const [, used] = sequence.valid ? sequence.results : [];
      const ends = [
        chain.success ? chain.context["used"] : chain.errors[0],
        used?.status === "ok" ? (used.output as JsonObject)["used"] : used?.error?.message,
      ];
      const [one, other] = ends.map((end) =>
        typeof end === "string" ? end.replace(/^.*(?:which does not exist|cannot be resolved): /u, "") : end,
      );
      expect(other).toEqual(one);
    }),
    { numRuns: process.env["CI"] === undefined ? 50 : 500 },
  );
});

test("F2.26 a fully cached chain runs nothing again, also as a tool; a step that writes runs and invalidates what it changed", async () => {
  const ran: string[] = [];
  const step = (name: string, more: object) =>
    defineTool({
      name,
      description: name,
      inputSchema: { type: "object" },
      execute: () => (ran.push(name), { [name]: ran.length }),
      ...more,
    });
  const runtime = createRuntime({
    tools: [
      step("look", { effects: { reads: ["shelf"] }, cache: "session" }),
      step("weigh", { effects: { reads: ["scale"] }, cache: "session" }),
      step("take", { effects: { writes: ["shelf"] } }),
    ],
  });
  onTestFinished(async () => void (await runtime.close()));
  const session = runtime.session();
  const reads = createChain([
    { tool: "look", inputMapping: { at: "a" } },
    { tool: "weigh", inputMapping: { it: "look" } },
  ]);
  runtime.registry.register(reads.toTool({ name: "all", description: "All" }));
  const first = await reads.run(session, { a: 1 });
  const again = await reads.run(session, { a: 1 });
  expect(again.context).toEqual(first.context);
  expect(again.stepResults.map(({ origin }) => origin)).toEqual(["cache", "cache"]);
  expect(await session.execute({ name: "all", input: { a: 1 } })).toMatchObject({ output: { look: 1, weigh: 2 } });
  expect(ran).toEqual(["look", "weigh"]);
  await createChain([{ tool: "take" }]).run(session, {});
  await reads.run(session, { a: 1 });
  expect(ran).toEqual(["look", "weigh", "take", "look", "weigh"]);
});

test("F2.27 F2.28 a chain in a simulated branch runs its reads, sends its writes to the stand-in, and each result has its origin", async () => {
  const ran: string[] = [];
  const step = (name: string, effects: object) =>
    defineTool({ name, description: name, inputSchema: { type: "object" }, effects, execute: () => (ran.push(name), { [name]: true }) });
  const stands = { kind: "stub", origin: "stub", call: () => Promise.resolve({ take: "pretended" }) } as const;
  const runtime = createRuntime({ tools: [step("look", { reads: ["shelf"] }), step("take", { writes: ["shelf"] })], standIn: stands });
  onTestFinished(async () => void (await runtime.close()));
  const branch = runtime.session("s").fork({ simulated: true });
  const result = await createChain([{ tool: "look" }, { tool: "take" }]).run(branch, {});
  expect(result).toMatchObject({ success: true, context: { look: true, take: "pretended" } });
  expect(result.stepResults.map(({ origin }) => origin)).toEqual(["live", "stub"]);
  expect(ran).toEqual(["look"]);
});

test("F2.27 a chain as a tool returns every key that a step set, even if the value did not change", async () => {
  const { runtime } = kitchen();
  runtime.registry.register(createChain([FIND]).toTool({ name: "all", description: "All" }));
  for (const servings of [1, 2])
    expect((await runtime.execute({ name: "all", input: { dish: "pie", servings } })).output).toMatchObject({ servings: 2 });
});
