/** Many calls, some of them faulty or given up: each is counted once, and nothing of it is left. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { Accountant, CONCURRENCY, heapBytes } from "../../scripts/exact-accounting.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { ToolError } from "../../src/core/error.ts";
import type { RuntimeEvent } from "../../src/core/event.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { fakePorts, seededRandom, type FakePorts } from "../../src/testing/fake-ports.ts";
import { inCI } from "../ci.ts";

/** Times 100,000 calls in 1,000 sessions. */
const SHARE = inCI ? 0.3 : 0.02;
/** Calls that are given up. */
const GIVEN_UP = inCI ? 10_000 : 1_500;

test("L01 each call of a part of 100,000 in 1,000 sessions (all in scripts/exact-accounting.ts), 1 % with faults, ends once as planned, in order, with a flat heap", async () => {
  const calls = 100_000 * SHARE;
  await new Accountant({ calls: inCI ? 10_000 : 1_000, sessions: 100 * SHARE }).run();
  const before = heapBytes();
  const {
    planned,
    found,
    seconds: _seconds,
    acknowledgeMs: _waits,
    ...counts
  } = await new Accountant({ calls, sessions: 1_000 * SHARE }).run();
  expect(planned).toEqual({ ok: calls * 0.99, throw: calls / 400, timeout: calls / 400, invalid: calls / 400, cancel: calls / 400 });
  expect(found).toEqual(planned);
  expect(counts).toEqual({
    accepted: calls,
    terminal: calls,
    ids: calls,
    starts: calls,
    ends: calls,
    inHistory: calls,
    readBack: undefined,
    mostAtOnce: CONCURRENCY,
    problems: [],
  });
  expect(heapBytes() - before).toBeLessThanOrEqual(20 * 2 ** 20);
}, 60_000);

/** What the handlers did, and tried to do when it was too late. */
interface Deeds {
  /** Changes of state that were made, by session. */
  readonly done: Map<string, number>;
  /** Changes that were refused because the call had ended. */
  tooLate: number;
  /** Changes that were made although the call had been given up. */
  wrong: number;
}

/** Tools that can be given up in every step of a call: while they wait for what they need, while they run, and afterwards. */
function fragileTools(ports: FakePorts, deeds: Deeds): readonly Tool[] {
  const wait = (ms: number): Promise<void> => new Promise((resolve) => ports.clock.timer(resolve, ms));
  const parse = (value: unknown): Promise<{ readonly value: unknown }> => wait(3).then(() => ({ value }));
  const work = async (_: unknown, { state, sessionId, signal }: ToolContext): Promise<string> => {
    for (let step = 0; step < 3; step++) {
      await wait(2);
      try {
        state.update("steps", (before) => Number(before ?? 0) + 1);
      } catch (error: unknown) {
        deeds.tooLate++;
        throw error;
      }
      deeds.done.set(sessionId, (deeds.done.get(sessionId) ?? 0) + 1);
      if (signal.aborted) deeds.wrong++;
    }
    return "done";
  };
  const flap = async (input: unknown, context: ToolContext): Promise<string> => {
    if (context.attempt < 3) throw new ToolError("network_error", "reset", { outcome: "not_started" });
    return work(input, context);
  };
  const described = { description: "d", inputSchema: { type: "object" }, effects: { reads: [] }, execute: work };
  return [
    { ...described, name: "plain" },
    { ...described, name: "locked", effects: { writes: ["one place"] } },
    { ...described, name: "crowded", maxConcurrent: 2 },
    { ...described, name: "parsed", parseInput: parse, parseOutput: parse },
    { ...described, name: "asked", effects: { writes: ({ n }) => [`of:${String(n)}`], destructive: true } },
    { ...described, name: "flapping", execute: flap },
    {
      ...described,
      name: "obedient",
      execute: (_: unknown, { signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", reject)),
    },
  ];
}

test(`L17 ${GIVEN_UP} calls abandoned at random moments end once each, and do and leave nothing afterwards`, async () => {
  const ports = fakePorts();
  const deeds: Deeds = { done: new Map(), tooLate: 0, wrong: 0 };
  const tools = fragileTools(ports, deeds);
  const events: RuntimeEvent[] = [];
  const approve = (): Promise<"allow-once"> => new Promise((resolve) => ports.clock.timer(() => resolve("allow-once"), 3));
  const runtime = createRuntime({
    ports,
    tools,
    onEvent: (event) => events.push(event),
    approval: { approve },
    retry: { delayMs: 2, maxDelayMs: 4 },
    circuit: false,
    orphanHoldMs: 1,
    timeoutMs: 40,
  });
  const random = seededRandom(21);
  const sessions = Array.from({ length: 200 }, () => runtime.session());
  const signals: AbortSignal[] = [];
  const results = Array.from({ length: GIVEN_UP }, async (_, n) => {
    await new Promise<void>((resolve) => ports.clock.timer(resolve, random.next() * 1_000));
    const controller = new AbortController();
    signals.push(controller.signal);
    ports.clock.timer(() => controller.abort(), random.next() * 30);
    const call = { name: tools[n % tools.length]?.name ?? "", input: { n } };
    return sessions[n % sessions.length]?.execute(call, { signal: controller.signal });
  });
  await ports.clock.advance(10_000);
  const all = (await Promise.all(results)).flatMap((result) => result ?? []);

  const ends = events.filter((event) => event.type === "call-end");
  expect(new Map(ends.map((event) => [event.callId, event.result]))).toEqual(new Map(all.map((result) => [result.callId, result])));
  expect([all.length, ends.length, new Set(all.map((result) => result.callId)).size]).toEqual([GIVEN_UP, GIVEN_UP, GIVEN_UP]);
  expect(activityAfterEnd(events)).toEqual([]);
  expect(Object.fromEntries(sessions.map((session) => [session.id, session.state("default", "steps")]))).toEqual(
    Object.fromEntries(deeds.done),
  );
  expect(signals.flatMap((signal) => getEventListeners(signal, "abort"))).toEqual([]);
  const { orphans, calls } = runtime.counters;
  expect([runtime.running, ports.clock.pending, orphans, calls]).toEqual([[], 0, 0, GIVEN_UP]);
  expect([deeds.wrong, deeds.tooLate > 0]).toEqual([0, true]);
  const endings = new Set(all.map((result) => `${result.name.slice("default::".length)} ${result.status} ${result.attempts}`));
  for (const must of SOMETIMES) expect([must, endings.has(must)]).toEqual([must, true]);
}, 60_000);

/** Calls that were given up before and after they had begun, while they waited to be tried again, and too late. */
const SOMETIMES = ["plain", "locked", "crowded", "parsed", "asked"].flatMap((name) => [`${name} cancelled 1`, `${name} ok 1`]);
SOMETIMES.push("locked cancelled 0", "crowded cancelled 0", "parsed cancelled 0", "asked cancelled 0");
SOMETIMES.push("flapping cancelled 1", "flapping cancelled 3", "flapping ok 3", "obedient cancelled 1");

/** What was told of calls after their end, but for handlers that would not end with them. */
function activityAfterEnd(events: readonly RuntimeEvent[]): readonly string[] {
  const over = new Set<string>();
  const stir: string[] = [];
  for (const event of events) {
    if (!("callId" in event)) continue;
    if (over.has(event.callId) && !["call-orphan", "call-late", "outcome-resolve"].includes(event.type))
      stir.push(`${event.type} ${event.callId}`);
    if (event.type === "call-end") over.add(event.callId);
  }
  return stir;
}
