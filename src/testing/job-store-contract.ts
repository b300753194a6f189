/** The contract for the jobs of every store, as cases for any test runner. */
import { deepEqual, equal } from "node:assert/strict";
import type { ErrorCode } from "../core/error-codes.ts";
import type { SessionEvent } from "../core/event.ts";
import type { StoredJob } from "../core/store/job-store.ts";
import type { ResultWithError, ToolResult } from "../core/result.ts";
import type { EventLog, Store } from "../core/store/store.ts";
import { singleStoreCase, twoStoreCase, messageEvent, assertRejects, assertThrows, type StoreCase } from "./store-case.ts";

const ODD_IDS: readonly string[] = ["", "a\u0000b", "\ud800", "'; drop table haft_job; --", "__proto__", "call_1", "x".repeat(1_000)];

const alone: readonly StoreCase[] = [
  singleStoreCase("a job is listed as the events of its session say that it is", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    const seen: (readonly StoredJob[])[] = [];
    for (const events of [[started("j", 5, { queued: true })], [run("j", 6, 1)], [asked("j", 7)], [told("j", 8)], ended("j", 9)]) {
      log.append(events.map((event) => Object.freeze({ ...event, sessionId: "a" })));
      await log.whenDurable();
      seen.push(await listed(store));
    }
    const job = { id: "j", sessionId: "a", toolName: "files::copy", mode: "stateful", notify: true, startedAt: 5 };
    deepEqual(seen, [
      [{ ...job, state: "queued", starts: 0 }],
      [{ ...job, state: "running", starts: 1 }],
      [{ ...job, state: "waiting", starts: 1 }],
      [{ ...job, state: "running", starts: 1 }],
      [{ ...job, state: "done", starts: 1, endedAt: 9 }],
    ]);
  }),
  singleStoreCase("each way in which a call ends is a state of its job, with the code of its error", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    const ways = [
      { status: "ok" },
      { status: "partial", code: "invalid_output" },
      { status: "error", code: "execution_failed" },
      { status: "error", code: "job_parked" },
      { status: "cancelled", code: "cancelled" },
      { status: "skipped", code: "cancelled" },
    ] as const;
    for (const [index, end] of ways.entries()) append(log, [started(`j${index}`, 100 - index), ...ended(`j${index}`, 200, end)]);
    await log.whenDurable();
    deepEqual(
      (await listed(store)).map(({ state, errorCode }) => [state, errorCode]),
      [
        ["done", undefined],
        ["done", "invalid_output"],
        ["error", "execution_failed"],
        ["parked", "job_parked"],
        ["cancelled", "cancelled"],
        ["cancelled", "cancelled"],
      ],
    );
  }),
  singleStoreCase("a job begins once and ends once: repeated events change nothing", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    append(log, [started("j", 5), run("j", 6, 2)]);
    append(log, [
      started("j", 50),
      ...ended("j", 9),
      ...ended("j", 99, { status: "error", code: "timeout" }),
      run("j", 100, 7),
      asked("j", 101),
    ]);
    await log.whenDurable();
    const [job, ...others] = await listed(store);
    deepEqual([job?.state, job?.startedAt, job?.endedAt, job?.starts, job?.errorCode, others], ["done", 5, 9, 2, undefined, []]);
  }),
  singleStoreCase("input changes the state only of a job that asks: a queued job gets it later", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    append(log, [started("queued", 5, { queued: true }), told("queued", 6), started("running", 4), told("running", 6)]);
    append(log, [started("asks", 3), asked("asks", 6), told("asks", 7), told("asks", 8)]);
    await log.whenDurable();
    deepEqual(
      (await listed(store)).map(({ id, state }) => [id, state]),
      [
        ["queued", "queued"],
        ["running", "running"],
        ["asks", "running"],
      ],
    );
  }),
  singleStoreCase(
    "a job whose process had ended is queued again while it waits for its place, and has as many starts as before",
    async (store) => {
      const log = store.create("a", { at: 1, durability: "sync" });
      append(log, [started("waits", 5), started("runs", 4), started("asks", 3), asked("asks", 6)]);
      await log.whenDurable();
      append(log, [run("waits", 7, 1, { queued: true }), run("runs", 7, 1, { queued: true }), run("asks", 7, 1, { queued: true })]);
      append(log, [run("runs", 8, 2)]);
      await log.whenDurable();
      deepEqual(
        (await listed(store)).map(({ id, state, starts }) => [id, state, starts]),
        [
          ["waits", "queued", 1],
          ["runs", "running", 2],
          ["asks", "queued", 1],
        ],
      );
    },
  ),
  singleStoreCase("events of another session in a log, and events of no job, are no job of it", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    log.append([messageEvent("a", 1), Object.freeze({ ...started("foreign", 2), sessionId: "b" })]);
    append(log, [run("never-begun", 3, 1), ...ended("never-begun", 4)]);
    await log.whenDurable();
    deepEqual(await listed(store), []);
  }),
  singleStoreCase("the end of a job is a message that is due at once, also where the clock of its process is ahead", async (store) => {
    await store.webhooks.setEndpoints([{ id: "e", types: ["job.ended"] }]);
    const log = store.create("a", { at: 1, durability: "sync" });
    const ahead = 4e12;
    for (const id of ["j1", "j2"]) {
      append(log, [started(id, 5), ...ended(id, ahead)]);
      await log.whenDurable();
    }
    equal((await store.webhooks.claim({ now: 10, until: 20, limit: 9 })).length, 2);
  }),
  singleStoreCase("ids of jobs are any text, and separate in each session", async (store) => {
    for (const [index, sessionId] of ["one", "\u0000two", "constructor"].entries()) {
      const log = store.create(sessionId, { at: 1, durability: "sync" });
      for (const id of ODD_IDS) append(log, [started(id, index)]);
      append(log, ended("call_1", index + 10));
      await log.close();
    }
    const found = await store.jobs.list({ sessionId: "\u0000two" });
    deepEqual(found.map(({ id }) => id).toSorted(), ODD_IDS.toSorted());
    for (const id of ODD_IDS) equal((await store.jobs.list({ id })).length, 3);
    deepEqual(
      (await store.jobs.list({ id: "call_1" })).map(({ sessionId, state }) => [sessionId, state]),
      [
        ["constructor", "done"],
        ["\u0000two", "done"],
        ["one", "done"],
      ],
    );
  }),
  singleStoreCase("the newest are listed first, in pages, and by state", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    for (let at = 1; at <= 5; at++) append(log, [started(`j${at}`, at)]);
    append(log, ended("j4", 9));
    await log.whenDurable();
    const ids = async (options: Parameters<Store["jobs"]["list"]>[0]): Promise<readonly string[]> =>
      (await store.jobs.list(options)).map(({ id }) => id);
    deepEqual(await ids({ limit: 2 }), ["j5", "j4"]);
    deepEqual(await ids({ limit: 2, offset: 4 }), ["j1"]);
    deepEqual(await ids({ states: ["done"] }), ["j4"]);
    deepEqual(await ids({ states: ["running", "queued"], limit: 2 }), ["j5", "j3"]);
    deepEqual(await ids({ states: [] }), []);
    deepEqual(await ids({ sessionId: "nobody" }), []);
    for (const wrong of [{ limit: 0 }, { offset: -1 }, { states: ["gone"] }, { states: "done" }, { stat: ["done"] }])
      await assertRejects(() => store.jobs.list(wrong as never), "invalid_argument");
  }),
  singleStoreCase("a job that is to be cancelled is named to its owner until it has ended", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    append(log, [started("j", 5), started("other", 4)]);
    await log.whenDurable();
    const key = { sessionId: "a", id: "j" };
    deepEqual(await store.jobs.cancelRequests(), []);
    equal(await store.jobs.requestCancel({ ...key, reason: "no longer needed" }), true);
    equal(await store.jobs.requestCancel({ ...key, reason: "said twice" }), true);
    deepEqual(await store.jobs.cancelRequests(), [{ ...key, reason: "no longer needed" }]);
    equal((await store.jobs.list({ id: "j" }))[0]?.cancelReason, "no longer needed");
    append(log, ended("j", 9, { status: "cancelled", code: "cancelled" }));
    await log.whenDurable();
    deepEqual([await store.jobs.cancelRequests(), "cancelReason" in ((await store.jobs.list({ id: "j" }))[0] ?? {})], [[], false]);
    for (const gone of [key, { sessionId: "a", id: "nobody" }, { sessionId: "b", id: "j" }])
      equal(await store.jobs.requestCancel({ ...gone, reason: "too late" }), false);
    for (const wrong of [{ reason: 1 }, { reason: undefined }, { reason: "x", id: null }, { reason: "x", sessionId: {} }])
      await assertRejects(() => store.jobs.requestCancel({ ...key, ...wrong } as never), "invalid_argument");
  }),
  singleStoreCase("rows of ended jobs are dropped by count and age, those of other jobs never", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    for (let at = 1; at <= 6; at++) append(log, [started(`j${at}`, at), ...(at === 1 ? [] : ended(`j${at}`, 10 * at))]);
    await log.whenDurable();
    const left = async (): Promise<readonly string[]> => (await listed(store)).map(({ id }) => id);
    equal(await store.jobs.prune({ keep: 10 }), 0);
    equal(await store.jobs.prune({ keep: 3 }), 2);
    deepEqual(await left(), ["j6", "j5", "j4", "j1"]);
    equal(await store.jobs.prune({ keep: 10, endedBefore: 60 }), 2);
    deepEqual(await left(), ["j6", "j1"]);
    equal(await store.jobs.prune({ keep: 0 }), 1);
    deepEqual(await left(), ["j1"]);
    equal((await store.read("a")).events.length, 1 + 5 * 3);
    for (const wrong of [{ keep: -1 }, { keep: 0.5 }, { keep: 1, endedBefore: Number.NaN }, {}, { keep: 1, kept: 2 }])
      await assertRejects(() => store.jobs.prune(wrong as never), "invalid_argument");
  }),
  singleStoreCase("the jobs of a session are removed with it", async (store) => {
    for (const sessionId of ["a", "b"]) {
      const log = store.create(sessionId, { at: 1, durability: "sync" });
      append(log, [started("j", 5)]);
      await log.close();
    }
    await store.remove("a");
    deepEqual(
      (await store.jobs.list()).map(({ sessionId }) => sessionId),
      ["b"],
    );
  }),
  singleStoreCase("a branch has none of the jobs of the session it was taken from", async (store) => {
    const parent = store.create("a", { at: 1, durability: "sync" });
    append(parent, [started("j", 5)]);
    store.create("branch", { at: 2, durability: "sync", parent: { sessionId: "a", length: 1 } });
    await parent.whenDurable();
    deepEqual(await store.jobs.list({ sessionId: "branch" }), []);
  }),
  singleStoreCase("after closing, no jobs can be read", async (store) => {
    await store.close();
    await assertRejects(() => store.jobs.list(), "store_failed");
    await assertRejects(() => store.jobs.cancelRequests(), "store_failed");
    await assertRejects(() => store.jobs.requestCancel({ sessionId: "a", id: "j", reason: "" }), "store_failed");
    await assertRejects(() => store.jobs.prune({ keep: 0 }), "store_failed");
  }),
];

