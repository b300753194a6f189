import { describe, expect, test } from "vitest";
import { toAiSdkTools } from "../../src/adapters/ai-sdk.ts";
import { createLoop, type Loop } from "../../src/compose/loop.ts";
import { isToolError } from "../../src/core/error.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { createRuntime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
import { testRuntime, tool } from "./bench-runtime.ts";

const JUNK: readonly unknown[] = [undefined, null, 0, 5, Number.NaN, "", "x", true, 10n, [], [null], {}, { name: 5 }, () => 1];
/** For the runtime's own parts. */
const INTERNAL = new Set([
  "recordAll",
  "record",
  "recordAndNotify",
  "recordOutput",
  "holdCallsUntil",
  "recordTogether",
  "changeState",
  "adopt",
]);

function runtime(): ReturnType<typeof createRuntime> {
  return testRuntime({ tools: [tool("t", () => 1)] }).runtime;
}

function loop(): Loop {
  return createLoop({ session: runtime().session(), model: scriptedModel([{ text: "Hello." }]) });
}

const OBJECTS: Readonly<Record<string, () => object>> = {
  runtime,
  "runtime.registry": () => runtime().registry,
  session: () => runtime().session(),
  loop,
};

function methodsOf(object: object): readonly string[] {
  const names = new Set<string>();
  for (let at: object = object; at !== Object.prototype; at = Object.getPrototypeOf(at) as object) {
    for (const name of Object.getOwnPropertyNames(at)) {
      if (typeof Object.getOwnPropertyDescriptor(at, name)?.value === "function") names.add(name);
    }
  }
  names.delete("constructor");
  return [...names].filter((name) => !INTERNAL.has(name));
}

/** What is thrown that is no ToolError. */
async function rawError(work: () => unknown): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (thrown: unknown) {
    return isToolError(thrown) ? undefined : String(thrown);
  }
}

async function rawErrors(call: (junk: unknown) => unknown): Promise<readonly string[]> {
  const found: string[] = [];
  for (const junk of JUNK) {
    const error = await rawError(() => call(junk));
    if (error !== undefined)
      found.push(`${JSON.stringify(junk, (_, item: unknown) => (typeof item === "bigint" ? String(item) : item))}: ${error}`);
  }
  return found;
}

describe("invalid arguments to a public method give a ToolError or a result", () => {
  const methods = Object.entries(OBJECTS).flatMap(([name, make]) => methodsOf(make()).map((method) => [name, method] as const));

  test.each(methods)("%s.%s()", async (name, method) => {
    const call = (args: readonly unknown[]): unknown => {
      const object = OBJECTS[name]?.() ?? {};
      return Reflect.apply(Reflect.get(object, method) as () => unknown, object, args);
    };
    expect(await rawErrors((junk) => call([junk]))).toEqual([]);
    expect(await rawErrors((junk) => call([{ name: "t" }, junk]))).toEqual([]);
    expect(await rawErrors((junk) => call(["t", junk]))).toEqual([]);
  });

  test.each(["add", "end", "void"])("round.%s()", async (method) => {
    const call = (args: readonly unknown[]): Promise<unknown> =>
      runtime()
        .session()
        .turn(async (turn) => {
          const round = turn.round();
          return Reflect.apply(Reflect.get(round, method) as () => unknown, round, args);
        });
    expect(await rawErrors((junk) => call([junk]))).toEqual([]);
    expect(await rawErrors((junk) => call([{ name: "t" }, junk]))).toEqual([]);
  });

  test("a value that is not a call is accepted into a round and gets an invalid_call result", async () => {
    const results = await runtime()
      .session()
      .turn(async (turn) => {
        const round = turn.round();
        for (const junk of [null, 5, "x"]) Reflect.apply(round.add, round, [junk]);
        return round.end({ content: "", finish: "calls", usage: { inputTokens: 0, outputTokens: 0 } });
      });
    expect(results.map(({ error }) => error?.code)).toEqual(["invalid_call", "invalid_call", "invalid_call"]);
  });

  test.each(["round", "addMessage"])("turn.%s()", async (method) => {
    const call = (junk: unknown): Promise<unknown> =>
      runtime()
        .session()
        .turn(async (turn) => Reflect.apply(Reflect.get(turn, method) as () => unknown, turn, [junk]));
    expect(await rawErrors(call)).toEqual([]);
  });

  test("createRuntime() and createLoop()", async () => {
    expect(await rawErrors((junk) => createRuntime(junk as RuntimeOptions))).toEqual([]);
    expect(await rawErrors((junk) => Reflect.apply(createLoop, undefined, [junk]))).toEqual([]);
  });
});

