/** What a call holds while its handler runs: its locks, then a slot of its tool, its toolset and the runtime. */
import { ToolError } from "../core/error.ts";
import type { LockTicket } from "../core/locks.ts";
import type { SlotLimit } from "../core/slots.ts";
import { waitFor } from "../policy/deadline.ts";
import type { CallRun, StepEnd } from "./call-run.ts";
import { lockKeysIn } from "./resolve-effects.ts";
import type { LockKeys } from "./resolve-effects.ts";
import { guardsOf } from "./resolve-tool.ts";

/** Waits shorter than this are not reported. */
const REPORTED_WAIT_MS = 1;

/** Takes the call's place in line for its locks: in call order, whatever it still has to wait for. `release` gives it back. */
export function takePlace(run: CallRun): undefined {
  if (run.isAnswered || run.route?.via === "stand-in" || run.route?.via === "simulate") return undefined; // it touches nothing that others could
  const lock = lockKeysOf(run);
  if (lock === undefined || lock.reads.length + lock.writes.length === 0) return undefined;
  run.ticket ??= run.parts.locks.request({ owner: run.callId, reads: lock.reads, writes: lock.writes, commutative: lock.commutative });
  return undefined;
}

/** Takes the call's locks. Returns undefined when nothing had to be waited for; otherwise a promise of the error, if any. */
export function acquireLocks(run: CallRun): undefined | Promise<StepEnd> {
  takePlace(run);
  const { ticket } = run;
  return ticket === undefined || ticket.granted ? undefined : waitForLocks(run, ticket);
}

/** Takes the slots that an attempt runs in, once it has its locks. As `acquireLocks`. */
export function acquireSlots(run: CallRun): undefined | Promise<StepEnd> {
  if (run.route?.via === "stand-in" || run.route?.via === "simulate") return undefined;
  return takeSlots(run) ? undefined : waitForSlots(run);
}

/** The keys that the call locks, a session's own told from those of other sessions. */
export function lockKeysOf({ effects, turn, touchesNothing }: CallRun): LockKeys | undefined {
  if (effects === undefined || !(effects.hasSessionKeys || touchesNothing)) return effects?.lock;
  return lockKeysIn(turn.session.id, effects.lock, touchesNothing);
}

/** Gives everything back; nothing happens the second time. */
export function release(run: CallRun): void {
  run.ticket?.release();
  run.ticket = undefined;
  if (run.slots === undefined) return;
  for (const limit of run.slots) limit.release();
  run.slots = undefined;
}

async function waitForLocks(run: CallRun, ticket: LockTicket): Promise<StepEnd> {
  const since = run.clock.now();
  const waitedFor = run.parts.listening ? ticket.waitingFor() : [];
  tellToDeclare(run, ticket);
  const waited = await waitFor(run, ticket.whenGranted(), { endsAt: run.deadlineAt, late: () => busy(run, ticket) });
  if ("ended" in waited) {
    release(run);
    return waited.ended;
  }
  reportWait(run, since, "lock", waitedFor);
  return undefined;
}

/** Takes a slot of each limit that is set, without waiting; all or none. */
function takeSlots(run: CallRun): boolean {
  const limits = limitsOf(run);
  if (limits === undefined) return true;
  const taken: SlotLimit[] = [];
  for (const one of limits) {
    if (!one.tryTake()) {
      for (const other of taken) other.release();
      return false;
    }
    taken.push(one);
  }
  run.slots = taken;
  return true;
}

/** The limits that are set, the narrowest first: who waits for a wide one keeps out nobody but its like. */
function limitsOf(run: CallRun): readonly SlotLimit[] | undefined {
  const { limit, toolsetLimit } = guardsOf(run);
  const whole = run.parts.limit;
  if (limit === undefined && toolsetLimit === undefined && whole === undefined) return undefined;
  return [limit, toolsetLimit, whole].filter((one) => one !== undefined);
}

async function waitForSlots(run: CallRun): Promise<StepEnd> {
  const since = run.clock.now();
  run.slots = [];
  for (const one of limitsOf(run) ?? []) {
    if (!one.tryTake()) {
      const waiter = one.wait(run.turn.session.id);
      const waited = await waitFor(run, waiter.whenTaken(), { endsAt: run.deadlineAt, late: () => noSlot(run) });
      if ("ended" in waited) {
        waiter.cancel();
        release(run);
        return waited.ended;
      }
    }
    run.slots.push(one);
  }
  reportWait(run, since, "slot", []);
  return undefined;
}

function busy(run: CallRun, ticket: LockTicket): ToolError {
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

function resourcesOf(run: CallRun): string {
  const keys = [...(run.effects?.writes ?? []), ...(run.effects?.reads ?? [])];
  return keys.length === 0 ? `the toolset "${run.registered?.toolset.name ?? ""}"` : keys.slice(0, 5).join(", ");
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
function tellToDeclare(run: CallRun, ticket: LockTicket): void {
  const meeting = [run, ...ticket.waitingFor().map((callId) => run.parts.running.get(callId))];
  const undeclared = meeting.find((other) => other?.effects?.undeclared === true && other.guards?.toldToDeclare === false);
  if (undeclared?.guards === undefined) return;
  undeclared.guards.toldToDeclare = true;
  run.parts.ports.log.warn(
    `Calls of "${undeclared.registered?.toolset.name ?? ""}" wait for one another because ${undeclared.toolName} declares no effects. Declare what it reads and writes (for an MCP server: effects, or trustAnnotations to believe its hints), and they run side by side.`,
  );
}

function reportWait(run: CallRun, since: number, reason: "lock" | "slot", waitedFor: readonly string[]): void {
  const waitMs = run.clock.now() - since;
  if (waitMs < REPORTED_WAIT_MS || !run.parts.listening) return;
  run.emit({ ...run.eventBase, type: "call-wait", toolName: run.toolName, waitMs, reason, waitedFor });
}
