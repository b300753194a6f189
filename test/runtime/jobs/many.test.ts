/** Very many background jobs: cancelled at any event, each has one end, and nothing of them is left. */
import { expect, test } from "vitest";
import { heapBytes } from "../../../scripts/exact-accounting.ts";
import type { RuntimeEvent } from "../../../src/core/event.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { FakeClock, fakePorts, seededRandom } from "../../../src/testing/fake-ports.ts";
import { inCI } from "../../ci.ts";
import { tool } from "../bench-runtime.ts";
import { testInCI } from "../../test-in-ci.ts";

const CALLS = inCI ? 30_000 : 1_000;
const WAVE = 500;

/** Counts who keeps the process alive. */
class HeldClock extends FakeClock {
  held = 0;

  hold(): void {
    this.held++;
  }

  release(): void {
    this.held--;
  }
}

function tools(clock: FakeClock): readonly Tool[] {
  const wait = (ms: number): Promise<void> => new Promise((resolve) => clock.timer(resolve, ms));
  let attempts = 0;
  return [
    tool("plain", () => wait(5).then(() => "x")),
    tool("locked", () => wait(2).then(() => "x"), { effects: { writes: ["place"] } }),
    tool("deaf", () => new Promise(() => {}), { timeoutMs: 20, maxAttempts: 1 }),
    tool("flaky", () => (++attempts % 2 === 0 ? "x" : Promise.reject(new Error("no"))), { maxAttempts: 3 }),
    tool("talk", () => {}, {
      mode: "stateful",
      timeoutMs: 40,
      maxAttempts: 1,
      execute: async function* (_input: unknown, { output }) {
        output("begun");
        const said: unknown = yield "And?";
        return said;
      },
    }),
  ];
}

test(`L17 ${CALLS} background calls that are cancelled, promoted and answered at random events end once each, and leave nothing`, async () => {
  const clock = new HeldClock();
  const all = tools(clock);
  const random = seededRandom(17);
  const ends = new Map<string, number>();
  const jobs = { begun: 0, ended: 0 };
  const endings = new Set<string>();
  const steer = (event: RuntimeEvent): void => {
    if (!("callId" in event)) return;
    const { callId } = event;
    if (event.type === "call-end") ends.set(callId, (ends.get(callId) ?? 0) + 1);
    if (event.type === "call-end") endings.add(`${event.result.name} ${event.result.status}`);
    if (event.type === "job-start") jobs.begun++;
    if (event.type === "job-end") jobs.ended++;
    const chance = random.next();
    if (chance < 0.1) runtime.jobs.promote(callId);
    else if (chance < 0.2 && runtime.jobs.get(callId) !== undefined) runtime.jobs.cancel(callId);
    else if (event.type === "job-output" && event.asks === true && chance < 0.5) queueMicrotask(() => answer(callId));
  };
  const answer = (callId: string): void => {
    if (runtime.jobs.get(callId)?.state === "waiting") runtime.jobs.send(callId, "yes");
  };
  const runtime = createRuntime({
    ports: { ...fakePorts(), clock },
    tools: all,
    onEvent: steer,
    retry: { delayMs: 2, maxDelayMs: 4 },
    circuit: false,
    orphanHoldMs: 1,
    jobs: { maxRunning: 40, maxQueued: WAVE },
  });
  for (let from = 0; from < CALLS; from += WAVE) {
    const session = runtime.session();
    const answers = Array.from({ length: WAVE }, (_, n) =>
      session.execute({ name: all[n % all.length]?.name ?? "" }, { background: n % 3 > 0, concurrent: true }),
    );
    await clock.advance(100_000);
    await Promise.all(answers);
    await session.close();
  }
  expect([ends.size, new Set(ends.values())]).toEqual([CALLS, new Set([1])]);
  expect([jobs.begun > CALLS / 2, jobs.ended]).toEqual([true, jobs.begun]);
  expect([runtime.running, runtime.jobs.list({ states: ["queued", "running", "waiting"] })]).toEqual([[], []]);
  expect([clock.pending, clock.held]).toEqual([0, 0]);
  for (const { name } of all) expect(endings).toContain(`default::${name} cancelled`);
  for (const name of ["plain", "locked", "flaky", "talk"]) expect(endings).toContain(`default::${name} ok`);
}, 600_000);

testInCI(
  "F1.24 the heap stays flat over 10,000 background jobs",
  async () => {
    const { runtime, write } = { runtime: createRuntime({ ports: fakePorts(), tools: writers() }), write: "write" };
    const run = async (jobs: number): Promise<void> => {
      for (let at = 0; at < jobs; at += 100) {
        const session = runtime.session();
        for (let n = 0; n < 100; n++) await session.submit({ name: write });
        await session.close();
      }
    };
    await run(2_000);
    const before = heapBytes();
    await run(10_000);
    expect(heapBytes() - before).toBeLessThan(5_000_000);
    expect(runtime.jobs.list()).toHaveLength(100);
  },
  60_000,
);

function writers(): readonly Tool[] {
  return [tool("write", (_input, { output }) => output("a line of output\n".repeat(20)))];
}
