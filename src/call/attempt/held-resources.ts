/** The resources that a call holds while its handler runs: its locks, then a slot of its tool, of its toolset and of the runtime. */
import { ToolError, describeThrown } from "../../core/error.ts";
import type { LockTicket } from "../../core/resources/locks.ts";
import type { SlotLimit } from "../../core/resources/slots.ts";
import { roundMs } from "../../core/system/system-ports.ts";
import { waitFor } from "../../policy/attempts/deadline.ts";
import { addLease, borrowLocks, findSlotLender } from "./borrow-resources.ts";
import { lockKeysOf, type AdmittedCall, type CallRun } from "../call-run.ts";
import { noteLockWait, noteWait, REPORTED_WAIT_MS } from "../finish/call-timing.ts";
import { wouldDeadlock } from "./deadlock.ts";
import { notStartedError } from "./not-started-errors.ts";
import { tryTakeSlot, waitForSlot, type HeldSlot, type LentSlot } from "./lent-resources.ts";

/** Enters the queue for the call's locks. This happens in call order, whatever the call must wait for before. `release` leaves the queue. */
export function enterLockQueue(run: AdmittedCall): AdmittedCall | ToolError {
  const { reads, writes } = run.effects.lock;
  if (reads.length + writes.length === 0 || run.isAnswered || run.route.rules.locks === "none" || run.ticket !== undefined) return run;
  const ticket = run.callerRun === undefined ? requestOwnLocks(run) : borrowLocks(run);
  if (ticket instanceof Error) return ticket;
  if (!run.plan.isShared) {
    run.ticket = ticket;
    return run;
  }
  const { leases } = run.services;
  if (leases === undefined) {
    ticket.release();
    return noStoreError(run);
  }
  run.ticket = addLease(run, ticket, leases);
  return run;
}

function noStoreError({ toolName, plan }: AdmittedCall): ToolError {
  const toolset = plan.registered.toolset.name;
  return new ToolError(
    "unavailable",
    `${toolName} was not started: its toolset ${JSON.stringify(toolset)} is shared, and there is no store.`,
    {
      outcome: "not_started",
      operatorHint: "Give the runtime the store of the processes that share it.",
    },
  );
}

function requestOwnLocks(run: AdmittedCall): LockTicket {
  const { reads, writes, commutative } = lockKeysOf(run);
  return run.services.locks.request({ owner: run.callId, reads, writes, commutative });
}

/** Takes the call's locks. Returns undefined if there was no wait, else a promise of the error, if any; the caller then releases what was taken. */
export function acquireLocks(run: AdmittedCall): undefined | Promise<ToolError | undefined> {
  const queued = enterLockQueue(run);
  if (queued instanceof Error) return Promise.resolve(queued);
  const { ticket } = run;
  return ticket === undefined || ticket.granted ? undefined : toErrorOnRejection(run, "locks", waitForLocks(run, ticket));
}

/** Takes the slots of an attempt, once it has its locks. Returns the same as `acquireLocks`. */
export function acquireSlots(run: AdmittedCall): undefined | Promise<ToolError | undefined> {
  if (run.plan.limits.length === 0 || run.route.rules.locks === "none") return undefined;
  return takeSlots(run) ? undefined : toErrorOnRejection(run, "slots", waitForSlots(run));
}

/** Releases all locks and slots; no effect the second time. */
export function releaseResources(run: CallRun): void {
  const { ticket, slots } = run;
  run.ticket = undefined;
  run.slots = undefined;
  if (ticket !== undefined) releaseResource(run, ticket);
  if (slots !== undefined) for (const slot of slots) releaseResource(run, slot);
}

/** Releases one lock or slot. An error of a program's own implementation is logged; it affects neither the other releases nor the result. */
export function releaseResource({ services, toolName }: Pick<CallRun, "services" | "toolName">, held: HeldSlot): void {
  try {
    held.release();
  } catch (thrown: unknown) {
    services.ports.log.warn(`The locks or slots of ${toolName} could not be released: ${describeThrown(thrown)}`);
  }
}

