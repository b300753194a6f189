import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { Model, ModelEvent, ModelReply } from "../../src/core/model.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { gate, tool } from "../runtime/bench-runtime.ts";
import { brief, lines, testLoop } from "./bench-loop.ts";

const add = tool("add", ({ a, b }) => Number(a) + Number(b));
const call = (name: string, input: Readonly<Record<string, unknown>> = {}, id?: string) => ({
  name,
  input,
  ...(id === undefined ? {} : { id }),
});

const reply = (more: Partial<ModelReply> = {}): ModelEvent => ({
  type: "reply-end",
  reply: {
    text: "",
    reasoning: "",
    media: [],
    calls: [],
    providerCalls: [],
    finish: "stop",
    usage: { inputTokens: 3, outputTokens: 1 },
    ...more,
  },
});

test("F1.10 F4.23 the next request has the results of the calls, and an answer without calls ends the run", async () => {
  const { loop, model, session } = testLoop({
    tools: [add],
    system: ({ number }) => `Round ${number}.`,
    script: [{ text: "Let me see.", calls: [call("default::add", { a: 1, b: 2 }, "c1")] }, { text: "Three." }],
  });
  const result = await loop.run("1 + 2?");
  expect({ ...result, results: brief(result.results) }).toEqual({
    text: "Three.",
    reason: "answered",
    rounds: 2,
    results: ["add: 3"],
    usage: { inputTokens: 0, outputTokens: 0 },
  });
  expect(model.requests.map(({ system }) => system)).toEqual(["Round 1.", "Round 2."]);
  expect(lines(model.requests[1]?.messages ?? [])).toEqual(["user 1 + 2?", "assistant Let me see.", "call default::add", "result 3"]);
  expect(lines(session.messages())).toEqual([...lines(model.requests[1]?.messages ?? []), "assistant Three."]);
});

test("the messages of each request equal those of the session, across rounds and runs", async () => {
  const seen: unknown[] = [];
  const { loop, session } = testLoop({
    tools: [add],
    script: (request, index) => {
      seen.push([request.messages, session.messages()]);
      return index % 3 === 2
        ? { text: `Done ${index}.` }
        : { text: index === 0 ? "" : "On.", calls: [call("add", { a: index, b: 1 }), call("nowhere")] };
    },
  });
  await loop.run("one");
  await loop.run({ role: "user", content: [{ type: "text", text: "two" }] });
  expect(seen).toHaveLength(6);
  for (const pair of seen) {
    const [grown, shown] = pair as [unknown, unknown];
    expect(grown).toEqual(shown);
  }
});

test("the messages of each request equal those of the session after pauses, voided messages, budget notes and steering", async () => {
  const seen: (readonly [unknown, unknown])[] = [];
  const replies: readonly (readonly ModelEvent[])[] = [
    [
      { type: "call-seal", index: 0, call: call("add", { a: 0, b: 0 }) },
      { type: "reply-void", reason: "lost" },
      reply({ text: "Hm.", finish: "pause" }),
    ],
    [reply({ text: "So.", calls: [call("add", { a: 1, b: 1 }), call("add", { a: 2, b: 2 })], finish: "calls" })],
    [reply({ finish: "pause", native: { format: "x", blocks: [1] } })],
    [reply({ calls: [call("add", { a: 1, b: 1 })], finish: "calls" })],
    [reply({ text: "Done." })],
  ];
  const said: Model = {
    name: "said",
    async *stream(request) {
      seen.push([request.messages, session.messages()]);
      if (seen.length === 2) loop.steer("Faster.");
      yield* replies[seen.length - 1] ?? [reply({ text: "Yes." })];
    },
  };
  const { loop, session } = testLoop({ tools: [add], model: said, script: [], limits: { budget: { calls: { soft: 3 } } } });
  await loop.run("go");
  await session.addMessage({ role: "document", content: "A text.", title: "T" });
  await loop.run("and?");
  expect(seen).toHaveLength(6);
  for (const [grown, shown] of seen) expect(grown).toEqual(shown);
  expect(lines(session.messages()).slice(0, 9)).toEqual([
    "user go",
    "assistant Hm.",
    "assistant So.",
    "call add",
    "call add",
    "result 2",
    "result 4",
    "system The budget of this task is running out (3 of 3 tool calls). Finish soon: make only the calls that the answer needs.",
    "user Faster.",
  ]);
});

