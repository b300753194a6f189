/** Programs of the version before and of this one side by side on one store, and the migration between them. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { DatabaseStore } from "../../../src/store/database/database-store.ts";
import { CURRENT_VERSION, migrate, findPendingSteps } from "../../../src/store/sql/migrate.ts";
import { SqlDatabase } from "../../../src/store/sql/sql-database.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { checkStore } from "../../../src/store/upkeep/check-store.ts";
import { messageEvent, messageEvents } from "../../../src/testing/store-case.ts";
import { InThreadDatabase } from "../../../src/store/database/in-thread-database.ts";
import { PICTURE, SUBJECTS, append, type Kept, type KeptMaker } from "./kept-store.ts";

const START = 120_000;
const BEFORE = CURRENT_VERSION - 1;

/** As the program of the version before has it: its tables, and nothing that came since. */
async function earlierStore(kept: Kept): Promise<Store> {
  const connection = await kept.connection();
  const prepare = async (): Promise<void> => migrate(connection, { upTo: BEFORE });
  const connect = async (): Promise<SqlDatabase> =>
    new SqlDatabase({ ...connection, close: async () => {} }, { maxCacheBytes: 64e6, prepare });
  const database = new InThreadDatabase({ place: "The store", heartbeatMs: 5_000, connect });
  const store = new DatabaseStore(database, {
    kind: "earlier",
    outlivesProcess: true,
    place: "The store",
    readOnly: false,
    maxBufferedBytes: 64e6,
  });
  onTestFinished(() => store.close());
  return store;
}

for (const { name, start, isRun } of SUBJECTS)
  describe.skipIf(!isRun)(`issue 21.5 upgrade, on ${name}:`, { timeout: START }, () => {
    let maker: KeptMaker | undefined;
    beforeAll(async () => {
      maker = await start();
    }, START);
    afterAll(() => maker?.close());

    function keep(): Kept {
      return maker?.keep() ?? expect.fail("the database did not start");
    }

    test("a program of the previous version continues while this one migrates and writes the store; each reads the other's events", async () => {
      const kept = keep();
      const earlier = await earlierStore(kept);
      const log = earlier.create("earlier", { at: 1, durability: "sync" });
      log.append(messageEvents("earlier", 1, 2));
      await log.whenDurable();
      const call = { sessionId: "earlier", callId: "call_1", turnId: "turn_1" } as const;
      expect((await findPendingSteps(await kept.connection())).version).toBe(BEFORE);

      const current = kept.store();
      await append(current, "current", messageEvents("current", 1, 3));
      expect((await findPendingSteps(await kept.connection())).pending).toEqual([]);
      await current.artifacts.put({ artifact: PICTURE, at: 1 });

      log.append([messageEvent("earlier", 3), { type: "job-start", ...call, at: 4, toolName: "t", mode: "background", notify: true }]);
      await log.whenDurable();
      expect((await current.read("earlier")).events).toEqual([
        ...messageEvents("earlier", 1, 3),
        expect.objectContaining({ type: "job-start" }),
      ]);
      expect((await earlier.read("current")).events).toEqual(messageEvents("current", 1, 3));
      expect((await current.jobs.list()).map(({ id }) => id)).toEqual(["call_1"]);
      expect((await current.feed.read({ after: "0" })).entries).toHaveLength(7);
      await expect(current.claim("earlier")).rejects.toMatchObject({ code: "resource_busy" });
      await log.close();
      const taken = await current.claim("earlier");
      taken.append([messageEvent("earlier", 5)]);
      await taken.close();
      expect((await earlier.read("earlier", { from: 5 })).events).toEqual([messageEvent("earlier", 5)]);
      const handedBack = await earlier.claim("earlier");
      handedBack.append([messageEvent("earlier", 6)]);
      await handedBack.close();
      for await (const finding of checkStore(await kept.connection())) expect.fail(finding.what);
    });

    test("an older program is refused by a newer store, with both versions named and nothing changed", async () => {
      const kept = keep();
      await append(kept.store(), "a", messageEvents("a", 1, 2));
      await kept.execute(`insert into haft_migration values (${CURRENT_VERSION + 1}, 'from the future')`);
      const refusal = {
        code: "corrupt_record",
        message: expect.stringMatching(
          new RegExp(`has format version ${CURRENT_VERSION + 1}; this version of Haft supports versions up to ${CURRENT_VERSION}\\.$`, "u"),
        ),
        hint: "Nothing was changed. Open it with the version of Haft that wrote it, or with a newer one.",
      };
      await expect(kept.store().open()).rejects.toMatchObject(refusal);
      await expect(findPendingSteps(await kept.connection())).rejects.toMatchObject(refusal);
      await expect(checkStore(await kept.connection()).next()).rejects.toMatchObject(refusal);
    });

    test("each step is committed separately: after a failed step, earlier ones are retained, and the rest is done later", async () => {
      const kept = keep();
      await migrate(await kept.connection(), { upTo: 3 });
      await kept.execute("create table haft_webhook (id text)"); // in the way of version 6
      const done: number[] = [];
      const onDone = ({ version }: { readonly version: number }): void => void done.push(version);
      await expect(migrate(await kept.connection(), { onDone })).rejects.toThrow("haft_webhook");
      expect([done, (await findPendingSteps(await kept.connection())).version]).toEqual([[4, 5], 5]);
      await kept.execute("drop table haft_webhook");
      await migrate(await kept.connection(), { onDone });
      expect(done).toEqual(Array.from({ length: CURRENT_VERSION - 3 }, (_, index) => index + 4));
      for await (const finding of checkStore(await kept.connection())) expect.fail(finding.what);
    });

    test.skipIf(name === "SQLite")("of several simultaneous migrations, one runs each step", async () => {
      const kept = keep();
      await migrate(await kept.connection(), { upTo: 1 });
      const done: number[] = [];
      const onDone = ({ version }: { readonly version: number }): void => void done.push(version);
      const connections = await Promise.all([kept.connection(), kept.connection(), kept.connection()]);
      await Promise.all(connections.map((connection) => migrate(connection, { onDone })));
      expect(done.toSorted((one, other) => one - other)).toEqual(Array.from({ length: CURRENT_VERSION - 1 }, (_, index) => index + 2));
    });
  });
