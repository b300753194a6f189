/** Background jobs and the end of their process: each ends exactly once, by the same rules as any call. */
import { expect, test } from "vitest";
import { createLoop } from "../../../src/compose/loop.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { EndedJob } from "../../../src/core/jobs/job-status.ts";
import type { RuntimeOptions } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { testRuntime, tool } from "../bench-runtime.ts";
import { testInCI } from "../../test-in-ci.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { runJobDrill } from "./job-drill.ts";
import { FailingStore } from "../session/failing-store.ts";

const never = (): Promise<never> => new Promise(() => {});

async function crash(
  tools: readonly Tool[],
  run: (session: RuntimeSession) => Promise<unknown>,
  options: RuntimeOptions = {},
): Promise<FailingStore> {
  const store = new FailingStore();
  const session = testRuntime({ ...options, store, tools }).runtime.session("s");
  await session.addMessage({ role: "user", content: "go" });
  await run(session);
  await settle();
  await store.logs.get("s")?.whenDurable();
  return store.crash();
}

/** Its process ends while a person is asked. */
const ASKING: RuntimeOptions = { approval: { always: ["default::look"], approve: never } };

async function resumed(store: FailingStore, tools: readonly Tool[], options: RuntimeOptions = {}) {
  const bench = testRuntime({ ...options, store, tools });
  return { ...bench, session: await bench.runtime.resume("s") };
}

test("a job that only reads runs again after a crash, under its id, and resume does not wait for it", async () => {
  let runs = 0;
  const read = (): unknown => (++runs === 1 ? never() : Promise.resolve("read"));
  const tools = [tool("look", read, { effects: { reads: ["x"] } })];
  let id = "";
  const store = await crash(tools, async (session) => (id = (await session.submit({ name: "look" })).id));
  const { session, runtime, events } = await resumed(store, tools);
  const end = (await runtime.jobs.wait(id)) as EndedJob;
  expect(end).toMatchObject({ id, state: "done", result: { status: "ok", output: "read" } });
  expect(events.filter(({ type }) => type === "job-end")).toHaveLength(1);
  expect(events.filter(({ type }) => type === "job-start")).toHaveLength(0);
  expect(session.messages().map(({ role }) => role)).toEqual(["user", "call", "result", "job"]);
  expect(runs).toBe(2);
});

test("a job that may have paid does not run again: its outcome is unknown", async () => {
  let paid = 0;
  const pay = (): unknown => (paid++, never());
  const tools = [tool("pay", pay, { effects: { writes: ["money"] } })];
  let id = "";
  const store = await crash(tools, async (session) => (id = (await session.submit({ name: "pay" })).id));
  const { runtime } = await resumed(store, tools);
  expect(await runtime.jobs.wait(id)).toMatchObject({ state: "error", error: { code: "outcome_unknown" } });
  expect(paid).toBe(1);
});

test("a job that has ended does not run again, and its end keeps its place in the log", async () => {
  let runs = 0;
  const tools = [tool("look", () => ++runs, { effects: { reads: ["x"] } })];
  const store = await crash(tools, async (session) => session.submit({ name: "look" }));
  const { session, runtime } = await resumed(store, tools);
  expect(runtime.jobs.list()).toEqual([]);
  expect(runs).toBe(1);
  expect(session.messages().map(({ role }) => role)).toEqual(["user", "call", "result", "job"]);
});

test("a promoted call that was interrupted is a job again after resume", async () => {
  let runs = 0;
  const tools = [tool("look", () => (++runs === 1 ? never() : "read"), { effects: { reads: ["x"] } })];
  let id = "";
  const store = new FailingStore();
  const bench = testRuntime({ store, tools });
  const before = bench.runtime.session("s");
  await before.addMessage({ role: "user", content: "go" });
  const answer = before.execute({ name: "look" });
  await settle();
  id = bench.runtime.running[0]?.callId ?? "";
  expect(bench.runtime.jobs.promote(id)).toBe(true);
  expect((await answer).status).toBe("pending");
  const { runtime } = await resumed(store.crash(), tools);
  expect(await runtime.jobs.wait(id)).toMatchObject({ state: "done", result: { output: "read" } });
});

