import { describe, expect, test } from "vitest";
import type { ToolContext, ToolState } from "../../src/core/context.ts";
import { ToolOutput } from "../../src/core/content.ts";
import type { Engine } from "../../src/core/engine.ts";
import { type ErrorInfo, ToolError } from "../../src/core/error.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { ResultChange } from "../core/result-change.ts";
import type { Toolset } from "../../src/core/toolset.ts";
import { recordedCalls } from "../../src/engine/recorded-calls.ts";
import { replayEngine, toolsetsOfRecording, type ReplayOptions } from "../../src/engine/replay.ts";
import { requestOf, toolContext } from "./engine-contexts.ts";

const FACT = { sessionId: "s", turnId: "t", at: 0 };

type Recorded = ResultChange & {
  /** What ran, where that is not what was sent. */
  readonly ran?: JsonObject;
};

let lastCall = 0;

/** The events of one call. */
function call(name: string, input: JsonValue, { ran, ...fields }: Recorded = {}): readonly SessionEvent[] {
  const callId = `call_${++lastCall}`;
  const result: ToolResult = {
    callId,
    name,
    status: "ok",
    origin: "live",
    attempts: 1,
    durationMs: 1,
    repairs: [],
    warnings: [],
    ...fields,
  };
  return [
    { type: "call-start", ...FACT, callId, call: { name, input } },
    { type: "call-end", ...FACT, callId, result, input: ran ?? (input as JsonObject) },
  ];
}

const TIMEOUT: ErrorInfo = {
  code: "timeout",
  message: "too slow",
  retryable: true,
  outcome: "unknown",
  hint: "Ask for less.",
  details: ["a detail"],
  retryAfterMs: 5,
};

function session(): ToolState {
  const values = new Map<string, JsonValue>();
  return {
    get: (key) => values.get(key),
    update: (key, change) => {
      const after = change(values.get(key));
      if (after === undefined) values.delete(key);
      else values.set(key, after);
    },
  };
}

function contextOf(toolName: string, state: ToolState = session()): ToolContext {
  return toolContext({ toolName, state });
}

function ask(engine: Engine, toolName: string, input: JsonObject, state?: ToolState): unknown {
  return engine.call(requestOf({ name: "tool", description: "", inputSchema: true }, input), contextOf(toolName, state));
}

function refusal(engine: Engine, toolName: string, input: JsonObject, state?: ToolState): ErrorInfo {
  try {
    ask(engine, toolName, input, state);
  } catch (error: unknown) {
    if (error instanceof ToolError) return error.toJSON();
    throw error;
  }
  throw new Error("answered");
}

function weather(options?: ReplayOptions): Engine {
  return replayEngine(
    [
      ...call("weather::get", { city: "Bergen", unit: "celsius" }, { output: 8 }),
      ...call("weather::get", { city: "Oslo", unit: "celsius" }, { output: 12 }),
      ...call("mail::send", { to: "a@example.com" }, { status: "error", error: TIMEOUT }),
    ],
    options,
  );
}

describe("a call that was not recorded is not_found, and the message names the call and the nearest recording", () => {
  test("for an unknown tool", () => {
    expect(refusal(weather(), "weather::set", {})).toEqual({
      code: "not_found",
      message: "The recording has no call of weather::set.",
      retryable: false,
      outcome: "not_started",
      operatorHint: "It has calls of weather::get, mail::send.",
    });
    expect(refusal(replayEngine([]), "weather::get", {}).operatorHint).toBe("It has no calls at all.");
  });

  test("for an unknown input", () => {
    expect(refusal(weather(), "weather::get", { city: "Oslo", unit: "kelvin" })).toEqual({
      code: "not_found",
      message: "The recording has no call of weather::get with this input. The nearest one differs.",
      retryable: false,
      outcome: "not_started",
      details: ['$.unit is "kelvin", but was "celsius" when it was recorded'],
      operatorHint: 'Call it as it was recorded, or set match to "nearest" (--nearest on the command line).',
    });
  });

  test("for a call that is made more often than it was recorded", () => {
    const [engine, state] = [weather(), session()];
    ask(engine, "weather::get", { city: "Oslo", unit: "celsius" }, state);
    expect(refusal(engine, "weather::get", { city: "Oslo", unit: "celsius" }, state)).toEqual({
      code: "not_found",
      message: "weather::get was recorded once with this input, and is called once more.",
      retryable: false,
      outcome: "not_started",
      operatorHint: "Give the replay repeatLast: true to return the last answer again.",
    });
  });

  test("a value of match other than strict and nearest throws at once", () => {
    const match: unknown = "fuzzy";
    expect(() => weather({ match: match as "strict" })).toThrow(
      new ToolError("invalid_argument", 'match of a replay is "fuzzy"; it takes "strict" or "nearest".'),
    );
  });

  test.each([undefined, "day.jsonl", (async function* () {})()])("%s in place of events throws at once", (given: unknown) => {
    const refused = expect.objectContaining({
      code: "invalid_argument",
      message: "A replay needs the events of a recording, as an array.",
      hint: "Read a file with readRecording(), and collect asynchronous events: await Array.fromAsync(events).",
    });
    for (const replay of [replayEngine, toolsetsOfRecording]) expect(() => replay(given as Iterable<SessionEvent>)).toThrow(refused);
  });
});

