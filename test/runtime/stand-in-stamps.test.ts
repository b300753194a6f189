/** What an answer says of where it comes from is true, and what only stood in for a tool leaves nothing behind that is taken for the tool's. */
import { describe, expect, test } from "vitest";
import { readOnly } from "../../src/core/resources/effects.ts";
import type { Engine } from "../../src/core/engine.ts";
import { ToolOutput } from "../../src/core/content.ts";
import { ToolError } from "../../src/core/error.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import { NoAnswer } from "../../src/core/answers/no-answer.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { replayEngine } from "../../src/engine/replay.ts";
import type { AnswerOptions } from "../../src/call/fallback-chains.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime.ts";
import { gate, testRuntime, tool } from "./bench-runtime.ts";

const ORIGINS = { replay: "replay", lm: "simulated", example: "simulated", stub: "stub" } as const;

function standIn(kind: keyof typeof ORIGINS, call: Engine["call"] = () => ({ by: kind })): Engine {
  return { kind, origin: ORIGINS[kind], call };
}

const silent: Engine["call"] = () => {
  throw new NoAnswer("not_found", "Nobody knows.", { retryable: false });
};

const stamps = ({ status, origin, answeredBy, fidelity }: ToolResult): readonly unknown[] => [status, origin, answeredBy, fidelity];

function reading(answers: AnswerOptions, more: RuntimeOptions = {}) {
  const read = tool("read", () => ({ by: "the tool" }), { effects: readOnly("notes"), cache: "session" });
  return testRuntime({ tools: [read], answers, ...more });
}

describe("issue 6.5 caching of a tool's answers", () => {
  test("a stand-in's answer given after a cache miss is not cached as the tool's own", async () => {
    const session = reading({ engines: { stub: standIn("stub") } }).runtime.session();
    const stubbed = await session.execute({ name: "read" }, { answerFrom: ["cache", "stub"] });
    const live = await session.execute({ name: "read" });
    expect([stubbed, live].map(({ origin, output }) => [origin, output])).toEqual([
      ["stub", { by: "stub" }],
      ["live", { by: "the tool" }],
    ]);
  });

  test("a live call neither waits for an equal call that a stand-in answers, nor gets its answer", async () => {
    const played = gate<unknown>();
    const session = reading({ engines: { lm: standIn("lm", () => played.promise) } }).runtime.session();
    const simulated = session.execute({ name: "read" }, { answerFrom: ["cache", "lm"], concurrent: true });
    for (let turns = 0; turns < 10; turns++) await Promise.resolve();
    const live = await session.execute({ name: "read" }, { concurrent: true });
    played.open({ by: "lm" });
    expect([live.origin, live.output, (await simulated).output]).toEqual(["live", { by: "the tool" }, { by: "lm" }]);
  });

  test("a stand-in that is asked after a cache miss does not hold the tool's locks", async () => {
    const played = gate<unknown>();
    const send = tool("send", () => "sent", { effects: { writes: ["mail"] } });
    const { runtime } = testRuntime({ tools: [send], answers: { engines: { lm: standIn("lm", () => played.promise) } } });
    const simulated = runtime.execute({ name: "send" }, { answerFrom: ["cache", "lm"] });
    expect((await runtime.execute({ name: "send" })).output).toBe("sent");
    played.open("pretended");
    expect((await simulated).output).toBe("pretended");
  });

  test("a cache look-up opens no session of the tool's engine, and does not name the engine as answering", async () => {
    let opened = 0;
    const engine: Engine = {
      kind: "mcp",
      call: () => 1,
      openSession: () => {
        opened++;
      },
    };
    const tools = [
      { name: "get", description: "Gets.", inputSchema: { type: "object" }, effects: readOnly("notes"), cache: "session" },
    ] as const;
    const { runtime } = testRuntime({ toolsets: [{ name: "far", engine, tools }] });
    await runtime.open();
    expect(stamps(await runtime.session().execute({ name: "far::get" }, { answerFrom: "cache" }))).toEqual([
      "error",
      "cache",
      undefined,
      "unchecked",
    ]);
    expect(opened).toBe(0);
  });

  test("a large answer of a batch without a session has no handle, as nothing could read it later", async () => {
    const big = tool("big", () => "x".repeat(5_000), { maxResultBytes: 1_000 });
    const sequential: Engine = { ...standIn("lm"), order: "sequential" };
    const { runtime } = testRuntime({ tools: [big], answers: { engines: { lm: sequential } } });
    const [result] = await runtime.execute([{ name: "big" }]);
    expect(result?.truncation).toEqual({ handle: undefined, totalBytes: 5_000, shownBytes: 1_000 });
  });
});

