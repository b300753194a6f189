/** When the store is read for answers that other processes gave. */
import { expect, test } from "vitest";
import type { StoreChange } from "../../src/core/store/store-changes.ts";
import { APPROVAL_STATUSES, type ListApprovalsOptions } from "../../src/core/store/approval-store.ts";
import { ApprovalGate } from "../../src/policy/approval/approval-gate.ts";
import { StoredApprovals } from "../../src/policy/approval/stored-approvals.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { fakePorts, settle } from "../../src/testing/fake-ports.ts";

const ANSWERED: StoreChange = { parts: ["approvals"], sessionIds: undefined };

/** A gate over a store that announces what the test says; each read of it waits until the test lets it go on. */
function watched() {
  const store = memoryStore();
  const ports = fakePorts();
  const reads: PromiseWithResolvers<void>[] = [];
  let announce = (_change: StoreChange): void => {};
  let followers = 0;
  const list: typeof store.approvals.list = async (query) => {
    const found = await store.approvals.list(query);
    const read = Promise.withResolvers<void>();
    reads.push(read);
    await read.promise;
    return found;
  };
  const follow = (listener: typeof announce) => {
    announce = listener;
    followers++;
    return { isLive: true, stop: () => void followers-- };
  };
  const approvals = new ApprovalGate({ approve: "inbox" }, ports, { approvals: { ...store.approvals, list }, follow });
  const elsewhere = new StoredApprovals({ store: store.approvals, ports });
  return {
    approvals,
    elsewhere,
    reads,
    clock: ports.clock,
    announce: (change: StoreChange) => announce(change),
    followers: () => followers,
  };
}

const QUESTION = {
  callId: "call_1",
  sessionId: "session_1",
  turnId: "turn_1",
  definition: "d",
  toolName: "files::delete",
  description: "Deletes a file.",
  input: { path: "/a" },
  simulated: false,
  reason: "files::delete may destroy something.",
  signal: new AbortController().signal,
};

test("an answer announced by another process during a read of the store causes one more read at once; other changes do not", async () => {
  const { approvals, elsewhere, reads, announce } = watched();
  const end = approvals.ask(QUESTION);
  await settle();
  announce(ANSWERED);
  await settle();
  announce({ ...ANSWERED, parts: ["events"] });
  reads[0]?.resolve();
  await settle();
  expect(reads).toHaveLength(1);
  announce(ANSWERED);
  await settle();
  const [open] = await elsewhere.list();
  await elsewhere.answer({ id: open?.id ?? "", digest: open?.digest ?? "", answer: "allow-once" });
  for (let hints = 0; hints < 3; hints++) announce(ANSWERED);
  reads[1]?.resolve(); // of what was there before the answer
  await settle();
  expect(reads).toHaveLength(3);
  reads[2]?.resolve();
  expect(await end).toBeUndefined();
});

test("the store is read at most once in 500 ms however many questions are open, and not at all when none is", async () => {
  const { approvals, elsewhere, reads, clock, announce, followers } = watched();
  const ends = ["call_1", "call_2"].map((callId) => approvals.ask({ ...QUESTION, callId }));
  await clock.advance(499);
  expect(reads).toHaveLength(0);
  await clock.advance(1);
  ends.push(approvals.ask({ ...QUESTION, callId: "call_3" }));
  await clock.advance(5_000);
  expect(reads).toHaveLength(1); // which goes on
  for (let read = 0; read < 3; read++) {
    reads[read]?.resolve();
    await clock.advance(500);
  }
  expect(reads).toHaveLength(4);
  reads[3]?.resolve();
  await clock.advance(100);
  announce(ANSWERED); // in place of the read that was due
  await settle();
  reads[4]?.resolve();
  await clock.advance(499);
  expect([reads.length, followers()]).toEqual([5, 1]);
  for (const { id, digest } of await elsewhere.list()) await elsewhere.answer({ id, digest, answer: "allow-once" });
  await clock.advance(1);
  reads[5]?.resolve();
  expect(await Promise.all(ends)).toEqual([undefined, undefined, undefined]);
  await clock.advance(5_000);
  expect([reads.length, followers()]).toEqual([6, 0]);
});

test.each<[object, string]>([
  [{ status: "opened" }, `The status of an approval must be one of ${APPROVAL_STATUSES.join(", ")}; this is "opened".`],
  [{ status: ["open", 1] }, `The status of an approval must be one of ${APPROVAL_STATUSES.join(", ")}; this is 1.`],
  [{ first: "last" }, '"first" of the list of approvals must be "oldest" or "newest", not "last".'],
  [{ limit: 0 }, "limit is 0; it must be an integer of at least 1."],
  [{ limit: "5" }, 'limit is "5"; it must be an integer of at least 1.'],
  [{ after: "7" }, 'after is "7"; it takes the position of an approval.'],
  [{ after: Number.NaN }, "after is NaN; it takes the position of an approval."],
])("a list of approvals with the options %j is rejected with invalid_argument", async (options, message) => {
  const inbox = new StoredApprovals({ store: memoryStore().approvals });
  await expect(inbox.list(options as ListApprovalsOptions)).rejects.toMatchObject({ code: "invalid_argument", message });
});

test.each([-1, 1.5, Number.NaN, undefined, "1"])("many questions are not answered up to the position %j", async (upTo) => {
  const inbox = new StoredApprovals({ store: memoryStore().approvals });
  const answer = Reflect.apply(inbox.answerMany.bind(inbox), undefined, [{ answer: "allow-once", upTo }]);
  await expect(answer).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringContaining("upTo of answerMany()") });
});
