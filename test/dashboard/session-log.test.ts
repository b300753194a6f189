/** Issue 20.3: what a timeline makes of a session's events. */
import { describe, expect, test } from "vitest";
import { stateOf } from "../../src/dashboard/timeline/call-entry.ts";
import { SessionLog } from "../../src/dashboard/timeline/session-log.ts";
import { timeAxis } from "../../src/dashboard/timeline/time-axis.ts";
import type { LogEvent } from "../../src/dashboard/server/log-event.ts";

const place = { sessionId: "s", turnId: "t" };

function start(callId: string, at: number, more: object = {}): LogEvent {
  return { type: "call-start", ...place, callId, at, call: { name: `shop::${callId}`, input: {} }, ...more };
}

function end(callId: string, at: number, more: object = {}, timing?: readonly object[]): LogEvent {
  const result = {
    callId,
    name: `shop::${callId}`,
    status: "ok",
    origin: "live",
    attempts: 1,
    durationMs: 10,
    repairs: [],
    warnings: [],
    ...more,
  };
  return { type: "call-end", ...place, callId, at, result, ...(timing === undefined ? {} : { timing }) } as unknown as LogEvent;
}

function logOf(...events: readonly LogEvent[]): SessionLog {
  const log = new SessionLog();
  for (const event of events) log.add(event);
  return log;
}

const ids = (log: SessionLog) =>
  log.rows().map(({ entry, depth }) => `${"-".repeat(depth)}${entry.kind === "call" ? entry.id : entry.role}`);

describe("issue 20.3 rows", () => {
  test("are in the order the calls began, those of a call below it", () => {
    const log = logOf(
      start("a", 0),
      start("b", 1),
      start("a1", 2, { parentCallId: "a" }),
      start("a2", 3, { parentCallId: "a" }),
      start("c", 4),
    );
    expect(ids(log)).toEqual(["a", "-a1", "-a2", "b", "c"]);
  });

  test("show a call whose parent is missing, or is the call itself, at the top", () => {
    expect(ids(logOf(start("a", 0, { parentCallId: "a" }), start("b", 1, { parentCallId: "gone" })))).toEqual(["a", "b"]);
  });

  test("have the messages between the calls, and say which calls were undone", () => {
    const log = logOf({ type: "message-add", sessionId: "s", at: 0, message: { role: "user", content: "Hi" } }, start("a", 1), {
      type: "batch-rollback",
      sessionId: "s",
      at: 2,
      turnId: "t",
      callIds: ["a"],
    });
    expect(ids(log)).toEqual(["user", "a"]);
    expect(log.calls.get("a")?.undone).toBe("rolled back");
  });

  test("of 100,000 calls, a tenth of them within others, are made in time", () => {
    const log = new SessionLog();
    for (let index = 0; index < 100_000; index++)
      log.add(start(String(index), index, index % 10 === 9 ? { parentCallId: String(index - 9) } : {}));
    expect(log.rows()).toHaveLength(100_000);
  });
});

describe("issue 20.3 phases", () => {
  test("of a live call come with its events, and those of its end take their place", () => {
    const log = logOf(
      start("a", 100),
      { type: "call-wait", ...place, callId: "a", at: 150, toolName: "shop::a", waitMs: 40, reason: "lock", waitedFor: ["b"] },
      { type: "call-attempt", ...place, callId: "a", at: 150, toolName: "shop::a", attempt: 1 },
    );
    expect(log.calls.get("a")?.phases).toEqual([
      { phase: "lock", atMs: 10, ms: 40, holders: ["b"] },
      { phase: "attempt", atMs: 50 },
    ]);
    const timing = [
      { phase: "lock", atMs: 11, ms: 39, holders: ["b"] },
      { phase: "attempt", atMs: 50, ms: 20 },
    ];
    log.add(end("a", 170, {}, timing));
    expect(log.calls.get("a")).toMatchObject({ phases: timing, endedAt: 170 });
  });

  test("of a call that was nothing but one attempt are that attempt, also one that failed", () => {
    const log = logOf(start("a", 0), end("a", 10), start("b", 0), end("b", 10, { status: "error", error: { code: "timeout" } }));
    expect(log.calls.get("a")?.phases).toEqual([{ phase: "attempt", atMs: 0, ms: 10 }]);
    expect(log.calls.get("b")?.phases).toEqual([{ phase: "attempt", atMs: 0, ms: 10, error: "timeout" }]);
    expect([log.running, log.failed]).toEqual([0, 1]);
  });

  test("say what a call waits for: a person, then nothing", () => {
    const ask = {
      type: "approval-ask",
      ...place,
      callId: "a",
      at: 5,
      toolName: "shop::a",
      approvalId: "1",
      digest: "d",
      input: {},
      reason: "r",
    } as const;
    const log = logOf(start("a", 0), ask);
    const call = log.calls.get("a");
    if (call === undefined) throw new Error("there is a call");
    expect(stateOf(call)).toBe("approval");
    log.add({
      type: "approval-answer",
      ...place,
      callId: "a",
      at: 9,
      toolName: "shop::a",
      approvalId: "1",
      digest: "d",
      status: "allowed",
      by: "Ann",
    });
    expect(call.phases).toEqual([{ phase: "approval", atMs: 5, ms: 4 }]);
    expect(call.approval).toEqual({ digest: "d", reason: "r", status: "allowed", by: "Ann" });
  });

  test("keep a second end of a call, and events of unknown calls and types, out", () => {
    const log = logOf(start("a", 0), end("a", 10), end("a", 20, { status: "error" }), end("gone", 5), {
      type: "later-kind",
    } as unknown as LogEvent);
    expect([log.calls.size, log.calls.get("a")?.result?.status, log.running]).toEqual([1, "ok", 0]);
  });
});

describe("issue 20.3 the axis of time", () => {
  test("folds a long time in which nothing began or ended, and keeps the rest in proportion", () => {
    const axis = timeAxis(logOf(start("a", 0), end("a", 500), start("b", 60_500), end("b", 61_000)).entries(), 61_000);
    expect(axis.pieces.map(({ folded, from, to }) => [folded, from, to])).toEqual([
      [false, 0, 500],
      [true, 500, 60_500],
      [false, 60_500, 61_000],
    ]);
    expect([0, 250, 500, 60_500, 61_000].map((time) => Number(axis.at(time).toFixed(3)))).toEqual([0, 0.235, 0.47, 0.53, 1]);
  });

  test("does not fold where every call takes long", () => {
    const events = [0, 1, 2, 3].flatMap((index) => [start(String(index), index * 60_000), end(String(index), index * 60_000 + 60_000)]);
    expect(timeAxis(logOf(...events).entries(), 0).pieces.some(({ folded }) => folded)).toBe(false);
  });

  test("has a place for every moment, of no entries as well", () => {
    expect(timeAxis([], 7).at(7)).toBe(0);
    const axis = timeAxis(logOf(start("a", 10)).entries(), 10);
    expect([axis.at(-5), axis.at(10), axis.at(99)].every((at) => at >= 0 && at <= 1)).toBe(true);
  });
});
