/** Recorded worlds left at a random call and gone on from there in branches, in commits and from snapshots. */
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import type { Random } from "../../../src/core/ports.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import type { SessionSnapshot } from "../../../src/runtime/snapshot.ts";
import { seededRandom, settle } from "../../../src/testing/fake-ports.ts";
import { beginTask, comparable, eachOf, hashOf, inBatches, pick, play, tryOut } from "./play-task.ts";
import { loadWorlds, worldsPresent, type RecordedCall, type RecordedTask } from "./recorded-worlds.ts";
import { Score, totalsOf } from "./score.ts";
import { traceRuntime } from "./trace-runtime.ts";
import { IN_CI, inCI } from "../../ci.ts";

const SEED = 20_260_303;

/** Plays calls in random batches. */
async function playAll(session: RuntimeSession, task: RecordedTask, { calls, random, score }: Rest): Promise<void> {
  for (const batch of inBatches(calls, random)) score.holdResults(task, batch, await play(session, task, batch));
}

interface Rest {
  readonly calls: readonly RecordedCall[];
  readonly random: Random;
  readonly score: Score;
}

/** A history without what two runs of the same calls differ in. */
function past(session: RuntimeSession): readonly unknown[] {
  return session.history.map(({ call, input, result }) => [call, input, result === undefined ? undefined : comparable(result)]);
}

const WAYS = ["execute", "simulate", "fork", "simulated fork", "fork of a fork"] as const;

/** Makes calls part of a session, by a branch of it or not. */
async function bring(
  session: RuntimeSession,
  task: RecordedTask,
  calls: readonly RecordedCall[],
  way: (typeof WAYS)[number],
): Promise<readonly ToolResult[]> {
  if (way === "execute") return play(session, task, calls);
  const before = { hash: hashOf(session, task), length: session.length };
  const unchanged = (): void => expect({ hash: hashOf(session, task), length: session.length }).toEqual(before);
  if (way === "simulate") {
    const { results, commit } = await tryOut(session, task, calls);
    unchanged();
    await commit();
    return results;
  }
  const branch = session.fork({ simulated: way === "simulated fork" });
  const results = await (way === "fork of a fork" ? bring(branch, task, calls, "fork") : play(branch, task, calls));
  unchanged();
  await branch.commit();
  return results;
}