test("an option of the wrong type for createRuntime or createLoop is rejected by name", () => {
  const wrong: readonly unknown[] = [5, "", true, null, [], {}, () => 1];
  const refused = (make: (value: unknown) => unknown): number =>
    wrong.filter((value) => {
      try {
        make(value);
        return false;
      } catch (thrown: unknown) {
        expect(thrown).toMatchObject({ code: "invalid_argument" });
        return true;
      }
    }).length;
  for (const name of ["tools", "toolsets", "sources", "hooks", "jobs", "data", "ports", "ask", "onEvent", "onAlert", "strict"])
    expect([name, refused((value) => createRuntime({ [name]: value }))]).toEqual([name, 6]);
  const session = runtime().session();
  const loopOf = (name: string) => (value: unknown) => createLoop({ session, model: scriptedModel([]), [name]: value });
  for (const name of ["tools", "native", "recordHistory", "stopWhen", "enabled", "refuse", "cost", "earlyDispatch", "onEvent"])
    expect([name, refused(loopOf(name))]).toEqual([name, 6]);
  expect(() => createRuntime({ onAlert: 5 as never })).toThrow('The option "onAlert" of createRuntime() must be a function, not a number.');
});

const WRONG_PARTS: readonly (readonly [options: object, message: string, hint?: string])[] = [
  [{ approval: { approve: "yes" } }, 'The option "approve" of createRuntime({ approval }) must be a function or "inbox", not "yes".'],
  [
    { ports: { clock: 5 } },
    'The option "ports.clock" of createRuntime() has no now().',
    "Give it a Clock, such as fakePorts().clock of haft/testing.",
  ],
  [{ ports: { log: { warn: () => {} } } }, 'The option "ports.log" of createRuntime() has no debug().', "Give it a Log, such as console."],
  [{ pins: {} }, 'The option "pins" of createRuntime() has no check().', "Give it toolPins(lock)."],
  [{ retry: { jitter: "no" } }, 'The option "jitter" of createRuntime({ retry }) must be a boolean, not a string.'],
  [{ circuit: { failures: "5" } }, 'A circuit\'s failures must be an integer of at least 1, not "5".'],
  [{ circuit: { minimumRate: "1" } }, 'A circuit\'s minimumRate must be a share from 0 to 1, not "1".'],
  [{ inputLimits: { maxDepth: "deep" } }, 'maxDepth of inputLimits is "deep"; it takes a number from 0.'],
  [{ places: ["lab", 5] }, 'The option "places[1]" of createRuntime() must be a string, not a number.'],
  [{ toolsets: [null] }, 'The option "toolsets[0]" of createRuntime() must be an object, not null.'],
  [{ hooks: [{}] }, "Each hook of the runtime must have a name, and beforeCall or afterCall."],
];

test("options that a class defines as getters are also rejected by name, in documented order", () => {
  class Settings {
    get strict(): unknown {
      return "yes";
    }
    get sources(): unknown {
      return 5;
    }
  }
  const hidden = Object.defineProperty({}, "strict", { value: "yes" });
  for (const options of [new Settings(), { strict: "yes", sources: 5 }])
    expect(() => createRuntime(options as never)).toThrow('The option "sources" of createRuntime() must be an array, not a number.');
  expect(() => createRuntime(hidden)).toThrow('The option "strict" of createRuntime() must be a boolean, not a string.');
});