describe("a recorded call is answered with", () => {
  test("its output, content and metadata, whatever the key order of the input", () => {
    const answer = { output: { at: 1 }, content: [{ type: "text", text: "one" }], metadata: { region: "eu" } } as const;
    const engine = replayEngine(call("a::b", { x: 1, y: [{ z: null, w: "" }] }, answer));
    expect(ask(engine, "a::b", { y: [{ w: "", z: null }], x: 1 })).toEqual(new ToolOutput(answer));
  });

  test("its error, but with retryable false", () => {
    expect(refusal(weather(), "mail::send", { to: "a@example.com" })).toEqual({
      code: "timeout",
      message: "too slow",
      retryable: false,
      outcome: "unknown",
      hint: "Ask for less.",
      details: ["a detail"],
    });
  });

  test("the output of a partial result", () => {
    const error: ErrorInfo = { code: "invalid_output", message: "no city", retryable: false, outcome: "unknown" };
    const engine = replayEngine(call("a::b", {}, { status: "partial", error, output: { at: 1 } }));
    expect(ask(engine, "a::b", {})).toEqual(new ToolOutput({ output: { at: 1 } }));
  });

  test("its result, matched by the input that ran or by the model's input before repair", () => {
    const engine = replayEngine(call("a::b", { n: "5", extra: 1 }, { ran: { n: 5 }, output: "five" }));
    expect([ask(engine, "a::b", { n: 5 }), ask(engine, "a::b", { n: "5", extra: 1 })]).toEqual([
      new ToolOutput({ output: "five" }),
      new ToolOutput({ output: "five" }),
    ]);
    expect(refusal(engine, "a::b", { n: "5" }).code).toBe("not_found");
  });

  test("A01 its result if the input has prototype keys", () => {
    const engine = replayEngine(call("a::b", { constructor: { prototype: { admin: true } } }, { output: 1 }));
    expect(ask(engine, "a::b", { constructor: { prototype: { admin: true } } })).toEqual(new ToolOutput({ output: 1 }));
    expect(refusal(engine, "constructor", {}).code).toBe("not_found");
    expect(refusal(engine, "a::b", {}).code).toBe("not_found");
  });
});

