/** Recorded worlds, played by `execute` and tried by `simulate`: every result, every state. Skipped where the recordings are absent. */
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import type { Random } from "../../../src/core/ports.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import type { Simulation } from "../../../src/runtime/session-options.ts";
import { seededRandom } from "../../../src/testing/fake-ports.ts";
import { inCI } from "../../ci.ts";
import { beginTask, comparable, hashOf, inBatches, pick, play, tryOut } from "./play-task.ts";
import { loadWorlds, worldsPresent, type RecordedCall, type RecordedTask } from "./recorded-worlds.ts";
import { Score, totalsOf } from "./score.ts";
import { stateHash, uncachedStateHash } from "./state-hash.ts";
import { traceRuntime } from "./trace-runtime.ts";

const SEED = 20_260_301;
/** Each task in CI, elsewhere one of twenty. */
const EVERY = inCI ? 1 : 20;
/** What is simulated besides takes several times as long: in CI a quarter of the tasks. */
const EVERY_SIMULATED = inCI ? 4 : 1;

/** What must not change while calls are tried. */
function contents(session: RuntimeSession, task: RecordedTask) {
  return { hash: hashOf(session, task), log: [...session.log], history: session.history };
}

function isUnchanged(session: RuntimeSession, task: RecordedTask, before: ReturnType<typeof contents>): boolean {
  const { log } = session;
  const isSameLog = log.length === before.log.length && log.every((event, index) => event === before.log[index]);
  return isSameLog && hashOf(session, task) === before.hash && isDeepStrictEqual(session.history, before.history);
}

/** Whether a simulation said what state a session would have. */
function matchesSimulation({ diff }: Simulation, session: RuntimeSession): boolean {
  return diff.state.every(({ toolset, key, after }) => isDeepStrictEqual(session.state(toolset, key), after));
}

/** Calls to be tried in vain: the next ones, more than there are, another task's, and such as no tool would take. */
function anyCalls(random: Random, task: RecordedTask, done: number): readonly RecordedCall[] {
  const next = task.calls.slice(done, done + 1 + Math.floor(random.next() * 4));
  const other = pick(random, task.calls);
  const kinds = [next, [...next, other], [other], [{ ...other, arguments: { ...other.arguments, nonsense: [null] } }]];
  return pick(random, kinds);
}

describe.skipIf(!worldsPresent)("recorded worlds", () => {
  const worlds = loadWorlds();
  const tasks = worlds.flatMap((world) => world.tasks).filter((_, index) => index % EVERY === 0);
  const simulated = tasks.filter((_, index) => index % EVERY_SIMULATED === 0);
  const totals = totalsOf(tasks);

  test("L35 F0.33 every call on its own gives the recorded result or error, and the recorded state", { timeout: 240_000 }, async () => {
    await using runtime = await traceRuntime(worlds);
    const score = new Score();
    for (const task of tasks) {
      await using session = runtime.session();
      await beginTask(session, task);
      for (const call of task.calls) {
        const before = hashOf(session, task);
        score.holdResults(task, [call], await play(session, task, [call]));
        const after = hashOf(session, task);
        score.hold(call.patch.length > 0 || before === after, `${task.id}: ${call.name} changed the state`);
        if (call.hashes === undefined) continue;
        score.add("states between calls", 2);
        score.hold(isDeepStrictEqual(call.hashes, [before, after]), `${task.id}: ${call.name} went from ${before} to ${after}`);
      }
      score.holdEnd(task, session);
    }
    score.print("executed");
    const hashed = tasks.flatMap((task) => task.calls.filter((call) => call.hashes !== undefined));
    expect(score.faults).toEqual([]);
    expect(score.totals).toEqual(totals);
    expect(score.count("states between calls")).toBe(2 * hashed.length);
  });

  test("L35 F0.34 simulating a batch first changes nothing, and predicts results and state", { timeout: 240_000 }, async () => {
    const random = seededRandom(SEED);
    await using runtime = await traceRuntime(worlds);
    const score = new Score();
    for (const task of simulated) {
      await using session = runtime.session();
      await beginTask(session, task);
      for (const batch of inBatches(task.calls, random)) {
        const before = contents(session, task);
        const simulation = await tryOut(session, task, batch);
        score.hold(isUnchanged(session, task, before), `${task.id}: a simulation left a trace`);
        const results = await play(session, task, batch);
        score.holdResults(task, batch, results);
        score.hold(isDeepStrictEqual(simulation.results.map(comparable), results.map(comparable)), `${task.id}: simulated results differ`);
        score.hold(matchesSimulation(simulation, session), `${task.id}: the simulated state differs`);
        score.add("batches");
      }
      score.holdEnd(task, session);
    }
    score.print(`simulated and executed in random batches (seed ${SEED})`);
    expect(score.faults).toEqual([]);
    expect(score.totals).toEqual(totalsOf(simulated));
  });

  test(
    "L35 one to three simulations of any calls, before or during each execute, change no result and no state",
    { timeout: 240_000 },
    async () => {
      const random = seededRandom(SEED);
      await using runtime = await traceRuntime(worlds);
      const score = new Score();
      const sample = simulated.filter((_, index) => index % 2 === 0);
      for (const task of sample) {
        await using session = runtime.session();
        await beginTask(session, task);
        for (const [done, call] of task.calls.entries()) {
          const trials = Array.from({ length: 1 + Math.floor(random.next() * 3) }, () =>
            tryOut(session, task, anyCalls(random, task, done)),
          );
          if (random.next() < 0.5) await Promise.all(trials);
          score.holdResults(task, [call], await play(session, task, [call]));
          await Promise.all(trials);
          score.add("simulations", trials.length);
        }
        score.holdEnd(task, session);
      }
      score.print(`executed among random simulations (seed ${SEED})`);
      expect(score.faults).toEqual([]);
      expect(score.totals).toEqual(totalsOf(sample));
      expect(score.count("simulations")).toBeGreaterThan(score.totals.calls);
    },
  );

  test("the start states of the tasks are unchanged after they were played", () => {
    const begun = new Set(tasks.flatMap((task) => [...task.start.values()]));
    const changed = [...begun].filter((value) => uncachedStateHash(value) !== stateHash(value));
    expect(begun.size).toBeGreaterThan(inCI ? 100 : 20);
    expect(changed).toEqual([]);
  });
});