const shared: readonly StoreCase[] = [
  twoStoreCase("a job is seen, and asked to end, by another process than its own", async (one, other) => {
    const log = one.create("a", { at: 1, durability: "sync" });
    append(log, [started("j", 5)]);
    await log.whenDurable();
    const [job] = await other.jobs.list();
    deepEqual([job?.state, job?.openedBy !== undefined], ["running", true]);
    equal(await other.jobs.requestCancel({ sessionId: "a", id: "j", reason: "enough" }), true);
    deepEqual([await other.jobs.cancelRequests(), (await one.jobs.cancelRequests()).length], [[], 1]);
  }),
  twoStoreCase("requests to a job, before and after its session was claimed, reach the one that claims it", async (one, other) => {
    const logs = ["a", "b"].map((id) => one.create(id, { at: 1, durability: "sync" }));
    for (const log of logs) append(log, [started("j", 5), started("k", 5)]);
    const own = other.create("c", { at: 1, durability: "sync" });
    own.append([messageEvent("c", 1)]);
    await own.whenDurable(); // a store that already has a session may take another code path to claim more
    const requests = async (sessionId: string): Promise<readonly string[]> =>
      (await other.jobs.cancelRequests({ sessionId }))
        .filter((request) => request.sessionId === sessionId)
        .map(({ id }) => id)
        .toSorted();
    const ask = (sessionId: string, id: string): Promise<boolean> => one.jobs.requestCancel({ sessionId, id, reason: "enough" });
    await logs[1]?.whenDurable();
    await ask("a", "j");
    for (const log of logs) await log.close();
    await Promise.all([other.claim("a"), other.claim("b")]);
    deepEqual([await requests("a"), await requests("b")], [["j"], []]);
    await ask("a", "k");
    await ask("b", "j");
    deepEqual([await requests("a"), await requests("b"), await requests("c")], [["j", "k"], ["j"], []]);
    equal((await other.jobs.cancelRequests()).length, 3);
  }),
  twoStoreCase("I04 a late owner's end of a job is refused with its events, and the one of the new owner counts", async (one, other) => {
    const late = one.create("a", { at: 1, durability: "sync" });
    append(late, [started("j", 5)]);
    await late.whenDurable();
    const taken = await other.claim("a", { takeOver: true });
    append(late, ended("j", 6));
    await assertRejects(() => late.whenDurable(), "conflict");
    append(taken, [run("j", 7, 2)]);
    await taken.whenDurable();
    deepEqual(
      (await one.jobs.list()).map(({ state, starts }) => [state, starts]),
      [["running", 2]],
    );
    append(taken, ended("j", 8, { status: "error", code: "timeout" }));
    await taken.whenDurable();
    deepEqual(
      (await one.jobs.list()).map(({ state, endedAt, errorCode }) => [state, endedAt, errorCode]),
      [["error", 8, "timeout"]],
    );
    assertThrows(() => late.append([messageEvent("a", 9)]), "conflict");
  }),
  twoStoreCase("sessions that no process has open are listed while jobs of them have not ended, the oldest first", async (one, other) => {
    const logs = ["c", "b", "a"].map((id) => one.create(id, { at: 1, durability: "sync" }));
    for (const [index, log] of logs.entries()) append(log, [started("j", 10 - index), started("k", 20)]);
    for (const log of logs) await log.whenDurable();
    deepEqual(await other.jobs.unattended(), []);
    await logs[0]?.close();
    deepEqual([await one.jobs.unattended(), await other.jobs.unattended()], [["c"], ["c"]]);
    await one.close();
    deepEqual(await other.jobs.unattended(), ["a", "b", "c"]);
    deepEqual(await other.jobs.unattended({ limit: 1 }), ["a"]);
    const log = await other.claim("a");
    deepEqual(await other.jobs.unattended(), ["b", "c"]);
    append(log, [...ended("j", 30), ...ended("k", 31)]);
    await log.close();
    deepEqual(await other.jobs.unattended(), ["b", "c"]);
    await assertRejects(() => other.jobs.unattended({ limit: 0 }), "invalid_argument");
  }),
  twoStoreCase("the job of a process that is gone stays as it was, and no process has it open", async (one, other) => {
    const log = one.create("a", { at: 1, durability: "sync" });
    append(log, [started("j", 5)]);
    await one.jobs.requestCancel({ sessionId: "a", id: "j", reason: "early" }); // the job is not durable yet, so this finds no job
    await log.whenDurable();
    await other.jobs.requestCancel({ sessionId: "a", id: "j", reason: "enough" });
    await one.close();
    const [job] = await other.jobs.list();
    deepEqual([job?.state, job?.openedBy, job?.cancelReason], ["running", undefined, "enough"]);
    await other.claim("a");
    deepEqual(await other.jobs.cancelRequests(), [{ sessionId: "a", id: "j", reason: "enough" }]);
  }),
];

