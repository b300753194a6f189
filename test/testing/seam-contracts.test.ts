/** The contracts of locks, slots, approvals and stored jobs find an implementation that breaks a promise. */
import { expect, test } from "vitest";
import { ResourceLocks } from "../../src/policy/locks/resource-locks.ts";
import type { ApprovalDecision, Approvals } from "../../src/core/approvals/approvals.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import type { JobStore } from "../../src/core/store/job-store.ts";
import type { LockRequest, Locks } from "../../src/core/resources/locks.ts";
import type { SlotWaiter, Slots } from "../../src/core/resources/slots.ts";
import type { Store } from "../../src/core/store/store.ts";
import { ApprovalGate } from "../../src/policy/approval/approval-gate.ts";
import { Limit } from "../../src/policy/locks/limit.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { approvalsContract, type ApprovalsMaker } from "../../src/testing/approvals-contract.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { jobStoreContract } from "../../src/testing/job-store-contract.ts";
import { locksContract } from "../../src/testing/locks-contract.ts";
import { slotsContract } from "../../src/testing/slots-contract.ts";
import { localStore } from "../store/local-store.ts";
import { temporaryFile } from "../store/temporary-file.ts";

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
  ["that know no hierarchy", () => locksReading((request) => ({ ...request, writes: request.writes.map(flat) })), "keys inside its own"],
  ["of which each process has its own", () => new ResourceLocks(), "a writer waits for earlier readers"],
])("locks %s violate the contract", async (what, make, title) => {
  const shared = !what.startsWith("of which");
  const found = await failures(locksContract, () => {
    const locks = make();
    return { locks, other: shared ? locks : make() };
  });
  expect(found.join("\n")).toContain(title);
});

const flat = (key: string): string => key.replaceAll("/", "-");

/** A limit that lets each waiter go as soon as it has asked. */
class HastyLimit extends Limit {
  override wait(): SlotWaiter {
    const waiter = { taken: false, whenTaken: () => whenTaken, cancel() {} };
    const whenTaken = Promise.resolve().then(() => void (waiter.taken = true));
    return waiter;
  }
}

test.each<[string, () => Slots, string]>([
  ["that are never taken", () => ({ limit: (_, max) => Object.assign(new Limit(max), { tryTake: () => true }) }), "are shared"],
  ["whose waiters do not wait", () => ({ limit: (_, max) => new HastyLimit(max) }), "are shared"],
  ["that are another's each time", () => ({ limit: (_, max) => new Limit(max) }), "are shared"],
])("slots %s violate the contract", async (_, make, title) => {
  const found = await failures(slotsContract, () => ({ slots: make(), other: make() }));
  expect(found.join("\n")).toContain(title);
});

test.each<[string, ApprovalsMaker, string]>([
  [
    "that take an answer to another input",
    approvalsWith((gate) => ({
      async answer(decision: ApprovalDecision) {
        const open = (await gate.pending()).find((one) => "callId" in decision && one.callId === decision.callId);
        return open !== undefined && (await gate.answer({ ...decision, digest: open.digest }));
      },
    })),
    "an answer to another input",
  ],
  [
    "that allow a tool where one call was allowed",
    approvalsWith((gate) => ({ allowOnce: (id) => (gate.allowAlways(id, "files::delete"), () => {}) })),
    "allowed once",
  ],
  [
    "that withdraw the question of a call that continues elsewhere",
    approvalsWith((gate) => ({ ask: ({ isHandedOver: _isLeft, ...question }) => gate.ask(question) })),
    "stays open",
  ],
  [
    "that allow a tool for good with whatever its provider wants confirmed",
    approvalsWith((gate) => ({
      ask: ({ safetyChecks: _checks, ...question }) => gate.ask(question),
    })),
    "wants the call confirmed",
  ],
  [
    "that answer a question with a warning by what was allowed before",
    approvalsWith((gate) => ({
      ask: ({ warned: _warned, ...question }) => gate.ask(question),
    })),
    "in view of one",
  ],
  ["that forget no session's rule", approvalsWith(() => ({ forget: () => {} })), "until the session ends"],
])("approvals %s violate the contract", async (_, make, title) => {
  expect((await failures(approvalsContract, () => make)).join("\n")).toContain(title);
});

