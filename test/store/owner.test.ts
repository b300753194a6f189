/** Owners of open sessions: when they count as alive, and when not. */
import { sql, type Kysely, type KyselyPlugin } from "kysely";
import { describe, expect, onTestFinished, test } from "vitest";
import { connectStore } from "../../src/store/connect-store.ts";
import { HEARTBEAT_MS, LEASE_MS } from "../../src/store/records/store-options.ts";
import { migrate } from "../../src/store/sql/migrate.ts";
import { Owner } from "../../src/store/sql/owner.ts";
import type { SqlConnection } from "../../src/store/sql/sql-connection.ts";
import type { Tables } from "../../src/store/sql/tables.ts";
import { FakeClock } from "../../src/testing/fake-ports.ts";
import { temporaryFile } from "./temporary-file.ts";

const DAY_MS = 86_400_000;

test("issue 21.2 an owner that leaves during a heartbeat stays removed: its sessions are free at once", async () => {
  const connection = await connectStore({ path: temporaryFile() });
  onTestFinished(() => connection.close());
  await migrate(connection);
  const owner = new Owner(connection);
  await connection.tables.transaction().execute((transaction) => owner.register(transaction));
  owner.confirmRegistration();
  const answered = Promise.withResolvers<void>();
  const slow: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      await answered.promise;
      return result;
    },
  };
  const beat = owner.sendHeartbeat(connection.tables.withPlugin(slow));
  const left = owner.unregister(connection.tables);
  await new Promise((resolve) => setImmediate(resolve));
  answered.resolve();
  await Promise.all([beat, left]);
  expect(await connection.tables.selectFrom("haft_owner").select("id").execute()).toEqual([]);
  expect(await new Owner(connection).listLiving(connection.tables)).toEqual([]);
});

/** Owners over one database whose clock can be set, while the time that elapses goes on. */
async function fleetOfOwners() {
  const connection = await connectStore({ path: temporaryFile() });
  onTestFinished(() => connection.close());
  await migrate(connection);
  const clock = new FakeClock();
  let aheadMs = 0;
  const seen: SqlConnection = {
    ...connection,
    liveness: { leaseMs: LEASE_MS, seesProcesses: false, clock },
    get databaseTime() {
      return sql<number>`${clock.wallTime() + aheadMs}`;
    },
  };
  const tables = connection.tables;
  const register = async (owner: Owner): Promise<string> => {
    await tables.transaction().execute((transaction) => owner.register(transaction));
    owner.confirmRegistration();
    return owner.id ?? "";
  };
  return {
    tables,
    clock,
    register,
    owner: () => new Owner(seen),
    setClock: (ms: number) => void (aheadMs += ms),
  };
}

/** What a look finds of an owner that lives. */
async function found(
  owner: Owner,
  look: "listLiving" | "gone" | "describe" | "all" | "describeOthers",
  of: { readonly tables: Kysely<Tables>; readonly id: string },
) {
  const { tables, id } = of;
  if (look === "gone") return (await owner.filterGone(tables, [id])).length === 0 ? id : undefined;
  if (look === "describe") return await owner.describe(tables, id);
  if (look === "all") return (await owner.listAll(tables)).filter(({ isAlive }) => isAlive);
  return await owner[look](tables);
}

test("I04 after an outage of the database, owners that live are not gone, and those that ended before it are", async () => {
  const { tables, clock, register, owner } = await fleetOfOwners();
  const [living, ended, looking] = [owner(), owner(), owner()];
  const [endedId, livingId] = [await register(ended), await register(living)];
  await register(looking);
  for (let beats = 0; beats < 4; beats++) {
    await clock.advance(HEARTBEAT_MS);
    for (const one of [living, looking]) await one.sendHeartbeat(tables);
  }
  const secondId = await register(owner()); // ends as the outage begins
  await clock.advance(2 * LEASE_MS);
  const all = [endedId, livingId, secondId];
  expect(await looking.filterGone(tables, all)).toEqual([endedId]);
  await looking.sendHeartbeat(tables);
  expect(await looking.filterGone(tables, all)).toEqual([endedId]);
  await clock.advance(HEARTBEAT_MS);
  for (const one of [living, looking]) await one.sendHeartbeat(tables);
  await clock.advance(HEARTBEAT_MS);
  expect(await looking.filterGone(tables, all)).toEqual([endedId, secondId]);
});