const OF_CALL = { sessionId: "a", turnId: "turn_1", toolName: "files::copy" } as const;

function started(callId: string, at: number, more: { readonly queued?: true } = {}): SessionEvent {
  return { type: "job-start", ...OF_CALL, callId, at, mode: "stateful", notify: true, ...more };
}

function run(callId: string, at: number, starts: number, more: { readonly queued?: true } = {}): SessionEvent {
  return { type: "job-run", ...OF_CALL, callId, at, starts, ...more };
}

function asked(callId: string, at: number): SessionEvent {
  return { type: "job-output", ...OF_CALL, callId, at, position: 0, text: "Which one?", asks: true };
}

function told(callId: string, at: number): SessionEvent {
  const { toolName: _toolName, ...ofCall } = OF_CALL;
  return { type: "job-input", ...ofCall, callId, at, input: "that one" };
}

type JobEnd = { readonly status: "ok" } | { readonly status: ResultWithError["status"]; readonly code: ErrorCode };

/** The events for the end of a call and of its job, which are recorded together. */
function ended(callId: string, at: number, end: JobEnd = { status: "ok" }): readonly SessionEvent[] {
  const { toolName: _toolName, ...ofCall } = OF_CALL;
  const { status } = end;
  const fields = {
    callId,
    name: OF_CALL.toolName,
    origin: "live",
    attempts: 1,
    durationMs: 1,
    repairs: [],
    warnings: [],
  } as const;
  const result: ToolResult =
    end.status === "ok"
      ? { ...fields, status: "ok" }
      : { ...fields, status: end.status, error: { code: end.code, message: "It failed.", retryable: false, outcome: "unknown" } };
  return [
    { type: "call-end", ...ofCall, callId, at, result },
    { type: "job-end", ...OF_CALL, callId, at, status, notify: true },
  ];
}

/** Appends events with the session id of the log. */
function append(log: EventLog, events: readonly SessionEvent[]): void {
  log.append(events.map((event) => Object.freeze({ ...event, sessionId: log.sessionId })));
}

/** Returns all jobs without `openedBy`. */
async function listed(store: Store): Promise<readonly StoredJob[]> {
  return (await store.jobs.list()).map(({ openedBy: _openedBy, ...job }) => job);
}

/** The cases. Each needs a subject of its own. */
export const jobStoreContract: readonly StoreCase[] = [...alone, ...shared];
