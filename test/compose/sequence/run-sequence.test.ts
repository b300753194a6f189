import { describe, expect, test } from "vitest";
import { checkSequence } from "../../../src/compose/sequence/check-sequence.ts";
import { pure, readOnly } from "../../../src/core/resources/effects.ts";
import { ToolError } from "../../../src/core/error.ts";
import { ToolOutput } from "../../../src/core/content.ts";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import type { JsonSchema, Tool } from "../../../src/core/tool.ts";
import { runSequence, type RunSequenceOptions } from "../../../src/compose/sequence/run-sequence.ts";
import { stubEngine } from "../../../src/engine/stub.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { servicesOf } from "../../../src/runtime/runtime-session.ts";

const ORDER = {
  items: [
    { id: 7, price: 2.5 },
    { id: 8, price: 4 },
  ],
  "odd key": { paid: true },
  note: null,
};

interface World {
  readonly runtime: Runtime;
  /** What the handlers were given, in the order they began. */
  readonly ran: (readonly [string, JsonObject])[];
}

function world(more: readonly Tool[] = []): World {
  const ran: (readonly [string, JsonObject])[] = [];
  const tool = (name: string, answer: (input: JsonObject) => unknown, inputSchema: JsonSchema = { type: "object" }): Tool => ({
    name,
    description: name,
    inputSchema,
    effects: pure,
    execute: (input: JsonObject) => {
      ran.push([name, input]);
      return answer(input);
    },
  });
  const tools = [
    tool("order", () => ORDER),
    tool("echo", (input) => input),
    tool("price", ({ id }) => ({ id: id ?? null }), { type: "object", properties: { id: { type: "integer" } }, required: ["id"] }),
    tool("fail", () => {
      throw new ToolError("execution_failed", "It is broken.", { retryable: false });
    }),
    tool("text", () => new ToolOutput({ content: [{ type: "text", text: '{"rows":[3]}' }] })),
    tool("big", () => ({ head: 1, rows: "x".repeat(200_000) })),
    ...more,
  ];
  return { runtime: createRuntime({ toolsets: [{ name: "shop", tools }], retry: { delayMs: 0 } }), ran };
}

const call = (id: string, name: string, input: JsonObject = {}) => ({ id, name, arguments: input });
const brief = (results: readonly ToolResult[]): readonly unknown[] =>
  results.map(({ status, output, error }) => error?.code ?? output ?? status);

async function outputs(calls: readonly unknown[], options: RunSequenceOptions = {}): Promise<readonly unknown[]> {
  const { runtime } = world();
  try {
    const run = await runSequence(runtime, calls, options);
    return run.valid ? brief(run.results) : run.problems;
  } finally {
    await runtime.close();
  }
}

describe("F0.60 a reference is replaced before the call runs", () => {
  test("by the value with its type, and results are in call order", async () => {
    const { runtime, ran } = world();
    const session = runtime.session("s");
    const calls = [
      call("$1", "order"),
      call("$2", "echo", { id: "$1.items[0].id", all: "$1.items", paid: '$1["odd key"].paid', note: "$1.note", text: "$HOME" }),
      call("$3", "order"),
      { name: "price", input: { id: "$2.id" } },
    ];
    const run = await runSequence(session, calls, { allowDuplicates: true });
    const resolved = { id: 7, all: ORDER.items, paid: true, note: null, text: "$HOME" };
    expect(run).toMatchObject({ valid: true, layers: [[0, 2], [1], [3]] });
    expect(brief(run.results)).toEqual([ORDER, resolved, ORDER, { id: 7 }]);
    expect(run.results.map(({ id }) => id)).toEqual(["$1", "$2", "$3", undefined]);
    expect(ran).toEqual([
      ["order", {}],
      ["order", {}],
      ["echo", resolved],
      ["price", { id: 7 }],
    ]);
    await runtime.close();
  });

  test("and the log has the original calls, in one turn", async () => {
    const { runtime } = world();
    const session = runtime.session("s");
    await runSequence(session, [call("$1", "order"), call("$2", "price", { id: "$1.items[1].id" })]);
    const events = [];
    for await (const event of session.events()) events.push(event);
    const starts = events.filter((event) => event.type === "call-start");
    expect(starts.map((event) => event.call.input)).toEqual([{}, { id: "$1.items[1].id" }]);
    await runtime.close();
  });

  test("and the input is then repaired and validated as for any call", async () => {
    const result = await outputs([
      call("$1", "echo", { a: "5", b: "x" }),
      call("$2", "price", { id: "$1.a" }),
      call("$3", "price", { id: "$1.b" }),
    ]);
    expect(result).toEqual([{ a: "5", b: "x" }, { id: 5 }, "invalid_input"]);
  });

  test("by the text of a tool that returns text, or by a value of the JSON in that text", async () => {
    expect(await outputs([call("1", "text"), call("2", "echo", { all: "$1", row: "$1.rows[0]" })])).toEqual([
      "ok",
      { all: '{"rows":[3]}', row: 3 },
    ]);
  });

  test("inside a longer string with inText, and with closing dollars with closingDollar", async () => {
    expect(await outputs([call("1", "order"), call("2", "echo", { q: "Item $1.items[0].id" })], { inText: true })).toEqual([
      ORDER,
      { q: "Item 7" },
    ]);
    expect(await outputs([call("$a$", "order"), call("b", "echo", { q: "$a.odd key.paid$" })], { closingDollar: true })).toEqual([
      ORDER,
      { q: true },
    ]);
  });
});

