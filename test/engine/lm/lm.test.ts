import * as net from "node:net";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import type { ErrorCode } from "../../../src/core/error-codes.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { Model, ModelRequest } from "../../../src/core/model.ts";
import { NoAnswer } from "../../../src/core/answers/no-answer.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { lmEngine, type LmEngineOptions } from "../../../src/engine/lm.ts";
import { httpModel } from "../../../src/model/http-model.ts";
import { scriptedModel, type ReplyScript, type ScriptedModel } from "../../../src/model/scripted-model.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../../src/runtime/runtime.ts";
import { fakePorts } from "../../../src/testing/fake-ports.ts";
import { ollama } from "../../../src/wire/ollama.ts";
import { toolContext } from "../engine-contexts.ts";
import { WEATHER, answer, memoryState, toolWith } from "./lm-calls.ts";

interface World {
  readonly runtime: Runtime;
  readonly model: ScriptedModel;
  /** What the model was shown in its last request, without the definitions of tools. */
  shown(): readonly unknown[];
}

/** A runtime whose toolset `weather` is played by a model that says these things. */
async function world(
  script: ReplyScript | readonly string[],
  {
    tools = [WEATHER],
    lm = {},
    more = {},
  }: { readonly tools?: readonly Tool[]; readonly lm?: Partial<LmEngineOptions>; readonly more?: RuntimeOptions } = {},
): Promise<World> {
  const replies = typeof script === "function" ? script : script.map((reply) => (typeof reply === "string" ? { text: reply } : reply));
  const model = scriptedModel(replies);
  const toolsets = [{ name: "weather", tools, engine: lmEngine({ model, ...lm }) }, ...(more.toolsets ?? [])];
  const runtime = createRuntime({ ...more, toolsets });
  await runtime.open();
  return { runtime, model, shown: () => shownIn(model.requests.at(-1)) };
}

function shownIn(request: ModelRequest | undefined): readonly unknown[] {
  return (request?.messages ?? []).map((message) => {
    const said: JsonObject = "content" in message ? (JSON.parse(String(message.content)) as JsonObject) : {};
    return said["tool_call"] ?? said;
  });
}

const get = (city: string) => ({ name: "weather::get", input: { city } });
const asked = (city: string) => ({ name: "weather::get", arguments: { city } });

describe("F0.40 a tool without a handler", () => {
  test("is answered by the model, and its result has the origin simulated", async () => {
    const { runtime } = await world(['{"celsius":12,"sky":"grey"}']);
    expect(await runtime.execute(get("Oslo"))).toMatchObject({
      status: "ok",
      output: { celsius: 12, sky: "grey" },
      origin: "simulated",
      attempts: 1,
    });
  });

  test("is validated like any other tool: invalid input and unknown names do not reach the model", async () => {
    const { runtime, model } = await world([]);
    const results = await runtime.execute([
      { name: "weather::get", input: { city: 1.5 } },
      { name: "weather::gett", input: {} },
    ]);
    expect(results).toMatchObject([{ error: { code: "invalid_input" } }, { error: { code: "not_found" } }]);
    expect(model.requests).toEqual([]);
  });
});

