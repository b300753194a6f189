/** The part of the store contract about several processes over the same data. */
import { deepEqual, equal } from "node:assert/strict";
import type { ProcessDescription, StoredProcess } from "../core/store/process-store.ts";
import type { EventLog, Store } from "../core/store/store.ts";
import { twoStoreCase, messageEvent, messageEvents, assertRejects, assertThrows, type StoreCase } from "./store-case.ts";

export const sharingCases: readonly StoreCase[] = [
  twoStoreCase("what is durable is read by another store, while it is written", async (one, other) => {
    const log = one.create("a", { at: 1, durability: "sync" });
    log.append(messageEvents("a", 1, 3));
    await log.whenDurable();
    log.append([messageEvent("a", 4)]);
    deepEqual((await other.read("a", { limit: 3 })).events, messageEvents("a", 1, 3));
    await log.whenDurable();
    deepEqual((await other.read("a", { from: 4 })).events, [messageEvent("a", 4)]);
    deepEqual(
      (await other.list()).map(({ sessionId, length, openedBy }) => [sessionId, length, openedBy !== undefined]),
      [["a", 4, true]],
    );
  }),
  twoStoreCase("a session is listed to others with the address that its process announced, until it is closed", async (one, other) => {
    const early = one.create("early", { at: 1, durability: "sync" });
    early.append([messageEvent("early", 1)]);
    await early.whenDurable();
    const addresses = async (store: Store): Promise<readonly string[]> =>
      (await store.list()).map(({ sessionId, openedAt }) => `${sessionId} at ${String(openedAt)}`).toSorted();
    deepEqual(await addresses(other), ["early at undefined"]);
    await one.announce({ address: "http://10.0.0.3:7420" });
    const late = one.create("late", { at: 1, durability: "sync" });
    late.append([messageEvent("late", 1)]);
    await late.whenDurable();
    deepEqual(await addresses(other), ["early at http://10.0.0.3:7420", "late at http://10.0.0.3:7420"]);
    deepEqual(await addresses(one), ["early at undefined", "late at undefined"]);
    await early.close();
    deepEqual(await addresses(other), ["early at undefined", "late at http://10.0.0.3:7420"]);
  }),
  twoStoreCase("processes are listed to each other with what they announced and the sessions that they have open", async (one, other) => {
    deepEqual(await other.processes(), []);
    const about = { name: "web-1", role: "serve", version: "1.2.3", definitions: { shop: "ab", ["__proto__"]: "cd" }, places: ["disk"] };
    await one.announce({ name: "first", address: "http://10.0.0.3:7420" });
    await one.announce(about);
    await other.announce({ role: "worker" });
    for (const id of ["older", "newer \u0000\ud800"]) {
      const log = one.create(id, { at: 1, durability: "sync" });
      log.append([{ ...messageEvent(id, 1), at: id === "older" ? 1 : 2 }]);
      await log.whenDurable();
    }
    for (const store of [one, other]) {
      const all = await store.processes();
      const [first, second] = ["serve", "worker"].map((role) => all.find((found) => found.role === role));
      deepEqual(
        [first, second].map((found) => ({ ...described(found), sessions: found?.sessions, ids: found?.sessionIds, alive: found?.alive })),
        [
          { ...about, address: "http://10.0.0.3:7420", sessions: 2, ids: ["newer \u0000\ud800", "older"], alive: true },
          { role: "worker", sessions: 0, ids: [], alive: true },
        ],
      );
      equal(all.length, 2);
      equal(first?.id === second?.id, false);
      for (const found of [first, second]) {
        equal((found?.startedAt ?? Infinity) <= (found?.seenAt ?? 0) && (found?.silentMs ?? -1) >= 0 && (found?.pid ?? 0) > 0, true);
      }
    }
    const opened = (await other.list({ sessionId: "older" })).map(({ openedIn }) => openedIn);
    deepEqual(opened, [(await other.processes()).find(({ role }) => role === "serve")?.id]);
    await one.close();
    deepEqual((await other.processes()).map(described), [{ role: "worker" }]);
  }),
  twoStoreCase("a session that another store has open is busy until it is closed there", async (one, other) => {
    const log = one.create("a", { at: 1, durability: "sync" });
    log.append([messageEvent("a", 1)]);
    await log.whenDurable();
    await assertRejects(() => other.claim("a"), "resource_busy");
    await assertRejects(() => other.remove("a"), "resource_busy");
    await log.close();
    const again = await other.claim("a");
    again.append([messageEvent("a", 2)]);
    await again.whenDurable();
    await assertRejects(() => one.claim("a"), "resource_busy");
    deepEqual((await one.read("a")).events, messageEvents("a", 1, 2));
  }),
  twoStoreCase("a store that closes gives up what it has open", async (one, other) => {
    const log = one.create("a", { at: 1, durability: "sync" });
    log.append([messageEvent("a", 1)]);
    await one.close();
    const again = await other.claim("a");
    equal(again.length, 1);
  }),
  twoStoreCase("a log says whether the process that had it before was gone and had not closed it", async (one, other) => {
    const logs = ["closed", "open", "left"].map((id) => one.create(id, { at: 1, durability: "sync" }));
    for (const log of logs) log.append([messageEvent(log.sessionId, 1)]);
    deepEqual(
      logs.map(({ wasLeftOpen }) => wasLeftOpen),
      [false, false, false],
    );
    await logs[0]?.close();
    await logs[1]?.whenDurable();
    equal((await other.claim("closed")).wasLeftOpen, false);
    equal((await other.claim("open", { takeOver: true })).wasLeftOpen, false);
    await one.close();
    const left = await other.claim("left");
    equal(left.wasLeftOpen, true);
    await left.close();
    equal((await other.claim("left")).wasLeftOpen, false);
  }),
  twoStoreCase("a log is left open on demand, with what was added to it, and nothing keeps others from it", async (one, other) => {
    for (const count of [0, 1]) {
      const id = `left ${count}`;
      const made = one.create(id, { at: 1, durability: "sync" });
      made.append([messageEvent(id, 1)]);
      await made.close();
      const first = await one.claim(id);
      first.leaveOpen?.();
      if (count > 0) first.append([messageEvent(id, 2)]);
      await first.close();
      equal((await other.list({ sessionIds: [id] }))[0]?.isLeftOpen, true);
      const second = await other.claim(id);
      equal(second.wasLeftOpen, true);
      await second.close();
      equal((await one.claim(id)).wasLeftOpen, false);
    }
  }),
  twoStoreCase(
    "I04 a session that was taken over writes no more from where it was, and the sessions beside it go on",
    async (one, other) => {
      const lost = one.create("lost", { at: 1, durability: "sync" });
      const kept = one.create("kept", { at: 1, durability: "sync" });
      lost.append([messageEvent("lost", 1)]);
      await lost.whenDurable();
      const taken = await other.claim("lost", { takeOver: true });
      lost.append([messageEvent("lost", 8)]);
      kept.append([messageEvent("kept", 2)]);
      await assertRejects(() => lost.whenDurable(), "conflict");
      await kept.whenDurable();
      taken.append([messageEvent("lost", 2)]);
      await taken.whenDurable();
      assertThrows(() => lost.append([messageEvent("lost", 9)]), "conflict");
      await assertRejects(() => lost.close(), "conflict");
      deepEqual((await one.read("lost")).events, messageEvents("lost", 1, 2));
      deepEqual((await one.read("kept")).events, [messageEvent("kept", 2)]);
      await assertRejects(() => one.claim("lost"), "resource_busy");
      await taken.close();
      equal((await one.claim("lost")).length, 2);
    },
  ),
  twoStoreCase(
    "I04 a session is not claimed for a call whose own session was taken over, whether or not another process has it open",
    async (one, other) => {
      const [outer, inner] = ["outer", "inner"].map((id) => one.create(id, { at: 1, durability: "sync" })) as [EventLog, EventLog];
      outer.append([messageEvent("outer", 1)]);
      await outer.whenDurable();
      await inner.close();
      await (await one.claim("inner", { outer })).close();
      const taken = await one.claim("inner", { takeOver: true, outer });
      const outerElsewhere = await other.claim("outer", { takeOver: true });
      const innerElsewhere = await other.claim("inner", { takeOver: true, outer: outerElsewhere });
      await assertRejects(() => one.claim("inner", { takeOver: true, outer }), "conflict");
      innerElsewhere.append([messageEvent("inner", 1)]);
      await innerElsewhere.close();
      await assertRejects(() => one.claim("inner", { outer }), "conflict");
      await assertRejects(async () => taken.confirm?.() ?? taken.whenDurable(), "conflict");
      await outerElsewhere.close();
      await assertRejects(() => other.claim("inner", { outer: outerElsewhere }), "conflict");
      deepEqual((await other.read("inner")).events, [messageEvent("inner", 1)]);
    },
  ),
  twoStoreCase(
    "a log learns that its session was taken over or removed when it is confirmed, with nothing to write",
    async (one, other) => {
      const [taken, removed, kept] = ["taken", "removed", "kept"].map((id) => one.create(id, { at: 1, durability: "sync" }));
      for (const log of [taken, removed, kept]) {
        log?.append([messageEvent(log.sessionId, 1)]);
        await log?.confirm?.();
      }
      await other.claim("taken", { takeOver: true });
      await (await other.claim("removed", { takeOver: true })).close();
      await other.remove("removed");
      for (const log of [taken, removed]) {
        const code = (): string | undefined => log?.failure?.code;
        equal(code(), undefined);
        await assertRejects(async () => log?.confirm?.(), "conflict");
        equal(code(), "conflict");
      }
      await kept?.confirm?.();
      equal(kept?.failure, undefined);
      deepEqual(
        [(await one.read("taken")).events, (await one.read("kept")).events],
        [[messageEvent("taken", 1)], [messageEvent("kept", 1)]],
      );
    },
  ),
  twoStoreCase("of two that create the same session one wins, and the other's events are nowhere", async (one, other) => {
    const first = one.create("a", { at: 1, durability: "sync" });
    first.append([messageEvent("a", 1)]);
    await first.whenDurable();
    const second = other.create("a", { at: 1, durability: "sync" });
    const independent = other.create("b", { at: 1, durability: "sync" });
    second.append([messageEvent("a", 9)]);
    await assertRejects(() => second.whenDurable(), "duplicate");
    await independent.whenDurable();
    assertThrows(() => second.append([messageEvent("a", 9)]), "duplicate");
    first.append([messageEvent("a", 2)]);
    await first.whenDurable();
    deepEqual((await other.read("a")).events, messageEvents("a", 1, 2));
  }),
  twoStoreCase("a session that was removed elsewhere cannot be written again", async (one, other) => {
    const log = one.create("a", { at: 1, durability: "sync" });
    await log.whenDurable();
    const taken = await other.claim("a", { takeOver: true });
    await taken.close();
    equal(await other.remove("a"), true);
    log.append([messageEvent("a", 1)]);
    await assertRejects(() => log.whenDurable(), "conflict");
    await assertRejects(() => one.read("a"), "not_found");
    await one.create("a", { at: 2, durability: "sync" }).whenDurable(); // the id is free again, and the new session can have branches
    await one.create("branch", { at: 3, durability: "sync", parent: { sessionId: "a", length: 0 } }).whenDurable();
  }),
  twoStoreCase(
    "a log whose session was removed elsewhere is not read again, also where its id belongs to a shorter one",
    async (one, other) => {
      for (const again of [false, true]) {
        const id = again ? "again" : "gone";
        const log = one.create(id, { at: 1, durability: "sync" });
        log.append(messageEvents(id, 1, 3));
        await log.whenDurable();
        await (await other.claim(id, { takeOver: true })).close();
        await other.remove(id);
        if (again) {
          const later = other.create(id, { at: 2, durability: "sync" });
          later.append([messageEvent(id, 9)]);
          await later.whenDurable();
        }
        await assertRejects(() => log.read({ from: 2 }), "conflict");
      }
    },
  ),
  twoStoreCase("a branch can be taken from a session that another store writes", async (one, other) => {
    const parent = one.create("parent", { at: 1, durability: "sync" });
    parent.append(messageEvents("parent", 1, 2));
    await parent.whenDurable();
    const branch = other.create("branch", { at: 2, durability: "sync", parent: { sessionId: "parent", length: 1 } });
    branch.append([messageEvent("branch", 3)]);
    await branch.whenDurable();
    deepEqual((await one.read("branch")).events, [messageEvent("parent", 1), messageEvent("branch", 3)]);
  }),
];

/** Returns only the fields that the process announced. */
function described(process: StoredProcess | undefined): ProcessDescription {
  if (process === undefined) return {};
  const { id: _, host: _host, pid: _pid, own: _own, alive: _alive, startedAt: _start, seenAt: _seen, silentMs: _silent, ...rest } = process;
  const { sessions: _sessions, sessionIds: _ids, eventsBehind: _behind, ...description } = rest;
  return description;
}
