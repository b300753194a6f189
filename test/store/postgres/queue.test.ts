/** The queue of sessions over a real PostgreSQL server, by pg-boss. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { SessionQueue } from "../../../src/core/store/session-queue.ts";
import { postgresStore } from "../../../src/store/postgres-store.ts";
import { postgresPrograms, startPostgres, type PostgresServer } from "./server.ts";
import { withTelemetry } from "../../telemetry/with-telemetry.ts";
import { testInCI } from "../../test-in-ci.ts";

const START = 120_000;

describe.skipIf(postgresPrograms === undefined)("issue 21.3 the queue of sessions:", { timeout: START }, () => {
  let running: PostgresServer | undefined;
  beforeAll(async () => {
    running = await startPostgres({}, "trust");
  }, START);
  afterAll(() => running?.remove());

  async function queueOf(schema: string): Promise<SessionQueue> {
    const store = postgresStore({ url: running?.url ?? "", schema });
    onTestFinished(() => store.close().catch(() => {}));
    const queue = store.queue ?? expect.fail("the store has no queue");
    await queue.open();
    return queue;
  }

  const onError = (error: unknown): never => expect.fail(String(error));

  test("two processes take many sessions, each once and never more than they have room for, and return them together", async () => {
    const [one, other] = [await queueOf("many"), await queueOf("many")];
    const ids = Array.from({ length: 40 }, (_, index) => `session ${index} \u0000\ud800`);
    const worked: string[] = [];
    const all = Promise.withResolvers<void>();
    const most: number[] = [];
    const takes = [one, other].map((queue, index) => {
      let held = 0;
      const work = async (id: string): Promise<void> => {
        most[index] = Math.max(most[index] ?? 0, ++held);
        await new Promise((resolve) => setImmediate(resolve));
        held--;
        if (worked.push(id) === ids.length) all.resolve();
      };
      return queue.take(work, { concurrency: 4, onError });
    });
    expect(await one.offer(ids)).toBe(ids.length);
    await all.promise;
    for (const taken of await Promise.all(takes)) await taken.stop();
    expect(worked.toSorted()).toEqual(ids.toSorted());
    expect(Math.max(...most)).toBeLessThanOrEqual(4);
    const left = await running?.execute("select state, count(*)::int as n from many_jobs.job where name = 'haft-sessions' group by state");
    expect(left).toEqual([{ state: "completed", n: ids.length }]);
    expect(await other.offer(ids.slice(0, 3))).toBe(3); // they may be offered again
    expect(await one.offer(ids.slice(0, 3))).toBe(0);
  });

  test("polling for sessions creates no spans and no metrics, even with OpenTelemetry enabled", async () => {
    const { spans, points } = await withTelemetry(async () => {
      const queue = await queueOf("traced");
      const done = Promise.withResolvers<void>();
      const taken = await queue.take(async () => done.resolve(), { concurrency: 2, onError });
      await queue.offer(["one"]);
      await done.promise;
      await taken.stop();
    });
    expect({ spans, points }).toEqual({ spans: [], points: [] });
  });

  testInCI("a session whose work rejects is taken again, without delaying the others", async () => {
    const queue = await queueOf("again");
    const tries: string[] = [];
    const again = Promise.withResolvers<void>();
    const work = async (id: string): Promise<void> => {
      tries.push(id);
      if (id !== "bad") return;
      if (tries.filter((one) => one === "bad").length === 1) throw new Error("It cannot be opened now.");
      again.resolve();
    };
    const taken = await queue.take(work, { concurrency: 2, onError });
    await queue.offer(["bad", "good"]);
    await again.promise;
    await taken.stop();
    expect(tries.toSorted()).toEqual(["bad", "bad", "good"]);
  });
});