describe("F0.60 a reference without a value", () => {
  test("fails its call and the calls that depend on it; the others run", async () => {
    const { runtime, ran } = world();
    const calls = [
      call("$1", "fail"),
      call("$2", "echo", { id: "$1.id" }),
      call("$3", "echo", { id: "$2.id" }),
      call("$4", "order"),
      call("$5", "echo", { id: "$4.items[9].id" }),
      call("$6", "echo", { id: "$4.items[1].id" }),
    ];
    const { results } = await runSequence(runtime, calls);
    expect(brief(results)).toEqual(["execution_failed", "invalid_input", "invalid_input", ORDER, "invalid_input", { id: 8 }]);
    expect(results.map(({ error }) => error?.message)).toEqual([
      "It is broken.",
      'The reference "$1.id" has no value: fail ended with execution_failed.',
      'The reference "$2.id" has no value: echo ended with invalid_input.',
      undefined,
      'The reference "$4.items[9].id" cannot be resolved: [9] is not in an array of 2 items.',
      undefined,
    ]);
    expect(results.map(({ attempts }) => attempts)).toEqual([1, 0, 0, 1, 0, 1]);
    expect(ran.map(([name]) => name)).toEqual(["fail", "order", "echo"]);
    await runtime.close();
  });

  test("is reported if the output was truncated and is no longer stored, as the rest could be taken for the whole", async () => {
    const forget = { name: "forget", description: "", inputSchema: {}, execute: () => servicesOf(session).largeResults.forget("s") };
    const { runtime } = world([forget]);
    const session = runtime.session("s");
    const { results } = await runSequence(session, [call("1", "big"), call("2", "forget"), call("3", "echo", { id: "$1.head", a: "$2" })]);
    expect(results[2]?.error).toMatchObject({
      code: "invalid_input",
      message: expect.stringMatching(
        /^The reference "\$1\.head" has no value: the output of shop::big was cut to \d+ of 20\d{4} bytes, and/,
      ),
    });
    await runtime.close();
  });

  test("is recorded with one result for each call", async () => {
    const { runtime } = world();
    const session = runtime.session("s");
    await runSequence(session, [call("1", "fail"), call("2", "echo", { id: "$1.id" })]);
    expect(session.history.map(({ result }) => result?.error?.code)).toEqual(["execution_failed", "invalid_input"]);
    await runtime.close();
  });
});

describe("F0.60 the value of a reference", () => {
  test("is the whole of an output that is shown truncated, in the session and in a branch of it", async () => {
    const rows = Array.from({ length: 9_000 }, (_, id) => ({ id }));
    const long: Tool = { name: "long", description: "", inputSchema: {}, maxResultBytes: 500, execute: () => ({ rows }) };
    const said = new ToolOutput({ content: [{ type: "text", text: JSON.stringify(rows) }] });
    const told: Tool = { name: "told", description: "", inputSchema: {}, maxResultBytes: 500, execute: () => said };
    const { runtime } = world([long, told]);
    const session = runtime.session("s");
    const calls = [call("1", "long"), call("2", "told"), call("3", "echo", { id: "$1.rows[8999].id", told: "$2[8998].id" })];
    for (const target of [session, session.fork()]) {
      const { results } = await runSequence(target, calls);
      expect(results.map(({ truncation }) => truncation !== undefined)).toEqual([true, true, false]);
      expect(results[2]?.output).toEqual({ id: 8_999, told: 8_998 });
    }
    await runtime.close();
  });

  test("is null if the call it names returned null", async () => {
    const none: Tool = { name: "none", description: "", inputSchema: {}, execute: () => null };
    const { runtime } = world([none]);
    const { results } = await runSequence(runtime, [call("1", "none"), call("2", "echo", { id: "$1" })]);
    expect(results[1]?.output).toEqual({ id: null });
    await runtime.close();
  });

  test("needs a runtime or a session: another target is rejected", async () => {
    await expect(runSequence({} as Runtime, [])).rejects.toMatchObject({ code: "invalid_argument" });
  });
});