async function waitForLocks(run: AdmittedCall, ticket: LockTicket): Promise<ToolError | undefined> {
  const since = run.clock.now();
  let waitedFor = run.hasObservers ? ticket.waitingFor() : [];
  warnUndeclared(run, ticket);
  if (wouldDeadlock(run)) return deadlockError(run);
  noteNestedWait(run);
  const waited = await waitFor(run, ticket.whenGranted(), { endsAt: run.deadlineAt, timeoutError: () => busyError(run, ticket) });
  run.services.nestedWaits.delete(run);
  if (waitedFor.length === 0) waitedFor = "ended" in waited ? ticket.waitingFor() : (ticket.waitedFor?.() ?? []);
  noteLockWait(run, since, waitedFor);
  if (!("value" in waited)) return "ended" in waited ? waited.ended : resourceFailureError(run, "locks", waited.thrown);
  if (!ticket.granted) return deadlockError(run);
  reportWait(run, since, "lock", waitedFor);
  return undefined;
}

/** Takes a slot of each limit without waiting; all or none. */
function takeSlots(run: AdmittedCall): boolean {
  const { limits } = run.plan;
  if (run.callerRun !== undefined) return takeNestedSlots(run);
  let taken = 0;
  try {
    while (taken < limits.length && limits[taken]?.tryTake() === true) taken++;
    if (taken === limits.length) run.slots = limits;
    return taken === limits.length;
  } finally {
    if (taken < limits.length) for (const other of limits.slice(0, taken)) releaseResource(run, other);
  }
}

/** Like `takeSlots`, but takes slots that callers lend first. */
function takeNestedSlots(run: AdmittedCall): boolean {
  const { limits } = run.plan;
  const taken: HeldSlot[] = [];
  try {
    for (const limit of limits) {
      const slot = tryTakeSlot(findSlotLender(run, limit), limit);
      if (slot === undefined) return false;
      taken.push(slot);
    }
    run.slots = taken;
    return true;
  } finally {
    if (taken.length < limits.length) for (const other of taken) releaseResource(run, other);
  }
}

async function waitForSlots(run: AdmittedCall): Promise<ToolError | undefined> {
  const since = run.clock.now();
  run.slots = [];
  for (const limit of run.plan.limits) {
    const lender = run.callerRun === undefined ? undefined : findSlotLender(run, limit);
    const slot = tryTakeSlot(lender, limit) ?? (await awaitSlot(run, lender, limit));
    if (slot instanceof ToolError) {
      noteWait(run, "slot", since);
      return slot;
    }
    run.slots = [...run.slots, slot]; // the earlier slots may have been lent meanwhile, to a call of an earlier attempt
  }
  noteWait(run, "slot", since);
  reportWait(run, since, "slot", []);
  return undefined;
}

async function awaitSlot(run: AdmittedCall, lender: LentSlot | undefined, limit: SlotLimit): Promise<HeldSlot | ToolError> {
  run.awaitedSlot = lender ?? limit;
  if (wouldDeadlock(run)) return deadlockError(run);
  const awaited = waitForSlot(lender, limit, run.turn.session.id);
  noteNestedWait(run);
  const waited = await waitFor(run, awaited.whenTaken(), {
    endsAt: run.deadlineAt,
    timeoutError: () => noSlotError(run, lender === undefined ? limit.unreachable : undefined),
  });
  run.services.nestedWaits.delete(run);
  run.awaitedSlot = undefined;
  if ("value" in waited) return awaited.slot;
  awaited.cancel();
  return "ended" in waited ? waited.ended : resourceFailureError(run, "slots", waited.thrown);
}

/** Waits, and turns a rejection into an error, so that it never rejects. */
function toErrorOnRejection(
  run: AdmittedCall,
  what: "locks" | "slots",
  wait: Promise<ToolError | undefined>,
): Promise<ToolError | undefined> {
  return wait.then(undefined, (thrown: unknown) => {
    run.services.nestedWaits.delete(run);
    run.awaitedSlot = undefined;
    releaseResources(run);
    return resourceFailureError(run, what, thrown);
  });
}

/** The error of locks or slots of the program that throw or reject against their contract; the call then holds none. */
function resourceFailureError(run: AdmittedCall, what: "locks" | "slots", thrown: unknown): ToolError {
  const error = ToolError.fromUnknown(thrown, "unavailable");
  return notStartedError(run, error, `its ${what} failed: ${error.message}`);
}

