/** The contract of every store, as cases for any test runner. */
import { pushAll } from "../core/collections/push-all.ts";
import { deepEqual, equal, ok } from "node:assert/strict";
import { artifactStoreContract } from "./artifact-store-contract.ts";
import type { SessionEvent } from "../core/event.ts";
import type { ProcessDescription } from "../core/store/process-store.ts";
import type { EventLog, EventPage, LogOptions, Store } from "../core/store/store.ts";
import { callEndEvent, singleStoreCase, messageEvent, messageEvents, assertRejects, assertThrows, type StoreCase } from "./store-case.ts";
import { cacheCases } from "./store-contract-cache.ts";
import { feedCases } from "./store-contract-feed.ts";
import { leaseCases } from "./store-contract-leases.ts";
import { sharingCases } from "./store-contract-sharing.ts";
import { channelCases } from "./store-contract-channels.ts";
import { webhookCases } from "./store-contract-webhooks.ts";

/** Texts that stores of all kinds have altered. */
const ODD_TEXTS: readonly string[] = [
  "",
  "a\u0000b\u0000",
  "\ud800 lone \udc00",
  "👩‍👩‍👧 \u202e e\u0301",
  "'; drop table haft_event; --",
  '"quoted" \\ \n \r\n \u2028',
  "__proto__",
  "constructor",
  "x".repeat(1_000),
];