describe("F0.61 an invalid sequence", () => {
  test("returns its problems and runs nothing", async () => {
    const { runtime, ran } = world();
    const run = await runSequence(runtime, [call("$1", "order"), call("$2", "echo", { id: "$3" }), call("$3", "ordr")]);
    expect(run).toMatchObject({ valid: false, results: [], problems: [{ reason: "future_reference" }, { reason: "unknown_tool" }] });
    expect(ran).toEqual([]);
    await runtime.close();
  });
});

describe("F0.60 a sequence is run", () => {
  test("in the given session, whose state its calls share", async () => {
    const { runtime } = world([
      {
        name: "count",
        description: "count",
        inputSchema: { type: "object" },
        effects: { writes: ["session:count"] },
        execute: (_input, { state }) => {
          state.update("count", (before) => Number(before ?? 0) + 1);
          return state.get("count");
        },
      },
    ]);
    const session = runtime.session("s");
    const calls = [call("1", "count"), call("2", "count", { after: "$1" })];
    expect(brief((await runSequence(session, calls)).results)).toEqual([1, 2]);
    expect(brief((await runSequence(session, calls)).results)).toEqual([3, 4]);
    expect(brief((await runSequence(runtime, calls)).results)).toEqual([1, 2]);
    await runtime.close();
  });

  test("only up to a tool that ends the turn; later calls are skipped", async () => {
    const { runtime, ran } = world([
      { name: "done", description: "done", inputSchema: { type: "object" }, effects: readOnly(), endsTurn: true, execute: () => "bye" },
    ]);
    const { results } = await runSequence(runtime, [call("1", "done"), call("2", "echo", { a: "$1" })]);
    expect(results.map(({ status }) => status)).toEqual(["ok", "skipped"]);
    expect(ran).toEqual([]);
    await runtime.close();
  });

  test("so that each layer sees the history of the layers before it", async () => {
    const { runtime } = world([
      {
        name: "look",
        description: "look",
        inputSchema: { type: "object" },
        effects: readOnly(),
        execute: (_input, { history }) => history.map(({ result }) => result?.name ?? "?"),
      },
    ]);
    const { results } = await runSequence(runtime, [call("1", "order"), call("2", "look"), call("3", "look", { after: "$1" })]);
    expect(brief(results)).toEqual([ORDER, [], ["shop::order", "shop::look"]]);
    await runtime.close();
  });

  test("until its signal aborts: the rest is cancelled", async () => {
    const controller = new AbortController();
    const { runtime } = world([
      { name: "stop", description: "stop", inputSchema: { type: "object" }, effects: pure, execute: () => (controller.abort(), "stopped") },
    ]);
    const { results } = await runSequence(runtime, [call("1", "stop"), call("2", "echo", { a: "$1" })], { signal: controller.signal });
    expect(results.map(({ status }) => status)).toEqual([expect.any(String), "cancelled"]);
    await expect(runSequence(runtime, [call("1", "order")], { signal: controller.signal })).rejects.toMatchObject({ code: "cancelled" });
    await runtime.close();
  });

  test("by the toolset's engine: stubs match the resolved values", async () => {
    const engine = stubEngine([
      { tool: "find", output: { ids: [4, 5] }, times: 1 },
      { tool: "open", input: { id: 5 }, exact: true, output: { title: "Five" } },
    ]);
    const tools = ["find", "open"].map((name) => ({ name, description: name, inputSchema: { type: "object" }, effects: pure }));
    const runtime = createRuntime({ toolsets: [{ name: "docs", tools, engine }] });
    const calls = [call("1", "find"), call("2", "open", { id: "$1.ids[1]" }), call("3", "open", { id: "$1.ids[0]" })];
    const { results } = await runSequence(runtime, calls);
    expect(brief(results)).toEqual([{ ids: [4, 5] }, { title: "Five" }, "not_found"]);
    expect(engine.report()).toMatchObject({ ok: false, unused: [], unmatched: [{ tool: "docs::open", input: { id: 4 } }] });
    await runtime.close();
  });
});