test("a wrong value within an option of createRuntime is refused at once", () => {
  for (const [options, message, hint] of WRONG_PARTS)
    expect(() => createRuntime(options)).toThrow(expect.objectContaining({ code: "invalid_argument", message, hint }));
});

test("an unknown option of createRuntime is rejected by name", () => {
  const make = (options: object) => () => createRuntime(options);
  expect(make({ toolz: [] })).toThrow(
    expect.objectContaining({ code: "invalid_argument", message: 'createRuntime() has no option "toolz".', hint: 'Did you mean "tools"?' }),
  );
  expect(make({ timoutMs: 5 })).toThrow(expect.objectContaining({ hint: 'Did you mean "timeoutMs"?' }));
  expect(make({ ladder: {} })).toThrow(
    expect.objectContaining({ message: 'createRuntime() has no option "ladder".', hint: 'Did you mean "answers"?' }),
  );
  expect(make({ registree: {} })).toThrow(expect.objectContaining({ message: 'createRuntime() has no option "registree".' }));
});

test("a name and an input as two arguments of execute are rejected with the call to write, in a session and without one", async () => {
  const made = runtime();
  const refused = {
    code: "invalid_argument",
    message: "execute() takes a call as one argument, not the name of a tool and its input as two.",
    hint: 'Write execute({ name: "t", input: { … } }).',
  };
  for (const target of [made, made.session()])
    await expect(target.execute("t" as never, { city: "Oslo" } as never)).rejects.toMatchObject(refused);
});

test("a session or a tool in place of a runtime is rejected with what to give", () => {
  const given = (value: unknown) => () => toAiSdkTools(value as never);
  expect(given(runtime().session())).toThrow(expect.objectContaining({ hint: expect.stringContaining("{ session }") }));
  expect(given(tool("t", () => 1))).toThrow(expect.objectContaining({ hint: expect.stringContaining("createRuntime({ tools: [tool] })") }));
  expect(given({})).toThrow(expect.objectContaining({ hint: "createRuntime() makes one." }));
});

