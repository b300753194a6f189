/** Jobs as the rows of a store: what they say of sessions open here, elsewhere or nowhere, and how a job is cancelled from outside. */
import { expect, test } from "vitest";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { EndedJob } from "../../../src/core/jobs/job-status.ts";
import type { Store } from "../../../src/core/store/store.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { storedEvents } from "../../../src/session/read-events.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import type { RuntimeOptions } from "../../../src/runtime/runtime.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";
import { localStore } from "../../store/local-store.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";
import { useSqliteThreads } from "../../bundled-threads.ts";

useSqliteThreads();

const never = (): Promise<never> => new Promise(() => {});
const WALL = Date.UTC(2026, 0, 1);

/** One process: a store over the file, and a runtime. */
function processOn(path: string, tools: readonly Tool[], options: RuntimeOptions = {}) {
  const { store, file } = localStore(path, { busyTimeoutMs: 2_000 });
  const clock = new FakeClock({ wallTime: WALL });
  const bench = testRuntime({ ...options, store, tools, ports: { clock } });
  return {
    ...bench,
    store,
    clock,
    /** Ends it without a word: it is not heard of any more. */
    crash: () => file.exec("update haft_owner set seen_at = 0"),
  };
}

async function eventsOf(store: Store, sessionId: string): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of storedEvents(store, sessionId)) events.push(event);
  return events;
}

async function ends(store: Store, sessionId: string): Promise<readonly string[]> {
  const events = await eventsOf(store, sessionId);
  return events.flatMap((event) =>
    event.type === "call-end"
      ? [`${event.callId} ${event.result.error?.code ?? event.result.status}`]
      : event.type === "job-end"
        ? [`${event.callId} over`]
        : [],
  );
}

const reads = { effects: { reads: ["x"], writes: [] } };

/** Resolves when the store has what the session recorded so far. */
async function stored(bench: ReturnType<typeof processOn>, sessionId: string): Promise<void> {
  await bench.runtime.sessions.findById(sessionId)?.eventLog?.whenDurable();
}

test("F1.22 listStored lists jobs of sessions open nowhere, elsewhere and here, newest first", async () => {
  const path = temporaryFile();
  const tools = [tool("wait", never, reads), tool("look", () => "seen", reads)];
  const one = processOn(path, tools);
  const { id: gone } = await one.runtime.session("gone").submit({ name: "look" });
  await one.runtime.jobs.wait(gone);
  await one.runtime.sessions.findById("gone")?.close();
  await one.clock.advance(1);
  const { id: elsewhere } = await one.runtime.session("elsewhere").submit({ name: "wait" });
  const other = processOn(path, tools);
  await other.clock.advance(2);
  const { id: here } = await other.runtime.session("here").submit({ name: "wait" });
  await stored(other, "here");
  const listed = await other.runtime.jobs.listStored();
  expect(listed.map(({ openedBy, ...job }) => ({ ...job, isOpen: openedBy !== undefined }))).toEqual([
    { id: here, sessionId: "here", state: "running", startedAt: WALL + 2, isOpen: true, ...ofTool("wait") },
    { id: elsewhere, sessionId: "elsewhere", state: "running", startedAt: WALL + 1, isOpen: true, ...ofTool("wait") },
    { id: gone, sessionId: "gone", state: "done", startedAt: WALL, endedAt: WALL, isOpen: false, ...ofTool("look") },
  ]);
  expect(await other.runtime.jobs.listStored({ states: ["done"] })).toHaveLength(1);
  expect(other.runtime.jobs.list()).toHaveLength(1);
  await other.runtime.close();
  await one.runtime.close();
});

function ofTool(name: string) {
  return { toolName: `default::${name}`, mode: "background", notify: true, starts: 1 };
}