/** Notes the wait of a nested call: only those can be waited for by calls that hold something. */
function noteNestedWait(run: AdmittedCall): void {
  if (run.callerRun !== undefined) run.services.nestedWaits.add(run);
}

function deadlockError(run: AdmittedCall): ToolError {
  return new ToolError("resource_busy", `${run.toolName} was not started: it would wait for calls that wait for the call it was made in.`, {
    retryable: false,
    outcome: "not_started",
    hint: "Try again when the other calls have ended.",
    operatorHint: "Declare that the tools whose handlers make calls write what those calls write.",
  });
}

function busyError(run: AdmittedCall, ticket: LockTicket): ToolError {
  const unreachable = run.plan.isShared ? run.services.leases?.unreachable : undefined;
  if (unreachable !== undefined) return storeUnreachableError(run, unreachable);
  const holders = describeHolders(run, ticket);
  const by = holders.length === 0 ? "" : ` They are held by ${holders.join(", ")}.`;
  return new ToolError("resource_busy", `${run.toolName} waited for ${describeResources(run)} until its deadline.${by}`, {
    hint: "Try again when that call has ended.",
    toolNames: ticket.waitingFor().flatMap((callId) => holderName(run, callId) ?? []),
  });
}

/** @param unreachable why the slots cannot be counted now */
function noSlotError(run: AdmittedCall, unreachable: string | undefined): ToolError {
  if (unreachable !== undefined) return storeUnreachableError(run, unreachable);
  return new ToolError("resource_busy", `${run.toolName} waited for a free slot until its deadline.`, {
    hint: "Try again when fewer calls are running.",
  });
}

/** The error of a call of a shared toolset whose store could not be reached before the deadline. */
function storeUnreachableError({ toolName }: AdmittedCall, reason: string): ToolError {
  return new ToolError(
    "unavailable",
    `${toolName} was not started: the store through which its toolset is shared could not be reached in time.`,
    {
      outcome: "not_started",
      retryable: true,
      operatorHint: reason,
    },
  );
}

function describeResources({ effects, plan }: AdmittedCall): string {
  const keys = [...effects.writes, ...effects.reads];
  return keys.length === 0 ? `the toolset "${plan.registered.toolset.name}"` : keys.slice(0, 5).join(", ");
}

/** The calls that a ticket waits for, as `tool (call id)`; abandoned ones are marked. */
function describeHolders(run: CallRun, ticket: LockTicket): readonly string[] {
  return ticket.waitingFor().map((callId) => {
    const name = holderName(run, callId) ?? "a call";
    return run.services.orphans.has(callId) ? `${name} (${callId}, abandoned but still running)` : `${name} (${callId})`;
  });
}

function holderName({ services }: CallRun, callId: string): string | undefined {
  return (services.orphans.get(callId) ?? services.running.get(callId))?.toolName;
}

/** Warns, once per tool, that calls wait only because a tool declares no effects. */
function warnUndeclared(run: CallRun, ticket: LockTicket): void {
  const waitedFor = ticket.waitingFor();
  if (waitedFor.length === 0) return; // not known yet whether it waits for any
  const meeting = [run, ...waitedFor.map((callId) => run.services.running.get(callId))];
  const undeclared = meeting.find((other) => other?.effects?.undeclared === true && other.plan?.hasWarnedUndeclared === false);
  if (undeclared?.plan === undefined) return;
  undeclared.plan.hasWarnedUndeclared = true;
  run.services.ports.log.warn(
    `Calls of "${undeclared.plan.registered.toolset.name}" wait for one another because ${undeclared.toolName} declares no effects. Declare what it reads and writes (for an MCP server: effects, or trustAnnotations to believe its hints), and they run side by side.`,
  );
}

function reportWait(run: CallRun, since: number, reason: "lock" | "slot", waitedFor: readonly string[]): void {
  const waitMs = run.clock.now() - since;
  if (waitMs < REPORTED_WAIT_MS || !run.services.listening) return;
  run.emit({ ...run.eventBase, type: "call-wait", toolName: run.toolName, waitMs: roundMs(waitMs), reason, waitedFor });
}
