import { expect, test } from "vitest";
import { checkLoopLimits, reactLimits } from "../../src/compose/loop-limits.ts";
import { stopAfterMs, stopAfterRounds, stopAtKeyword, stopByVote, type StopCondition } from "../../src/compose/stop-conditions.ts";
import type { ScriptedReply } from "../../src/model/scripted-model.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { tool } from "../runtime/bench-runtime.ts";
import { brief, notes, testLoop } from "./bench-loop.ts";

const call = (name: string, input: Readonly<Record<string, unknown>> = {}) => ({ name, input });
const count = tool("count", ({ n }) => n);
/** A model that always asks for one more call, never the same. */
const more = (_request: unknown, index: number) => ({ text: `Round ${index + 1}.`, calls: [call("count", { n: index })] });

test("H05 F4.23 a model that always makes another call is stopped at maxRounds, and its results are returned with the reason", async () => {
  const { loop, model } = testLoop({ tools: [count], script: more });
  const result = await loop.run("go");
  expect([result.reason, result.detail, result.rounds, result.text, result.results.length]).toEqual([
    "max-rounds",
    "50 rounds",
    50,
    "Round 50.",
    50,
  ]);
  expect(model.requests).toHaveLength(50);
});

test("H05 the first 128 of 1,000 calls in one message run, and every other call gets a result", async () => {
  let ran = 0;
  const { loop } = testLoop({
    tools: [tool("count", () => ran++)],
    script: [{ calls: Array.from({ length: 1000 }, (_, n) => call("count", { n })) }, { text: "Done." }],
  });
  const { results, reason } = await loop.run("go");
  expect([reason, ran, results.length, results.filter(({ error }) => error?.code === "limit_exceeded").length]).toEqual([
    "answered",
    128,
    1000,
    872,
  ]);
});

test("F0.8 F3.24 only the overload that is terminal ends the run", async () => {
  const takes = (key: string) => ({ type: "object", properties: { [key]: {} }, required: [key] });
  const tools = [
    tool("say", () => "heard", { inputSchema: takes("whisper") }),
    tool("say", () => "said", { inputSchema: takes("aloud"), category: "TERMINAL" }),
  ];
  const toolsets = [{ name: "voice", overloads: true, tools }];
  const script = (_: unknown, index: number): ScriptedReply =>
    index < 2 ? { calls: [{ name: "voice::say", input: { [index === 0 ? "whisper" : "aloud"]: 1 } }] } : { text: "Done." };
  const { loop } = testLoop({ runtime: { toolsets }, script });
  expect(await loop.run("go")).toMatchObject({ reason: "tool-ended-turn", rounds: 2 });
});

test("F3.23 ten safe calls in a row are run", async () => {
  const script = (request: unknown, index: number) => (index < 10 ? more(request, index) : { text: "Done." });
  expect(await testLoop({ tools: [count], script }).loop.run("go")).toMatchObject({ reason: "answered", rounds: 11 });
});

test("F3.24 a terminal tool ends the run; calls after it are skipped, and the next run may call it again", async () => {
  const say = tool("say", () => "said", { category: "TERMINAL" });
  const { loop, model } = testLoop({ tools: [say, count], script: () => ({ calls: [call("say"), call("count", { n: 1 })] }) });
  const first = await loop.run("go");
  expect([first.reason, first.detail, first.rounds, first.results.map(({ status }) => status)]).toEqual([
    "tool-ended-turn",
    "default::say",
    1,
    ["ok", "skipped"],
  ]);
  expect((await loop.run("again")).results[0]?.status).toBe("ok");
  expect(model.requests).toHaveLength(2);
});

test("F3.25 a dangerous tool runs once a turn, across all its rounds, and again in the next turn", async () => {
  let ran = 0;
  const attack = tool("attack", () => ++ran, { category: "DANGEROUS" });
  const { loop } = testLoop({
    tools: [attack],
    script: (_request, index) => (index % 3 === 2 ? { text: "Done." } : { calls: [call("attack", { index })] }),
  });
  expect(brief((await loop.run("go")).results)).toEqual(["attack: 1", "attack: limit_exceeded"]);
  expect(brief((await loop.run("again")).results)).toEqual(["attack: 2", "attack: limit_exceeded"]);
});

