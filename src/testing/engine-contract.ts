/** The contract of every engine, as cases for any test runner. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { checkName, type ToolCall } from "../core/call.ts";
import type { Engine, EngineContext } from "../core/engine.ts";
import { ERROR_CODES } from "../core/error-codes.ts";
import type { JsonObject, JsonValue } from "../core/base/json.ts";
import { parseJson } from "../core/base/parse-json.ts";
import type { Ports } from "../core/ports.ts";
import { systemPorts } from "../core/system/system-ports.ts";
import type { Tool } from "../core/tool.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import {
  getIsolatedAnswers,
  withNamespace,
  engineCase,
  withBench,
  type EngineBench,
  type EngineCase,
  type EngineSubject,
} from "./engine-case.ts";
import { MemoryLog, countingIds } from "./fake-ports.ts";
import { recordedAnswer } from "./recorded-toolset.ts";
import { PATIENCE_MS, assertSettlesWithin } from "./settles-within.ts";

/** Inputs that engines of all kinds have failed on. */
const ODD_INPUTS: readonly JsonObject[] = [
  {},
  { "": "" },
  { ["__proto__"]: { polluted: true }, constructor: 1, toString: null },
  { text: "x".repeat(100_000) },
  { text: "\ud800 \u0000 \u202e" },
  { list: nested(40) },
  { list: Array.from({ length: 1_000 }, () => null) },
  { number: 1e308, minus: -0, none: null },
];
/** Codes of the errors that a call with an odd input may end with; any other code is a bug. */
const CODES: ReadonlySet<string> = new Set(Object.keys(ERROR_CODES));

const lifeCases: readonly EngineCase[] = [
  {
    title: "it opens, and its tools can be described to a model",
    appliesTo: () => true,
    run: (subject) =>
      withOpenEngine(subject, (_, tools) => {
        for (const { name, description, inputSchema, outputSchema } of tools) {
          checkName(name, "tool");
          equal(typeof description, "string", `the description of ${name}`);
          compileSchema(inputSchema);
          if (outputSchema !== undefined) compileSchema(outputSchema);
        }
      }),
  },
  {
    title: "it can be closed twice, and unopened",
    appliesTo: () => true,
    async run(subject) {
      await withOpenEngine(subject, async (engine) => {
        await engine.close?.();
      });
      await subject.engine().close?.();
    },
  },
  engineCase("each call ends in one result, in its turn", async (bench, { calls }) => {
    const session = bench.runtime.session("a");
    for (const call of calls) equal((await bench.result(session, call)).status, "ok", call.name);
    await bench.whenIdle();
    const ended: string[] = [];
    for await (const event of session.events()) if (event.type === "call-end") ended.push(event.result.name);
    deepEqual(
      ended,
      calls.map((call) => withNamespace(call).name),
    );
  }),
  engineCase("an odd input ends in a result, and leaves nothing behind", async (bench, subject) => {
    const odd = bench.runtime.session("odd");
    for (const name of new Set(subject.calls.map((call) => call.name)))
      for (const input of ODD_INPUTS) {
        const { error } = await bench.result(odd, { name, input });
        ok(error === undefined || CODES.has(error.code), `${error?.code ?? ""} is not a code of an error`);
      }
    equal(Object.hasOwn(Object.prototype, "polluted"), false);
    const answers = await bench.answers(bench.runtime.session("a"), subject.calls);
    if (keepsStateInSession(subject)) deepEqual(answers, await getIsolatedAnswers(subject, "a"));
    else for (const { error } of answers) equal(error, undefined);
  }),
];

const stopCases: readonly EngineCase[] = [
  engineCase("a call that is cancelled stops, and the next is answered", assertStopsWhenCancelled, { appliesTo: isEndless }),
  engineCase(
    "a call that reaches its deadline stops, and the next is answered",
    async (bench, { endless, calls }) => {
      const { error } = await bench.result(bench.runtime.session("slow"), endlessCall(endless));
      equal(error?.code, "timeout");
      await bench.whenIdle();
      await assertAnswersFirst(bench, calls);
    },
    { appliesTo: isEndless, options: { timeoutMs: 50 } },
  ),
];

