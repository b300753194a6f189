/** The contracts of locks, slots and approvals find an implementation that breaks a promise. */
import { expect, test } from "vitest";
import { ResourceLocks } from "../../src/call/resource-locks.ts";
import type { ApprovalDecision, Approvals } from "../../src/core/approvals.ts";
import type { LockRequest, Locks } from "../../src/core/locks.ts";
import type { Slots } from "../../src/core/slots.ts";
import { ApprovalGate } from "../../src/policy/approval.ts";
import { Limit } from "../../src/policy/limit.ts";
import { approvalsContract, type ApprovalsMaker } from "../../src/testing/approvals-contract.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { locksContract } from "../../src/testing/locks-contract.ts";
import { slotsContract } from "../../src/testing/slots-contract.ts";

/** The titles of the cases that fail. */
async function failures<Subject>(
  contract: readonly { readonly title: string; run(subject: Subject): Promise<void> }[],
  subject: () => Subject,
): Promise<readonly string[]> {
  const outcomes = await Promise.allSettled(contract.map((one) => one.run(subject())));
  return contract.flatMap(({ title }, index) => (outcomes[index]?.status === "rejected" ? [title] : []));
}

/** Locks that read each request in a way of their own. */
function locksReading(change: (request: LockRequest) => LockRequest): Locks {
  const locks = new ResourceLocks();
  return { request: (request) => locks.request(change(request)) };
}

function approvalsWith(change: (gate: ApprovalGate) => Partial<Approvals>): ApprovalsMaker {
  return (approve) => {
    const gate = new ApprovalGate(approve === undefined ? {} : { approve }, fakePorts());
    return new Proxy<Approvals>(gate, {
      get: (target, name) => {
        const value: unknown = Reflect.get(change(gate), name) ?? Reflect.get(target, name, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  };
}

test.each<[string, () => Locks, string]>([
  ["that exclude nobody", () => locksReading((request) => ({ ...request, writes: [] })), "a writer waits for earlier readers"],
  ["that take plain writes for commutative ones", () => locksReading((request) => ({ ...request, commutative: true })), "opposite orders"],
  ["that know no hierarchy", () => locksReading((request) => ({ ...request, writes: request.writes.map(flat) })), "inside its key"],
  ["of which each process has its own", () => new ResourceLocks(), "a writer waits for earlier readers"],
])("locks %s break the contract", async (what, make, title) => {
  const shared = !what.startsWith("of which");
  const found = await failures(locksContract, () => {
    const locks = make();
    return { locks, other: shared ? locks : make() };
  });
  expect(found.join("\n")).toContain(title);
});

const flat = (key: string): string => key.replaceAll("/", "-");

test.each<[string, () => Slots, string]>([
  ["that are never taken", () => ({ limit: (_, max) => Object.assign(new Limit(max), { tryTake: () => true }) }), "are shared"],
  ["that are another's each time", () => ({ limit: (_, max) => new Limit(max) }), "are shared"],
])("slots %s break the contract", async (_, make, title) => {
  const found = await failures(slotsContract, () => ({ slots: make(), other: make() }));
  expect(found.join("\n")).toContain(title);
});

test.each<[string, ApprovalsMaker, string]>([
  [
    "that take an answer to another input",
    approvalsWith((gate) => ({
      async answer({ callId, answer }: ApprovalDecision) {
        const open = (await gate.pending()).find((one) => one.callId === callId);
        return open !== undefined && (await gate.answer({ callId, digest: open.digest, answer }));
      },
    })),
    "an answer to another input",
  ],
  [
    "that allow a tool where one call was allowed",
    approvalsWith((gate) => ({ allowOnce: (id) => (gate.allowAlways(id, "files::delete"), () => {}) })),
    "allowed once",
  ],
  ["that forget no session's rule", approvalsWith(() => ({ forget: () => {} })), "until the session ends"],
])("approvals %s break the contract", async (_, make, title) => {
  expect((await failures(approvalsContract, () => make)).join("\n")).toContain(title);
});
