import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { postgresStore, type PostgresStoreOptions } from "../../../src/store/postgres-store.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { messageEvent, messageEvents } from "../../../src/testing/store-case.ts";
import { IN_CI, inCI } from "../../ci.ts";
import { runCrashDrill, type KillReport } from "../crash-drill.ts";
import { readOutput, startTogether, startProcess, type StoreProcess } from "../run-process.ts";
import { postgresPrograms, startPostgres, type PostgresServer } from "./server.ts";

const START = 120_000;
/** That of store-process.ts. */
const LEASE_MS = 500;
/** `node scripts/crash-drill.mjs 300 1 postgres` kills more often. */
const KILLS = 20;
const STOPS = 3;

describe.skipIf(postgresPrograms === undefined || !inCI)(
  `issue 21 processes over one PostgreSQL server ${IN_CI}:`,
  { timeout: 600_000 },
  () => {
    let running: PostgresServer | undefined;
    beforeAll(async () => {
      running = await startPostgres();
    }, START);
    afterAll(() => running?.remove());

    function server(): PostgresServer {
      return running ?? expect.fail("the server did not start");
    }

    function open(options: Partial<PostgresStoreOptions> = {}): Store {
      return postgresStore({ url: server().url, leaseMs: LEASE_MS, ...options });
    }

    async function empty(): Promise<void> {
      await server().execute("drop schema if exists haft cascade");
    }

    test("I03 L07 killing a process at any moment leaves every acknowledged event once and in order", async () => {
      const reports: KillReport[] = [];
      const drill = { path: server().url, open, empty, kills: KILLS, seed: 7, mostLines: 60 };
      await runCrashDrill({ ...drill, onKill: (report) => reports.push(report) });
      expect(reports).toHaveLength(KILLS);
      expect(reports.reduce((sum, { acknowledged }) => sum + acknowledged, 0)).toBeGreaterThan(KILLS * 20);
    });

    test("I04 a process suspended beyond its lease is rejected by the epoch of the next claim", async () => {
      await empty();
      let refused = 0;
      for (let stop = 0; stop < STOPS; stop++) {
        const id = `stopped ${stop}`;
        const writer = startProcess("endless", server().url, [id]);
        for (let line = 0; line < 5; line++) await readOutput(writer);
        writer.child.kill("SIGSTOP");
        const store = open();
        const log = await claimWhenFree(store, id);
        log.append([messageEvent(id, log.length + 1)]);
        await log.whenDurable();
        const { length } = log;
        writer.child.kill("SIGCONT");
        if ((await readLastOutput(writer)) === "conflict") refused++;
        expect(await writer.ended).toBe(0);
        expect((await store.read(id, { limit: 5_000 })).events).toEqual(messageEvents(id, 1, length));
        await store.close();
      }
      expect(refused).toBe(STOPS);
    });

    test("of two processes that create or claim the same sessions at once, exactly one gets each", async () => {
      await empty();
      const ids = Array.from({ length: 20 }, (_, index) => `session ${index}`);
      expect(await race("create", ids)).toEqual(ids.map(() => ["duplicate", "won"]));
      const store = open();
      for (const id of ids) await claimWhenFree(store, id).then((log) => log.close());
      await store.close();
      expect(await race("claim", ids)).toEqual(ids.map(() => ["resource_busy", "won"]));
    });

    test("I13 several processes that open a new database create its tables once", async () => {
      await empty();
      const writers = ["a", "b", "c"].map((id) => startProcess("write", server().url, [id]));
      await startTogether(writers);
      expect(await Promise.all(writers.map(({ ended }) => ended))).toEqual([0, 0, 0]);
      const store = open();
      for (const id of ["a", "b", "c"]) expect((await store.read(id)).events).toEqual(messageEvents(id, 1, 100));
      await store.close();
      const [steps] = await server().execute("select count(*) = max(version) as once from haft.haft_migration");
      expect(steps).toEqual({ once: true });
    });

    async function race(action: string, ids: readonly string[]): Promise<readonly (readonly string[])[]> {
      const racers = [startProcess(action, server().url, ids), startProcess(action, server().url, ids)];
      await startTogether(racers);
      const outcomes: (readonly unknown[])[] = [];
      for (let id = 0; id < ids.length; id++) outcomes.push(await Promise.all(racers.map(readOutput)));
      for (const { child } of racers) child.kill("SIGKILL");
      for (const { ended } of racers) await ended;
      return outcomes.map((pair) => pair.map(String).toSorted());
    }
  },
);

/** The lease is ended by the database's clock, so only the database can say when. */
async function claimWhenFree(store: Store, id: string) {
  for (;;) {
    try {
      return await store.claim(id);
    } catch (error: unknown) {
      expect(error).toMatchObject({ code: "resource_busy" });
    }
  }
}

async function readLastOutput(writer: StoreProcess): Promise<unknown> {
  let last: unknown;
  for (let said = await readOutput(writer); said !== undefined; said = await readOutput(writer)) last = said;
  return last;
}
