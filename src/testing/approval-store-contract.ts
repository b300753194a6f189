/** The contract for the approvals of every store, as cases for any test runner. */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { ApprovalRecord, ApprovalRule, NewApproval, StoredApprovalQuery } from "../core/store/approval-store.ts";
import type { Store } from "../core/store/store.ts";
import { singleStoreCase, twoStoreCase, messageEvent, assertRejects, type StoreCase } from "./store-case.ts";

const ODD_TEXTS: readonly string[] = ["a\u0000b", "\ud800", "'; drop table haft_approval; --", "__proto__", "\u202e", "x".repeat(1_000)];

const HOUR_MS = 3_600_000;

const alone: readonly StoreCase[] = [
  singleStoreCase("a question is kept whole, and open until it is ended", async (store) => {
    const asked = question({
      within: [{ callId: "call_0", toolName: "a::b", input: { deep: [1, { two: null }] } }],
      askedBy: "key:1",
      warned: true,
    });
    const kept = await store.approvals.put(asked);
    deepEqual(bare(kept), { ...asked, position: 1, status: "open" });
    ok(kept.askedIn !== undefined);
    deepEqual(await listed(store), [bare(kept)]);
    equal(await store.approvals.end({ ...end(), scope: "once", by: "key:2" }), true);
    deepEqual(await listed(store), [{ ...asked, position: 1, status: "allowed", scope: "once", answeredBy: "key:2", answeredAt: 20 }]);
  }),
  singleStoreCase("one of several ends counts, and none with another digest", async (store) => {
    await store.approvals.put(question());
    equal(await store.approvals.end({ ...end(), digest: "other" }), false);
    equal(await store.approvals.end({ ...end(), id: "nobody" }), false);
    const ends = await Promise.all([end({ status: "denied" }), end(), end({ status: "withdrawn" })].map((one) => store.approvals.end(one)));
    deepEqual(ends.filter(Boolean).length, 1);
    const [record] = await listed(store);
    equal(record?.status, (["denied", "allowed", "withdrawn"] as const)[ends.indexOf(true)]);
  }),
  singleStoreCase("an end that is repeated because its answer was lost counts", async (store) => {
    await store.approvals.put(question());
    for (let times = 0; times < 2; times++) equal(await store.approvals.end({ ...end(), scope: "once", by: "key:1" }), true);
    equal(await store.approvals.end({ ...end(), scope: "once", by: "key:2" }), false);
  }),
  singleStoreCase("a question that is asked again is open again", async (store) => {
    await store.approvals.put(question());
    await store.approvals.end(end());
    deepEqual(await placesAfter(store, question({ askedAt: 40, digest: "new" })), [2, "open"]);
    await store.approvals.end(end({ digest: "new", status: "withdrawn" }));
    deepEqual(await placesAfter(store, question({ askedAt: 50, digest: "new" })), [3, "open"]);
    equal((await listed(store)).length, 1);
  }),
  singleStoreCase("a question that its process left is treated like one of a process that is gone", async (store) => {
    const { approvals } = store;
    const askedIn = async (id: string): Promise<string | undefined> => (await list(store, { ids: [id] }))[0]?.askedIn;
    for (const id of ["q1", "q2", "q3"]) {
      const { digest, position } = await approvals.put(question({ id }));
      await approvals.leave({ id, digest, position: position + 1 }); // another question with this id
      ok((await askedIn(id)) !== undefined);
      await approvals.leave({ id, digest, position });
      equal(await askedIn(id), undefined);
    }
    equal(await approvals.end(end({ id: "q1" })), true);
    equal((await approvals.put(question({ id: "q1" }))).status, "allowed");
    await approvals.put(question({ id: "q2" }));
    equal(await approvals.withdrawAbandoned({ sessionId: "a", at: 30, callIds: ["another"] }), 0);
    equal(await approvals.withdrawAbandoned({ sessionId: "a", at: 30, callIds: ["another", question({ id: "q3" }).callId] }), 1);
    equal(await approvals.withdrawAbandoned({ sessionId: "a", at: 30 }), 0);
    const statuses = (await list(store, {})).map(({ id, status }) => `${id} ${status}`);
    deepEqual(statuses.toSorted(), ["q1 allowed", "q2 open", "q3 withdrawn"]);
  }),
  singleStoreCase("an overdue question has expired, and accepts no answer", async (store) => {
    await store.approvals.put(question({ id: "over", expiresAt: 10 }));
    await store.approvals.put(question({ id: "waits", expiresAt: 10 + HOUR_MS }));
    deepEqual(await idsOf(store, { now: 10, statuses: ["open"] }), ["waits"]);
    const [expired, ...others] = await list(store, { now: 10, statuses: ["expired"] });
    ok(expired?.expiresAt !== undefined);
    deepEqual([expired.id, expired.status, expired.answeredAt, others], ["over", "expired", expired.expiresAt, []]);
    equal(await store.approvals.end(end({ id: "over", at: 10 })), false);
    equal(await store.approvals.end(end({ id: "over", at: 11, status: "expired" })), true);
    deepEqual(await idsOf(store, { now: 9, statuses: ["expired"] }), ["over"]);
    equal(await store.approvals.end(end({ id: "waits", at: 11 })), true);
  }),
  singleStoreCase("questions are listed in the order they were asked, by page and by filter", async (store) => {
    for (let n = 1; n <= 5; n++)
      await store.approvals.put(
        question({ id: `q${n}`, callId: `call_${n}`, sessionId: n > 3 ? "b" : "a", toolName: n % 2 === 0 ? "even::tool" : "odd::tool" }),
      );
    await store.approvals.end(end({ id: "q2", status: "denied" }));
    const ids = (query: Partial<StoredApprovalQuery>): Promise<readonly string[]> => idsOf(store, query);
    deepEqual(await ids({}), ["q1", "q2", "q3", "q4", "q5"]);
    deepEqual(await ids({ limit: 2, after: 2 }), ["q3", "q4"]);
    deepEqual(await ids({ first: "newest", limit: 2, after: 4 }), ["q3", "q2"]);
    deepEqual(await ids({ statuses: ["open"], sessionId: "a" }), ["q1", "q3"]);
    deepEqual(await ids({ statuses: ["denied", "expired"] }), ["q2"]);
    deepEqual(await ids({ toolName: "even::tool" }), ["q2", "q4"]);
    deepEqual(await ids({ callId: "call_5" }), ["q5"]);
    deepEqual(await ids({ ids: ["q5", "q1", "nobody"] }), ["q1", "q5"]);
    deepEqual([await ids({ ids: [] }), await ids({ statuses: [] })], [[], []]);
  }),
  singleStoreCase("ids, names and inputs are any text", async (store) => {
    for (const [index, odd] of ODD_TEXTS.entries()) {
      const input = { [`key ${odd}`]: odd };
      const asked = question({ id: `${index}${odd}`, sessionId: odd, callId: odd, toolName: odd, description: odd, input, reason: odd });
      deepEqual(bare(await store.approvals.put(asked)), { ...asked, position: index + 1, status: "open" });
      deepEqual((await list(store, { sessionId: odd, callId: odd, toolName: odd })).map(bare), [
        { ...asked, position: index + 1, status: "open" },
      ]);
    }
  }),
  singleStoreCase("a rule is kept with the answer it is made of, until it ends or is revoked", async (store) => {
    await store.approvals.put(question());
    const ofSession = rule({ id: "r1", sessionId: "a", scope: "tool", definition: "d" });
    equal(await store.approvals.end({ ...end(), digest: "other", rule: ofSession }), false);
    deepEqual(await store.approvals.rules({ now: 0 }), []);
    equal(await store.approvals.end({ ...end(), scope: "tool", ruleId: "r1", rule: ofSession }), true);
    const general = rule({ id: "r2", expiresAt: 50, createdBy: "key:1", createdAt: 2, warnedIn: "a" });
    await store.approvals.addRule(general);
    await assertRejects(() => store.approvals.addRule(general), "duplicate");
    deepEqual(await store.approvals.rules({ now: 49 }), [ofSession, general]);
    deepEqual(await store.approvals.rules({ now: 49, sessionId: "b" }), [general]);
    deepEqual(await store.approvals.rules({ now: 50, sessionId: "a" }), [ofSession]);
    deepEqual([await store.approvals.removeRule("r1"), await store.approvals.removeRule("r1")], [true, false]);
    deepEqual(await store.approvals.rules({ now: 50 }), []);
  }),
  singleStoreCase("a preview is made on request, and removed with its question", async (store) => {
    await store.approvals.put(question());
    const key = { id: "q", digest: "digest" };
    deepEqual(await store.approvals.previewRequests(), []);
    equal(await store.approvals.requestPreview({ ...key, digest: "other" }), false);
    equal(await store.approvals.requestPreview(key), true);
    deepEqual([await store.approvals.previewRequests(), await store.approvals.preview("q")], [["q"], undefined]);
    await store.approvals.keepPreview({ ...key, preview: { state: [] } });
    deepEqual([await store.approvals.previewRequests(), await store.approvals.preview("q")], [[], { state: [] }]);
    await store.approvals.put(question({ digest: "new" }));
    equal(await store.approvals.preview("q"), undefined);
    await store.approvals.end(end({ digest: "new" }));
    equal(await store.approvals.requestPreview({ id: "q", digest: "new" }), false);
  }),
  singleStoreCase("ended questions and rules are forgotten, open questions never", async (store) => {
    for (let n = 1; n <= 6; n++) await store.approvals.put(question({ id: `q${n}` }));
    for (let n = 2; n <= 6; n++) await store.approvals.end(end({ id: `q${n}` }));
    await store.approvals.addRule(rule({ id: "r", expiresAt: 50 }));
    equal(await store.approvals.prune({ keep: 5, now: 10 }), 0);
    equal(await store.approvals.prune({ keep: 2, now: 50 }), 3);
    deepEqual(
      (await listed(store)).map(({ id }) => id),
      ["q1", "q5", "q6"],
    );
    deepEqual(await store.approvals.rules({ now: 0 }), []);
  }),
  singleStoreCase("the questions and rules of a session are removed with it", async (store) => {
    for (const sessionId of ["a", "b"]) {
      await store.create(sessionId, { at: 1, durability: "sync" }).close();
      await store.approvals.put(question({ id: sessionId, sessionId }));
      await store.approvals.addRule(rule({ id: sessionId, sessionId }));
    }
    await store.remove("a");
    deepEqual([(await listed(store)).map(({ id }) => id), (await store.approvals.rules({ now: 0 })).map(({ id }) => id)], [["b"], ["b"]]);
  }),
  singleStoreCase("after closing, no approvals can be read", async (store) => {
    await store.close();
    await assertRejects(() => list(store, {}), "store_failed");
    await assertRejects(() => store.approvals.put(question()), "store_failed");
    await assertRejects(() => store.approvals.end(end()), "store_failed");
    await assertRejects(() => store.approvals.rules({ now: 0 }), "store_failed");
  }),
];