test("F0.40 calls of different sessions run in parallel, even if their tools declare no effects", async () => {
  const begun = Promise.withResolvers<undefined>();
  let asked = 0;
  const patient: Model = {
    name: "patient",
    async *stream(request) {
      if (++asked === 3) begun.resolve(undefined);
      await begun.promise; // never, where one waits for another
      yield* scriptedModel([{ text: '{"celsius":1}' }]).stream(request);
    },
  };
  const { runtime } = await world([], { lm: { model: patient } });
  const results = await Promise.all(["a", "b", "c"].map((city) => runtime.session().execute(get(city))));
  expect(results.map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
});

test("F0.40 concurrent calls of one session run one after another, so that each sees the state of the call before", async () => {
  const tool: Tool = {
    ...toolWith({ type: "object", properties: { id: { type: "integer" }, note: { type: "string" } }, required: ["id", "note"] }),
    reducer: (state = 0) => ({ state: Number(state) + 1, facts: { id: Number(state) + 1 } }),
  };
  const { runtime, model } = await world(() => ({ text: '{"note":"made"}' }), { tools: [tool] });
  const session = runtime.session();
  const results = await Promise.all(Array.from({ length: 8 }, () => session.execute({ name: "weather::tool" })));
  expect(results.map(({ output, attempts }) => [output, attempts])).toEqual(
    Array.from({ length: 8 }, (_, index) => [{ id: index + 1, note: "made" }, 1]),
  );
  expect(model.requests).toHaveLength(8);
});

describe("F0.41 the history that a call sees", () => {
  test("includes every earlier call of its batch, in order, with failures", async () => {
    const { runtime, shown } = await world(['{"celsius":1}', "I do not know.", '{"error":"no such city"}', '{"celsius":4}']);
    const results = await runtime.session().execute(["a", "b", "c", "d"].map(get));
    expect(results.map(({ status }) => status)).toEqual(["ok", "error", "error", "ok"]);
    expect(shown()).toEqual([
      asked("a"),
      { celsius: 1 },
      asked("b"),
      { error: "failed to generate valid tool result" },
      asked("c"),
      { error: "no such city" },
      asked("d"),
    ]);
  });

  test("F0.8 shows each call with the definition of the overload that it was made with", async () => {
    const takes = (key: string): Tool =>
      toolWith(undefined, { inputSchema: { type: "object", properties: { [key]: {} }, required: [key], additionalProperties: false } });
    const model = scriptedModel([{ text: '{"n":1}' }, { text: '{"n":2}' }, { text: '{"n":3}' }]);
    const tools = [takes("city"), takes("street")];
    const runtime = createRuntime({ toolsets: [{ name: "maps", overloads: true, tools, engine: lmEngine({ model }) }] });
    const inputs = [{ street: "a" }, { city: "b" }, { street: "c" }];
    await runtime.session().execute(inputs.map((input) => ({ name: "maps::tool", input })));
    const asked = model.requests.at(-1)?.messages.filter(({ role }) => role === "user") ?? [];
    const shown = asked.map((message) => JSON.parse("content" in message ? String(message.content) : "{}"));
    expect(shown.map(({ tool, tool_call: call }) => [tool.parameters.required, call.arguments])).toEqual(
      inputs.map((input) => [Object.keys(input), input]),
    );
    await runtime.close();
  });

  test("F0.44 F0.45 includes invalid replies, unknown tools and invalid inputs of its session", async () => {
    const { runtime, shown } = await world(["{}", '{"celsius":2}']);
    const session = runtime.session();
    await session.execute(get("a"));
    await session.execute({ name: "weather::gett", input: {} });
    await session.execute({ name: "weather::get", input: { city: 1.5 } });
    await session.execute(get("b"));
    expect(shown()).toEqual([
      asked("a"),
      { error: "failed to generate valid tool result" },
      { name: "weather::gett", arguments: {} },
      { error: expect.stringContaining("weather::gett") },
      { name: "weather::get", arguments: { city: 1.5 } },
      { error: expect.any(String) },
      asked("b"),
    ]);
  });

  test("includes calls that other engines answered", async () => {
    const local: Tool = { name: "book", description: "Books.", inputSchema: true, execute: () => ({ booked: "LH 1" }) };
    const second = scriptedModel([{ text: '{"paid":true}' }]);
    const pay: Tool = { name: "pay", description: "Pays.", inputSchema: true };
    const toolsets = [
      { name: "flights", tools: [local] },
      { name: "bank", tools: [pay], engine: lmEngine({ model: second }) },
    ];
    const { runtime, shown } = await world(['{"celsius":1}'], { more: { toolsets } });
    await runtime.session().execute([{ name: "flights::book" }, { name: "bank::pay" }, get("Rome")]);
    expect(shown()).toEqual([
      { name: "flights::book", arguments: {} },
      { booked: "LH 1" },
      { name: "bank::pay", arguments: {} },
      { paid: true },
      asked("Rome"),
    ]);
  });

  test("H08 includes nothing of another session", async () => {
    const { runtime, model } = await world((_request, index) => ({ text: JSON.stringify({ celsius: index }) }));
    const [one, two] = [runtime.session(), runtime.session()];
    await one.execute(get("secret one"));
    await two.execute(get("secret two"));
    await Promise.all([one.execute(get("c")), two.execute(get("d"))]);
    const prompts = model.requests.slice(2).map((request) => JSON.stringify(request));
    expect(prompts.map((text) => [text.includes("secret one"), text.includes("secret two")])).toEqual([
      [true, false],
      [false, true],
    ]);
  });

  test("includes the calls of its branch, which the parent session does not see", async () => {
    const { runtime, shown } = await world((_request, index) => ({ text: JSON.stringify({ celsius: index }) }));
    const session = runtime.session();
    await session.execute(get("a"));
    const { results } = await session.simulate([get("b"), get("c")]);
    expect(results).toMatchObject([
      { status: "ok", output: { celsius: 1 }, origin: "simulated" },
      { status: "ok", output: { celsius: 2 }, origin: "simulated" },
    ]);
    expect(shown()).toEqual([asked("a"), { celsius: 0 }, asked("b"), { celsius: 1 }, asked("c")]);
    await session.execute(get("d"));
    expect(shown()).toEqual([asked("a"), { celsius: 0 }, asked("d")]);
  });
});

describe("F0.47 an injected fault", () => {
  const plan = (type: string, tools: string): RuntimeOptions => ({
    faults: { rules: [{ type, probability: 1, tools, message: "Put in.", retryable: false }] },
  });
  const tools: readonly Tool[] = [WEATHER, toolWith(WEATHER.outputSchema, { name: "faulty" })];
  const faulty = { name: "weather::faulty", input: {} };

  test.each(["network_error", "schema_violation"])(
    "%s is an error without a model request, and is in the history of the next call",
    async (type) => {
      const { runtime, model, shown } = await world(['{"celsius":2}'], { tools, more: plan(type, "weather::faulty") });
      const results = await runtime.session().execute([faulty, get("b")]);
      expect(results).toMatchObject([{ status: "error", error: { message: "Put in." }, fault: type }, { output: { celsius: 2 } }]);
      expect(model.requests).toHaveLength(1);
      expect(shown()).toEqual([{ name: "weather::faulty", arguments: {} }, { error: "Put in." }, asked("b")]);
    },
  );

  test("unparseable_result is a string that is in the history of the next call", async () => {
    const { runtime, shown } = await world((_request, index) => ({ text: JSON.stringify({ celsius: index }) }), {
      tools,
      more: plan("unparseable_result", "weather::faulty"),
    });
    const [garbled] = await runtime.session().execute([faulty, get("b")]);
    expect(garbled).toMatchObject({ output: expect.stringContaining("<garbled: "), fault: "unparseable_result" });
    expect(shown()).toEqual([{ name: "weather::faulty", arguments: {} }, { result: garbled?.output }, asked("b")]);
  });
});

describe("H08 a reply of 1 MB", () => {
  test("is aborted as soon as it is too long", async () => {
    let pieces = 0;
    const flood: Model = {
      name: "flood",
      async *stream() {
        for (; pieces < 1_000; pieces++) yield { type: "text-delta", text: "x".repeat(1_024) };
      },
    };
    expect(await answer(WEATHER, [], { model: flood })).toMatchObject({
      error: { code: "invalid_output", details: ["the reply has more than 262144 characters"] },
    });
    expect(pieces).toBe(256);
  });

  test("is rejected when it arrives in one piece, even if it is valid", async () => {
    const text = JSON.stringify({ celsius: 1, sky: "x".repeat(1_048_576) });
    expect(await answer(WEATHER, [text])).toMatchObject({ error: { details: ["the reply has more than 262144 characters"] } });
    expect(await answer(WEATHER, [text], { maxReplyChars: 2_000_000 })).toMatchObject({ output: { celsius: 1 } });
  });

  test("that consists of brackets only ends soon", async () => {
    const texts = ["{".repeat(262_144), '{"a":'.repeat(50_000), "[{".repeat(100_000), '{"'.repeat(130_000), "{:}".repeat(80_000)];
    for (const text of texts) expect(await answer(WEATHER, [text])).toMatchObject({ error: { code: "invalid_output" } });
  });

  test("does not count text that the model retracted", async () => {
    const { runtime } = await world([{ text: '{"celsius":1}', pieceChars: 1 }], { lm: { maxReplyChars: 13 } });
    expect(await runtime.execute(get("a"))).toMatchObject({ output: { celsius: 1 } });
    const retold: Model = {
      name: "retold",
      async *stream(request) {
        yield { type: "text-delta", text: "Let me see" };
        yield { type: "reply-void", reason: "again" };
        yield* scriptedModel([{ text: '{"celsius":2}' }]).stream(request);
      },
    };
    expect(await answer(WEATHER, [], { model: retold, maxReplyChars: 13 })).toEqual({ output: { celsius: 2 } });
  });
});

/** A port that nobody listens at. */
async function closedPort(): Promise<number> {
  const server = net.createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

describe("an unreachable model", () => {
  const codes: readonly ErrorCode[] = [
    "network_error",
    "unavailable",
    "rate_limited",
    "timeout",
    "permission_denied",
    "not_found",
    "limit_exceeded",
  ];
  test.each(codes)("passes the call on to the next answer source: %s", async (code) => {
    const error = new ToolError(code, "It is away.", { hint: "Start it.", retryable: true, outcome: "unknown" });
    const { thrown } = await answer(WEATHER, [], { model: scriptedModel([{ error }]), tries: 3 });
    expect(thrown).toBeInstanceOf(NoAnswer);
    expect(thrown).toMatchObject({ code, message: "It is away.", hint: "Start it.", retryable: false, outcome: "not_started" });
  });

  test("at a closed port is an error of the call, is not retried, and is in the session's history", async () => {
    const down = httpModel({ format: ollama(), model: "x", baseUrl: `http://127.0.0.1:${await closedPort()}`, retry: { maxAttempts: 1 } });
    const { runtime } = await world([], { lm: { model: down } });
    const session = runtime.session();
    const result = await session.execute(get("Oslo"));
    expect(result).toMatchObject({
      status: "error",
      attempts: 1,
      error: { code: "network_error", retryable: false, outcome: "not_started", message: expect.stringContaining("127.0.0.1") },
    });
    expect(session.history).toHaveLength(1);
  });

  test("is followed by the next answer source of the fallback chain", async () => {
    const down = scriptedModel([{ error: new ToolError("network_error", "It is away.") }]);
    const runtime = createRuntime({
      tools: [WEATHER],
      answers: {
        engines: { lm: lmEngine({ model: down }), example: { kind: "example", origin: "simulated", call: () => ({ celsius: 5 }) } },
        rules: [{ tools: "*", from: ["lm", "example"] }],
      },
    });
    expect(await runtime.execute({ name: "get", input: {} })).toMatchObject({ output: { celsius: 5 }, answeredBy: "example" });
  });
});

describe("a failing model", () => {
  test.each(["model_failed", "too_large", "invalid_argument"] as const)("ends the call with its error: %s", async (code) => {
    const model = scriptedModel([{ error: new ToolError(code, "It broke.", { retryable: true }) }]);
    const { thrown } = await answer(WEATHER, [], { model });
    expect(thrown).not.toBeInstanceOf(NoAnswer);
    expect(thrown).toMatchObject({ code, message: "It broke.", retryable: false, outcome: "failed" });
  });

  test("that throws anything else is reported as model_failed", async () => {
    expect(await answer(WEATHER, [], { model: scriptedModel([{ error: new RangeError("bad") }]) })).toMatchObject({
      error: { code: "model_failed", message: "bad", retryable: false },
    });
  });

  test("that ends without a reply is reported as model_failed", async () => {
    const mute: Model = { name: "mute", async *stream() {} };
    expect(await answer(WEATHER, [], { model: mute })).toMatchObject({
      error: { code: "model_failed", message: "The model mute ended without a reply." },
    });
  });
});

test("H08 a model that never answers ends at the tool's timeout, with the outcome failed", async () => {
  const deaf: Model = {
    name: "deaf",
    async *stream() {
      await new Promise<never>(() => {});
      yield { type: "text-delta", text: "" };
    },
  };
  const ports = fakePorts();
  const { runtime } = await world([], { lm: { model: deaf }, more: { ports, timeoutMs: 2_000, maxAttempts: 1 } });
  expect(await ports.clock.run(runtime.execute(get("Oslo")))).toMatchObject({
    status: "error",
    attempts: 1,
    error: { code: "timeout", message: "weather::get did not answer within 2000 ms.", outcome: "failed" },
  });
});

describe("a cancelled call", () => {
  test("ends at once as cancelled, and the model's signal is aborted", async () => {
    const begun = Promise.withResolvers<AbortSignal | undefined>();
    const deaf: Model = {
      name: "deaf",
      async *stream(_request, options) {
        begun.resolve(options?.signal);
        await new Promise<never>(() => {});
        yield { type: "text-delta", text: "" };
      },
    };
    const { runtime } = await world([], { lm: { model: deaf } });
    const controller = new AbortController();
    const session = runtime.session();
    const pending = session.execute(get("Oslo"), { signal: controller.signal });
    const signal = await begun.promise;
    controller.abort();
    expect(await pending).toMatchObject({ status: "cancelled", error: { code: "cancelled" } });
    expect(signal?.aborted).toBe(true);
  });

  test("stays cancelled when the model itself cancelled it", async () => {
    const model = scriptedModel([{ error: new ToolError("cancelled", "Called off.") }]);
    const { thrown } = await answer(WEATHER, [], { model });
    expect(thrown).not.toBeInstanceOf(NoAnswer);
    expect(thrown).toMatchObject({ code: "cancelled", message: "Called off." });
  });

  test("makes no model request if it was cancelled before it began", async () => {
    const model = scriptedModel([{ text: '{"celsius":1}' }]);
    const context = toolContext({ signal: AbortSignal.abort(new ToolError("cancelled", "Too late.")), state: memoryState() });
    expect(await answer(WEATHER, [], { model, context })).toMatchObject({ error: { code: "cancelled" } });
    expect(model.requests).toEqual([]);
  });
});

test("a schema that cannot be used is reported as such", async () => {
  expect(await answer(toolWith({ type: "nonsense" }), ["{}"])).toMatchObject({ error: { code: "invalid_schema" } });
});