test("F1.15 a read starts while the model still writes, a write after its message, and results are in call order", async () => {
  const order: string[] = [];
  const read = tool("read", () => order.push("read"));
  const write = tool("write", () => order.push("write"), { effects: { writes: ["w"] } });
  const { loop } = testLoop({
    tools: [read, write],
    script: [{ calls: [call("write", {}, "a"), call("read", {}, "b")] }, {}],
    onEvent: (event) => order.push(event.type === "call-add" ? `add ${event.call.id}` : event.type),
  });
  const { results } = await loop.run("go");
  expect(order.filter((what) => ["read", "write", "reply-end"].includes(what))).toEqual(["read", "reply-end", "write", "reply-end"]);
  expect(results.map(({ name }) => name)).toEqual(["default::write", "default::read"]);
});

test("F1.15 without early dispatch no call starts before the message has ended", async () => {
  const order: string[] = [];
  const { loop } = testLoop({
    tools: [tool("read", () => order.push("read"))],
    earlyDispatch: false,
    script: [{ calls: [call("read")] }, {}],
    onEvent: (event) => order.push(event.type),
  });
  await loop.run("go");
  expect(order.indexOf("read")).toBeGreaterThan(order.indexOf("reply-end"));
});

test.each([
  ["length", "length"],
  ["content-filter", "content-filter"],
  ["refusal", "refusal"],
  ["error", "model-error"],
  ["truncated", "model-error"],
  ["other", "model-error"],
] as const)("F1.15 a message that ends with %s runs none of its writes, and the run ends with %s", async (finish, reason) => {
  let ran = 0;
  const { loop, session, model } = testLoop({
    tools: [tool("write", () => ran++, { effects: { writes: ["w"] } })],
    script: [{ text: "I was about", calls: [call("write")], finish }],
  });
  const result = await loop.run("go");
  expect([result.reason, result.text, result.rounds, ran, result.results.map(({ status }) => status)]).toEqual([
    reason,
    "I was about",
    1,
    0,
    ["cancelled"],
  ]);
  expect(lines(session.messages())).toEqual(["user go"]);
  expect(model.requests).toHaveLength(1);
});

/** A model that says these events, each list once. */
function said(...lists: readonly (readonly ModelEvent[])[]): Model {
  let next = 0;
  return {
    name: "said",
    async *stream() {
      yield* lists[next++] ?? [];
    },
  };
}

test("F1.15 a voided call is cancelled and not shown to the model, and what follows is a new message", async () => {
  const ran: unknown[] = [];
  const write = tool("write", (input) => ran.push(input), { effects: { writes: ["w"] } });
  const model = said(
    [
      { type: "call-seal", index: 0, call: call("write", { n: 1 }) },
      { type: "reply-void", reason: "the connection was lost" },
      { type: "call-seal", index: 0, call: call("write", { n: 2 }) },
      reply({ calls: [call("write", { n: 2 })], finish: "calls" }),
    ],
    [reply({ text: "Done." })],
  );
  const { loop, session } = testLoop({ tools: [write], model, script: [] });
  const result = await loop.run("go");
  expect([result.reason, brief(result.results), ran, result.usage]).toEqual([
    "answered",
    ["write: 1"],
    [{ n: 2 }],
    { inputTokens: 6, outputTokens: 2 },
  ]);
  expect(lines(session.messages())).toEqual(["user go", "call write", "result 1", "assistant Done."]);
  expect(session.log.filter(({ type }) => type === "call-end")).toHaveLength(2);
});

test("a call that appears only at the end of a message is run too", async () => {
  const model = said([reply({ calls: [call("add", { a: 1, b: 1 })], finish: "calls" })], [reply()]);
  const result = await testLoop({ tools: [add], model, script: [] }).loop.run("go");
  expect(brief(result.results)).toEqual(["add: 2"]);
});

test("a provider's pause is recorded and the same conversation is sent again, a limited number of times", async () => {
  const native = { format: "anthropic-messages", blocks: [{ type: "server_tool_use", id: "x" }] };
  const { loop, model } = testLoop({ script: [{ finish: "pause", native }, { text: "Found." }] });
  expect((await loop.run("search")).text).toBe("Found.");
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: "assistant", content: "", native });
  const endless = testLoop({ script: () => ({ finish: "pause" }), limits: { maxPauses: 3 } });
  expect(await endless.loop.run("search")).toMatchObject({ reason: "max-rounds", detail: "4 pauses", rounds: 4 });
});