test("F3.26 the loop continues after an async tool", async () => {
  const search = tool("search", async () => "found", { category: "ASYNC_REQUIRED" });
  expect((await testLoop({ tools: [search], script: [{ calls: [call("search")] }, { text: "There." }] }).loop.run("go")).text).toBe(
    "There.",
  );
});

test("F3.31 reactLimits sets 5 rounds and accepts 1 to 10", async () => {
  const limits = reactLimits();
  expect([limits, reactLimits({ maxIterations: 10 }).maxRounds, reactLimits({ maxIterations: 1 }).maxRounds]).toEqual([
    { maxRounds: 5, multiAction: true },
    10,
    1,
  ]);
  for (const maxIterations of [0, 11, 2.5, Number.NaN])
    expect(() => reactLimits({ maxIterations })).toThrow("The limit maxIterations of a loop must be an integer from 1 to 10");
  expect(await testLoop({ tools: [count], script: more, limits }).loop.run("go")).toMatchObject({ reason: "max-rounds", rounds: 5 });
});

test("F3.31 with multiAction: false, one call is made and the run ends", async () => {
  const { loop } = testLoop({
    tools: [count],
    limits: reactLimits({ multiAction: false }),
    script: () => ({ calls: [call("count", { n: 1 }), call("count", { n: 2 })] }),
  });
  const result = await loop.run("go");
  expect([result.reason, result.rounds, brief(result.results)]).toEqual(["one-action", 1, ["count: 1", "count: limit_exceeded"]]);
});

test("F1.51 the soft limit adds one note, and the hard limit refuses every call and requests an answer in text", async () => {
  const { loop, model } = testLoop({ tools: [count], limits: { budget: { calls: { soft: 2, hard: 4 } } }, script: more });
  const result = await loop.run("go");
  expect([result.reason, result.detail, brief(result.results)]).toEqual([
    "budget",
    "4 of 4 tool calls",
    ["count: 0", "count: 1", "count: 2", "count: 3", "count: limit_exceeded"],
  ]);
  expect(notes(model.requests.at(-1))).toEqual([
    "The budget of this task is running out (2 of 4 tool calls). Finish soon: make only the calls that the answer needs.",
    "The budget of this task is used up (4 of 4 tool calls). Make no more calls. Answer in text now, with what you have.",
  ]);
  expect(result.results.at(-1)?.error?.hint).toBe("Make no more calls. Answer in text now, with what you have.");
  expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, undefined, undefined, undefined, "none"]);
});

test("F1.51 a model that answers in text after the hard limit ends the run as answered", async () => {
  const { loop } = testLoop({
    tools: [count],
    limits: { budget: { rounds: { hard: 2 } } },
    script: (request, index) => (request.toolChoice === "none" ? { text: "This is it." } : more(request, index)),
  });
  expect(await loop.run("go")).toMatchObject({ reason: "answered", text: "This is it.", rounds: 3 });
});

test("F1.51 calls beyond the hard limit in one message are refused", async () => {
  const { loop } = testLoop({
    tools: [count],
    limits: { budget: { calls: { hard: 2 } } },
    script: [{ calls: [1, 2, 3, 4].map((n) => call("count", { n })) }, { text: "Two." }],
  });
  expect(brief((await loop.run("go")).results)).toEqual(["count: 1", "count: 2", "count: limit_exceeded", "count: limit_exceeded"]);
});

test("F1.51 tokens and cost count, and 1.5 times the hard limit ends the run at once", async () => {
  const usage = { inputTokens: 50, outputTokens: 30 };
  const script = (request: unknown, index: number) => ({ ...more(request, index), usage });
  const tokens = await testLoop({ tools: [count], limits: { budget: { tokens: { hard: 50 } } }, script }).loop.run("go");
  expect([tokens.reason, tokens.detail, tokens.rounds, tokens.usage]).toEqual(["budget", "80 of 50 tokens", 1, usage]);
  const cost = await testLoop({
    tools: [count],
    limits: { budget: { cost: { soft: 0.5, hard: 1 } } },
    cost: ({ outputTokens }) => outputTokens / 100,
    script,
  }).loop.run("go");
  expect([cost.reason, cost.detail, cost.rounds]).toEqual(["budget", "1.5 of 1 of the cost", 5]);
});