const shared: readonly StoreCase[] = [
  twoStoreCase("a question is seen, answered and previewed by another process than its own", async (one, other) => {
    await one.approvals.put(question());
    const [seen] = await list(other, { statuses: ["open"] });
    ok(seen?.askedIn !== undefined);
    equal(await other.approvals.requestPreview({ id: "q", digest: "digest" }), true);
    deepEqual([await one.approvals.previewRequests(), await other.approvals.previewRequests()], [["q"], []]);
    await one.approvals.keepPreview({ id: "q", digest: "digest", preview: { note: "nothing" } });
    deepEqual(await other.approvals.preview("q"), { note: "nothing" });
    const ends = await Promise.all([one.approvals.end(end({ by: "one" })), other.approvals.end(end({ by: "other", status: "denied" }))]);
    equal(ends.filter(Boolean).length, 1);
    equal((await list(one, { ids: ["q"] }))[0]?.answeredBy, ends[0] ? "one" : "other");
  }),
  twoStoreCase("processes whose clocks are far apart agree on how long a question waits", async (one, other) => {
    for (const askedAt of [1_000, 4e12])
      for (const now of [1_000, 4e12]) {
        const [over, waits] = [`${askedAt} ${now} over`, `${askedAt} ${now} waits`];
        await one.approvals.put(question({ id: over, askedAt, expiresAt: askedAt }));
        await one.approvals.put(question({ id: waits, askedAt, expiresAt: askedAt + HOUR_MS }));
        const seen = await list(other, { now, ids: [over, waits] });
        deepEqual(
          seen.map(({ status }) => status),
          ["expired", "open"],
        );
        deepEqual(await list(one, { now: askedAt, ids: [over, waits] }), seen);
        equal(await other.approvals.end(end({ id: over, at: now })), false);
        equal(await other.approvals.end(end({ id: waits, at: now })), true);
      }
  }),
  twoStoreCase(
    "a question that another process has asked again is given up by the last asker alone, and decided by every process",
    async (one, other) => {
      await one.approvals.put(question());
      await other.approvals.put(question());
      const given = [{ status: "withdrawn" }, { status: "expired" }, { status: "denied", byAsker: true }] as const;
      for (const how of given) equal(await one.approvals.end(end(how)), false);
      equal((await list(one, {}))[0]?.status, "open");
      equal(await other.approvals.end(end({ status: "denied", byAsker: true })), true);
      await other.approvals.put(question());
      equal(await one.approvals.end(end({ status: "denied" })), true);
    },
  ),
  twoStoreCase("questions that many processes ask at once are all kept, each with its own position", async (one, other) => {
    const ids = Array.from({ length: 60 }, (_, index) => `q${index}`);
    const put = await Promise.all(ids.map((id, index) => (index % 2 === 0 ? one : other).approvals.put(question({ id }))));
    deepEqual(
      put.map(({ position }) => position).toSorted((a, b) => a - b),
      ids.map((_, index) => index + 1),
    );
    equal((await list(one, {})).length, ids.length);
  }),
  twoStoreCase("the answer to a question that is asked again at the same time counts", async (one, other) => {
    const ids = Array.from({ length: 60 }, (_, index) => `q${index}`);
    for (const id of ids) await one.approvals.put(question({ id }));
    for (const id of ids) {
      const put = other.approvals.put(question({ id }));
      await list(one, { ids: [id] }); // an inbox lists a question before it answers
      equal(await one.approvals.end(end({ id })), true);
      await put;
    }
    equal((await list(one, { statuses: ["open"] })).length, 0);
  }),
  twoStoreCase(
    "the answer to a question of an earlier process stays with it, unless it is asked with another digest",
    async (one, other) => {
      for (const [id, status] of [
        ["q1", "allowed"],
        ["q2", "denied"],
        ["q3", "withdrawn"],
        ["q4", "allowed"],
      ] as const) {
        await one.approvals.put(question({ id }));
        await one.approvals.end(end({ id, status }));
      }
      await one.close();
      deepEqual(
        [
          await placesAfter(other, question({ id: "q1", askedAt: 30 })),
          await placesAfter(other, question({ id: "q2", askedAt: 30 })),
          await placesAfter(other, question({ id: "q3", askedAt: 30 })),
          await placesAfter(other, question({ id: "q4", askedAt: 30, digest: "new" })),
        ],
        [
          [1, "allowed"],
          [2, "denied"],
          [5, "open"],
          [6, "open"],
        ],
      );
    },
  ),
  twoStoreCase("a session that was taken over has no questions of its earlier owner, and gets none from it", async (one, other) => {
    const log = one.create("a", { at: 1, durability: "sync" });
    log.append([messageEvent("a", 1)]);
    await log.whenDurable();
    for (const id of ["q1", "q2"]) await one.approvals.put(question({ id, sessionId: "a" }));
    await other.claim("a", { takeOver: true });
    await other.approvals.put(question({ id: "q2", sessionId: "a" }));
    equal(await one.approvals.withdrawAbandoned({ sessionId: "a", at: 30 }), 0);
    equal(await other.approvals.withdrawAbandoned({ sessionId: "a", at: 30, callIds: ["another"] }), 0);
    equal(await other.approvals.withdrawAbandoned({ sessionId: "a", at: 30, exceptCallIds: ["call_1"] }), 0);
    equal(await other.approvals.withdrawAbandoned({ sessionId: "a", at: 30 }), 1);
    for (const id of ["q2", "q3"]) await assertRejects(() => one.approvals.put(question({ id, sessionId: "a" })), "conflict");
    deepEqual(
      (await list(other, {})).map(({ id, status }) => [id, status]),
      [
        ["q1", "withdrawn"],
        ["q2", "open"],
      ],
    );
  }),
  twoStoreCase("the question of a process that is gone can be answered, or withdrawn, or asked again", async (one, other) => {
    await one.create("a", { at: 1, durability: "sync" }).close();
    for (const id of ["q1", "q2", "q3", "gone"]) await one.approvals.put(question({ id, sessionId: id === "gone" ? "never stored" : "a" }));
    equal(await other.approvals.withdrawAbandoned({ sessionId: "a", at: 30 }), 0);
    await one.close();
    equal((await list(other, { ids: ["q1"] }))[0]?.askedIn, undefined);
    equal(await other.approvals.withdrawAbandoned({ sessionId: "a", at: 30, exceptCallIds: ["call_1", "another"] }), 0);
    equal(await other.approvals.end(end({ id: "q1" })), true);
    await other.approvals.put(question({ id: "q2" }));
    equal(await other.approvals.withdrawAbandoned({ sessionId: "a", at: 30 }), 1);
    await other.approvals.prune({ keep: 100, now: 40 });
    deepEqual(
      (await list(other, {})).map(({ id, status, answeredAt }) => [id, status, answeredAt]),
      [
        ["q1", "allowed", 20],
        ["q3", "withdrawn", 30],
        ["gone", "withdrawn", 40],
        ["q2", "open", undefined],
      ],
    );
  }),
];