test("a model failure ends the run with its error, and earlier results are kept", async () => {
  const failure = new ToolError("rate_limited", "Slow down.");
  const { loop, session } = testLoop({
    tools: [add],
    script: [{ calls: [call("add", { a: 1, b: 1 })] }, { text: "And so", error: failure }],
  });
  const result = await loop.run("go");
  expect([result.reason, result.error, result.detail, result.text, brief(result.results)]).toEqual([
    "model-error",
    failure,
    "Slow down.",
    "And so",
    ["add: 2"],
  ]);
  expect(lines(session.messages())).toEqual(["user go", "call add", "result 2"]);
});

test.each([
  ["ends without a last word", said([]), "The model stopped in the middle of its message."],
  [
    "throws what is no error",
    {
      name: "odd",
      stream: () => {
        throw null;
      },
    },
    "threw null",
  ],
])("a model that %s ends the run as a model-error", async (_what, model, detail) => {
  expect(await testLoop({ model, script: [] }).loop.run("go")).toMatchObject({ reason: "model-error", detail });
});

test("an abort while an unresponsive model streams ends the run at once, and every call in the conversation has its result", async () => {
  const deaf: Model = {
    name: "deaf",
    async *stream() {
      yield { type: "call-seal", index: 0, call: call("write") };
      await new Promise(() => {});
    },
  };
  const controller = new AbortController();
  const { loop, session } = testLoop({ model: deaf, script: [], tools: [tool("write", () => 1, { effects: { writes: ["w"] } })] });
  const running = loop.run("go", { signal: controller.signal });
  await settle();
  controller.abort();
  expect(await running).toMatchObject({ reason: "cancelled", rounds: 1, results: [{ status: "cancelled" }] });
  expect(lines(session.messages())).toEqual(["user go"]);
  expect(session.history.every(({ result }) => result !== undefined)).toBe(true);
});

test("an abort while an unresponsive tool runs ends the run with a cancelled result, and the session accepts the next run", async () => {
  const controller = new AbortController();
  const { loop, session } = testLoop({
    tools: [tool("deaf", () => new Promise(() => {}))],
    script: [{ calls: [call("deaf")] }, { text: "Well." }],
  });
  const running = loop.run("go", { signal: controller.signal });
  await settle();
  controller.abort();
  expect((await running).reason).toBe("cancelled");
  expect(lines(session.messages())).toEqual(["user go", "call deaf", "result cancelled"]);
  expect((await loop.run("and now?")).text).toBe("Well.");
});

test("a run that was cancelled before it began adds no message and sends no request", async () => {
  const { loop, session, model } = testLoop({ script: [] });
  expect(await loop.run("go", { signal: AbortSignal.abort() })).toMatchObject({ reason: "cancelled", rounds: 0 });
  expect([session.log.filter(({ type }) => type === "message-add"), model.requests]).toEqual([[], []]);
});

test("a message steered while tools run follows their results in the next request", async () => {
  const slow = gate<string>();
  const { loop, model } = testLoop({ tools: [tool("slow", () => slow.promise)], script: [{ calls: [call("slow")] }, { text: "Right." }] });
  const running = loop.run("go");
  await settle();
  loop.steer("Be brief.");
  slow.open("done");
  await running;
  expect(lines(model.requests[1]?.messages ?? [])).toEqual(["user go", "call slow", "result done", "user Be brief."]);
});

test("a message steered while the model answers is answered too", async () => {
  const { loop, model } = testLoop({
    script: (_request, index) => {
      if (index === 0) loop.steer("And in French?");
      return { text: index === 0 ? "Hello." : "Bonjour." };
    },
  });
  expect(await loop.run("Greet me.")).toMatchObject({ text: "Bonjour.", reason: "answered", rounds: 2 });
  expect(lines(model.requests[1]?.messages ?? [])).toEqual(["user Greet me.", "assistant Hello.", "user And in French?"]);
});

test("F3.33 run returns at once if the loop has an emergency stop, is running or is disabled, checked in this order", async () => {
  let enabled = true;
  const slow = gate<string>();
  const { loop, model } = testLoop({
    enabled: () => enabled,
    tools: [tool("slow", () => slow.promise)],
    script: [{ calls: [call("slow")] }, {}],
  });
  const running = loop.run("go");
  await settle();
  enabled = false;
  expect([loop.running, await loop.run("again")]).toEqual([
    true,
    expect.objectContaining({ reason: "already-running", detail: expect.stringContaining("steer()"), rounds: 0 }),
  ]);
  slow.open("");
  await running;
  expect(await loop.run("again")).toMatchObject({ reason: "disabled" });
  const { emergencyStop } = loop;
  for (let index = 0; index < 5; index++) emergencyStop?.record(failedResult);
  expect(await loop.run("again")).toMatchObject({ reason: "emergency-stop" });
  expect(model.requests).toHaveLength(2);
});

