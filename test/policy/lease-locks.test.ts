import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { LeaseLocks } from "../../src/policy/locks/lease-locks.ts";
import { LeaseSlots } from "../../src/policy/locks/lease-slots.ts";
import { ToolError } from "../../src/core/error.ts";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import type { Store } from "../../src/core/store/store.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { locksContract } from "../../src/testing/locks-contract.ts";
import { slotsContract } from "../../src/testing/slots-contract.ts";
import { explainPostgres } from "../../src/store/postgres/postgres-error.ts";
import { FakeClock, MemoryLog, settle } from "../../src/testing/fake-ports.ts";
import { IN_CI, inCI } from "../ci.ts";
import { localStore } from "../store/local-store.ts";
import { postgresPrograms } from "../store/postgres/server.ts";
import { onServer, type StoreMaker } from "../store/postgres/stores.ts";
import { temporaryFile } from "../store/temporary-file.ts";

const POSTGRESQL = `PostgreSQL ${IN_CI}`;
const SKIPPED = new Set(postgresPrograms === undefined || !inCI ? [POSTGRESQL] : []);

let maker: Promise<StoreMaker> | undefined;
afterAll(async () => (await maker)?.close());

/** Two stores over the same data, as two processes have them. */
const subjects: Readonly<Record<string, () => Promise<readonly [Store, Store]>>> = {
  async memory() {
    const store = memoryStore();
    return [store, store];
  },
  async SQLite() {
    const path = temporaryFile();
    return [localStore(path).store, localStore(path).store];
  },
  async [POSTGRESQL]() {
    const { store, empty } = await (maker ??= onServer());
    await empty("leases");
    return [store("leases"), store("leases")];
  },
};

function leasesOf(store: Store): LeaseLocks {
  // Two connections of one thread cannot wait for each other: what is refused as locked is asked for again, and said in the log
  const log = { ...systemPorts.log, warn() {} };
  return new LeaseLocks({ leases: store.leases, ...systemPorts, log });
}

for (const [name, open] of Object.entries(subjects))
  describe.skipIf(SKIPPED.has(name))(`issue 21.4 leases in ${name}:`, { timeout: 60_000 }, () => {
    async function two(): Promise<readonly [LeaseLocks, LeaseLocks, Store]> {
      const [store, other] = await open();
      onTestFinished(async () => {
        await store.close();
        await other.close();
      });
      return [leasesOf(store), leasesOf(other), store];
    }

    test.each(locksContract)("the contract of locks: $title", async ({ run }) => {
      const [locks, other] = await two();
      await run({ locks, other });
    });

    test.each(slotsContract)("the contract of slots: $title", async ({ run }) => {
      const [locks, other] = await two();
      await run({ slots: new LeaseSlots(locks), other: new LeaseSlots(other) });
    });

    test("a request that is cancelled, granted or not, leaves no row", async () => {
      const [locks, other, store] = await two();
      const write = { reads: [], writes: ["a:"], commutative: false };
      const held = locks.request({ owner: "held", ...write });
      await held.whenGranted();
      const waiting = other.request({ owner: "waiting", ...write });
      const atOnce = locks.request({ owner: "at once", ...write });
      await expect.poll(() => waiting.waitingFor()).toContain("held");
      for (const ticket of [atOnce, waiting, held]) ticket.release();
      await expect.poll(() => store.leases.list()).toEqual([]);
    });

    test("a free lock is granted at once, however many requests of its process wait", async () => {
      const [locks, other] = await two();
      const held = other.request({ owner: "writer", reads: [], writes: ["a:"], commutative: false });
      await held.whenGranted();
      const waiting = Array.from({ length: 700 }, (_, n) =>
        locks.request({ owner: `reader ${n}`, reads: ["a:"], writes: [], commutative: false }),
      );
      const free = locks.request({ owner: "free", reads: [], writes: ["b:"], commutative: false });
      await free.whenGranted();
      expect(waiting.filter(({ granted }) => granted)).toEqual([]);
      held.release();
      await Promise.all(waiting.map((ticket) => ticket.whenGranted()));
      for (const ticket of [free, ...waiting]) ticket.release();
    });

    test("a wait that would deadlock is rejected, and its callers continue", async () => {
      const [locks, other, store] = await two();
      const write = (key: string) => ({ reads: [], writes: [key], commutative: false });
      const [outerA, outerB] = [locks.request({ owner: "outer a", ...write("a:") }), other.request({ owner: "outer b", ...write("b:") })];
      await Promise.all([outerA.whenGranted(), outerB.whenGranted()]);
      const innerA = locks.request({ owner: "inner a", ...write("b:"), overtakes: true, within: "outer a" });
      const innerB = other.request({ owner: "inner b", ...write("a:"), overtakes: true, within: "outer b" });
      await Promise.race([innerA.whenGranted(), innerB.whenGranted()]);
      const refused = (await store.leases.list()).some(({ callId }) => callId === "inner a") ? innerB : innerA;
      expect(refused.granted).toBe(false);
      (refused === innerA ? outerA : outerB).release(); // the caller of the one that was refused fails
      const kept = refused === innerA ? innerB : innerA;
      await kept.whenGranted();
      expect(kept.granted).toBe(true);
      for (const ticket of [innerA, innerB, outerA, outerB]) ticket.release();
    });
  });

