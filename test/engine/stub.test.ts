import { describe, expect, test } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import { ToolError } from "../../src/core/error.ts";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import { NoAnswer } from "../../src/core/answers/no-answer.ts";
import type { Tool } from "../../src/core/tool.ts";
import { readStubs, stubEngine, type Stub, type StubEngine } from "../../src/engine/stub.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { request, toolContext } from "./engine-contexts.ts";

function ask(engine: StubEngine, toolName: string, input: JsonObject = {}): unknown {
  try {
    return engine.call(request("tool", input), toolContext({ toolName }));
  } catch (thrown: unknown) {
    return thrown;
  }
}

function thrownBy(work: () => unknown): ToolError {
  try {
    work();
  } catch (thrown: unknown) {
    return ToolError.fromUnknown(thrown);
  }
  throw new Error("nothing was thrown");
}

const tool = (name: string): Tool => ({ name, description: name, inputSchema: { type: "object" }, effects: pure });

function runtimeOf(engine: StubEngine): Runtime {
  return createRuntime({ toolsets: [{ name: "mail", tools: [tool("send"), tool("list")], engine }] });
}

describe("F0.61 a stub answers", () => {
  const cases: readonly { readonly what: string; readonly stub: Partial<Stub>; readonly input?: JsonObject; readonly fits: boolean }[] = [
    { what: "its tool, whatever the input", stub: { tool: "mail::send" }, input: { to: "ann" }, fits: true },
    { what: "no other tool", stub: { tool: "mail::list" }, fits: false },
    { what: "a tool by its bare name", stub: { tool: "send" }, fits: true },
    { what: "no tool whose name only ends so", stub: { tool: "end" }, fits: false },
    { what: "the tools of a pattern", stub: { tool: "mail::*" }, fits: true },
    { what: "a pattern with a star in the middle", stub: { tool: "m*::s*d" }, fits: true },
    { what: "no tool that a pattern would have to overlap in", stub: { tool: "mail::sen*end" }, fits: false },
    {
      what: "an input that holds more",
      stub: { input: { to: { name: "ann" } } },
      input: { to: { name: "ann", age: 4 }, cc: [] },
      fits: true,
    },
    { what: "no input that lacks a key", stub: { input: { to: "ann" } }, input: { cc: "ann" }, fits: false },
    { what: "lists item by item", stub: { input: { to: [{ id: 1 }] } }, input: { to: [{ id: 1, x: 2 }] }, fits: true },
    { what: "no longer list", stub: { input: { to: [1] } }, input: { to: [1, 2] }, fits: false },
    { what: "an object where an empty one is asked for", stub: { input: { to: {} } }, input: { to: { a: 1 } }, fits: true },
    { what: "nothing for a key of a prototype", stub: { input: { toString: {} } }, input: {}, fits: false },
    { what: "an exact input, keys in any order", stub: { input: { a: 1, b: 2 }, exact: true }, input: { b: 2, a: 1 }, fits: true },
    { what: "no more than an exact input", stub: { input: { a: 1 }, exact: true }, input: { a: 1, b: 2 }, fits: false },
  ];
  test.each(cases)("$what", ({ stub, input, fits }) => {
    const engine = stubEngine([{ tool: "mail::send", output: "yes", ...stub }]);
    const answer = ask(engine, "mail::send", input);
    if (fits) expect(answer).toBe("yes");
    else expect(answer).toBeInstanceOf(NoAnswer);
  });

  test("before later stubs that also match", () => {
    const engine = stubEngine([
      { tool: "mail::send", input: { to: "bob" }, output: 1 },
      { tool: "mail::send", output: 2 },
      { tool: "*", output: 3 },
    ]);
    expect(ask(engine, "mail::send", { to: "bob" })).toBe(1);
    expect(ask(engine, "mail::send", { to: "ann" })).toBe(2);
    expect(ask(engine, "mail::list")).toBe(3);
  });

  test("with its error, including the given code, retryable and hint", () => {
    const engine = stubEngine([
      { tool: "mail::send", error: { message: "It rains." } },
      { tool: "mail::list", error: { code: "rate_limited", message: "Slowly.", retryable: false, hint: "Wait." } },
    ]);
    expect(ask(engine, "mail::send")).toMatchObject({ code: "execution_failed", message: "It rains." });
    expect(ask(engine, "mail::list")).toMatchObject({ code: "rate_limited", message: "Slowly.", retryable: false, hint: "Wait." });
  });
});