const sessionCases: readonly EngineCase[] = [
  engineCase(
    "calls of two sessions do not mix",
    async (bench, subject) => {
      const sessions = ["a", "b"].map((id) => bench.runtime.session(id));
      const both = await Promise.all(sessions.map((session) => bench.answers(session, subject.calls)));
      deepEqual(both, [await getIsolatedAnswers(subject, "a"), await getIsolatedAnswers(subject, "b")]);
    },
    { appliesTo: keepsStateInSession },
  ),
  engineCase(
    "a branch does not change its parent",
    async (bench, subject) => {
      const { calls } = subject;
      const session = bench.runtime.session("a");
      const half = Math.floor(calls.length / 2);
      const before = await bench.answers(session, calls.slice(0, half));
      const branch = session.fork();
      await bench.answers(branch, calls.slice(half));
      const after = await bench.answers(session, calls.slice(half));
      deepEqual([...before, ...after], await getIsolatedAnswers(subject, "a"));
    },
    { appliesTo: keepsStateInSession },
  ),
  engineCase(
    "a simulation does not change the session",
    async (bench, subject) => {
      const session = bench.runtime.session("a");
      const { results } = await bench.withinPatience(session.simulate(subject.calls.map(withNamespace)), "the simulation ends");
      if (bench.engine.effectFree === true) for (const { status, name } of results) equal(status, "ok", name);
      deepEqual(await bench.answers(session, subject.calls), await getIsolatedAnswers(subject, "a"));
    },
    { appliesTo: keepsStateInSession },
  ),
  engineCase(
    "a session that is restored from its snapshot continues where it was",
    async (bench, subject) => {
      const { calls } = subject;
      const session = bench.runtime.session("a");
      const half = Math.floor(calls.length / 2);
      const before = await bench.answers(session, calls.slice(0, half));
      const from = parseJson(JSON.stringify(await bench.withinPatience(session.snapshot(), "the snapshot is made")));
      const answerRest = (other: EngineBench): ReturnType<EngineBench["answers"]> =>
        other.answers(other.runtime.session("a", { from }), calls.slice(half));
      const after = await withBench(subject, answerRest, { ports: laterPorts() });
      deepEqual([...before, ...after], await getIsolatedAnswers(subject, "a"));
    },
    { appliesTo: keepsStateInSession },
  ),
  engineCase(
    "the calls of one message are answered as they would be one after the other",
    async (bench, subject) => {
      const results = await bench.results(bench.runtime.session("a"), subject.calls);
      deepEqual(results.map(recordedAnswer), await getIsolatedAnswers(subject, "a"));
    },
    { appliesTo: keepsStateInSession },
  ),
];

async function assertStopsWhenCancelled(bench: EngineBench, { endless, calls }: EngineSubject): Promise<void> {
  const controller = new AbortController();
  const result = bench.result(bench.runtime.session("slow"), endlessCall(endless), { signal: controller.signal });
  await bench.whenStarted();
  controller.abort(new Error("the user left"));
  const { error } = await result;
  equal(error?.code, "cancelled");
  ok(error.message.endsWith("was cancelled: the caller aborted: the user left"), error.message);
  await bench.whenIdle();
  await assertAnswersFirst(bench, calls);
}

async function assertAnswersFirst(bench: EngineBench, calls: readonly ToolCall[]): Promise<void> {
  const [{ error } = { error: "none" }] = await bench.answers(bench.runtime.session("a"), calls.slice(0, 1));
  equal(error, undefined);
}

function endlessCall(endless: ToolCall | undefined): ToolCall {
  ok(endless !== undefined, "The subject has no endless call.");
  return endless;
}

function isEndless({ endless }: EngineSubject): boolean {
  return endless !== undefined;
}

/** Whether all that the engine remembers of a session is stored in the session, so that another engine gives the same answers. */
function keepsStateInSession(subject: EngineSubject): boolean {
  return subject.engine().state !== "remote";
}

function nested(depth: number): JsonValue {
  return depth === 0 ? [] : [nested(depth - 1)];
}

/** Returns the ports of a process that continues the work of another: its ids differ from the first one's. */
function laterPorts(): Pick<Ports, "ids"> {
  const ids = countingIds();
  return { ids: { next: (prefix) => ids.next(`later_${prefix}`) } };
}

/** Runs `work` with an open engine outside a runtime; closes the engine afterwards. */
async function withOpenEngine(
  subject: EngineSubject,
  work: (engine: Engine, tools: readonly Tool[]) => void | Promise<void>,
): Promise<void> {
  const { signal } = new AbortController();
  const context: EngineContext = { toolset: "subject", signal, log: new MemoryLog(), clock: systemPorts.clock, changed: () => undefined };
  const engine = subject.engine();
  const timeoutMs = subject.timeoutMs ?? PATIENCE_MS;
  try {
    await work(engine, await assertSettlesWithin(Promise.resolve(engine.open?.(context) ?? []), timeoutMs, "the engine opens"));
  } finally {
    await assertSettlesWithin(Promise.resolve(engine.close?.()), timeoutMs, "the engine closes");
  }
}

/** The cases. Each needs a subject of its own; skip those that do not apply to it. */
export const engineContract: readonly EngineCase[] = [...lifeCases, ...stopCases, ...sessionCases];
