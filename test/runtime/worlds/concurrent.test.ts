/** Many sessions of recorded worlds at once on one runtime, with handlers that let the others go on in their midst. */
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { applyPatch } from "../../../src/core/base/json-patch.ts";
import type { Random } from "../../../src/core/ports.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { seededRandom, settle } from "../../../src/testing/fake-ports.ts";
import { beginTask, eachOf, hashOf, inBatches, pick, play, tryOut } from "./play-task.ts";
import { loadWorlds, worldsPresent, type RecordedCall, type RecordedTask } from "./recorded-worlds.ts";
import { Score, totalsOf } from "./score.ts";
import { stateHash } from "./state-hash.ts";
import { traceRuntime } from "./trace-runtime.ts";
import type { TraceProbe, TraceStep } from "./trace-tools.ts";
import { inCI } from "../../ci.ts";
import { testInCI } from "../../test-in-ci.ts";

const SESSIONS = inCI ? 500 : 20;

const SEED = 20_260_302;

/** Lets other sessions in before and after each change, and notes what a call sees of any session but its own. */
function mixingProbe(tasks: readonly RecordedTask[], score: Score): TraceProbe {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const look = async ({ call, context }: TraceStep): Promise<void> => {
    await settle();
    const task = byId.get(String(context.data["task"]));
    const seen = context.history.slice(task?.start.size).map((past) => [past.call.name, past.call.input]);
    const own = task?.calls.slice(0, seen.length).map((past) => [`${past.toolset}::${past.name}`, past.arguments]);
    score.add("histories seen");
    score.hold(isDeepStrictEqual(seen, own), `${task?.id}: ${call.name} saw another history than its own`);
  };
  return { before: look, after: settle };
}

function shuffled<Item>(items: readonly Item[]): readonly Item[] {
  const random = seededRandom(SEED);
  const keyed = items.map((item) => ({ item, key: random.next() }));
  return keyed.sort((one, other) => one.key - other.key).map(({ item }) => item);
}

describe.skipIf(!worldsPresent)("recorded worlds at once", () => {
  const worlds = loadWorlds();

  testInCI("L35 F0.36 many tasks, 64 at a time on one runtime, each reach their own results and states", { timeout: 240_000 }, async () => {
    const tasks = worlds.flatMap((world) => world.tasks).filter((_, index) => index % 4 === 0);
    const score = new Score();
    await using runtime = await traceRuntime(worlds, { probe: mixingProbe(tasks, score) });
    await eachOf(shuffled(tasks), 64, async (task, index) => {
      const random = seededRandom(SEED + index);
      await using session = runtime.session();
      await beginTask(session, task);
      const batches = inBatches(task.calls, random);
      for (let from = 0; from < batches.length;) {
        // Turns of one session that are asked for together wait for one another.
        const together = batches.slice(from, from + 1 + Math.floor(random.next() * 2));
        const trial = random.next() < 0.5 ? tryOut(session, task, together[0] ?? []) : undefined;
        await Promise.all(together.map(async (batch) => score.holdResults(task, batch, await play(session, task, batch))));
        await trial;
        from += together.length;
      }
      score.holdEnd(task, session);
    });
    score.print(`64 at a time (seed ${SEED})`);
    expect(score.faults).toEqual([]);
    expect(score.totals).toEqual(totalsOf(tasks));
    expect(score.count("histories seen")).toBeGreaterThan(score.totals.calls);
    expect(runtime.running).toEqual([]);
  });

  test(
    `L09 ${SESSIONS} concurrent sessions of 10 calls each, half simulated first, give the correct state after every call`,
    { timeout: 240_000 },
    async () => {
      const small = worlds.filter((world) => ["tau2-bench-telecom", "bfcl"].includes(world.name));
      const tasks = small.flatMap((world) => world.tasks).filter((task) => task.finalHash !== undefined && task.calls.length > 0);
      const expected = new Map(tasks.map((task) => [task, statesOf(task)]));
      const score = new Score();
      await using runtime = await traceRuntime(small, { probe: { before: settle } });
      const startedAt = performance.now();
      const sessions = Array.from({ length: SESSIONS }, () => runtime.session());
      await Promise.all(
        sessions.map((session, index) => tenCalls({ session, random: seededRandom(SEED + index), tasks, expected, score })),
      );
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      score.print(`${SESSIONS} sessions at once in ${seconds} s, ${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB (seed ${SEED})`);
      expect(score.faults).toEqual([]);
      expect(score.totals.calls).toBe(SESSIONS * CALLS);
      expect(score.count("states")).toBe(SESSIONS * CALLS);
      expect(score.count("simulations")).toBeGreaterThan((SESSIONS * CALLS) / 3);
    },
  );
});

const CALLS = 10;

/** The hash of the state after each call, by the patches alone. */
function statesOf(task: RecordedTask): readonly string[] {
  const parts = new Map(task.start);
  return task.calls.map(({ toolset, patch }) => {
    parts.set(toolset, applyPatch(parts.get(toolset), patch) ?? null);
    return stateHash(task.whole(parts));
  });
}

interface Plan {
  readonly session: RuntimeSession;
  readonly random: Random;
  readonly tasks: readonly RecordedTask[];
  readonly expected: ReadonlyMap<RecordedTask, readonly string[]>;
  readonly score: Score;
}

/** Plays one task after another in a session until so many calls are made. */
async function tenCalls({ session, random, tasks, expected, score }: Plan): Promise<void> {
  for (let left = CALLS; left > 0;) {
    const task = pick(random, tasks);
    await beginTask(session, task);
    for (const [index, call] of task.calls.slice(0, left).entries()) {
      if (random.next() < 0.5) await tryFirst(session, task, call, score);
      score.holdResults(task, [call], await play(session, task, [call]));
      score.add("states");
      score.hold(hashOf(session, task) === expected.get(task)?.[index], `${task.id}: the state after call ${index}`);
      left--;
    }
  }
}

async function tryFirst(session: RuntimeSession, task: RecordedTask, call: RecordedCall, score: Score): Promise<void> {
  const before = hashOf(session, task);
  await tryOut(session, task, [call]);
  score.add("simulations");
  score.hold(hashOf(session, task) === before, `${task.id}: a simulation left a trace`);
}