describe("F0.61 a call without a matching stub", () => {
  test("is not_found, with its differences from the tool's stubs, nearest first", () => {
    const engine = stubEngine([
      { tool: "mail::send", input: { to: "bob", cc: "eve", text: "x", date: "today" }, output: 1 },
      { tool: "mail::send", input: { to: "ann", text: "hi" }, exact: true, output: 2 },
      { tool: "mail::list", output: 3 },
    ]);
    const error = ask(engine, "mail::send", { to: "ann", text: "ho", urgent: true });
    expect(error).toBeInstanceOf(NoAnswer);
    expect(error).toMatchObject({ code: "not_found", retryable: false, message: "No stub of mail::send answers this call." });
    expect((error as ToolError).details).toEqual([
      'stubs[1]: $.text is "ho"; it takes "hi"; $.urgent is true; it is not expected',
      'stubs[0]: $.to is "ann"; it takes "bob"; $.cc is missing; it takes "eve"; $.text is "ho"; it takes "x", and 1 more',
    ]);
    expect(ask(engine, "mail::drop")).toMatchObject({ message: "No stub answers calls of mail::drop.", details: [] });
  });

  test("is added to the report and passed to onUnmatched at once; errors thrown by onUnmatched are ignored", () => {
    const heard: string[] = [];
    const engine = stubEngine(
      [
        { tool: "mail::send", output: 1 },
        { tool: "mail::list", output: 2 },
      ],
      {
        onUnmatched: ({ tool: name }) => {
          heard.push(name);
          throw new Error("deaf");
        },
      },
    );
    expect(engine.report()).toEqual({ ok: false, calls: 0, unmatchedCount: 0, unmatched: [], unused: [0, 1] });
    expect(ask(engine, "mail::send")).toBe(1);
    expect(ask(engine, "mail::drop", { id: 4 })).toBeInstanceOf(NoAnswer);
    expect(heard).toEqual(["mail::drop"]);
    expect(engine.report()).toEqual({
      ok: false,
      calls: 2,
      unmatchedCount: 1,
      unmatched: [{ tool: "mail::drop", input: { id: 4 }, why: [] }],
      unused: [1],
    });
  });

  test("is still counted when the report's list is full", () => {
    const engine = stubEngine([]);
    for (let call = 0; call < 150; call++) ask(engine, "mail::send", { call });
    const { unmatched, unmatchedCount } = engine.report();
    expect([unmatched.length, unmatchedCount]).toEqual([100, 150]);
  });
});

describe("F0.61 the number of uses of a stub", () => {
  const stubs: readonly Stub[] = [
    { tool: "mail::send", output: "first", times: 1 },
    { tool: "mail::send", output: "second", times: 2 },
  ];
  const send = { name: "mail::send", input: {} };
  const outputs = (results: readonly { readonly output?: JsonValue; readonly error?: { readonly code: string } }[]): readonly unknown[] =>
    results.map(({ output, error }) => output ?? error?.code);

  test("is counted per session, in call order within a batch; a call beyond times is unmatched", async () => {
    const engine = stubEngine(stubs);
    await using runtime = runtimeOf(engine);
    const results = await runtime.session("a").execute([send, send, send, send]);
    expect(outputs(results)).toEqual(["first", "second", "second", "not_found"]);
    expect(results[3]?.error?.details).toEqual(["stubs[0]: is used up after 1", "stubs[1]: is used up after 2"]);
    expect(results.slice(0, 3).map(({ origin, fidelity }) => `${origin} ${fidelity}`)).toEqual(Array(3).fill("stub scripted"));
    expect(outputs(await runtime.session("b").execute([send]))).toEqual(["first"]);
    expect(engine.report()).toMatchObject({ calls: 5, unmatchedCount: 1, unused: [] });
  });

  test("continues in a fork without affecting the parent session", async () => {
    await using runtime = runtimeOf(stubEngine(stubs));
    const session = runtime.session("a");
    await session.execute([send]);
    const branch = session.fork();
    expect(outputs(await branch.execute([send, send]))).toEqual(["second", "second"]);
    expect(outputs(await session.execute([send]))).toEqual(["second"]);
  });

  test("is rolled back with a failed batch", async () => {
    await using runtime = runtimeOf(stubEngine([...stubs, { tool: "mail::list", error: { message: "no" } }]));
    const session = runtime.session("a");
    await expect(session.execute([send, { name: "mail::list" }], { onError: "throw" })).rejects.toMatchObject({
      message: expect.any(String),
    });
    expect(outputs(await session.execute([send]))).toEqual(["first"]);
  });

  test("includes retries, so that a tool can fail once and then succeed", async () => {
    const engine = stubEngine([
      { tool: "mail::send", error: { code: "network_error", message: "away" }, times: 1 },
      { tool: "mail::send", output: "sent" },
    ]);
    await using runtime = createRuntime({ toolsets: [{ name: "mail", tools: [tool("send")], engine }], retry: { delayMs: 0 } });
    expect(await runtime.session("a").execute(send)).toMatchObject({ status: "ok", output: "sent", attempts: 2 });
    expect(engine.report()).toMatchObject({ ok: true, calls: 2 });
  });
});

