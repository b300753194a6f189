/** What must hold after any mix of calls, cancels, deadlines, limits and closings, once all is quiet. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { RuntimeEvent } from "../../src/core/event.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { ToolExecutionError } from "../../src/call/tool-execution-error.ts";
import { END_OF_TIME_MS, conflict, play, scenarioArbitrary, type Played, type Scenario } from "./random-scenario.ts";
import { inCI } from "../ci.ts";

/** Every result of the scenario, each batch complete and in call order. */
function checkResults({ outcomes }: Played): readonly ToolResult[] {
  const all: ToolResult[] = [];
  for (const { names, results, thrown } of outcomes) {
    if (thrown instanceof ToolError) {
      expect(thrown.message).toMatch(/^The session .* is closed\.$/u);
      continue;
    }
    expect(thrown === undefined || thrown instanceof ToolExecutionError).toBe(true);
    expect(results?.map((result) => result.name)).toEqual(names);
    expect(results?.map((result) => result.id)).toEqual(names.map((_, index) => `id${index}`));
    all.push(...(results ?? []));
  }
  for (const result of all) {
    expect(result.error === undefined).toBe(result.status === "ok");
    expect(result.attempts === 0 && result.status === "ok").toBe(false);
    expect(Object.isFrozen(result)).toBe(true);
  }
  return all;
}

function checkEvents({ events }: Played, results: readonly ToolResult[]): void {
  const starts = events.filter((event) => event.type === "call-start").map((event) => event.callId);
  const ends = events.filter((event) => event.type === "call-end");
  expect(ends.map((event) => event.callId).toSorted()).toEqual(starts.toSorted());
  expect(new Set(starts).size).toBe(starts.length);
  expect(new Map(ends.map((event) => [event.callId, event.result]))).toEqual(new Map(results.map((result) => [result.callId, result])));
  const over = new Set<string>();
  for (const event of events) {
    if (event.type === "call-end") over.add(event.callId);
    else if ("callId" in event && !LATE_EVENTS.has(event.type)) expect([event.type, over.has(event.callId)]).toEqual([event.type, false]);
  }
}

function checkIdle({ runtime, ports, events, watch }: Played, results: readonly ToolResult[]): void {
  const count = (type: RuntimeEvent["type"]): number => events.filter((event) => event.type === type).length;
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  expect(watch.broken).toEqual([]);
  expect(runtime.running).toEqual([]);
  expect(ports.clock.pending).toBe(0);
  expect(runtime.counters).toEqual({
    calls: results.length,
    succeeded: results.filter(({ status }) => status === "ok").length,
    attempts: watch.attempts,
    repairs: 0,
    orphans: 0,
    abandoned: count("call-orphan"),
  });
  expect(sum(results.map((result) => result.attempts))).toBe(watch.attempts);
  expect(count("call-attempt")).toBe(watch.attempts);
  expect(count("call-late")).toBe(count("call-orphan"));
}

/** What each session remembers: every call that was not rolled back, with its result, and the state that its handlers made. */
function checkHistory({ sessions, events, watch }: Played): void {
  const rolledBack = new Set(events.flatMap((event) => (event.type === "batch-rollback" ? event.callIds : [])));
  for (const session of sessions) {
    const ids = events
      .filter((event) => event.type === "call-start" && event.sessionId === session.id)
      .map((event) => (event.type === "call-start" ? event.callId : ""));
    expect(session.history.map((entry) => entry.callId)).toEqual(ids.filter((id) => !rolledBack.has(id)));
    expect(session.history.every((entry) => entry.result?.callId === entry.callId)).toBe(true);
    const turns = new Set(session.log.map((event) => ("turnId" in event ? event.turnId : "")));
    for (const turn of turns) {
      const undone = events.some((event) => event.type === "batch-rollback" && event.turnId === turn);
      expect(session.state("set", turn)).toBe(undone ? undefined : watch.starts.get(turn));
    }
  }
}

/** Nothing is held any more: as many calls as each tool may run at a time start without waiting. */
async function checkFree(played: Played, scenario: Scenario): Promise<void> {
  const { runtime, ports, events } = played;
  const before = events.length;
  for (const [index, plan] of scenario.tools.entries()) {
    const atOnce = Math.min(plan.maxConcurrent ?? 3, scenario.maxConcurrent ?? 3, scenario.toolsetMaxConcurrent ?? 3);
    const call = { name: `set::t${index}`, input: { ms: 5, doing: "return" } };
    let ended = 0;
    const all = Array.from({ length: conflict(plan, plan) ? 1 : atOnce }, () => runtime.execute(call).then(() => ended++));
    await ports.clock.advance(END_OF_TIME_MS);
    expect(ended).toBe(all.length);
  }
  const waits = events
    .slice(before)
    .filter((event) => event.type === "call-wait" || (event.type === "call-end" && event.result.error?.code === "resource_busy"));
  expect(waits).toEqual([]);
}

test("B10 any mix of calls gives one result each, in call order and recorded once, and leaves nothing behind", async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(scenarioArbitrary, async (scenario) => {
      const played = await play(scenario);
      const results = checkResults(played);
      checkEvents(played, results);
      checkIdle(played, results);
      checkHistory(played);
      await checkFree(played, scenario);
      for (const event of played.events) seen.add(event.type);
      for (const result of results) seen.add(result.status).add(result.error?.code ?? "none");
    }),
    { seed: SEED, numRuns: RUNS },
  );
  for (const must of SOMETIMES) expect([must, seen.has(must)]).toEqual([must, true]);
});

/** Events that may come after a call's result. */
const LATE_EVENTS: ReadonlySet<string> = new Set(["call-late", "call-orphan", "outcome-resolve", "state-change"]);
const SEED = 3;
const RUNS = inCI ? 300 : 40;

/** Without these the mix has grown too tame to prove anything. */
const SOMETIMES = [
  "call-wait",
  "call-retry",
  "call-orphan",
  "call-late",
  "batch-rollback",
  "circuit-change",
  "ok",
  "error",
  "cancelled",
  "timeout",
  "resource_busy",
  "circuit_open",
  "approval_denied",
  "limit_exceeded",
  "not_found",
  "not_json",
  "network_error",
  "unavailable",
];