test("a wait for a job that ended before a restart rejects with an error that says where its result is", async () => {
  const path = temporaryFile();
  const build = tool("build", () => "built", { mode: "background" });
  const first = processOn(path, [build]);
  const { callId } = await first.runtime.session("work").execute({ name: "build" });
  await first.runtime.jobs.wait(callId);
  await first.runtime.close();
  const { runtime } = processOn(path, [build]);
  const { history } = await runtime.resume("work");
  await expect(runtime.jobs.wait(callId)).rejects.toMatchObject({
    code: "not_found",
    operatorHint: expect.stringMatching(/jobs\.listStored.*history/u),
  });
  expect((await runtime.jobs.listStored({ id: callId })).map(({ state }) => state)).toEqual(["done"]);
  expect(history.map(({ result }) => result?.status)).toEqual(["ok"]);
  await runtime.close();
});

test("F1.22 listing stored jobs without a store, or with a wrong option, gives an error that says so", async () => {
  const { runtime } = testRuntime();
  await expect(runtime.jobs.listStored()).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining("listStored"),
  });
  await expect(runtime.jobs.cancelStored({ id: "x" })).rejects.toMatchObject({ code: "invalid_argument" });
  const { runtime: kept } = testRuntime({ store: memoryStore() });
  await expect(kept.jobs.cancelStored({ id: "x", session: "y" } as never)).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(kept.jobs.listStored({ session: "y" } as never)).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(kept.jobs.cancelStored({ id: "x" })).rejects.toMatchObject({ code: "not_found", hint: "It has no jobs at all." });
});

test("a job that waits for a slot is queued, runs once it has one, and its starts are counted from then", async () => {
  const path = temporaryFile();
  const go = gate();
  const bench = processOn(path, [tool("first", () => go.promise, reads), tool("second", never, reads)], { jobs: { maxRunning: 1 } });
  const session = bench.runtime.session("s");
  await session.submit({ name: "first" });
  const { id } = await session.submit({ name: "second" });
  const row = async () => (await bench.runtime.jobs.listStored({ id })).map(({ state, starts }) => [state, starts]);
  expect(await row()).toEqual([["queued", 0]]);
  go.open();
  await expect.poll(row).toEqual([["running", 1]]);
  await bench.runtime.close();
});

test("after a crash, a job that waits for a slot is queued, here and in the store, until it has one", async () => {
  const path = temporaryFile();
  const go = gate();
  const first = tool("first", () => go.promise, reads);
  const before = processOn(path, [first, tool("second", never, reads)]);
  const session = await before.runtime.resume("s", { create: true });
  for (const name of ["first", "second"]) await session.submit({ name });
  await stored(before, "s");
  before.crash();
  const { runtime } = processOn(path, [first, tool("second", never, reads)], { jobs: { maxRunning: 1 } });
  await runtime.resume("s");
  const here = () => runtime.jobs.list().map(({ id, state }) => [id, state]);
  const inStore = async () =>
    (await runtime.jobs.listStored())
      .map(({ id, state, starts }) => [id, state, starts] as const)
      .toSorted(([one], [other]) => one.localeCompare(other));
  const [one, other] = here().map(([id]) => id);
  await expect.poll(inStore).toEqual([
    [one, "running", 2],
    [other, "queued", 1],
  ]);
  expect(here()).toEqual([
    [one, "running"],
    [other, "queued"],
  ]);
  go.open();
  await expect.poll(inStore).toEqual([
    [one, "done", 2],
    [other, "running", 2],
  ]);
  await runtime.close();
});

test("nothing new is recorded for a job that still waits for a slot, however often its session is resumed and closed", async () => {
  const path = temporaryFile();
  const tools = [tool("first", never, reads), tool("second", never, reads)];
  const before = processOn(path, tools, { jobs: { maxRunning: 1 } });
  const session = await before.runtime.resume("s", { create: true });
  for (const name of ["first", "second"]) await session.submit({ name });
  await stored(before, "s");
  before.crash();
  const { runtime } = processOn(path, tools, { jobs: { maxRunning: 0 } });
  const lengths: number[] = [session.length];
  for (let round = 0; round < 3; round++) {
    lengths.push((await runtime.resume("s")).length);
    await runtime.sessions.handOver("s");
  }
  expect(lengths).toEqual([session.length, session.length + 1, session.length + 1, session.length + 1]); // the first one ran
  expect((await runtime.jobs.listStored()).map(({ state, starts }) => `${state} ${starts}`).toSorted()).toEqual(["queued 0", "queued 1"]);
  await runtime.close();
});