describe("liveness of an owner is judged by elapsed time alone", () => {
  test.each([30_000, -30_000, 600_000, -600_000, 3_600_000, -3_600_000, 2 * DAY_MS, -2 * DAY_MS])(
    "when the database's clock is set by %i ms, a living owner is never gone, and an ended one is gone after three leases",
    async (ms) => {
      const { tables, clock, register, owner, setClock } = await fleetOfOwners();
      const [living, ended, looking, late] = [owner(), owner(), owner(), owner()];
      const [livingId, endedId] = [await register(living), await register(ended)];
      await register(looking);
      expect(await looking.filterGone(tables, [livingId, endedId])).toEqual([]);
      expect(await late.listLiving(tables)).toHaveLength(3);
      setClock(ms);
      for (let passedMs = 0; passedMs <= 3 * LEASE_MS; passedMs += 1_000) {
        if (passedMs % HEARTBEAT_MS === HEARTBEAT_MS - 1_000) for (const one of [living, looking]) await one.sendHeartbeat(tables);
        expect(await looking.filterGone(tables, [livingId])).toEqual([]);
        expect(await looking.listLiving(tables)).toContain(livingId);
        if (passedMs === 2_000) await register(late); // which forgets those that ended long ago
        await clock.advance(1_000);
      }
      expect(await looking.filterGone(tables, [livingId, endedId])).toEqual([endedId]);
      expect(await looking.describe(tables, endedId)).toBeUndefined();
    },
  );

  test("a process that starts after the database's clock was put back waits for a living owner", async () => {
    const { tables, clock, register, owner, setClock } = await fleetOfOwners();
    const [living, ended] = [owner(), owner()];
    const [livingId, endedId] = [await register(living), await register(ended)];
    setClock(-3_600_000);
    const come = owner();
    expect(await come.filterGone(tables, [livingId, endedId])).toEqual([]);
    await clock.advance(HEARTBEAT_MS);
    await living.sendHeartbeat(tables);
    await clock.advance(LEASE_MS - HEARTBEAT_MS);
    expect(await come.filterGone(tables, [livingId, endedId])).toEqual([endedId]);
  });

  const looks = ["listLiving", "gone", "describe", "all", "describeOthers"] as const;
  test.each(looks)("a living owner is found alive by %s while the clock is set or a connection is awaited", async (look) => {
    const { tables, clock, register, owner, setClock } = await fleetOfOwners();
    const [living, looking] = [owner(), owner()];
    const livingId = await register(living);
    for (const meanwhile of [() => setClock(3_600_000), () => clock.advance(LEASE_MS + 1)]) {
      for (let beats = 0; beats <= 4; beats++) {
        await looking.listLiving(tables);
        await clock.advance(HEARTBEAT_MS);
        await living.sendHeartbeat(tables);
      }
      const answered = tables.withPlugin({
        transformQuery: ({ node }) => node,
        async transformResult({ result }) {
          await meanwhile();
          await living.sendHeartbeat(tables);
          return result;
        },
      });
      expect(JSON.stringify((await found(looking, look, { tables: answered, id: livingId })) ?? "")).toContain(
        look === "describeOthers" ? "process" : livingId,
      );
    }
  });

  test.each([200e-6, -200e-6])("an ended owner is gone at once with a steady clock drift of %d and two looks a day", async (drift) => {
    const { clock, tables, register, owner, setClock } = await fleetOfOwners();
    const looking = owner();
    for (let looks = 0; looks < 4; looks++) {
      const endedId = await register(owner());
      await clock.advance(DAY_MS / 2);
      setClock((drift * DAY_MS) / 2);
      expect(await looking.filterGone(tables, [endedId])).toEqual([endedId]);
    }
  });

  test("an owner that ended before this process started is gone at once", async () => {
    const { tables, clock, register, owner } = await fleetOfOwners();
    const endedId = await register(owner());
    await clock.advance(LEASE_MS + 1);
    expect(await owner().filterGone(tables, [endedId])).toEqual([endedId]);
  });
});
