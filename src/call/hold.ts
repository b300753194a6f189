/** What a call holds while its handler runs: its locks, then a slot of its tool, its toolset and the runtime. */
import { ToolError } from "../core/error.ts";
import type { LockTicket } from "../core/locks.ts";
import type { SlotLimit } from "../core/slots.ts";
import { waitFor } from "../policy/deadline.ts";
import { lockKeysOf, type AdmittedCall, type CallRun } from "./call-run.ts";

/** Waits shorter than this are not reported. */
const REPORTED_WAIT_MS = 1;

/** Takes the call's place in line for its locks: in call order, whatever it still has to wait for. `release` gives it back. */
export function takePlace(run: AdmittedCall): AdmittedCall {
  const { reads, writes } = run.effects.lock;
  if (reads.length + writes.length === 0 || run.isAnswered || run.route.rules.locks === "nobody" || run.ticket !== undefined) return run;
  const lock = lockKeysOf(run);
  run.ticket = run.parts.locks.request({ owner: run.callId, reads: lock.reads, writes: lock.writes, commutative: lock.commutative });
  return run;
}

/** Takes the call's locks. Returns undefined when nothing had to be waited for; otherwise a promise of the error, if any. */
export function acquireLocks(run: AdmittedCall): undefined | Promise<ToolError | undefined> {
  takePlace(run);
  const { ticket } = run;
  return ticket === undefined || ticket.granted ? undefined : waitForLocks(run, ticket);
}

/** Takes the slots that an attempt runs in, once it has its locks. As `acquireLocks`. */
export function acquireSlots(run: AdmittedCall): undefined | Promise<ToolError | undefined> {
  if (run.plan.limits.length === 0 || run.route.rules.locks === "nobody") return undefined;
  return takeSlots(run) ? undefined : waitForSlots(run);
}

/** Gives everything back; nothing happens the second time. */
export function release(run: CallRun): void {
  run.ticket?.release();
  run.ticket = undefined;
  if (run.slots === undefined) return;
  for (const limit of run.slots) limit.release();
  run.slots = undefined;
}

async function waitForLocks(run: AdmittedCall, ticket: LockTicket): Promise<ToolError | undefined> {
  const since = run.clock.now();
  const waitedFor = run.parts.listening ? ticket.waitingFor() : [];
  warnUndeclared(run, ticket);
  const waited = await waitFor(run, ticket.whenGranted(), { endsAt: run.deadlineAt, late: () => busy(run, ticket) });
  if ("ended" in waited) {
    release(run);
    return waited.ended;
  }
  reportWait(run, since, "lock", waitedFor);
  return undefined;
}

/** Takes a slot of each limit that is set, without waiting; all or none. */
function takeSlots(run: AdmittedCall): boolean {
  const { limits } = run.plan;
  let taken = 0;
  for (const one of limits) {
    if (!one.tryTake()) {
      for (const other of limits.slice(0, taken)) other.release();
      return false;
    }
    taken++;
  }
  run.slots = limits;
  return true;
}

async function waitForSlots(run: AdmittedCall): Promise<ToolError | undefined> {
  const since = run.clock.now();
  const taken: SlotLimit[] = [];
  run.slots = taken;
  for (const one of run.plan.limits) {
    if (!one.tryTake()) {
      const waiter = one.wait(run.turn.session.id);
      const waited = await waitFor(run, waiter.whenTaken(), { endsAt: run.deadlineAt, late: () => noSlot(run) });
      if ("ended" in waited) {
        waiter.cancel();
        release(run);
        return waited.ended;
      }
    }
    taken.push(one);
  }
  reportWait(run, since, "slot", []);
  return undefined;
}

function busy(run: AdmittedCall, ticket: LockTicket): ToolError {
  const holders = namesOf(run, ticket);
  const by = holders.length === 0 ? "" : ` They are held by ${holders.join(", ")}.`;
  return new ToolError("resource_busy", `${run.toolName} waited for ${resourcesOf(run)} until its deadline.${by}`, {
    hint: "Try again when that call has ended.",
    toolNames: ticket.waitingFor().flatMap((callId) => holderName(run, callId) ?? []),
  });
}

function noSlot(run: CallRun): ToolError {
  return new ToolError("resource_busy", `${run.toolName} waited for a free slot until its deadline.`, {
    hint: "Try again when fewer calls are running.",
  });
}

function resourcesOf({ effects, plan }: AdmittedCall): string {
  const keys = [...effects.writes, ...effects.reads];
  return keys.length === 0 ? `the toolset "${plan.registered.toolset.name}"` : keys.slice(0, 5).join(", ");
}

/** The calls a ticket waits for, as `tool (call id)`, abandoned ones marked. */
function namesOf(run: CallRun, ticket: LockTicket): readonly string[] {
  return ticket.waitingFor().map((callId) => {
    const name = holderName(run, callId) ?? "a call";
    return run.parts.orphans.has(callId) ? `${name} (${callId}, abandoned but still running)` : `${name} (${callId})`;
  });
}

function holderName({ parts }: CallRun, callId: string): string | undefined {
  return (parts.orphans.get(callId) ?? parts.running.get(callId))?.toolName;
}

/** Says once per tool when calls wait only because a tool declares no effects. */
function warnUndeclared(run: CallRun, ticket: LockTicket): void {
  const meeting = [run, ...ticket.waitingFor().map((callId) => run.parts.running.get(callId))];
  const undeclared = meeting.find((other) => other?.effects?.undeclared === true && other.plan?.warnedUndeclared === false);
  if (undeclared?.plan === undefined) return;
  undeclared.plan.warnedUndeclared = true;
  run.parts.ports.log.warn(
    `Calls of "${undeclared.plan.registered.toolset.name}" wait for one another because ${undeclared.toolName} declares no effects. Declare what it reads and writes (for an MCP server: effects, or trustAnnotations to believe its hints), and they run side by side.`,
  );
}

function reportWait(run: CallRun, since: number, reason: "lock" | "slot", waitedFor: readonly string[]): void {
  const waitMs = run.clock.now() - since;
  if (waitMs < REPORTED_WAIT_MS || !run.parts.listening) return;
  run.emit({ ...run.eventBase, type: "call-wait", toolName: run.toolName, waitMs, reason, waitedFor });
}