describe("F0.3 the properties of a call", () => {
  const add = tool("add", (input) => input, {
    inputSchema: { type: "object", properties: { a: { type: "integer" } }, additionalProperties: false },
    effects: { reads: [], writes: [] },
  });

  test.each<[object, string | undefined, object]>([
    [{ name: "set", order: 5, status: "shipped" }, undefined, { order: 5, status: "shipped" }],
    [{ name: "set", order: 5, status: "completed" }, undefined, { order: 5, status: "completed" }],
    [{ name: "set", order: 5, status: null }, undefined, { order: 5, status: null }],
    [{ name: "set", input: {}, order: 5, kind: "custom" }, undefined, { order: 5, kind: "custom" }],
    [{ name: "set", kind: "large", caller: "me" }, undefined, { kind: "large", caller: "me" }],
    [{ name: "set", status: "completed" }, undefined, { status: "completed" }],
    [{ name: "set", arguments: {}, status: "completed", call_id: "c1" }, undefined, {}],
    [{ name: "set", input: { order: 5 }, kind: "function", status: "in_progress", thoughtSignature: "YQ==" }, undefined, { order: 5 }],
    [{ name: "set", arguments: { order: 5 }, _meta: { progressToken: 1 }, cache_control: { type: "ephemeral" } }, undefined, { order: 5 }],
    [{ name: "set", input: { order: 5 }, other: undefined, more: null }, undefined, { order: 5 }],
    [{ name: "set", input: { order: 5 }, status: "shipped" }, "status", {}],
    [{ name: "set", input: { order: 5 }, _meta: "x" }, "_meta", {}],
    [{ name: "set", input: { order: 5 }, toolUseId: "t1" }, "toolUseId", {}],
  ])("%o runs with all properties as its input, or not at all", async (call, refusedKey, input) => {
    const seen: unknown[] = [];
    const set = tool("set", (given) => seen.push(given), { inputSchema: { type: "object" }, effects: { writes: ["orders"] } });
    const { runtime: made } = testRuntime({ tools: [set] });
    const [result] = await made.execute([call as { readonly name: string }]);
    if (refusedKey === undefined) return expect(seen).toEqual([input]);
    expect(seen).toEqual([]);
    expect(result).toMatchObject({
      error: { code: "invalid_call", message: `A call has no key ${JSON.stringify(refusedKey)}; the call was not run.` },
    });
  });

  test.each<[object, string, RegExp]>([
    [{ name: "add", args: { a: 1 } }, 'A call has no key "args"; the call was not run.', /^Did you mean "input"\?/u],
    [{ name: "add", inptu: { a: 1 } }, 'A call has no key "inptu"; the call was not run.', /^Did you mean "input"\?/u],
    [{ name: "add", params: '{"a":1}' }, 'A call has no key "params"; the call was not run.', /^Did you mean "input"\?/u],
    [{ name: "add", input: { a: 1 }, toolName: "x" }, 'A call has no key "toolName"; the call was not run.', /^Did you mean "name"\?/u],
    [{ name: "add", input: { a: 1 }, timeoutMs: 5 }, 'A call has no key "timeoutMs"; the call was not run.', /^Send /u],
    [{ id: "1", type: "function", function: { name: "add", arguments: "{}" } }, 'The call has no name: "name" is missing.', /haft\/wire/u],
    [{ name: "", input: {} }, 'The call has no name: "name" is empty.', /^Send /u],
    [{ name: 5, input: {} }, 'The call has no name: "name" is a number.', /^Send /u],
    [{ functionCall: { name: "add", args: {} } }, 'The call has no name: "name" is missing.', /haft\/wire/u],
    [
      { role: "assistant", content: [{ type: "tool_use", name: "add", input: {} }] },
      'The call has no name: "name" is missing.',
      /haft\/wire/u,
    ],
  ])("%o is rejected, and never runs without its input", async (call, message, hint) => {
    const { runtime: made } = testRuntime({ tools: [add] });
    const [result] = await made.execute([call as { readonly name: string }]);
    expect(result).toMatchObject({ attempts: 0, error: { code: "invalid_call", message, hint: expect.stringMatching(hint) } });
  });

  test.each<object>([
    { name: "add", input: { a: 1 } },
    { tool: "add", arguments: '{"a": 1}' },
    { type: "tool_use", id: "1", name: "add", input: { a: 1 } },
    { type: "function_call", call_id: "1", name: "add", arguments: '{"a": 1}' },
    { name: "add", a: 1 },
  ])("%o is accepted", async (call) => {
    const { runtime: made } = testRuntime({ tools: [add] });
    const [result] = await made.execute([call as { readonly name: string }]);
    expect(result?.output).toEqual({ a: 1 });
  });
});

test("context.output takes only strings and bytes, and its error says so", async () => {
  const log = tool("log", (_input, context) => context.output(5 as never));
  expect((await testRuntime({ tools: [log] }).runtime.execute({ name: "log" })).error?.message).toBe(
    "context.output() takes a string or bytes, not a number.",
  );
});

test("an error without a message is described with the right article", async () => {
  const fail = tool("fail", () => {
    throw new Error("");
  });
  expect((await testRuntime({ tools: [fail] }).runtime.execute({ name: "fail" })).error?.message).toBe("threw an Error");
});

test("a session id that is already in the store is rejected with a hint to resume it", async () => {
  const store = memoryStore();
  await store.open();
  store.create("dup", { at: 1, durability: "sync" });
  expect(() => testRuntime({ store }).runtime.session("dup")).toThrow(
    expect.objectContaining({ code: "duplicate", operatorHint: 'Continue it with runtime.resume("dup"), or choose another id.' }),
  );
});

test("a call of a closed runtime gets an error that says so", async () => {
  const { runtime: closed } = testRuntime({ tools: [tool("t", () => 1)] });
  await closed.close();
  expect((await closed.execute({ name: "t" })).error).toMatchObject({
    code: "unavailable",
    message: "The runtime is closed.",
    operatorHint: "Create a new one.",
  });
});