describe.skipIf(!worldsPresent || !inCI)(`recorded worlds in branches ${IN_CI}`, () => {
  const worlds = loadWorlds();
  const tasks = worlds.flatMap((world) => world.tasks);
  /** Every so many tasks, of every world. */
  const sample = (step: number): readonly RecordedTask[] => tasks.filter((_, index) => index % step === 0);

  test("L35 F0.32 a task forked at a random call ends correctly in the branch and in the session", { timeout: 240_000 }, async () => {
    const score = new Score();
    await using runtime = await traceRuntime(worlds, { probe: { before: settle } });
    const forked = sample(6);
    await eachOf(forked, 16, async (task, index) => {
      const random = seededRandom(SEED + index);
      await using session = runtime.session();
      await beginTask(session, task);
      const done = Math.floor(random.next() * (task.calls.length + 1));
      await playAll(session, task, { calls: task.calls.slice(0, done), random, score });
      const rest = { calls: task.calls.slice(done), random, score };
      // A branch that is taken while a turn runs begins before it.
      const branchFirst = random.next() < 0.5 ? session.fork() : undefined;
      const running = playAll(session, task, rest);
      const branch = branchFirst ?? session.fork();
      await Promise.all([running, playAll(branch, task, rest)]);
      score.holdEnd(task, branch);
      score.holdEnd(task, session);
      score.add("calls in both", rest.calls.length);
      score.hold(isDeepStrictEqual(past(branch), past(session)), `${task.id}: the branch remembers other calls than the session`);
      await branch.close();
    });
    score.print(`forked (seed ${SEED})`);
    const totals = totalsOf(forked);
    expect(score.faults).toEqual([]);
    expect({ ...score.totals, "recorded errors": 0 }).toEqual({
      tasks: totals.tasks * 2,
      calls: totals.calls + score.count("calls in both"),
      "final states": totals["final states"] * 2,
      "recorded errors": 0,
    });
    expect(score.count("calls in both")).toBeGreaterThan(totals.calls / 3);
  });

  test("L35 committed branches and simulations give the same state as execute", { timeout: 240_000 }, async () => {
    const random = seededRandom(SEED);
    const score = new Score();
    await using runtime = await traceRuntime(worlds);
    const brought = sample(6);
    for (const task of brought) {
      await using session = runtime.session();
      await using plain = runtime.session();
      await beginTask(session, task);
      await beginTask(plain, task);
      for (const batch of inBatches(task.calls, random)) {
        const way = pick(random, WAYS);
        score.holdResults(task, batch, await bring(session, task, batch, way));
        await play(plain, task, batch);
        score.add(way);
      }
      score.holdEnd(task, session);
      score.hold(isDeepStrictEqual(past(session), past(plain)), `${task.id}: the history is another than that of execute alone`);
    }
    score.print(`brought in by commits (seed ${SEED})`);
    expect(score.faults).toEqual([]);
    expect(score.totals).toEqual(totalsOf(brought));
    expect(WAYS.filter((way) => score.count(way) < 50)).toEqual([]);
  });

  test("L35 a branch whose session has changed cannot be committed, and the session ends correctly", { timeout: 240_000 }, async () => {
    const random = seededRandom(SEED);
    const score = new Score();
    const moving = sample(8).filter((task) => task.calls.length > 1);
    await using runtime = await traceRuntime(worlds);
    for (const task of moving) {
      await using session = runtime.session();
      await beginTask(session, task);
      const done = 1 + Math.floor(random.next() * (task.calls.length - 1));
      const branch = session.fork({ simulated: random.next() < 0.5 });
      await play(branch, task, task.calls.slice(0, done));
      await playAll(session, task, { calls: task.calls, random, score });
      const refusal = await branch.commit().then(
        () => "committed",
        (error: { readonly code?: string }) => error.code,
      );
      score.hold(refusal === "conflict", `${task.id}: ${refusal}`);
      score.holdEnd(task, session);
      await branch.close();
    }
    score.print(`with branches refused (seed ${SEED})`);
    expect(score.faults).toEqual([]);
    expect(score.totals).toEqual(totalsOf(moving));
  });

  test("L35 F0.54 a task continues from a JSON snapshot in another runtime, and ends correctly", { timeout: 240_000 }, async () => {
    const random = seededRandom(SEED);
    const score = new Score();
    // A snapshot of a large world is a megabyte or more of text.
    const restoring = sample(6).filter((task, index) => index % 4 === 0 || SMALL.test(task.id));
    await using first = await traceRuntime(worlds);
    await using second = await traceRuntime(worlds);
    for (const task of restoring) {
      await using session = first.session();
      await beginTask(session, task);
      const done = Math.floor(random.next() * (task.calls.length + 1));
      await playAll(session, task, { calls: task.calls.slice(0, done), random, score });
      const text = JSON.stringify(await session.snapshot());
      await using restored = second.session(undefined, { from: JSON.parse(text) as SessionSnapshot }); // its reader trusts nothing
      score.hold(hashOf(restored, task) === hashOf(session, task), `${task.id}: the state of the snapshot`);
      score.hold(isDeepStrictEqual(restored.history, session.history), `${task.id}: the history of the snapshot`);
      await playAll(restored, task, { calls: task.calls.slice(done), random, score });
      score.holdEnd(task, restored);
    }
    score.print(`restored from snapshots (seed ${SEED})`);
    expect(score.faults).toEqual([]);
    expect(score.totals).toEqual(totalsOf(restoring));
  });
});

const SMALL = /^(?:bfcl|tau2-bench-telecom)/;