describe("equal calls", () => {
  const repeated = (options?: ReplayOptions): Engine =>
    replayEngine(
      [1, 2, 3].flatMap((output) => call("dice::roll", {}, { output })),
      options,
    );

  test("are answered in recorded order, and each session starts from the first", () => {
    const [engine, one, other] = [repeated(), session(), session()];
    const rolls = [one, one, other, one, other].map((state) => ask(engine, "dice::roll", {}, state));
    expect(rolls).toEqual([1, 2, 1, 3, 2].map((output) => new ToolOutput({ output })));
  });

  test("are answered with the last recording if repeatLast is set", () => {
    const [engine, state] = [repeated({ repeatLast: true }), session()];
    const rolls = Array.from({ length: 5 }, () => ask(engine, "dice::roll", {}, state));
    expect(rolls).toEqual([1, 2, 3, 3, 3].map((output) => new ToolOutput({ output })));
  });

  test("whose inputs a hook changed are also answered in the order in which they were sent", () => {
    const engine = replayEngine([1, 2, 3].flatMap((at) => call("town::get", { city: "Oslo" }, { ran: { city: "Oslo", at }, output: at })));
    const state = session();
    const answers = [1, 2, 3].map(() => ask(engine, "town::get", { city: "Oslo" }, state));
    expect(answers).toEqual([1, 2, 3].map((output) => new ToolOutput({ output })));
    expect(refusal(engine, "town::get", { city: "Oslo" }, state).message).toBe(
      "town::get was recorded 3 times with this input, and is called once more.",
    );
    expect(ask(engine, "town::get", { city: "Oslo", at: 2 })).toEqual(new ToolOutput({ output: 2 }));
  });

  test("whose inputs a hook changed thousands of times are all answered, in order and without slowing down", () => {
    const count = 8_000;
    const recorded = Array.from({ length: count }, (_, at) =>
      call("town::get", { city: "Oslo" }, { ran: { city: "Oslo", at }, output: at }),
    );
    const engine = replayEngine(recorded.flat(), { repeatLast: true });
    const state = session();
    expect(ask(engine, "town::get", { city: "Oslo", at: 70 }, state)).toEqual(new ToolOutput({ output: 70 }));
    const outputs = Array.from({ length: count + 500 }, () => ask(engine, "town::get", { city: "Oslo" }, state));
    const order = Array.from({ length: count }, (_, at) => at).filter((at) => at !== 70);
    expect(outputs).toEqual([...order, ...Array.from({ length: 501 }, () => count - 1)].map((output) => new ToolOutput({ output })));
  });

  test("of two tools are counted separately", () => {
    const engine = replayEngine([...call("a::b", {}, { output: 1 }), ...call("a::c", {}, { output: 2 })]);
    const state = session();
    expect([ask(engine, "a::b", {}, state), ask(engine, "a::c", {}, state)]).toEqual([
      new ToolOutput({ output: 1 }),
      new ToolOutput({ output: 2 }),
    ]);
  });
});

describe("match: nearest", () => {
  test("returns the answer to the most similar input, with the differences in the metadata", () => {
    expect(ask(weather({ match: "nearest" }), "weather::get", { city: "oslo", unit: "celsius" })).toEqual(
      new ToolOutput({
        output: 12,
        metadata: { replay: { match: "nearest", differences: ['$.city is "oslo", but was "Oslo" when it was recorded'] } },
        fidelity: "similar",
      }),
    );
  });

  test("returns an exact match without differences, and repeats the last one", () => {
    const [engine, state] = [weather({ match: "nearest" }), session()];
    const asked = [1, 2].map(() => ask(engine, "weather::get", { city: "Oslo", unit: "celsius" }, state));
    expect(asked).toEqual([new ToolOutput({ output: 12 }), new ToolOutput({ output: 12 })]);
  });

  test("says in the details of an error that it was recorded for another input", () => {
    expect(refusal(weather({ match: "nearest" }), "mail::send", { to: "b@example.com" }).details).toEqual([
      "a detail",
      'Replayed from another call: $.to is "b@example.com", but was "a@example.com" when it was recorded',
    ]);
  });

  test("never returns the answer of another tool", () => {
    expect(refusal(weather({ match: "nearest" }), "weather::set", { city: "Oslo", unit: "celsius" }).code).toBe("not_found");
  });
});

test("a call that a full store rejected is replayed with the answer it got when the batch was submitted again", () => {
  const batch = (...calls: readonly (readonly SessionEvent[])[]): readonly SessionEvent[] => {
    const callIds = calls.flatMap(([start]) => (start !== undefined && "callId" in start ? [start.callId] : []));
    return [{ type: "batch-start", ...FACT, idempotencyKey: "k", digest: "d", callIds }];
  };
  const error = { code: "store_failed", message: "The disk is full.", retryable: true, outcome: "not_started" } as const;
  const full = () => call("pay::card", { sum: 5 }, { status: "error", attempts: 0, error });
  const ran = call("pay::label", { on: true }, { output: 1 });
  const [first, second] = [full(), full()];
  const repeated = call("pay::card", { sum: 5 }, { output: "paid" });
  const events = [batch(ran, first), ran, first, batch(ran, second), second, batch(ran, repeated), repeated].flat();
  expect(recordedCalls(events).map(({ result }) => result.output)).toEqual([1, "paid"]);
  expect(recordedCalls([batch(first), first].flat()).map(({ result }) => result.error?.code)).toEqual(["store_failed"]); // nothing followed
  const failed = call("pay::card", { sum: 5 }, { status: "error", error: { ...error, outcome: "unknown" } });
  const again = [batch(failed), failed, batch(repeated), repeated].flat(); // the first was rolled back
  expect(recordedCalls(again).map(({ result }) => result.status)).toEqual(["error", "ok"]);
});