describe("F0.52 a key that was only pretended to be written", () => {
  const notes = [
    tool("read", () => "old", { effects: readOnly("notes"), cache: "session" }),
    tool("write", () => "written", { effects: { writes: ["notes"] } }),
  ];

  test.each<[string, AnswerOptions, readonly unknown[]]>([
    ["a rule", { rules: [{ tools: "*::read", from: ["cache", "lm"] }] }, ["ok", "simulated", "lm", "unchecked"]],
    ["a rule that names nothing else", { rules: [{ tools: "*::read", from: "cache" }] }, ["ok", "stub", "stub", "scripted"]],
    ["the answers of simulations", { simulation: ["cache", "lm"] }, ["ok", "simulated", "lm", "unchecked"]],
  ])("is not read from earlier cached answers where %s names the cache", async (_who, answers, expected) => {
    const simulation = answers.simulation ?? "stub";
    const { runtime } = testRuntime({
      tools: notes,
      answers: { ...answers, simulation, engines: { lm: standIn("lm"), stub: standIn("stub") } },
    });
    const session = runtime.session();
    await session.execute({ name: "read" }, { answerFrom: "live" });
    const { results } = await session.simulate([{ name: "read" }, { name: "write" }, { name: "read" }]);
    expect([results[0]?.output, results[2] === undefined ? [] : stamps(results[2])]).toEqual(["old", expected]);
  });
});