const alone: readonly StoreCase[] = [
  singleStoreCase("what was appended is read back equal, in order and frozen", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    log.append([messageEvent("a", 1), messageEvent("a", 2)]);
    log.append([]);
    log.append([messageEvent("a", 3)]);
    equal(log.length, 3);
    await log.whenDurable();
    const page = await store.read("a");
    deepEqual(page, { events: messageEvents("a", 1, 3), next: undefined });
    ok(page.events.every((event) => Object.isFrozen(event)));
    equal(log.whenDurable(), undefined);
  }),
  singleStoreCase("a log is read in pages that say where to read on", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    log.append(messageEvents("a", 1, 5));
    await log.whenDurable();
    deepEqual(await store.read("a", { limit: 2 }), { events: messageEvents("a", 1, 2), next: 3 });
    deepEqual(await store.read("a", { from: 3, limit: 3 }), { events: messageEvents("a", 3, 5), next: undefined });
    deepEqual(await store.read("a", { from: 6 }), { events: [], next: undefined });
    for (const options of [{ from: 0 }, { limit: 0 }, { from: 1.5 }])
      await assertRejects(() => store.read("a", options), "invalid_argument");
  }),
  singleStoreCase("an open log reads what is only buffered as well", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    log.append(messageEvents("a", 1, 3));
    deepEqual(await log.read({ from: 2 }), { events: messageEvents("a", 2, 3), next: undefined });
    await log.whenDurable();
    log.append(messageEvents("a", 4, 6));
    deepEqual((await allOf(log)).events, messageEvents("a", 1, 6));
    deepEqual(await log.read({ from: 5, limit: 1 }), { events: messageEvents("a", 5, 5), next: 6 });
  }),
  singleStoreCase("a session is claimed for a call only while the call's own session is open", async (store) => {
    const [outer, inner] = ["outer", "inner"].map((id) => store.create(id, { at: 1, durability: "sync" })) as [EventLog, EventLog];
    await inner.close();
    await (await store.claim("inner", { outer })).close();
    await outer.close();
    await assertRejects(() => store.claim("inner", { outer }), "conflict");
    await (await store.claim("inner")).close();
  }),
  singleStoreCase("any text comes back as it was, as an id and inside an event", async (store) => {
    for (const text of ODD_TEXTS) {
      const event: SessionEvent = { type: "message-add", sessionId: "a", at: 1, message: { role: "user", content: text, title: text } };
      const log = store.create(text, { at: 1, durability: "sync" });
      log.append([event]);
      await log.close();
      deepEqual((await store.read(text)).events, [event]);
    }
    const ids = (await store.list()).map((session) => session.sessionId);
    deepEqual(ids.toSorted(), ODD_TEXTS.toSorted());
  }),
  singleStoreCase("a large event comes back as it was", async (store) => {
    const event = callEndEvent("a", { text: "\u0000".repeat(1_000_000), list: Array.from({ length: 10_000 }, (_, index) => index / 3) });
    const log = store.create("a", { at: 1, durability: "sync" });
    log.append([event, messageEvent("a", 2)]);
    await log.whenDurable();
    deepEqual((await allOf(log)).events, [event, messageEvent("a", 2)]);
  }),
  singleStoreCase("C09 data that looks like an instruction to revive something comes back as plain data", async (store) => {
    const output = {
      lc: 1,
      type: "constructor",
      id: ["langchain"],
      kwargs: { $type: "x", __class__: "y", toJSON: "z" },
      data: { type: "Buffer" },
    };
    const event = callEndEvent("a", output);
    const log = store.create("a", { at: 1, durability: "sync" });
    log.append([event]);
    await log.whenDurable();
    deepEqual((await store.read("a")).events, [event]);
  }),
  singleStoreCase("a session that does not exist is reported as missing", async (store) => {
    await assertRejects(() => store.read("nobody"), "not_found");
    await assertRejects(() => store.claim("nobody"), "not_found");
    equal(await store.remove("nobody"), false);
  }),
  singleStoreCase("an id that is in use is refused, and the first log stays as it is", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    log.append([messageEvent("a", 1)]);
    assertThrows(() => store.create("a", { at: 2, durability: "sync" }), "duplicate");
    await log.close();
    await assertRejects(async () => {
      const second = store.create("a", { at: 2, durability: "sync" });
      second.append([messageEvent("a", 9)]);
      await second.whenDurable();
    }, "duplicate");
    deepEqual((await store.read("a")).events, messageEvents("a", 1, 1));
  }),
  singleStoreCase("a log that was closed continues where it was when it is claimed", async (store) => {
    const log = store.create("a", { at: 5, durability: "async" });
    log.append(messageEvents("a", 1, 2));
    await log.close();
    await log.close();
    assertThrows(() => log.append([messageEvent("a", 3)]), "store_failed");
    const again = await store.claim("a");
    deepEqual([again.length, again.options], [2, { at: 5, durability: "async" }]);
    again.append([messageEvent("a", 3)]);
    await again.close();
    deepEqual((await store.read("a")).events, messageEvents("a", 1, 3));
  }),
  singleStoreCase("a session that is open is busy, and a claim that takes it over ends the first log", async (store) => {
    const first = store.create("a", { at: 1, durability: "sync" });
    first.append([messageEvent("a", 1)]);
    await first.whenDurable();
    await assertRejects(() => store.claim("a"), "resource_busy");
    const second = await store.claim("a", { takeOver: true });
    assertThrows(() => first.append([messageEvent("a", 9)]), "conflict");
    equal(second.failure, undefined);
    equal(first.failure?.code, "conflict");
    await assertRejects(async () => first.whenDurable(), "conflict");
    await assertRejects(() => first.close(), "conflict");
    second.append([messageEvent("a", 2)]);
    await second.close();
    deepEqual((await store.read("a")).events, messageEvents("a", 1, 2));
  }),
  singleStoreCase("a process that has a session open is listed, and invalid facts about it are refused", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    await log.whenDurable();
    deepEqual(
      (await store.processes()).map(({ sessionIds, pid }) => [sessionIds, pid]),
      [[["a"], process.pid]],
    );
    for (const wrong of [{ name: "x".repeat(501) }, { places: ["a", 1] }, { definitions: { a: {} } }, { nane: "a" }])
      await assertRejects(() => store.announce(wrong as ProcessDescription), "invalid_argument"); // as an untyped program may pass
    await store.announce({ name: "web-1" });
    await store.announce({ role: "serve" });
    await log.close();
    deepEqual(
      (await store.processes()).map(({ name, role, sessions }) => [name, role, sessions]),
      [["web-1", "serve", 0]],
    );
  }),
  singleStoreCase("sessions are listed by their last event, the newest first", async (store) => {
    for (const [id, at] of [
      ["a", 10],
      ["b", 30],
      ["c", 20],
    ] as const) {
      const log = store.create(id, { at, durability: "sync" });
      if (id === "a") log.append([messageEvent("a", 40)]);
      if (id === "c") await log.whenDurable();
      else await log.close();
    }
    const listed = await store.list();
    deepEqual(
      listed.map(({ openedBy, openedIn: _process, ...session }) => ({ ...session, isOpen: openedBy !== undefined })),
      [
        { sessionId: "a", createdAt: 10, updatedAt: 40, length: 1, isOpen: false },
        { sessionId: "b", createdAt: 30, updatedAt: 30, length: 0, isOpen: false },
        { sessionId: "c", createdAt: 20, updatedAt: 20, length: 0, isOpen: true },
      ],
    );
    deepEqual(
      (await store.list({ limit: 1, offset: 1 })).map((session) => session.sessionId),
      ["b"],
    );
    for (const sessionId of ["a", "c"])
      deepEqual(
        await store.list({ sessionId }),
        listed.filter((session) => session.sessionId === sessionId),
      );
    for (const sessionId of ["", "A", "a\u0000", "constructor"]) deepEqual(await store.list({ sessionId }), []);
    const idsOf = async (sessionIds: readonly string[], limit?: number): Promise<readonly string[]> =>
      (await store.list({ sessionIds, ...(limit === undefined ? {} : { limit }) })).map(({ sessionId }) => sessionId);
    deepEqual(await idsOf(["c", "nowhere", "a", "c"]), ["a", "c"]);
    deepEqual([await idsOf(["a", "b", "c"], 2), await idsOf([])], [["a", "b"], []]);
  }),
  singleStoreCase("a session that was removed is gone, its open log with it, and its id is free", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    log.append([messageEvent("a", 1)]);
    equal(await store.remove("a"), true);
    assertThrows(() => log.append([messageEvent("a", 2)]), "conflict");
    await assertRejects(() => store.read("a"), "not_found");
    equal(await store.remove("a"), false);
    const again = store.create("a", { at: 2, durability: "sync" });
    again.append([messageEvent("a", 7)]);
    await store.create("branch", { at: 3, durability: "sync", parent: { sessionId: "a", length: 1 } }).whenDurable();
    await again.close();
    for (const id of ["a", "branch"]) deepEqual((await store.read(id)).events, messageEvents("a", 7, 7));
  }),
  singleStoreCase("a branch begins with its parent's events, shared and not copied", branchesShare),
  singleStoreCase(
    "a branch without events of its own, as a crash may leave it, has those of its parents, and can be continued",
    async (store) => {
      const parent = store.create("parent", { at: 1, durability: "sync" });
      parent.append(messageEvents("parent", 1, 3));
      const begin = (id: string, sessionId: string): EventLog =>
        store.create(id, { at: 1, durability: "sync", parent: { sessionId, length: 2 } });
      await begin("branch", "parent").close();
      await begin("twig", "branch").close();
      for (const id of ["branch", "twig"]) deepEqual((await store.read(id)).events, messageEvents("parent", 1, 2));
      const log = await store.claim("twig");
      log.append([messageEvent("twig", 4)]);
      await log.close();
      deepEqual((await store.read("twig")).events, [...messageEvents("parent", 1, 2), messageEvent("twig", 4)]);
    },
  ),
  singleStoreCase("a branch of an unknown session or position is not created", async (store) => {
    const parent = store.create("parent", { at: 1, durability: "sync" });
    parent.append(messageEvents("parent", 1, 2));
    for (const [id, origin] of [
      ["a", { sessionId: "nobody", length: 1 }],
      ["b", { sessionId: "parent", length: 3 }],
      ["c", { sessionId: "nobody", length: 0 }],
    ] as const) {
      await assertRejects(async () => store.create(id, { at: 1, durability: "sync", parent: origin }).whenDurable(), "not_found");
      await assertRejects(() => store.read(id), "not_found");
    }
  }),
  singleStoreCase("the options of a new log are checked at once", async (store) => {
    const parent = { sessionId: "a", length: 0.5 };
    const wrong = [
      { at: Number.NaN, durability: "sync" },
      { at: 1, durability: "never" },
      { at: 1, durability: "sync", parent },
    ];
    for (const options of wrong) assertThrows(() => store.create("a", options as LogOptions), "invalid_argument");
    await assertRejects(() => store.read("a"), "not_found");
  }),
  singleStoreCase("after closing every operation fails, and closing again is fine", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    log.append([messageEvent("a", 1)]);
    await store.close();
    await store.close();
    assertThrows(() => log.append([messageEvent("a", 2)]), "store_failed");
    assertThrows(() => store.create("b", { at: 1, durability: "sync" }), "store_failed");
    await assertRejects(() => store.open(), "store_failed");
    await assertRejects(() => store.read("a"), "store_failed");
    await assertRejects(() => store.cache.get("k", 0), "store_failed");
  }),
];