/** A store in memory whose jobs are kept in a way of their own. */
function storeWith(
  change: (jobs: JobStore) => Partial<JobStore>,
  append: (events: readonly SessionEvent[]) => readonly SessionEvent[] = same,
): Store {
  const store = memoryStore();
  const jobs = { ...store.jobs, ...change(store.jobs) };
  const create: Store["create"] = (id, options) => {
    const log = store.create(id, options);
    return new Proxy(log, {
      get: (target, name) => {
        if (name === "append") return (events: readonly SessionEvent[]) => target.append(append(events));
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  };
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = name === "jobs" ? jobs : name === "create" ? create : Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

const same = <T>(value: T): T => value;

test.each<[string, () => Store, string]>([
  [
    "that lists the oldest first",
    () => storeWith((jobs) => ({ list: async (o) => (await jobs.list(o)).toReversed() })),
    "the newest are listed first",
  ],
  [
    "that lists every job of the id",
    () => storeWith((jobs) => ({ list: ({ sessionId: _sessionId, ...o } = {}) => jobs.list(o) })),
    "separate in each session",
  ],
  [
    "that ends a job without its error",
    () => storeWith((jobs) => ({ list: async (o) => (await jobs.list(o)).map(({ errorCode: _errorCode, ...job }) => job) })),
    "each way in which a call ends",
  ],
  [
    "that does not see the end",
    () =>
      storeWith(
        () => ({}),
        (events) => events.filter(({ type }) => type !== "job-end"),
      ),
    "a job is listed as",
  ],
  [
    "that does not see a start",
    () =>
      storeWith(
        () => ({}),
        (events) => events.filter(({ type }) => type !== "job-run"),
      ),
    "a job is listed as",
  ],
  [
    "that says of ended jobs that they can be cancelled",
    () => storeWith((jobs) => ({ requestCancel: async (r) => (await jobs.requestCancel(r), true) })),
    "is to be cancelled",
  ],
  [
    "that keeps the last reason",
    () => storeWith((jobs) => ({ cancelRequests: async () => (await jobs.cancelRequests()).map((r) => ({ ...r, reason: "said twice" })) })),
    "is to be cancelled",
  ],
  ["that forgets nothing", () => storeWith(() => ({ prune: async () => 0 })), "dropped by count and age"],
  ["that ignores the age", () => storeWith((jobs) => ({ prune: ({ keep }) => jobs.prune({ keep }) })), "dropped by count and age"],
  ["that answers when it is closed", () => storeWith(() => ({ list: async () => [] })), "after closing"],
])("a store %s violates the contract of jobs", async (_, make, title) => {
  const contract = jobStoreContract.filter(({ needsSecond }) => !needsSecond);
  const found = await failures(contract, () => ({ store: make(), createSecond: make }));
  expect(found.join("\n")).toContain(title);
});

test.each<[string, (path: string) => Store, string]>([
  ["names the cancelled jobs of other processes", everybodysRequests, "asked to end, by another process"],
  ["lists sessions that are open, or have nothing to do, as unattended", everySession, "sessions that no process has open are listed"],
  ["lets a late owner end a job", lateEnds, "a late owner's end"],
])("a store that %s violates the contract of jobs", async (_, make, title) => {
  const contract = jobStoreContract.filter(({ needsSecond }) => needsSecond);
  const found = await failures(contract, () => {
    const path = temporaryFile();
    return { store: make(path), createSecond: () => make(path) };
  });
  expect(found.join("\n")).toContain(title);
});

function everySession(path: string): Store {
  const { store } = localStore(path, { busyTimeoutMs: 5_000 });
  const unattended: JobStore["unattended"] = async () => (await store.jobs.list()).map(({ sessionId }) => sessionId);
  Object.assign(store.jobs, { unattended });
  return store;
}

function everybodysRequests(path: string): Store {
  const { store } = localStore(path, { busyTimeoutMs: 5_000 });
  const cancelRequests: JobStore["cancelRequests"] = async () =>
    (await store.jobs.list()).flatMap(({ sessionId, id, cancelReason: reason }) =>
      reason === undefined ? [] : [{ sessionId, id, reason }],
    );
  Object.assign(store.jobs, { cancelRequests });
  return store;
}

/** Writes the end of a job where it is appended, whoever has the session. */
function lateEnds(path: string): Store {
  const { store, file } = localStore(path, { busyTimeoutMs: 5_000 });
  const create = store.create.bind(store);
  store.create = (id, options) => {
    const log = create(id, options);
    const append = log.append.bind(log);
    log.append = (events) => {
      append(events);
      const end = events.find(({ type }) => type === "job-end");
      if (end !== undefined) file.prepare("update haft_job set state = 'done', ended_at = ?").run(end.at);
    };
    return log;
  };
  return store;
}
