/** Recorded worlds whose runtime is lost in the midst of a random call, and goes on from the store in another one. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Store } from "../../../src/core/store/store.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { seededRandom } from "../../../src/testing/fake-ports.ts";
import { crashAndResume, Holder, Starts } from "./crash-task.ts";
import { eachOf } from "./play-task.ts";
import { loadWorlds, worldsPresent, type RecordedTask } from "./recorded-worlds.ts";
import { Score, totalsOf } from "./score.ts";
import { traceRuntime } from "./trace-runtime.ts";
import type { TraceStep } from "./trace-tools.ts";
import { useSqliteThreads } from "../../bundled-threads.ts";
import { IN_CI, inCI } from "../../ci.ts";

useSqliteThreads();

const SEED = 20_260_304;

const folder = mkdtempSync(join(tmpdir(), "haft-worlds-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(!worldsPresent || !inCI)(`recorded worlds and a crash ${IN_CI}`, () => {
  const worlds = loadWorlds();
  const tasks = worlds.flatMap((world) => world.tasks);
  /** Every so many tasks, and fewer of those whose state is large. */
  const everySo = (step: number, stepOfLarge: number): readonly RecordedTask[] =>
    tasks.filter((task, index) => index % (LARGE.test(task.id) ? stepOfLarge : step) === 0);

  /** The two runtimes' stores: of one file, or one and the same. */
  async function crashEach(sample: readonly RecordedTask[], stores: readonly [Store, Store], width: number): Promise<Score> {
    for (const store of stores) await store.open();
    const score = new Score();
    const starts = new Starts(worlds);
    const holder = new Holder();
    const note = ({ context }: TraceStep): void => starts.note(context.callId, context.toolName, context.idempotencyKey);
    const before = (step: TraceStep): Promise<void> => {
      note(step);
      return holder.before(step);
    };
    const first = await traceRuntime(worlds, { store: stores[0], probe: { before, after: holder.after } });
    const second = await traceRuntime(worlds, { store: stores[1], probe: { before: async (step) => note(step) } });
    await eachOf(sample, width, (task, index) =>
      crashAndResume({ first, second, holder, starts, random: seededRandom(SEED + index), score }, task),
    );
    score.wrong.push(...starts.wrong);
    score.add("calls run again", starts.repeated);
    await second.close();
    if (stores[0] !== stores[1]) await first.close();
    return score;
  }

  test(
    "L35 a session resumed from memory after a crash in a random call ends correctly, and no write ran twice",
    { timeout: 240_000 },
    async () => {
      const store = memoryStore();
      const sample = everySo(6, 24);
      const score = await crashEach(sample, [store, store], 8);
      score.print(`crashed and resumed, memory store (seed ${SEED})`);
      expect(score.faults).toEqual([]);
      expectAll(score, sample);
    },
  );

  test(
    "L35 I04 a session resumed from a SQLite file by another store ends correctly, and no write ran twice",
    { timeout: 240_000 },
    async () => {
      const sample = everySo(8, 40);
      const path = join(folder, "crash.db");
      const score = await crashEach(sample, [sqliteStore({ path }), sqliteStore({ path })], 8);
      score.print(`crashed and resumed, SQLite (seed ${SEED})`);
      expect(score.faults).toEqual([]);
      expectAll(score, sample);
    },
  );
});

/** Tasks whose state is a megabyte or more. */
const LARGE = /^tau-bench|^tau2-bench-retail/;

/** Each task is looked at twice: at its end, and when the lost runtime has gone on. */
function expectAll(score: Score, tasks: readonly RecordedTask[]): void {
  const totals = totalsOf(tasks);
  expect(score.totals).toEqual({ ...totals, tasks: 2 * totals.tasks, "final states": 2 * totals["final states"] });
  expect(score.count("interrupted writes")).toBeGreaterThan(tasks.length / 4);
  expect(score.count("interrupted reads")).toBeGreaterThan(tasks.length / 20);
  expect(score.count("calls run again")).toBeGreaterThan(0);
}