describe("issue 6.5 fidelity", () => {
  test("a call that no answer source answered is unchecked, neither observed nor scripted", async () => {
    const engines = { replay: standIn("replay", silent), stub: standIn("stub", silent) };
    const { runtime } = testRuntime({ tools: [tool("look", () => 1)], answers: { engines } });
    const results = [
      await runtime.execute({ name: "look" }, { answerFrom: "replay" }),
      await runtime.execute({ name: "look" }, { answerFrom: "stub" }),
    ];
    expect(results.map(stamps)).toEqual([
      ["error", "replay", "replay", "unchecked"],
      ["error", "stub", "stub", "unchecked"],
    ]);
  });

  test("a call that was cancelled before the recording answered is not observed", async () => {
    const { runtime } = testRuntime({
      tools: [tool("look", () => 1)],
      answers: { engines: { replay: standIn("replay", () => new Promise(() => {})) } },
    });
    const controller = new AbortController();
    const pending = runtime.execute({ name: "look" }, { answerFrom: "replay", signal: controller.signal });
    await Promise.resolve();
    controller.abort();
    expect(stamps(await pending)).toEqual(["cancelled", "replay", "replay", "unchecked"]);
  });

  test("an error answered by a script is scripted, and a recorded error is observed", async () => {
    const failed = tool("look", () => {
      throw new ToolError("execution_failed", "It is dark.", { retryable: false });
    });
    const first = testRuntime({ tools: [failed] }).runtime.session();
    await first.execute({ name: "look", input: { at: 1 } });
    const engines = {
      replay: replayEngine(first.log, { match: "nearest" }),
      stub: standIn("stub", () => {
        throw new ToolError("execution_failed", "It is night.", { retryable: false });
      }),
    };
    const { runtime } = testRuntime({ tools: [failed], answers: { engines } });
    const same = await runtime.execute({ name: "look", input: { at: 1 } }, { answerFrom: "replay" });
    const other = await runtime.execute({ name: "look", input: { at: 2 } }, { answerFrom: "replay" });
    const scripted = await runtime.execute({ name: "look" }, { answerFrom: "stub" });
    expect([same, other, scripted].map((result) => [result.error?.message, result.fidelity])).toEqual([
      ["It is dark.", "observed"],
      ["It is dark.", "similar"],
      ["It is night.", "scripted"],
    ]);
  });

  test("a replayed answer or error that a model made up is not observed", async () => {
    const lm = standIn("lm", ({ input }) => {
      if (input["bad"] === true) throw new ToolError("execution_failed", "So says the model.", { retryable: false });
      return { n: 1 };
    });
    const looks = [tool("look", () => 1, { outputSchema: { type: "object" } })];
    const first = testRuntime({ tools: looks, answers: { engines: { lm } } }).runtime.session();
    const calls = [{ name: "look" }, { name: "look", input: { bad: true } }];
    await first.execute(calls, { answerFrom: "lm" });
    const { runtime } = testRuntime({ tools: looks, answers: { engines: { replay: replayEngine(first.log) } } });
    expect((await runtime.execute(calls, { answerFrom: "replay" })).map(stamps)).toEqual([
      ["ok", "replay", "replay", "schema-valid"],
      ["error", "replay", "replay", "unchecked"],
    ]);
  });

  test.each([
    ["unparseable_result", "unchecked"],
    ["network_error", "unchecked"],
    ["latency", "observed"],
  ])("H09 a recorded call with the fault %s is replayed with the fidelity %s", async (type, fidelity) => {
    const events: SessionEvent[] = [];
    const faults = { rules: [{ type, probability: 1, retryable: false, delayMs: 5 }] };
    const answers: AnswerOptions = { rules: [{ tools: "*", from: "record" }], onRecord: (pair) => events.push(...pair) };
    const { runtime, ports } = testRuntime({ tools: [tool("look", () => ({ n: 1 }))], faults, answers });
    const pending = runtime.execute({ name: "look" });
    await ports.clock.advance(10);
    expect((await pending).fault).toBe(type);
    const again = testRuntime({ tools: [tool("look", () => 1)], answers: { engines: { replay: replayEngine(events) } } });
    expect((await again.runtime.execute({ name: "look" }, { answerFrom: "replay" })).fidelity).toBe(fidelity);
  });
});

describe("issue 6.4 an injected fault of a call that goes down the fallback chain", () => {
  test.each([
    ["latency", { delayMs: 500 }, 500],
    ["network_error", { attempts: 1 }, 1_000],
  ])("H09 %s is injected once, not for every answer source", async (type, more, durationMs) => {
    const engines = { replay: standIn("replay", silent), lm: standIn("lm") };
    const faults = { rules: [{ type, probability: 1, ...more }] };
    const { runtime, ports } = testRuntime({ tools: [tool("look", () => 1)], faults, answers: { engines }, retry: { jitter: false } });
    const pending = runtime.execute({ name: "look" }, { answerFrom: ["replay", "lm"] });
    await ports.clock.advance(60_000);
    expect(await pending).toMatchObject({ status: "ok", answeredBy: "lm", fault: type, durationMs });
  });

  test("H09 a real timeout after an injected one has its own message", async () => {
    const faults = { rules: [{ type: "timeout", probability: 1, attempts: 1, message: "Gone." }] };
    const slow = tool("slow", () => new Promise(() => {}), { timeoutMs: 100, maxAttempts: 2 });
    const { runtime, ports } = testRuntime({ tools: [slow], faults });
    const pending = runtime.execute({ name: "slow" });
    await ports.clock.advance(60_000);
    expect(await pending).toMatchObject({ attempts: 2, error: { message: expect.stringContaining("did not answer within 100 ms") } });
  });

  test("H09 an equal answer from the cache after a fault is observed", async () => {
    const faults = { rules: [{ type: "crash_after_commit", probability: 1, attempts: 1 }] };
    const { runtime, ports } = reading({}, { faults });
    const pending = runtime.session("s").execute([{ name: "read" }, { name: "read" }]);
    await ports.clock.advance(60_000);
    const fromCache = (await pending).filter(({ origin }) => origin === "cache");
    expect(fromCache.map(({ fidelity, fault }) => [fidelity, fault])).toEqual([["observed", "crash_after_commit"]]);
  });
});

