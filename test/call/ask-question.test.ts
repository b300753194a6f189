import { expect, test } from "vitest";
import type { QuestionAnswer, AskRequest, Question } from "../../src/core/approvals/ask.ts";
import { gate, testRuntime, tool } from "../runtime/bench-runtime.ts";

const QUESTION: Question = { message: "Which colour?", schema: { type: "object", properties: { colour: { type: "string" } } } };
const asks = (question: Question = QUESTION) => tool("paint", (_input, context) => context.ask(question));

test("a question of a handler reaches the ask function of the call, with the tool that asks", async () => {
  const requests: AskRequest[] = [];
  const { runtime } = testRuntime({ tools: [asks()], ask: (request) => (requests.push(request), { action: "decline" }) });
  const answer = { action: "accept", content: { colour: "red" } } as const;
  expect(await runtime.execute({ name: "paint" })).toMatchObject({ output: { action: "decline" } });
  expect(await runtime.execute({ name: "paint" }, { ask: () => answer })).toMatchObject({ output: answer });
  expect(requests).toMatchObject([{ ...QUESTION, asker: "default::paint", toolName: "default::paint" }]);
});

test("the answer is cancel without an ask function, in a simulation, and when ask throws or returns an invalid answer", async () => {
  const cancelled = { output: { action: "cancel" } };
  const { runtime, ports } = testRuntime({ tools: [asks()] });
  expect(await runtime.execute({ name: "paint" })).toMatchObject(cancelled);
  expect(await runtime.execute({ name: "paint" }, { ask: () => Promise.reject(new Error("no terminal")) })).toMatchObject(cancelled);
  expect(await runtime.execute({ name: "paint" }, { ask: () => ({ action: "perhaps" }) as unknown as QuestionAnswer })).toMatchObject(
    cancelled,
  );
  expect(
    await runtime.execute({ name: "paint" }, { ask: () => ({ action: "accept", content: 5 }) as unknown as QuestionAnswer }),
  ).toMatchObject(cancelled);
  const simulated = await runtime.simulate({ name: "paint" });
  expect(simulated.results).toMatchObject([cancelled]);
  expect(ports.log.lines.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
    "A question from default::paint in a call of default::paint was not answered: no terminal.",
    "A question from default::paint in a call of default::paint was not answered: the content of its answer must be an object.",
  ]);
});

test("an answer that the form of a handler's question does not allow is cancel, and one to a form that cannot be used is passed on", async () => {
  const colour = { type: "string", enum: ["red", "blue"] };
  const form: Question = { message: "Which?", schema: { type: "object", properties: { colour }, required: ["colour"] } };
  const { runtime } = testRuntime({ tools: [asks(form), { ...asks({ message: "Which?", schema: { type: "colour" } }), name: "odd" }] });
  const answered = async (name: string, content?: QuestionAnswer & { readonly action: "accept" }) =>
    (await runtime.execute({ name }, { ask: () => content ?? { action: "accept" } })).output;
  const green = { action: "accept", content: { colour: "green" } } as const;
  const red = { action: "accept", content: { colour: "red" } } as const;
  expect([await answered("paint", red), await answered("paint", green), await answered("paint"), await answered("odd", green)]).toEqual([
    red,
    { action: "cancel" },
    { action: "cancel" },
    green,
  ]);
});

test("an answer without a field has its default, and the form is checked too if the handler names another asker", async () => {
  const colour = { type: "string", enum: ["red", "blue"], default: "red" };
  const schema = { type: "object", properties: { colour, count: { type: "integer" } }, required: ["colour"] };
  const named = tool("named", (_input, context) => context.ask({ message: "Which?", schema }, "The paint shop"));
  const { runtime } = testRuntime({ tools: [asks({ message: "Which?", schema }), named] });
  const answered = async (name: string, answer: QuestionAnswer) => (await runtime.execute({ name }, { ask: () => answer })).output;
  for (const name of ["paint", "named"]) {
    const red = { action: "accept", content: { colour: "red" } };
    expect(await answered(name, { action: "accept" })).toEqual(red);
    expect(await answered(name, { action: "accept", content: { count: 2 } })).toEqual({ ...red, content: { colour: "red", count: 2 } });
    expect(await answered(name, { action: "accept", content: { colour: "blue" } })).toEqual({ ...red, content: { colour: "blue" } });
    expect(await answered(name, { action: "accept", content: { colour: "green" } })).toEqual({ action: "cancel" });
  }
});

test("D13 a call can ask at most sixteen questions, and a page needs an http or https URL", async () => {
  let asked = 0;
  const many = tool("many", async (_input, { ask }) => {
    for (let index = 0; index < 20; index++) await ask({ message: "Again?" });
    return "done";
  });
  const { runtime, ports } = testRuntime({
    tools: [many, asks({ message: "Look", url: "file:///etc/passwd" })],
    ask: () => (asked++, { action: "decline" }),
  });
  await runtime.execute({ name: "many" });
  expect(asked).toBe(16);
  expect(ports.log.lines.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
    "A question from default::many in a call of default::many was not answered: one call can ask at most 16 questions.",
  ]);
  expect(await runtime.execute({ name: "paint" })).toMatchObject({ output: { action: "cancel" } });
  expect(asked).toBe(16);
});

test("an unanswered question ends with the call", async () => {
  const { runtime, ports } = testRuntime({ tools: [{ ...asks(), timeoutMs: 50, maxAttempts: 1 }] });
  const unanswered = gate<QuestionAnswer>();
  const call = runtime.execute({ name: "paint" }, { ask: () => unanswered.promise });
  await ports.clock.advance(50);
  expect(await call).toMatchObject({ error: { code: "timeout" } });
});

test("D13 a question still open at the result is withdrawn, and a late answer is dropped", async () => {
  const late = gate<QuestionAnswer>();
  let answer: Promise<QuestionAnswer> | undefined;
  const hasty = tool("hasty", (_input, context) => {
    answer = context.ask(QUESTION);
    return "done";
  });
  let signal: AbortSignal | undefined;
  const { runtime } = testRuntime({ tools: [hasty], ask: (request) => ((signal = request.signal), late.promise) });
  expect(await runtime.execute({ name: "hasty" })).toMatchObject({ output: "done" });
  late.open({ action: "accept", content: { colour: "red" } });
  expect([await answer, signal?.aborted]).toEqual([{ action: "cancel" }, true]);
});

test("progress reaches the caller of the call, and a listener that throws has no effect", async () => {
  const works = tool("works", (_input, { progress }) => {
    progress({ done: 1, total: 2 });
    return "done";
  });
  const { runtime, ports } = testRuntime({ tools: [works] });
  const heard: unknown[] = [];
  const onProgress = (update: unknown, call: unknown): void => {
    heard.push([update, call]);
    throw new Error("deaf");
  };
  const result = await runtime.execute({ id: "mine", name: "works" }, { onProgress });
  expect(result).toMatchObject({ output: "done" });
  expect(heard).toEqual([
    [
      { done: 1, total: 2 },
      { callId: result.callId, id: "mine", toolName: "default::works" },
    ],
  ]);
  expect(ports.log.lines.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
    "A progress listener threw: deaf",
  ]);
});
