/** The part of the store contract about webhooks. */
import { deepEqual } from "node:assert/strict";
import type { NewApproval } from "../core/store/approval-store.ts";
import type { WebhookStore } from "../core/store/webhook-store.ts";
import { singleStoreCase, twoStoreCase, type StoreCase } from "./store-case.ts";

const MINUTE_MS = 60_000;
/** The same moment by clocks that are far apart: in 1970, 2001 and 2096. */
const CLOCKS = [1_000, 1e12, 4e12] as const;

export const webhookCases: readonly StoreCase[] = [
  singleStoreCase("a message is kept for each endpoint of its type, and goes with its endpoint", async ({ approvals, webhooks }) => {
    await webhooks.setEndpoints([
      { id: "a", types: ["approval.asked", "job.ended"] },
      { id: "b", types: ["approval.asked"] },
      { id: "c", types: ["job.ended"] },
    ]);
    await approvals.put(question("q", 10));
    await webhooks.setEndpoints([{ id: "a", types: ["job.ended"] }]);
    await approvals.put(question("q2", 10));
    deepEqual(
      (await webhooks.claim(claimAt(10))).map(({ endpoint, attempts }) => [endpoint, attempts]),
      [["a", 1]],
    );
  }),
  singleStoreCase(
    "a message is due at once, again when its try has failed, and never after it was removed",
    async ({ approvals, webhooks }) => {
      await webhooks.setEndpoints([{ id: "a", types: ["approval.asked"] }]);
      await approvals.put(question("q", 10));
      const [first] = await webhooks.claim(claimAt(10));
      const key = { endpoint: "a", messageId: first?.messageId ?? "" };
      deepEqual(await attemptsOf(webhooks, 10), []);
      await webhooks.retry({ ...key, attempts: 1, now: 10, dueAt: 10 });
      deepEqual(await attemptsOf(webhooks, 10), [2]);
      await webhooks.retry({ ...key, attempts: 2, now: 10, dueAt: 10 + MINUTE_MS });
      deepEqual(await attemptsOf(webhooks, 10), []);
      await webhooks.retry({ ...key, attempts: 2, now: 10, dueAt: 10 });
      await webhooks.remove(key);
      deepEqual(await attemptsOf(webhooks, 10), []);
    },
  ),
  twoStoreCase(
    "a sender that was suspended for longer than its claim does not make due the message that another has claimed",
    async (one, other) => {
      await one.webhooks.setEndpoints([{ id: "a", types: ["approval.asked"] }]);
      await one.approvals.put(question("q", 10));
      const [message] = await one.webhooks.claim({ now: 10, until: 10, limit: 1 });
      deepEqual(await attemptsOf(other.webhooks, 10), [2]);
      await one.webhooks.retry({ endpoint: "a", messageId: message?.messageId ?? "", attempts: 1, now: 10, dueAt: 10 });
      deepEqual(await attemptsOf(one.webhooks, 10), []);
    },
  ),
  twoStoreCase("processes whose clocks are far apart agree on which messages are due", async (one, other) => {
    await one.webhooks.setEndpoints([{ id: "a", types: ["approval.asked"] }]);
    for (const own of CLOCKS)
      for (const theirs of CLOCKS) {
        await one.approvals.put(question(`${own} ${theirs}`, own));
        const [claimed] = await other.webhooks.claim(claimAt(theirs));
        const key = { endpoint: "a", messageId: claimed?.messageId ?? "" };
        deepEqual([claimed?.attempts, await attemptsOf(one.webhooks, own)], [1, []]);
        await other.webhooks.retry({ ...key, attempts: 1, now: theirs, dueAt: theirs });
        deepEqual([await attemptsOf(one.webhooks, own), await attemptsOf(other.webhooks, theirs)], [[2], []]);
        await one.webhooks.retry({ ...key, attempts: 2, now: own, dueAt: own + MINUTE_MS });
        deepEqual(await attemptsOf(other.webhooks, theirs), []);
        await other.webhooks.remove(key);
      }
  }),
];

/** Options for a claim of one minute. */
function claimAt(now: number): Parameters<WebhookStore["claim"]>[0] {
  return { now, until: now + MINUTE_MS, limit: 100 };
}

/** Claims the messages that are due, and returns how often each was attempted. */
async function attemptsOf(webhooks: WebhookStore, now: number): Promise<readonly number[]> {
  return (await webhooks.claim(claimAt(now))).map(({ attempts }) => attempts);
}

function question(id: string, askedAt: number): NewApproval {
  const text = { sessionId: "s", callId: "c", turnId: "t", toolName: "a::b", description: "", reason: "It may do harm." };
  return { id, ...text, input: {}, digest: "d", definition: "f", simulated: false, askedAt };
}