test("a stand-in's answer with a failing exit code has the usual fidelity, and an error that it throws is unchecked", async () => {
  const ends = { exit: () => new ToolOutput({ output: "no such file", exitCode: 1 }), error: () => Promise.reject(new Error("It broke.")) };
  const results = await Promise.all(
    Object.values(ends).map((end) =>
      reading({ engines: { stub: standIn("stub", end) } }).runtime.execute({ name: "read" }, { answerFrom: "stub" }),
    ),
  );
  expect(results.map(stamps)).toEqual([
    ["error", "stub", "stub", "scripted"],
    ["error", "stub", "stub", "unchecked"],
  ]);
});

test("a call that ends before an answer source is chosen is live, and simulated in a simulation", async () => {
  const session = reading({}).runtime.session();
  const { results } = await session.simulate([{ name: "none" }]);
  expect([...results, await session.execute({ name: "none" })].map(stamps)).toEqual([
    ["error", "simulated", undefined, "unchecked"],
    ["error", "live", undefined, undefined],
  ]);
});

describe("issue 6.5 the source record", () => {
  test("L24 a simulation records no source, except for calls that allowSideEffects lets run", async () => {
    const events: SessionEvent[] = [];
    const tools = [tool("read", () => 1, { effects: readOnly("notes") }), tool("send", () => 2, { effects: { writes: ["mail"] } })];
    const answers: AnswerOptions = { rules: [{ tools: "*", from: "record" }], onRecord: (pair) => events.push(...pair) };
    const session = testRuntime({ tools, answers }).runtime.session();
    await session.simulate([{ name: "read" }, { name: "send" }]);
    expect(events).toEqual([]);
    await session.simulate([{ name: "read" }, { name: "send" }], { allowSideEffects: ["*::send"] });
    expect(events.map((event) => (event.type === "call-end" ? event.result.name : event.type))).toEqual(["call-start", "default::send"]);
  });
});

describe("these options are rejected at once:", () => {
  test.each<[string, unknown, string]>([
    ["a answers that is none", null, 'The option "answers" of createRuntime() must be an object.'],
    ["rules that are no list", { rules: "x" }, "answers.rules must be an array of { tools, from }."],
    ["a rule that is none", { rules: [null] }, "answers.rules must be an array of { tools, from }."],
    ["engines that are none", { engines: null }, "answers.engines must be an object"],
    ["a listener that is none", { onRecord: 3 }, "answers.onRecord must be a function."],
  ])("%s", (_what, answers, message) => {
    expect(() => testRuntime({ answers: answers as AnswerOptions })).toThrow(
      expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(message) }),
    );
  });

  test("rewriteInput that is not a function, before anything runs", async () => {
    const { runtime } = testRuntime({ tools: [tool("look", () => 1)] });
    await expect(runtime.execute({ name: "look" }, { rewriteInput: 3 as never })).rejects.toMatchObject({ code: "invalid_argument" });
  });

  test.each([0, 0.5])("F1.50 a hook's timeoutMs of %s", (timeoutMs) => {
    expect(() => testRuntime({ hooks: [{ name: "judge", timeoutMs }] })).toThrow("it takes an integer from 1");
  });

  test("H09 a fault whose message is not JSON", () => {
    const faults = { rules: [{ type: "latency", probability: 1, message: { n: 1n } as never }] };
    expect(() => testRuntime({ faults })).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  });
});