test("F0.60 answerFrom selects an answer source in place of the tools", async () => {
  const engine = stubEngine([
    { tool: "order", output: { items: [{ id: 70 }] } },
    { tool: "price", input: { id: 70 }, output: "dear" },
  ]);
  const { runtime: live, ran } = world();
  const tools = live.registry.list("shop").map(({ tool }) => tool);
  const runtime = createRuntime({ toolsets: [{ name: "shop", tools }], answers: { engines: { stub: engine } } });
  const { results } = await runSequence(runtime, [call("1", "order"), call("2", "price", { id: "$1.items[0].id" })], {
    answerFrom: "stub",
  });
  expect(results.map(({ output, origin }) => [output, origin])).toEqual([
    [{ items: [{ id: 70 }] }, "stub"],
    ["dear", "stub"],
  ]);
  expect([ran, engine.report().ok]).toEqual([[], true]);
  await runtime.close();
  await live.close();
});

test("F0.60 a sequence in a simulated branch simulates its calls", async () => {
  const { runtime, ran } = world([
    { name: "pay", description: "pay", inputSchema: { type: "object" }, effects: { writes: ["money"] }, execute: () => "paid" },
  ]);
  const session = runtime.session("s");
  const branch = session.fork({ simulated: true });
  const { results } = await runSequence(branch, [call("1", "order"), call("2", "pay", { id: "$1.items[0].id" })]);
  expect(brief(results)).toEqual([ORDER, "not_simulatable"]);
  expect([ran.length, session.history]).toEqual([1, []]);
  await runtime.close();
});

test("F0.60 a resolved value is not interpreted again, even if it looks like a reference", async () => {
  const odd: readonly JsonValue[] = ["$1", "$$1", "", 0, false, null, [], {}, "$9.x"];
  const { runtime } = world([{ name: "odd", description: "odd", inputSchema: true, effects: pure, execute: () => odd }]);
  const { results } = await runSequence(runtime, [
    call("1", "odd"),
    call("2", "echo", Object.fromEntries(odd.map((_, index) => [`k${index}`, `$1[${index}]`]))),
  ]);
  expect(Object.values(results[1]?.output ?? {})).toEqual(odd);
  await runtime.close();
});

test.each([
  ["tools that are none", () => checkSequence([], { tools: 5 as never }), "tools of checkSequence() must be a registry"],
  ["no options to check by", () => checkSequence([], null as never), "The options of checkSequence() must be an object, not null."],
])("F0.61 %s throw with a clear message", (_what, check, message) => {
  expect(check).toThrow(message);
});

describe("F1.11 F1.14 background tools and slow calls in a sequence", () => {
  const slow = (mode: "direct" | "background"): Tool => ({
    name: `slow_${mode}`,
    description: "Takes its time.",
    inputSchema: { type: "object" },
    effects: pure,
    mode,
    promoteAfterMs: 1,
    execute: async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return { id: 7 };
    },
  });
  const sequence = (name: string): readonly unknown[] => [call("$1", name), call("$2", "price", { id: "$1.id" })];

  test.each(["slow_direct", "slow_background"])("%s is waited for, with a session and without one", async (name) => {
    const { runtime } = world([slow("direct"), slow("background")]);
    await using session = runtime.session();
    for (const target of [session, runtime]) {
      const { results } = await runSequence(target, sequence(name));
      expect(brief(results)).toEqual([{ id: 7 }, { id: 7 }]);
    }
    expect(runtime.jobs.list()).toEqual([]);
  });

  test("with background: true the calls are jobs of the session; without a session it is refused before anything runs", async () => {
    const { runtime, ran } = world([slow("direct")]);
    await using session = runtime.session();
    const { results } = await runSequence(session, sequence("slow_direct"), { background: true });
    expect(brief(results)).toEqual(["pending", "invalid_input"]);
    await runtime.jobs.wait(results[0]?.callId ?? "");
    await expect(runSequence(runtime, [call("$1", "echo")], { background: true })).rejects.toMatchObject({ code: "invalid_argument" });
    expect(ran).toEqual([]);
  });
});

test("a reference into JSON text reads a long integer and a number too large for JavaScript as strings", async () => {
  const text = new ToolOutput({ content: [{ type: "text", text: '{"id":1915883588174806058,"rows":[3],"n":1e400}' }] });
  const { runtime, ran } = world([
    { name: "ids", description: "ids", inputSchema: { type: "object" }, effects: pure, execute: () => text },
  ]);
  await runSequence(runtime, [call("$1", "shop::ids"), call("$2", "shop::echo", { id: "$1.id", row: "$1.rows[0]", n: "$1.n" })]);
  expect(ran).toEqual([["echo", { id: "1915883588174806058", row: 3, n: "1e400" }]]);
});