test("calls are listed in the order they started; calls without a result and results without a call are ignored", () => {
  const [start, end] = call("a::b", { n: 1 }, { output: 1 });
  const [otherStart, otherEnd] = call("a::b", { n: 2 }, { output: 2 });
  const [lone] = call("a::b", { n: 3 });
  const [, stray] = call("a::b", { n: 4 });
  const events = [start, otherStart, lone, otherEnd, end, stray, end].filter((event) => event !== undefined);
  expect(recordedCalls(events).map(({ call, input, result }) => [call.input, input, result.output])).toEqual([
    [{ n: 1 }, { n: 1 }, 1],
    [{ n: 2 }, { n: 2 }, 2],
  ]);
});

describe("toolsets of a recording", () => {
  const REFUSED: ErrorInfo = { code: "not_found", message: "no tool", retryable: false, outcome: "not_started" };
  const events = [
    ...call("web::search", { query: "a" }, { output: 1 }),
    ...call("web::search", { query: "b" }, { output: 2 }),
    ...call("web::fetch", {}, { output: 3 }),
    ...call("default::sum", {}, { output: 4 }),
    ...call("serch", {}, { status: "error", error: REFUSED, attempts: 0 }),
    ...call("web::serch", {}, { status: "error", error: REFUSED, attempts: 0 }),
    ...call("haft::read_result", { handle: "x" }, { output: 5 }),
    ...call("we\u0000b::search", {}, { output: 6 }),
  ];
  const described = (name: string, description: string): object => ({
    name,
    description,
    inputSchema: { type: "object" },
    effects: { reads: [], writes: [], idempotent: true },
    timeoutMs: 0,
    maxResultBytes: 0,
  });

  test("describe the called tools, with one toolset per namespace and one engine for all", () => {
    const [web, own, ...more] = toolsetsOfRecording(events);
    expect(more).toEqual([]);
    expect(web).toEqual({
      name: "web",
      description: "Answers as recorded.",
      tools: [described("search", "Answers as recorded; was called 2 times."), described("fetch", "Answers as recorded; was called once.")],
      engine: expect.objectContaining({ kind: "replay", origin: "replay", effectFree: true, state: "value", order: "sequential" }),
    });
    expect(own).toEqual({
      name: "default",
      description: "Answers as recorded.",
      tools: [described("sum", "Answers as recorded; was called once.")],
      engine: expect.anything(),
    });
    expect(own?.engine).toBe(web?.engine);
  });

  test("take the given definitions, without their functions or live engine", () => {
    const ran: string[] = [];
    const search = {
      name: "search",
      description: "Finds pages.",
      inputSchema: { type: "object", properties: { query: { type: "string" } } },
      effects: { writes: ["web:x"], destructive: true, undo: () => void ran.push("undo"), reconcile: () => void ran.push("reconcile") },
      execute: () => ran.push("execute"),
      parseOutput: () => ({ value: ran.push("parseOutput") }),
    } as const;
    const live: Engine = { kind: "local", call: () => ran.push("engine"), open: async () => [search] };
    const given: Toolset = { name: "web", description: "The web.", tools: [search], engine: live, maxConcurrent: 2 };

    const [web] = toolsetsOfRecording(events, { toolsets: [given] });

    expect(web).toEqual({
      name: "web",
      description: "The web.",
      maxConcurrent: 2,
      engine: expect.objectContaining({ kind: "replay" }),
      tools: [
        {
          name: "search",
          description: "Finds pages.",
          inputSchema: { type: "object", properties: { query: { type: "string" } } },
          effects: { writes: ["web:x"], destructive: true },
        },
        described("fetch", "Answers as recorded; was called once."),
      ],
    });
    expect(web?.engine === undefined ? undefined : ask(web.engine, "web::search", { query: "b" })).toEqual(new ToolOutput({ output: 2 }));
    expect(ran).toEqual([]);
  });

  test("answer with top-level recordings before those nested in a chain or program", () => {
    const [start, ...end] = call("web::look", { page: 1 }, { output: "in the chain" });
    const nested = start?.type === "call-start" ? { ...start, parentCallId: "chain" } : undefined;
    const events = [...(nested === undefined ? [] : [nested]), ...end, ...call("web::look", { page: 1 }, { output: "outside" })];
    const [web] = toolsetsOfRecording(events);
    expect(web?.engine === undefined ? undefined : ask(web.engine, "web::look", { page: 1 })).toEqual(
      new ToolOutput({ output: "outside" }),
    );
  });
});