test("I09 a job that was running at three process ends is parked with one error, and never runs again automatically", async () => {
  const path = temporaryFile();
  let runs = 0;
  const poison = tool("poison", () => (runs++, never()), reads);
  const beside = tool("beside", () => (runs < 4 ? never() : "done"), { ...reads, maxAttempts: 1 });
  let [id, queued] = ["", ""];
  for (let life = 1; life <= 4; life++) {
    const bench = processOn(path, [poison, beside], { jobs: { maxRunning: 1 } });
    const session = await bench.runtime.resume("s", { create: true });
    if (life === 1) {
      ({ id } = await session.submit({ name: "poison" }));
      ({ id: queued } = await session.submit({ name: "beside" }));
    }
    if (life < 4) {
      await expect.poll(() => bench.runtime.jobs.get(id)?.state).toBe("running");
      await expect.poll(() => runs).toBe(life);
      await stored(bench, "s");
      expect((await bench.runtime.jobs.listStored({ id }))[0]).toMatchObject({ state: "running", starts: life });
      bench.crash();
      continue;
    }
    const end = (await bench.runtime.jobs.wait(id)) as EndedJob;
    expect(end).toMatchObject({ state: "parked", error: { code: "job_parked", retryable: false } });
    expect(end.error?.message).toBe("default::poison was not run again: its process ended 3 times while it ran.");
    expect(runs).toBe(3);
    // The one that waited in line was never to blame: it has its place now.
    await expect.poll(() => bench.runtime.jobs.get(queued)?.state).toBe("running");
    await stored(bench, "s");
    expect((await bench.runtime.jobs.listStored()).map(({ state, starts, errorCode }) => [state, starts, errorCode])).toEqual(
      expect.arrayContaining([
        ["parked", 3, "job_parked"],
        ["running", 1, undefined],
      ]),
    );
    expect(await bench.runtime.jobs.listStored({ states: ["parked"] })).toHaveLength(1);
    expect(await ends(bench.store, "s")).toEqual([`${id} job_parked`, `${id} over`]);
    await bench.runtime.close();
  }
  const after = processOn(path, [poison, beside]);
  await after.runtime.resume("s");
  await after.runtime.close();
  expect(runs).toBe(3);
});

test("F1.26 a job without a living process is cancelled with the questions of its calls; other jobs' questions stay open", async () => {
  const path = temporaryFile();
  const erase = tool("erase", () => "erased", { effects: { writes: ["notes"], destructive: true } });
  const outer = tool("outer", async (_input, context) => (await context.execute({ name: "erase" })).status, {
    composite: true,
    effects: undefined as never,
  });
  const processWithInbox = () => processOn(path, [erase, outer], { approval: { approve: "inbox" } });
  const one = processWithInbox();
  const session = one.runtime.session("s");
  const ids: string[] = [];
  for (let job = 0; job < 3; job++) ids.push((await session.submit({ name: "outer" })).id);
  await expect.poll(async () => (await one.runtime.approvals.pending()).length).toBe(3);
  await stored(one, "s");
  one.crash();
  const other = processWithInbox();
  const jobsAsked = async () => (await other.runtime.approvals.pending()).flatMap(({ within = [] }) => within[0]?.callId ?? "");
  expect((await jobsAsked()).toSorted()).toEqual(ids.toSorted());
  for (const [index, id] of ids.slice(0, 2).entries()) {
    expect(await other.runtime.jobs.cancelStored({ id })).toBe("ended");
    expect((await jobsAsked()).toSorted()).toEqual(ids.slice(index + 1).toSorted());
  }
  await other.runtime.resume("s");
  await expect.poll(async () => (await other.runtime.approvals.pending())[0]?.askedIn).toBeDefined();
  const [question] = await other.runtime.approvals.pending();
  expect(await other.runtime.approvals.answer({ id: question?.id ?? "", digest: question?.digest ?? "", answer: "allow-once" })).toBe(true);
  expect(await other.runtime.jobs.wait(ids[2] ?? "")).toMatchObject({ state: "done" });
  await other.runtime.close();
});