test("F1.51 at 1.5 times the time limit, running calls are cancelled", async () => {
  const { loop, ports } = testLoop({
    tools: [tool("deaf", () => new Promise(() => {}), { timeoutMs: 0 })],
    limits: { budget: { wallMs: { hard: 1_000 } } },
    script: [{ calls: [call("deaf")] }],
  });
  const running = loop.run("go");
  await ports.clock.advance(1_500);
  expect(await running).toMatchObject({
    reason: "budget",
    detail: "The run took longer than 1500 ms.",
    results: [{ status: "cancelled" }],
  });
});

const broken = tool("broken", () => {
  throw new Error("no such table");
});

test("B09 a repeated failing call gets a hint, then is refused with its error, then ends the run, even with other calls in between", async () => {
  let ran = 0;
  const failing = tool("failing", () => {
    throw new Error(`no such table (attempt ${++ran})`);
  });
  const { loop, model } = testLoop({
    tools: [failing, count],
    script: (_request, index) => ({ calls: [call("failing", { b: 1, a: 2 }), call("count", { n: index })] }),
  });
  const result = await loop.run("go");
  expect([result.reason, result.detail, result.rounds, ran]).toEqual([
    "repeated-calls",
    "failing was called 5 times with the same input and the same result.",
    5,
    3,
  ]);
  expect(notes(model.requests.at(-1))).toEqual([
    "failing has had the same result 2 times with the same input. Calling it again will not help: change the input, use another tool, or answer with what you have.",
  ]);
  expect(result.results[6]?.error).toMatchObject({
    code: "limit_exceeded",
    message: "failing was not run again: with this input it has had the same result 3 times.",
    details: ["It said: Error (execution_failed): no such table (attempt 1)"],
  });
});

test("B09 after another tool made a change, the same call may be tried again", async () => {
  const edit = tool("edit", () => "changed", { effects: { writes: ["file"] } });
  const { loop } = testLoop({
    tools: [broken, edit],
    script: (_request, index) =>
      index === 12 ? { text: "Done." } : { calls: [index % 2 === 0 ? call("broken") : call("edit", { index })] },
  });
  const { reason, results } = await loop.run("go");
  expect([reason, results.filter(({ error }) => error?.code === "limit_exceeded")]).toEqual(["answered", []]);
});

test("B09 the repeat guard can be switched off", async () => {
  const { loop } = testLoop({
    tools: [broken],
    limits: { repeat: false, maxRounds: 9 },
    emergencyStop: false,
    script: () => ({ calls: [call("broken")] }),
  });
  expect(await loop.run("go")).toMatchObject({ reason: "max-rounds", rounds: 9 });
});

test.each([
  ["rounds", stopAfterRounds(3), "3 rounds were made; 3 are allowed."],
  ["a keyword", stopAtKeyword("Round 3", "never"), 'The model said "Round 3".'],
  [
    "votes",
    stopByVote([stopAfterRounds(2), stopAtKeyword("Round 3"), () => undefined], { atLeast: 2 }),
    '3 rounds were made; 2 are allowed. The model said "Round 3".',
  ],
  [
    "the program's own",
    ({ results, rounds }: { readonly results: readonly unknown[]; readonly rounds: number }) =>
      rounds === 3 ? `${results.length} result` : undefined,
    "1 result",
  ],
])("F1.52 a stop condition ends the run with its reason: %s", async (_what, condition, detail) => {
  expect(await testLoop({ tools: [count], script: more, stopWhen: [condition] }).loop.run("go")).toMatchObject({
    reason: "stop-condition",
    detail,
    rounds: 3,
  });
});

test.each([false, true, null, "", 0, { stop: true }])("F1.52 a stop condition that returns %j is an error, not a reason", async (value) => {
  const condition = (async () => value) as unknown as StopCondition;
  for (const stopWhen of [[condition], [stopByVote([condition])]])
    await expect(testLoop({ tools: [count], script: more, stopWhen }).loop.run("go")).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^A condition of stopWhen returned /u),
      hint: "It returns why the loop is to end, a non-empty string, or undefined if it may continue.",
    });
});

test("F1.52 a stop condition that is not a function is rejected when the loop is created", () => {
  const stopWhen = [5 as unknown as StopCondition];
  expect(() => testLoop({ tools: [count], script: more, stopWhen })).toThrow("stopWhen of a loop takes an array of conditions");
});