const failedResult = {
  callId: "c",
  name: "default::x",
  status: "error",
  error: { code: "execution_failed", message: "no", retryable: false, outcome: "unknown" },
  origin: "live",
  attempts: 1,
  durationMs: 0,
  repairs: [],
  warnings: [],
} as const;

test("a listener that throws is logged and changes nothing, and a run without input continues the conversation", async () => {
  const { loop, session, ports } = testLoop({
    script: [{ text: "Yes?" }],
    onEvent: () => {
      throw new Error("bug");
    },
  });
  await session.addMessage({ role: "user", content: "Hello" });
  expect((await loop.run()).text).toBe("Yes?");
  expect(ports.log.lines[0]?.message).toBe("A listener of a loop threw on round-start: bug");
});

test("the events of a run report each round, each call and the stop with its result", async () => {
  const { loop, events } = testLoop({ tools: [add], script: [{ text: "Hm.", calls: [call("add", { a: 1, b: 1 })] }, { text: "Two." }] });
  const result = await loop.run("go");
  expect(events.map(({ type }) => type)).toEqual([
    "round-start",
    "text-delta",
    "call-open",
    "call-delta",
    "call-seal",
    "call-add",
    "reply-end",
    "round-end",
    "round-start",
    "text-delta",
    "reply-end",
    "round-end",
    "stop",
  ]);
  expect(events.at(-1)).toEqual({ type: "stop", result });
});

test("a request has the model options of the loop", async () => {
  const { loop, model } = testLoop({
    tools: [add],
    script: [{}],
    toolChoice: () => ({ tool: "default::add" }),
    parallelCalls: false,
    maxOutputTokens: 100,
    temperature: 0,
    reasoningEffort: "low",
    native: { seed: 1 },
  });
  await loop.run("go");
  const { messages: _messages, tools = [], ...rest } = model.requests[0] ?? { messages: [] };
  expect(tools.map(({ name }) => name)).toEqual(["default::add", "haft::read_result"]);
  expect(rest).toEqual({
    toolChoice: { tool: "default::add" },
    parallelCalls: false,
    maxOutputTokens: 100,
    temperature: 0,
    reasoningEffort: "low",
    native: { seed: 1 },
  });
});

test("F3.37 a tool that the allow rules of a round exclude is not offered, and a call of it is rejected", async () => {
  let ran = 0;
  const sleep = tool("sleep", () => "slept");
  const work = tool("work", () => ran++);
  const { loop, model } = testLoop({
    tools: [sleep, work],
    allow: ({ number }) => (number === 1 ? { allow: ["*::sleep"] } : undefined),
    script: [{ calls: [call("work", {}, "a"), call("sleep", {}, "b")] }, { calls: [call("work", {}, "c")] }, {}],
  });
  const { results } = await loop.run("go");
  expect([results.map(({ status }) => status), ran]).toEqual([["error", "ok", "ok"], 1]);
  expect(model.requests.map(({ tools = [] }) => tools.map(({ name }) => name))).toEqual([
    ["default::sleep"],
    ["default::sleep", "default::work", "haft::read_result"],
    ["default::sleep", "default::work", "haft::read_result"],
  ]);
  expect(() => testLoop({ script: [], allow: { allow: [""] } })).toThrow("empty pattern");
});

test("F3.40 turns beyond maxTurns are left out of the next request, and maxBytes applies in each round", async () => {
  const { loop, session, model } = testLoop({ script: () => ({ text: "Yes." }), history: { maxTurns: 2 } });
  for (const question of ["one", "two", "three", "four"]) await loop.run(question);
  await session.addMessage({ role: "user", content: "five" });
  await loop.run();
  expect(model.requests.map(({ messages }) => lines(messages).filter((line) => line.startsWith("user")))).toEqual([
    ["user one"],
    ["user one", "user two"],
    ["user two", "user three"],
    ["user three", "user four"],
    ["user four", "user five"],
  ]);
  const small = testLoop({ script: () => ({ text: "x".repeat(600) }), history: { maxBytes: 700 } });
  for (const question of ["one", "two", "three"]) await small.loop.run(question);
  expect(lines(small.model.requests[2]?.messages ?? []).at(-1)).toBe("user three");
  expect(small.model.requests[2]?.messages).toHaveLength(2);
});