test("F1.26 a job without a living process is cancelled at once, with its nested calls, and does not run again", async () => {
  const path = temporaryFile();
  let runs = 0;
  const inner = tool("inner", () => (runs++, never()), reads);
  const outer: Tool = tool("outer", async () => one.runtime.sessions.findById("s")?.execute({ name: "inner" }), reads);
  const one = processOn(path, [inner, outer]);
  const session = one.runtime.session("s");
  const { id } = await session.submit({ name: "outer" });
  await expect.poll(() => runs).toBe(1);
  await stored(one, "s");
  one.crash();
  const other = processOn(path, [inner, outer]);
  expect(await other.runtime.jobs.cancelStored({ id }, "no longer needed")).toBe("ended");
  expect(await other.runtime.jobs.cancelStored({ id })).toBe("over");
  expect(await other.runtime.jobs.listStored()).toMatchObject([{ id, state: "cancelled", errorCode: "cancelled", endedAt: WALL }]);
  expect(await ends(other.store, "s")).toEqual([expect.stringContaining("cancelled"), `${id} cancelled`, `${id} over`]);
  const again = await other.runtime.resume("s");
  expect([again.jobs, runs]).toEqual([[], 1]);
  expect(again.history.map(({ result }) => [result?.status, result?.error?.message])).toEqual([
    ["cancelled", "default::outer was cancelled: no longer needed"],
    ["cancelled", "inner was cancelled: no longer needed"],
  ]);
  await other.runtime.close();
});

test("F1.26 a job of another living process is cancelled there within two seconds", async () => {
  const path = temporaryFile();
  const one = processOn(path, [tool("wait", never, reads), tool("beside", never, reads)]);
  const session = one.runtime.session("s");
  const { id } = await session.submit({ name: "wait" });
  const { id: beside } = await session.submit({ name: "beside" });
  const other = processOn(path, []);
  expect(await other.runtime.jobs.cancelStored({ id }, "enough")).toBe("asked");
  expect((await other.runtime.jobs.listStored({ id }))[0]).toMatchObject({ state: "running", cancelReason: "enough" });
  await one.clock.advance(2_000);
  await expect.poll(() => one.runtime.jobs.get(id)?.state).toBe("cancelled");
  expect(one.runtime.jobs.get(id)?.error?.message).toBe("default::wait was cancelled: enough");
  expect(one.runtime.jobs.get(beside)?.state).toBe("running");
  await stored(one, "s");
  expect((await other.runtime.jobs.listStored({ id }))[0]).toMatchObject({ state: "cancelled" });
  await other.runtime.close();
  await one.runtime.close();
});

test("F1.26 a job that was cancelled while its session was being resumed is not run there", async () => {
  const path = temporaryFile();
  let runs = 0;
  const tools = [tool("wait", () => (runs++, never()), reads)];
  const one = processOn(path, tools);
  const { id } = await one.runtime.session("s").submit({ name: "wait" });
  const other = processOn(path, tools);
  await other.store.jobs.requestCancel({ sessionId: "s", id, reason: "enough" });
  one.crash();
  const session = await other.runtime.resume("s");
  expect((await other.runtime.jobs.wait(id)) as EndedJob).toMatchObject({
    state: "cancelled",
    error: { message: "default::wait was cancelled: enough" },
  });
  expect([runs, session.jobs, await ends(other.store, "s")]).toEqual([1, [], [`${id} cancelled`, `${id} over`]]);
  await other.runtime.close();
});

