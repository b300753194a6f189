/** What must hold of every session at every moment. */
import { expect } from "vitest";
import type { SessionEvent } from "../../src/core/event.ts";
import { applyPatch } from "../../src/core/base/json-patch.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { historyOf, withoutUndefined, type Entry } from "./session-log-model.ts";
import { KEYS, RULES } from "./session-plan.ts";
import { readResult, type Dispatch, type Slot, type World } from "./session-world.ts";

export async function checkWorld(
  world: World,
  acknowledged: readonly { readonly sessionId: string; readonly results: readonly ToolResult[] }[],
): Promise<void> {
  for (const slot of world.slots) if (slot.real !== undefined) await checkSession(slot, slot.real, world, acknowledged);
  const { calls, attempts } = world.runtime.counters;
  expect({ calls, attempts }).toEqual(world.model.counters);
  expect(world.used).toEqual(world.model.used);
  checkDispatches(world);
}

async function checkSession(
  slot: Slot,
  real: RuntimeSession,
  world: World,
  acknowledged: readonly { readonly sessionId: string; readonly results: readonly ToolResult[] }[],
): Promise<void> {
  const { model } = slot;
  expect(real.closed).toBe(model.closed);
  const state = Object.fromEntries(
    KEYS.flatMap((key) => (real.state("default", key) === undefined ? [] : [[key, real.state("default", key)]])),
  );
  expect(state).toEqual(withoutUndefined(model.state));
  const events: SessionEvent[] = [];
  for await (const event of real.events()) events.push(event);
  expect(real.length).toBe(model.log.length);
  const words = wordsOf(events);
  alignNeighbours(model.log, words);
  expect(words).toEqual(model.log.map(wordOf));
  expect(foldState(events)).toEqual(state);
  const history = historyIn(events);
  expect(history).toEqual(historyOf(model.log));
  if (real.firstKept === 0) expect(real.history.map(readEntry)).toEqual(history);
  else world.seen.add("forgotten");
  checkPairs(events);
  const ends = new Map(events.flatMap((event) => (event.type === "call-end" ? [[event.callId, event.result] as const] : [])));
  for (const { sessionId, results } of acknowledged)
    if (sessionId === slot.id) expect(results.map((result) => ends.get(result.callId))).toEqual(results);
  for (const event of events) world.seen.add(event.type);
}

const WORDS = {
  "session-start": "start",
  "message-add": "message",
  "inbox-add": "inbox",
  "trigger-add": "trigger",
  "trigger-pause": "trigger paused",
  "trigger-resume": "trigger resumed",
  "trigger-remove": "trigger removed",
  "batch-start": "batch",
  "call-start": "call",
  "call-intent": "intent",
  "call-remote": "remote",
  "approval-ask": "ask",
  "approval-answer": "answer",
  "state-change": "change",
  "call-end": "end",
  "outcome-resolve": "resolve",
  "round-end": "round",
  "batch-rollback": "rollback",
  "output-keep": "output",
  "job-start": "job",
  "job-run": "run",
  "job-output": "said",
  "job-input": "heard",
  "job-end": "job end",
  "branch-commit": "commit",
} as const satisfies Record<SessionEvent["type"], string>;

/** Each event in a few words: its kind, and the number of its call or the key of its value. */
function wordsOf(events: readonly SessionEvent[]): readonly string[] {
  const numbers = new Map(
    events.flatMap((event) => (event.type === "call-start" ? [[event.callId, numberOf(event.call.input)] as const] : [])),
  );
  return events.map((event) => {
    if (event.type === "state-change") return `change ${event.key}`;
    return "callId" in event ? `${WORDS[event.type]} ${numbers.get(event.callId)}` : WORDS[event.type];
  });
}

function wordOf(entry: Entry): string {
  if (entry.type === "change") return `change ${entry.key}`;
  return "call" in entry ? `${entry.type} ${entry.call.plan.n}` : entry.type;
}

/** Calls that are cancelled together end in any order, and so are different values taken back: the model's order follows the real one. */
function alignNeighbours(log: Entry[], words: readonly string[]): void {
  for (const [at, word] of words.entries()) {
    const entry = log[at];
    for (let other = at; entry !== undefined && log[other]?.type === entry.type; other++) {
      const found = log[other];
      if (found === undefined || wordOf(found) !== word) continue;
      log[other] = entry;
      log[at] = found;
      break;
    }
  }
}

function numberOf(input: unknown): number {
  return typeof input === "object" && input !== null && "n" in input ? Number(input.n) : Number.NaN;
}

/** What the events come to, by the patches in them alone. */
export function foldState(events: readonly SessionEvent[]): Readonly<Record<string, JsonValue>> {
  const state: Record<string, JsonValue> = {};
  for (const event of events) {
    if (event.type !== "state-change") continue;
    const after = applyPatch(state[event.key], event.patch);
    if (after === undefined) delete state[event.key];
    else state[event.key] = after;
  }
  return state;
}

type Entries = ReturnType<typeof historyOf>;

function historyIn(events: readonly SessionEvent[]): Entries {
  const rolledBack = new Set(events.flatMap((event) => (event.type === "batch-rollback" ? event.callIds : [])));
  const results = new Map(events.flatMap((event) => (event.type === "call-end" ? [[event.callId, event.result] as const] : [])));
  return events.flatMap((event) =>
    event.type === "call-start" && !rolledBack.has(event.callId)
      ? [readEntry({ call: event.call, result: results.get(event.callId) })]
      : [],
  );
}

function readEntry({
  call,
  result,
}: {
  readonly call: { readonly input?: unknown };
  readonly result: ToolResult | undefined;
}): Entries[number] {
  return { n: numberOf(call.input), result: result === undefined ? undefined : readResult(result) };
}

/** Every id begins one call, and every call ends once at most, after it began; results can be changed by nobody. Returns those that have not ended. */
export function checkPairs(events: readonly SessionEvent[]): readonly string[] {
  const open = new Set<string>();
  const known = new Set<string>();
  for (const event of events) {
    if (event.type === "call-start") {
      expect([event.callId, known.has(event.callId)]).toEqual([event.callId, false]);
      known.add(event.callId);
      open.add(event.callId);
    } else if (event.type === "call-end") {
      expect([event.callId, open.delete(event.callId)]).toEqual([event.callId, true]);
      expect(isDeeplyFrozen(event.result)).toBe(true);
    }
  }
  return [...open];
}

function isDeeplyFrozen(value: unknown): boolean {
  return typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen));
}

/** A call has one key and one id however often it is started, and what may not be repeated is started once. */
function checkDispatches({ dispatches }: World): void {
  const first = new Map<string, Dispatch>();
  for (const dispatch of dispatches) {
    const earlier = first.get(dispatch.callId);
    first.set(dispatch.callId, earlier ?? dispatch);
    if (earlier === undefined) continue;
    expect(dispatch).toEqual(earlier);
    expect([dispatch.plan.tool, RULES[dispatch.plan.tool].repeatable]).toEqual([dispatch.plan.tool, true]);
  }
  const keys = new Map([...first.values()].map(({ idempotencyKey, callId }) => [idempotencyKey, callId]));
  expect(keys.size).toBe(first.size);
}