describe("F0.61 invalid stubs", () => {
  const wrong: readonly { readonly stub: unknown; readonly problem: string }[] = [
    { stub: 5, problem: "stubs[0] must be an object." },
    { stub: { output: 1 }, problem: "stubs[0].tool must be the name of a tool, or a pattern." },
    { stub: { tool: "a" }, problem: "stubs[0] must have either an output or an error." },
    { stub: { tool: "a", output: 1, error: { message: "x" } }, problem: "stubs[0] must have either an output or an error." },
    { stub: { tool: "a", output: 1, input: [] }, problem: "stubs[0].input must be an object." },
    { stub: { tool: "a", output: 1, exact: true }, problem: "stubs[0].exact needs an input." },
    { stub: { tool: "a", output: 1, times: 0 }, problem: "stubs[0].times must be an integer of at least 1." },
    { stub: { tool: "a", error: "x" }, problem: "stubs[0].error must be an object with a message." },
    { stub: { tool: "a", error: {} }, problem: "stubs[0].error.message must be a string of at most 4096 characters." },
    {
      stub: { tool: "a", error: { message: "x", code: "constructor" } },
      problem: 'stubs[0].error.code must be a code of an error, such as "not_found" or "network_error".',
    },
    {
      stub: { tool: "a", ouput: 1, output: 1 },
      problem: 'stubs[0] has the unknown key "ouput"; known keys: tool, input, exact, output, error, times.',
    },
    { stub: { tool: "a", output: Number.NaN }, problem: "stubs[0] is not JSON: $.output: NaN is not a JSON number" },
  ];
  test.each(wrong)("throw at once: $problem", ({ stub, problem }) => {
    expect(thrownBy(() => stubEngine([stub as Stub]))).toMatchObject({ code: "invalid_argument", message: problem });
    expect(thrownBy(() => readStubs([stub]))).toMatchObject({ code: "invalid_config", message: problem });
  });

  test("are all named in the error", () => {
    const error = thrownBy(() => readStubs({ stubs: [{ tool: "a", output: 1 }, { tool: 4 }, { tool: "b", output: 1, exact: "yes" }] }));
    expect(error.details).toEqual([
      "stubs[1].tool must be the name of a tool, or a pattern.",
      "stubs[1] must have either an output or an error.",
      "stubs[2].exact must be a boolean.",
    ]);
    expect(error.message).toBe("stubs[1].tool must be the name of a tool, or a pattern. (2 more below)");
  });

  test("a stub file contains an array of stubs, or an object with the key stubs", () => {
    const stubs = [{ tool: "a", output: null }];
    expect(readStubs(stubs)).toEqual(stubs);
    expect(readStubs({ stubs })).toEqual(stubs);
    for (const other of [null, "a", { stub: stubs }]) expect(thrownBy(() => readStubs(other)).code).toBe("invalid_config");
  });
});