test("F1.52 stopAfterMs ends the run after the round, and maxDurationMs ends it at once", async () => {
  const clocked = testLoop({
    tools: [tool("count", ({ n }) => n, { timeoutMs: 0 })],
    script: (request, index) => ({ ...more(request, index), delayMs: 100 }),
    stopWhen: [stopAfterMs(500)],
  });
  const running = clocked.loop.run("go");
  await clocked.ports.clock.advance(1_000);
  expect(await running).toMatchObject({ reason: "stop-condition", detail: "The run took 500 ms; 500 are allowed.", rounds: 1 });
  const limited = testLoop({ script: [{ text: "Slow.", delayMs: 5_000 }], limits: { maxDurationMs: 2_000 } });
  const slow = limited.loop.run("go");
  await limited.ports.clock.advance(2_000);
  expect(await slow).toMatchObject({ reason: "timeout", detail: "The run took longer than 2000 ms." });
  expect(limited.ports.clock.pending).toBe(0);
});

test("F1.52 a run without activity for idleMs ends, and each activity restarts the wait", async () => {
  const { loop, ports } = testLoop({
    tools: [tool("deaf", () => new Promise(() => {}), { timeoutMs: 0 })],
    limits: { idleMs: 1_000 },
    script: [{ text: "a".repeat(5), pieceChars: 1, delayMs: 900, calls: [call("deaf")] }],
  });
  let ended = false;
  const running = loop.run("go").finally(() => (ended = true));
  await ports.clock.advance(6 * 900);
  await settle();
  expect(ended).toBe(false);
  await ports.clock.advance(6 * 900);
  expect(await running).toMatchObject({ reason: "timeout", detail: "Neither the model nor a tool was active for 1000 ms." });
});

test("F1.52 progress of a tool counts as activity and is passed to onProgress", async () => {
  const told: unknown[] = [];
  const slow = tool("slow", async (_input, { progress }) => {
    for (let part = 1; part <= 3; part++) {
      await ports.clock.advance(800);
      progress({ message: `part ${part}` });
    }
    return "done";
  });
  const { loop, ports } = testLoop({
    tools: [slow],
    limits: { idleMs: 1_000 },
    calls: { onProgress: ({ message }) => told.push(message) },
    script: [{ calls: [call("slow")] }, { text: "Good." }],
  });
  expect([(await loop.run("go")).text, told]).toEqual(["Good.", ["part 1", "part 2", "part 3"]]);
});

test("invalid limits throw", () => {
  for (const limits of [{ maxRounds: 0 }, { maxCallsPerRound: 1.5 }, { maxPauses: -1 }, { idleMs: Number.NaN }, { contextTokens: 0 }])
    expect(() => checkLoopLimits(limits)).toThrow("of a loop must be");
  expect(() => checkLoopLimits({ budget: { calls: { soft: 5, hard: 2 } } })).toThrow("soft ≤ hard");
});

test("invalid counts of the repeat guard throw when the loop is created", () => {
  for (const repeat of [{ window: 0 }, { failures: { warnAt: 9 } }, { answers: { stopAt: 1 } }])
    expect(() => testLoop({ script: [], limits: { repeat } })).toThrow("The counts of the repeat guard");
});

test.each<readonly [string, ScriptedReply, string | undefined]>([
  ["answered", { text: "Yes.", finishDetail: "end_turn" }, undefined],
  ["approval", { calls: [{ name: "wipe" }], finishDetail: "tool_use" }, "1 call waits: default::wipe."],
  ["tool-ended-turn", { calls: [{ name: "wait" }], finishDetail: "tool_calls" }, "default::wait"],
  ["length", { text: "Ye", finish: "length", finishDetail: "max_tokens" }, 'The provider\'s finish reason is "max_tokens".'],
  ["content-filter", { finish: "content-filter", finishDetail: "SAFETY" }, 'The provider\'s finish reason is "SAFETY".'],
  ["refusal", { finish: "refusal" }, undefined],
])("F1.52 the detail of %s has the provider's finish reason only if the message did not end normally", async (reason, reply, detail) => {
  const tools = [
    tool("wipe", () => "wiped", { effects: { writes: ["disk"], destructive: true } }),
    tool("wait", () => "waits", { endsTurn: true }),
  ];
  const { loop } = testLoop({ tools, script: [reply] });
  const result = await loop.run("go");
  expect([result.reason, result.detail]).toEqual([reason, detail]);
});

test("a cost budget without a cost function throws", () => {
  expect(() => testLoop({ script: [], limits: { budget: { cost: { hard: 1 } } } })).toThrow("nothing that gives the cost of a reply");
});
