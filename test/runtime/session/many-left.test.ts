/** A stop of many sessions takes time by their number: none of them is looked for among all. */
import { afterEach, expect, test, vi } from "vitest";
import { RunningCalls } from "../../../src/call/running-calls.ts";
import { createRuntime, defineTool, type Runtime } from "../../../src/index.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { temporaryFile } from "../../store/temporary-file.ts";

const SESSIONS = 120;

afterEach(() => vi.restoreAllMocks());

/** Each session has a job that runs, and a call that waits for an answer in a session of its own. */
async function busyRuntime(): Promise<{ readonly runtime: Runtime; readonly ids: readonly string[]; readonly ends: Promise<unknown> }> {
  const runtime = createRuntime({
    store: sqliteStore({ path: temporaryFile(), synchronous: "normal" }),
    approval: { approve: "inbox" },
    jobs: { maxRunning: SESSIONS },
    tools: [
      defineTool({ name: "remove", description: "Removes.", effects: { writes: ["files"], destructive: true }, execute: () => "removed" }),
      defineTool({
        name: "hold",
        description: "Runs until it is cancelled.",
        mode: "background",
        effects: { reads: [] },
        execute: (_input, { signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      }),
      {
        name: "delegate",
        description: "Removes in a session of its own.",
        inputSchema: { type: "object" },
        composite: true,
        execute: async (_input, context) => (await sessionWithin(context)).execute({ name: "remove" }, { signal: context.signal }),
      },
    ],
  });
  await runtime.open();
  const asked = Promise.withResolvers<void>();
  let asks = 0;
  runtime.subscribe(({ type }) => void (type === "approval-ask" && ++asks === SESSIONS && asked.resolve()));
  const ids = Array.from({ length: SESSIONS }, (_, index) => `s${index}`);
  const ends = await Promise.all(
    ids.map(async (id) => {
      const session = runtime.session(id);
      await session.submit({ name: "hold" });
      return [session.execute({ name: "delegate" }).catch(() => {})]; // in an array, as it is not waited for here
    }),
  );
  await asked.promise;
  return { runtime, ids, ends: Promise.all(ends.flat()) };
}

/** Counts what is looked at in walks over as many sessions, calls, jobs or questions as there are sessions. */
function countLooks(): () => number {
  let looks = 0;
  const { all } = RunningCalls.prototype;
  vi.spyOn(RunningCalls.prototype, "all").mockImplementation(function (this: RunningCalls<never>) {
    const found = all.call(this);
    looks += found.length;
    return found;
  });
  for (const way of ["keys", "values", "entries", Symbol.iterator] as const) {
    const walk = Map.prototype[way];
    vi.spyOn(Map.prototype, way as "values").mockImplementation(function (this: Map<unknown, unknown>) {
      const steps = walk.call(this) as MapIterator<unknown>;
      if (this.size < SESSIONS / 2) return steps;
      const next = steps.next.bind(steps);
      return Object.assign(steps, { next: () => (looks++, next()) });
    });
  }
  return () => looks;
}

test.each(["handOver", "close"] as const)(
  "%s of many sessions with calls, jobs, questions and nested sessions is linear in their number",
  async (way) => {
    const { runtime, ids, ends } = await busyRuntime();
    const looks = countLooks();
    if (way === "close") await runtime.close();
    else await Promise.all(ids.map((id) => runtime.sessions.handOver(id)));
    expect(looks()).toBeLessThan(30 * SESSIONS);
    await ends;
    await runtime.close();
  },
);