test("a branch does not run the jobs of its session", async () => {
  let runs = 0;
  const tools = [tool("look", () => (runs++, never()), { effects: { reads: ["x"] } })];
  const store = await crash(tools, async (session) => {
    await session.submit({ name: "look" });
    const branch = session.fork({ id: "branch" });
    await branch.addMessage({ role: "user", content: "meanwhile" });
  });
  const { runtime } = testRuntime({ store, tools });
  await runtime.resume("branch");
  await settle();
  expect([runs, runtime.jobs.list()]).toEqual([1, []]);
});

test("in a branch, and in a session from a snapshot, the placeholder of an earlier job says that it belongs to another session", async () => {
  const end = Promise.withResolvers<string>();
  const tools = [tool("look", () => end.promise, { effects: { reads: ["x"] } })];
  const store = new FailingStore();
  const { runtime } = testRuntime({ store, tools });
  const session = runtime.session("s");
  await session.addMessage({ role: "user", content: "go" });
  const { id } = await session.submit({ name: "look" });
  const placeholder = (of: RuntimeSession): string => JSON.stringify(of.messages().find(({ role }) => role === "result"));
  const elsewhere = `the job ${id}. It belongs to another session: its result does not come here`;
  const branch = session.fork({ id: "branch" });
  const copy = testRuntime({ tools }).runtime.session("s", { from: await session.snapshot() });
  expect(placeholder(session)).toContain(`the job ${id}. Its result comes in a later message.`);
  expect(placeholder(branch)).toContain(elsewhere);
  expect(placeholder(branch.fork({ simulated: true }))).toContain(elsewhere);
  expect(placeholder(copy)).toContain(elsewhere);
  end.resolve("seen");
  await runtime.jobs.wait(id);
  expect(placeholder(session)).toContain("Its result comes in a later message.");
  expect(placeholder(session.fork())).toContain("Its result comes in a later message.");
  expect(placeholder(branch)).toContain(elsewhere);
});

test.each([
  ["submit()", (session: RuntimeSession) => session.submit({ name: "look" })],
  ["execute(…, { background: true })", (session: RuntimeSession) => session.execute({ name: "look" }, { background: true })],
  ["a key for the batch", (session: RuntimeSession) => session.execute([{ name: "look" }], { background: true, idempotencyKey: "k" })],
])("a background call by %s that was interrupted before its job started becomes a job on resume", async (_by, begin) => {
  const tools = [tool("look", () => "read", { effects: { reads: ["x"] } })];
  const store = await crash(tools, async (session) => void begin(session), ASKING);
  const after = await resumed(store, tools);
  const id = after.session.log.flatMap((event) => (event.type === "call-start" ? [event.callId] : []))[0] ?? "";
  expect(await after.runtime.jobs.wait(id)).toMatchObject({ state: "done", result: { status: "ok" } });
  expect(after.events.map(({ type }) => type).filter((type) => type.startsWith("job-"))).toEqual(["job-start", "job-end"]);
});

test("a call that a model sent to the background becomes a job on resume, even if its job had not started", async () => {
  const tools = [tool("look", () => "read", { effects: { reads: ["x"] } })];
  const model = scriptedModel([{ calls: [{ name: "look", input: { run_in_background: true } }] }]);
  const store = await crash(tools, async (session) => void createLoop({ session, model, offerBackground: true }).run("Look."), ASKING);
  const { session, runtime } = await resumed(store, tools);
  const [job] = runtime.jobs.list();
  expect(await runtime.jobs.wait(job?.id ?? "")).toMatchObject({ state: "done", result: { output: "read" } });
  expect(session.messages().map(({ role }) => role)).toEqual(["user", "user", "call", "result", "job"]);
});

test.each([
  ["JSON", { run_in_background: true }],
  ["text", '{"run_in_background":"true"}'],
])("a call whose model was not offered the background is awaited on resume, although its input, %s, has the flag", async (_form, input) => {
  const tools = [tool("look", (given) => given, { effects: { reads: ["x"] }, inputSchema: { type: "object" } })];
  const model = scriptedModel([{ calls: [{ name: "look", input }] }]);
  const store = await crash(tools, async (session) => void createLoop({ session, model }).run("Look."), ASKING);
  const { session, runtime } = await resumed(store, tools);
  expect(runtime.jobs.list()).toEqual([]);
  const given = typeof input === "string" ? { run_in_background: "true" } : input;
  expect(session.messages().map((message) => (message.role === "result" ? message.result.output : message.role))).toEqual([
    "user",
    "user",
    "call",
    given, // as it would have been without the crash
  ]);
});