function question(fields: Partial<NewApproval> = {}): NewApproval {
  return {
    id: "q",
    sessionId: "a",
    callId: "call_1",
    turnId: "turn_1",
    toolName: "files::delete",
    description: "Deletes a file.",
    input: { path: "/a" },
    digest: "digest",
    definition: "definition",
    reason: "files::delete may destroy something.",
    simulated: false,
    askedAt: 10,
    ...fields,
  };
}

function end(fields: Partial<Parameters<Store["approvals"]["end"]>[0]> = {}): Parameters<Store["approvals"]["end"]>[0] {
  return { id: "q", digest: "digest", status: "allowed", at: 20, ...fields };
}

function rule(fields: Partial<ApprovalRule> = {}): ApprovalRule {
  return { id: "r", pattern: "files::*", scope: "rule", createdAt: 1, ...fields };
}

function list(store: Store, query: Partial<StoredApprovalQuery>): Promise<readonly ApprovalRecord[]> {
  return store.approvals.list({ now: 0, first: "oldest", limit: 100, ...query });
}

async function idsOf(store: Store, query: Partial<StoredApprovalQuery>): Promise<readonly string[]> {
  return (await list(store, query)).map(({ id }) => id);
}

/** Returns all questions without `askedIn`, the process that waits for the answer. */
async function listed(store: Store): Promise<readonly ApprovalRecord[]> {
  return (await list(store, {})).map(bare);
}

function bare({ askedIn: _askedIn, ...record }: ApprovalRecord): ApprovalRecord {
  return record;
}

async function placesAfter(store: Store, asked: NewApproval): Promise<readonly [number, string]> {
  const { position, status } = await store.approvals.put(asked);
  return [position, status];
}

/** The cases. Each needs a subject of its own. */
export const approvalStoreContract: readonly StoreCase[] = [...alone, ...shared];
