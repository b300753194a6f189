/** Issue 20.3: what a timeline makes of a session's events. */
import { describe, expect, test } from "vitest";
import { callState } from "../../src/dashboard/timeline/call-entry.ts";
import { computeMapColumns } from "../../src/dashboard/timeline/map-columns.ts";
import { SessionLog } from "../../src/dashboard/timeline/session-log.ts";
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

/** Numbers from 0 to 1, the same each time. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
}

const ids = (log: SessionLog) =>
  log.rows().map(({ entry, depth }) => `${"-".repeat(depth)}${entry.kind === "call" ? entry.id : entry.role}`);

describe("issue 20.3 rows", () => {
  test("are in the order in which calls began, with nested calls below their parent", () => {
    const log = logOf(
      start("a", 0),
      start("b", 1),
      start("a1", 2, { parentCallId: "a" }),
      start("a2", 3, { parentCallId: "a" }),
      start("c", 4),
    );
    expect(ids(log)).toEqual(["a", "-a1", "-a2", "b", "c"]);
  });

  test("show a call at the top if its parent is missing or is the call itself", () => {
    expect(ids(logOf(start("a", 0, { parentCallId: "a" }), start("b", 1, { parentCallId: "gone" })))).toEqual(["a", "b"]);
  });

  test("include the messages between the calls, and mark calls that were rolled back", () => {
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

  test("of 100,000 calls, a tenth of them nested, are all computed", () => {
    const log = new SessionLog();
    for (let index = 0; index < 100_000; index++)
      log.add(start(String(index), index, index % 10 === 9 ? { parentCallId: String(index - 9) } : {}));
    expect(log.rows()).toHaveLength(100_000);
  });

  test("issue 20.3 show calls at any depth, each below the call that made it", () => {
    const log = logOf(
      start("0", 0),
      ...Array.from({ length: 5_000 }, (_, index) => start(String(index + 1), index + 1, { parentCallId: String(index) })),
    );
    expect(log.rows().map(({ entry, depth }) => [entry.id, depth])).toEqual(
      Array.from({ length: 5_001 }, (_, index) => [String(index), index]),
    );
  });

  test("issue 20.3 show calls that name each other as parents once each", () => {
    expect(ids(logOf(start("a", 0, { parentCallId: "b" }), start("b", 1, { parentCallId: "a" })))).toEqual(["a", "-b"]);
  });

  test("issue 20.3 of a growing log equal those of the same log read at once", () => {
    const random = seeded(5);
    const events = Array.from({ length: 400 }, (_, index) =>
      start(String(index), index, random() < 0.5 ? {} : { parentCallId: String(Math.floor(random() * index)) }),
    );
    const log = new SessionLog();
    for (const [index, event] of events.entries()) {
      log.add(event);
      if (random() < 0.2) expect(ids(log)).toEqual(ids(logOf(...events.slice(0, index + 1))));
    }
    expect(new Set(ids(log)).size).toBe(400);
  });
});

describe("issue 20.3 phases", () => {
  test("of a running call are shown as its events arrive, and replaced by those of its end", () => {
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

  test("of a call with a single attempt are that attempt, even if it failed", () => {
    const log = logOf(start("a", 0), end("a", 10), start("b", 0), end("b", 10, { status: "error", error: { code: "timeout" } }));
    expect(log.calls.get("a")?.phases).toEqual([{ phase: "attempt", atMs: 0, ms: 10 }]);
    expect(log.calls.get("b")?.phases).toEqual([{ phase: "attempt", atMs: 0, ms: 10, error: "timeout" }]);
    expect([log.running, log.failed]).toEqual([0, 1]);
  });

  test("show that a call waits for a person, until it no longer does", () => {
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
    expect(callState(call)).toBe("approval");
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

  test("ignore a second end of a call, and events of unknown calls and types", () => {
    const log = logOf(start("a", 0), end("a", 10), end("a", 20, { status: "error" }), end("gone", 5), {
      type: "later-kind",
    } as unknown as LogEvent);
    expect([log.calls.size, log.calls.get("a")?.result?.status, log.running]).toEqual([1, "ok", 0]);
  });
});

describe("issue 20.3 the time axis", () => {
  test("folds a long time in which nothing began or ended, and keeps the rest in proportion", () => {
    const axis = logOf(start("a", 0), end("a", 500), start("b", 60_500), end("b", 61_000)).axis(61_000);
    expect(axis.pieces.map(({ folded, from, to }) => [folded, from, to])).toEqual([
      [false, 0, 500],
      [true, 500, 60_500],
      [false, 60_500, 61_000],
    ]);
    expect([0, 250, 500, 60_500, 61_000].map((time) => Number(axis.at(time).toFixed(3)))).toEqual([0, 0.235, 0.47, 0.53, 1]);
  });

  test("does not fold where every call takes long", () => {
    const events = [0, 1, 2, 3].flatMap((index) => [start(String(index), index * 60_000), end(String(index), index * 60_000 + 60_000)]);
    expect(
      logOf(...events)
        .axis(0)
        .pieces.some(({ folded }) => folded),
    ).toBe(false);
  });

  test("has a position for every moment, even without entries", () => {
    expect(logOf().axis(7).at(7)).toBe(0);
    const axis = logOf(start("a", 10)).axis(10);
    expect([axis.at(-5), axis.at(10), axis.at(99)].every((at) => at >= 0 && at <= 1)).toBe(true);
  });

  test("issue 20.3 is the same for a growing log, even with events out of time order", () => {
    const random = seeded(9);
    const log = new SessionLog();
    const events: LogEvent[] = [];
    for (let index = 0; index < 300; index++) {
      const at = Math.floor(index * 400 + random() * (random() < 0.1 ? 90_000 : 100));
      events.push(start(String(index), at), end(String(index), at + Math.floor(random() * 500)));
      for (const event of events.slice(-2)) log.add(event);
      if (random() < 0.2) expect(log.axis(0).pieces).toEqual(logOf(...events).axis(0).pieces);
    }
    const { pieces } = log.axis(0);
    expect(pieces.some(({ folded }) => folded)).toBe(true);
    for (const [index, { from, start: place }] of pieces.entries())
      expect([from, place]).toEqual([pieces[index - 1]?.to ?? from, pieces[index - 1]?.end ?? 0]);
    expect(pieces.at(-1)?.end).toBeCloseTo(1);
  });

  test("issue 20.3 extends to calls that still run, and converts a position back to its time", () => {
    const axis = logOf(start("a", 0), end("a", 500), start("b", 60_500)).axis(61_000);
    for (const time of [0, 250, 500, 10_000, 60_500, 60_750, 61_000]) expect(axis.timeAt(axis.at(time))).toBeCloseTo(time);
  });
});

describe("issue 20.3 the overview of the whole time", () => {
  test("has in each column the number of running calls, and whether one failed", () => {
    const log = logOf(
      start("a", 0),
      start("b", 25),
      end("a", 50, { status: "error", error: { code: "timeout" } }),
      end("b", 75),
      start("c", 80),
      end("c", 100),
    );
    expect(computeMapColumns(log, log.axis(0), 4)).toEqual({ running: [1, 2, 2, 2], failed: [false, false, true, false] });
  });

  test("includes running calls up to the current end, and is empty for a log without calls", () => {
    const log = logOf(start("a", 0), start("b", 50));
    expect(computeMapColumns(log, log.axis(100), 4).running).toEqual([1, 1, 2, 2]);
    expect(computeMapColumns(logOf(), logOf().axis(0), 2)).toEqual({ running: [0, 0], failed: [false, false] });
  });
});