async function branchesShare(store: Store): Promise<void> {
  const root = store.create("root", { at: 1, durability: "sync" });
  root.append(messageEvents("root", 1, 4));
  const branch = store.create("branch", { at: 2, durability: "sync", parent: { sessionId: "root", length: 3 } });
  equal(branch.length, 3);
  branch.append(messageEvents("branch", 5, 6));
  const twig = store.create("twig", { at: 3, durability: "sync", parent: { sessionId: "branch", length: 4 } });
  const early = store.create("early", { at: 4, durability: "sync", parent: { sessionId: "branch", length: 2 } });
  twig.append(messageEvents("twig", 7, 7));
  early.append(messageEvents("early", 8, 8));
  root.append(messageEvents("root", 9, 9));
  for (const log of [root, branch, twig, early]) await log.whenDurable();
  const shared = messageEvents("root", 1, 3);
  const expected: Readonly<Record<string, readonly SessionEvent[]>> = {
    root: [...messageEvents("root", 1, 4), messageEvent("root", 9)],
    branch: [...shared, ...messageEvents("branch", 5, 6)],
    twig: [...shared, messageEvent("branch", 5), messageEvent("twig", 7)],
    early: [...shared.slice(0, 2), messageEvent("early", 8)],
  };
  for (const [id, events] of Object.entries(expected)) {
    deepEqual((await store.read(id)).events, events, id);
    for (let from = 1; from <= events.length; from++) {
      const last = from === events.length;
      deepEqual(await store.read(id, { from, limit: 1 }), { events: events.slice(from - 1, from), next: last ? undefined : from + 1 });
    }
  }
  deepEqual(
    (await store.list({ limit: 1, offset: 2 })).map(({ sessionId, length, parent }) => ({ sessionId, length, parent })),
    [{ sessionId: "twig", length: 5, parent: { sessionId: "branch", length: 4 } }],
  );
  const branchesOf = async (parentId: string): Promise<readonly string[]> =>
    (await store.list({ parentId })).map(({ sessionId }) => sessionId).toSorted();
  deepEqual(
    [await branchesOf("root"), await branchesOf("branch"), await branchesOf("twig"), await branchesOf("nowhere")],
    [["branch"], ["early", "twig"], [], []],
  );
  await assertRejects(() => store.remove("branch"), "conflict");
  for (const id of ["twig", "early", "branch", "root"]) equal(await store.remove(id), true);
}

/** Returns all events of a log, read page by page. */
async function allOf(log: EventLog): Promise<EventPage> {
  const events: SessionEvent[] = [];
  for (let from: number | undefined = 1; from !== undefined;) {
    const page: EventPage = await log.read({ from });
    pushAll(events, page.events);
    from = page.next;
  }
  return { events, next: undefined };
}

const artifactCases = artifactStoreContract.map((one) => singleStoreCase(one.title, ({ artifacts }) => one.run(artifacts)));

/** The cases. Each needs a subject of its own. */
export const storeContract: readonly StoreCase[] = [
  ...alone,
  ...cacheCases,
  ...feedCases,
  ...artifactCases,
  ...leaseCases,
  ...sharingCases,
  ...webhookCases,
  ...channelCases,
];