test("a call that a model sent to the background in JSON text becomes a job on resume", async () => {
  const tools = [tool("look", (given) => given, { effects: { reads: ["x"] } })];
  const model = scriptedModel([{ calls: [{ name: "look", input: '{"run_in_background":true}' }] }]);
  const store = await crash(tools, async (session) => void createLoop({ session, model, offerBackground: true }).run("Look."), ASKING);
  const { runtime } = await resumed(store, tools);
  expect(await runtime.jobs.wait(runtime.jobs.list()[0]?.id ?? "")).toMatchObject({ state: "done", result: { output: {} } });
});

test("a call to be awaited is awaited on resume, even if its tool now runs in the background", async () => {
  const tools = [tool("look", () => "read", { effects: { reads: ["x"] }, mode: "background" })];
  const store = await crash(tools, async (session) => void session.execute({ name: "look" }, { background: false }), ASKING);
  const { runtime, session } = await resumed(store, tools);
  expect(runtime.jobs.list()).toEqual([]);
  expect(session.messages().map((message) => (message.role === "result" ? message.result.status : message.role))).toEqual([
    "user",
    "call",
    "ok",
  ]);
});

test("a call of an older log without background information is awaited on resume", async () => {
  const tools = [tool("look", () => "read", { effects: { reads: ["x"] } })];
  const store = await crash(tools, async (session) => void session.execute({ name: "look" }), ASKING);
  const { runtime, session } = await resumed(store, tools);
  expect(JSON.stringify(session.log)).not.toContain('"background"');
  expect(runtime.jobs.list()).toEqual([]);
});

/** `node --conditions=haft-source scripts/job-drill.mjs 50 1000` kills more often. */
testInCI(
  "I09 L03 killing a process repeatedly during its jobs: each job ends once, and none is done twice",
  async () => {
    const report = await runJobDrill({ path: temporaryFile(), jobs: 160, kills: 8, seed: 9 });
    expect(report.jobs).toBeGreaterThanOrEqual(160);
    expect(report.endings["pay outcome_unknown"]).toBeGreaterThan(2); // so many were cut off
    for (const ending of ["look ok", "pay ok", "send ok", "pay outcome_unknown"]) expect(Object.keys(report.endings)).toContain(ending);
  },
  300_000,
);

/** `node --conditions=haft-source scripts/job-drill.mjs 200 2000 1 SIGTERM` does it more often. */
testInCI(
  "L36 a process that is asked to stop during its jobs ends cleanly: every job ends, and none is lost or done twice",
  async () => {
    const report = await runJobDrill({ path: temporaryFile(), jobs: 100, kills: 5, seed: 36, signal: "SIGTERM" });
    expect(report).toMatchObject({ interrupted: 0 });
    expect(report.slowestEndMs).toBeLessThan(30_000);
    for (const ending of ["look ok", "pay ok", "send ok"]) expect(Object.keys(report.endings)).toContain(ending);
  },
  300_000,
);

test("F1.12 a background job whose tool is stateful in the next process asks there, and accepts the answer", async () => {
  const effects = { reads: ["x"] };
  let id = "";
  const store = await crash([tool("look", never, { effects, mode: "background" })], async (session) => {
    id = (await session.submit({ name: "look" })).id;
  });
  async function* ask(): AsyncGenerator<string, unknown, unknown> {
    return yield "Where?";
  }
  const { runtime } = await resumed(store, [tool("look", ask, { effects, mode: "stateful" })]);
  expect(await runtime.jobs.wait(id, { untilAsked: true })).toMatchObject({ state: "waiting", question: "Where?" });
  runtime.jobs.send(id, "Here.");
  expect(await runtime.jobs.wait(id)).toMatchObject({ state: "done", result: { output: "Here." } });
  expect(() => runtime.jobs.send(id, "There.")).toThrow(expect.objectContaining({ code: "invalid_argument" }));
});