test("a job of this runtime can be cancelled by cancel or cancelStored, and an id in several sessions needs its session", async () => {
  const path = temporaryFile();
  const tools = [tool("wait", never, reads)];
  const one = processOn(path, tools);
  const { id } = await one.runtime.session("one").submit({ name: "wait" });
  const two = processOn(path, tools);
  const twin = await two.runtime.session("two").submit({ name: "wait" });
  expect(twin.id).toBe(id); // both count from one
  expect(await two.runtime.jobs.cancelStored({ id, sessionId: "one" })).toBe("asked");
  const third = processOn(path, tools);
  await expect(third.runtime.jobs.cancelStored({ id })).rejects.toMatchObject({
    code: "ambiguous",
    message: expect.stringMatching(/: "(?:one", "two|two", "one)"\.$/u),
  });
  await expect(third.runtime.jobs.cancelStored({ id, sessionId: "nobody" })).rejects.toMatchObject({ code: "not_found" });
  await expect(third.runtime.jobs.cancelStored({ id: "call_11" })).rejects.toMatchObject({ hint: `The newest are: ${id}.` });
  expect(await two.runtime.jobs.cancelStored({ id })).toBe("asked");
  expect(((await two.runtime.jobs.wait(id)) as EndedJob).state).toBe("cancelled");
  for (const { runtime } of [third, two, one]) await runtime.close();
});

test("F1.24 rows of ended jobs are deleted by the runtime's limits, and their calls stay in the log", async () => {
  const path = temporaryFile();
  const bench = processOn(path, [tool("look", () => "seen", reads)], { jobs: { keepStored: 5, maxQueued: 10_000 } });
  const session = bench.runtime.session("s");
  for (let round = 0; round < 3; round++) {
    const calls = Array.from({ length: 100 }, () => ({ name: "look" }));
    const jobs = await session.execute(calls, { background: true });
    for (const { callId } of jobs) await bench.runtime.jobs.wait(callId);
    await stored(bench, "s");
  }
  await expect.poll(async () => (await bench.runtime.jobs.listStored({ limit: 1_000 })).length).toBeLessThan(60);
  expect((await eventsOf(bench.store, "s")).filter(({ type }) => type === "job-end")).toHaveLength(300);
  await bench.runtime.close();
});

test("a session without jobs writes no job row, and does not query for any", async () => {
  const path = temporaryFile();
  const bench = processOn(path, [tool("look", () => "seen", reads)]);
  let asked = 0;
  const { cancelRequests } = bench.store.jobs;
  Object.assign(bench.store.jobs, { cancelRequests: () => (asked++, cancelRequests()) });
  const session = bench.runtime.session("s");
  await session.execute({ name: "look" });
  await session.close();
  await (await bench.runtime.resume("s")).execute({ name: "look" });
  await bench.clock.advance(10_000);
  expect([asked, bench.clock.pending, await bench.runtime.jobs.listStored()]).toEqual([0, 0, []]);
  await bench.runtime.close();
});

test("a store that cannot list cancellations from elsewhere is reported once, and the jobs continue", async () => {
  const path = temporaryFile();
  const go = gate<string>();
  const bench = processOn(path, [tool("wait", () => go.promise, reads)]);
  Object.assign(bench.store.jobs, {
    cancelRequests: () => Promise.reject(new Error("the disk is gone")),
    prune: () => Promise.reject(new Error("the disk is gone")),
  });
  const { id } = await bench.runtime.session("s").submit({ name: "wait" });
  for (let second = 0; second < 5; second++) await bench.clock.advance(1_000);
  go.open("done");
  expect(((await bench.runtime.jobs.wait(id)) as EndedJob).state).toBe("done");
  expect(bench.ports.log.lines.flatMap(({ level, message }) => (level === "warn" ? [message] : []))).toEqual([
    "It is not known whether a background job was cancelled elsewhere: the disk is gone",
  ]);
  await bench.runtime.close();
});

test("two processes that cancel a job of a dead third process end it once", async () => {
  const path = temporaryFile();
  const one = processOn(path, [tool("wait", never, reads)]);
  const { id } = await one.runtime.session("s").submit({ name: "wait" });
  one.crash();
  const others = [path, path].map((file) => testRuntime({ store: sqliteStore({ path: file }) })); // each with a thread of its own
  const outcomes = await Promise.all(others.map(({ runtime }) => runtime.jobs.cancelStored({ id }, "enough")));
  expect(outcomes).toContain("ended");
  expect(await ends(one.store, "s")).toEqual([`${id} cancelled`, `${id} over`]);
  for (const { runtime } of others) await runtime.close();
});