test("leases released while the database rejects the login are released once it accepts it again", async () => {
  const store = memoryStore();
  const refusal = Object.assign(new Error("password authentication failed"), { code: "28P01" });
  let isRefused = false;
  const leases: Store["leases"] = {
    ...store.leases,
    update: async (changes) => {
      if (isRefused) throw explainPostgres(refusal, "The store could not be used");
      return store.leases.update(changes);
    },
  };
  const clock = new FakeClock();
  const locks = new LeaseLocks({ leases, ...systemPorts, clock, log: { ...systemPorts.log, warn() {} } });
  const ticket = locks.request({ owner: "a", reads: [], writes: ["a:"], commutative: false });
  await ticket.whenGranted();
  isRefused = true;
  ticket.release();
  await clock.advance(10_000);
  expect(await store.leases.list()).toHaveLength(1);
  isRefused = false;
  await clock.advance(60_000);
  expect(await store.leases.list()).toEqual([]);
});

test("leases released while the store fails permanently, for example without its file, are released with the next request", async () => {
  const store = memoryStore();
  let isGone = false;
  const leases: Store["leases"] = {
    ...store.leases,
    update: async (changes) => {
      if (isGone) throw new ToolError("store_failed", "The file is not there any more.", { retryable: false });
      return store.leases.update(changes);
    },
  };
  const clock = new FakeClock();
  const locks = new LeaseLocks({ leases, ...systemPorts, clock, log: { ...systemPorts.log, warn() {} } });
  const write = { reads: [], writes: ["a:"], commutative: false };
  const ticket = locks.request({ owner: "a", ...write });
  await ticket.whenGranted();
  isGone = true;
  ticket.release();
  await clock.advance(10_000);
  expect(clock.pending).toBe(0); // it may be closed
  isGone = false;
  const next = locks.request({ owner: "b", ...write });
  await clock.advance(10_000);
  expect([next.granted, (await store.leases.list()).map(({ callId }) => callId)]).toEqual([true, ["b"]]);
});

test("a request that is cancelled while the store is asked for it is not queued again, and keeps nobody waiting", async () => {
  const store = memoryStore();
  let answered = Promise.resolve();
  const leases: Store["leases"] = {
    ...store.leases,
    async update(changes) {
      const answers = await store.leases.update(changes);
      await answered;
      return answers;
    },
  };
  const clock = new FakeClock();
  const locks = new LeaseLocks({ leases, ...systemPorts, clock });
  const write = { reads: [], writes: ["a:"], commutative: false };
  const held = locks.request({ owner: "held", ...write });
  await held.whenGranted();
  const pause = Promise.withResolvers<void>();
  answered = pause.promise;
  const cancelled = locks.request({ owner: "cancelled", ...write });
  await settle();
  cancelled.release();
  pause.resolve();
  await clock.advance(10_000);
  held.release();
  await clock.advance(10_000);
  expect([cancelled.granted, await store.leases.list(), clock.pending]).toEqual([false, [], 0]);
});

test("leases say why their store cannot be reached only until it answers again", async () => {
  const store = memoryStore();
  let isDown = false;
  const leases: Store["leases"] = {
    ...store.leases,
    update: (changes) => (isDown ? Promise.reject(new Error("connect ECONNREFUSED")) : store.leases.update(changes)),
  };
  const clock = new FakeClock();
  const log = new MemoryLog();
  const locks = new LeaseLocks({ leases, ...systemPorts, clock, log });
  const said = [locks.unreachable];
  for (isDown of [false, true, false, true]) {
    const ticket = locks.request({ owner: "a", reads: ["a:"], writes: [], commutative: false });
    await clock.advance(1_000);
    said.push(locks.unreachable);
    ticket.release();
  }
  expect(said).toEqual(["The store has not answered yet.", undefined, "connect ECONNREFUSED", undefined, "connect ECONNREFUSED"]);
  expect(log.lines).toHaveLength(2); // one for each time that it could not be reached
});
