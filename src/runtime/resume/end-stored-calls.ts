/** Ends calls of sessions that no process has open, and everything that is open in the sessions that these calls began. */
import { ToolError } from "../../core/error.ts";
import type { CallPlace, SessionEvent } from "../../core/event.ts";
import type { EventLog, Store } from "../../core/store/store.ts";
import { readEventPages, type ReadableLog } from "../../session/read-events.ts";
import { revokeSessionKeys } from "../../session/revoke-session-keys.ts";
import { SessionFold } from "./fold-events.ts";
import { nestedSessionId, isStartedBy, findCallsLeftOpen } from "../nested-session.ts";
import { createCallEndEvents, type OpenCall } from "./open-call.ts";
import { cancelledJobError } from "./resume-jobs.ts";

/** Why and when calls end. */
export interface EndingOptions {
  readonly reason: string;
  readonly at: number;
}

/** Ends calls of a session and, before them, everything that is open in the sessions that they began: no process will resume it. */
export async function endStoredCalls(
  store: Store,
  log: EventLog,
  { calls, reason, at }: EndingOptions & { readonly calls: readonly OpenCall[] },
): Promise<void> {
  const { sessionId } = log;
  // The session of a call belongs to the owner of the call's log, and is taken over from a process that is still closing it.
  for (const { callId } of calls) await endSessionOfCall(store, { sessionId, callId }, { reason, at, takeOver: true, outer: log });
  const events: SessionEvent[] = calls.flatMap((call) => createCallEndEvents(call, cancelledJobError(call, reason), { sessionId, at }));
  if (events.length === 0) return;
  log.append(events);
  await log.whenDurable();
}

/**
 * After a crash, ends what is still open in the sessions that ended calls of this session had begun. Called by code that claims a log for a short
 * time. If something could not be ended, the log stays marked as left open, so that the next claim tries again.
 */
export async function endSessionsLeftOpen(store: Store, log: EventLog, at: number): Promise<void> {
  if (!log.wasLeftOpen) return;
  const { sessionId } = log;
  const ending = { reason: "the call that had begun its session has ended", at, outer: log };
  const ended: string[] = [];
  try {
    for await (const events of readEventPages(log))
      for (const event of events) if (event.type === "call-end" && event.sessionId === sessionId) ended.push(event.callId);
    for (const callId of await findCallsLeftOpen(store, sessionId, ended))
      if (!(await endSessionOfCall(store, { sessionId, callId }, ending))) log.leaveOpen?.();
  } catch (thrown: unknown) {
    log.leaveOpen?.(); // the next claim tries again
    throw thrown;
  }
}

/**
 * Removes a session that is not open here, for good, and revokes its keys, even if it is gone: an earlier removal may have failed in between. First
 * ends the open calls in sessions that its calls began: those sessions stay, and no process would resume them. If the process ends in between, the
 * session is left to the next removal. A removal that is refused ends nothing. Resolves to whether the session existed.
 *
 * @throws ToolError as `Store.remove`; also `store_failed` if not all open calls could be ended: the session then stays; as a rejection
 */
export async function removeStored(store: Store, sessionId: string, at: number): Promise<boolean> {
  const wasThere = await removeFromStore(store, sessionId, at);
  await revokeSessionKeys(store.access, sessionId, at);
  return wasThere;
}

async function removeFromStore(store: Store, sessionId: string, at: number): Promise<boolean> {
  const log = await claimForRemoval(store, sessionId);
  if (log === undefined) return await removeUnclaimed(store, sessionId);
  if (log.wasLeftOpen) log.leaveOpen?.();
  try {
    // While the session is claimed, no other process begins a branch of it.
    const isKept = (await findBranch(store, sessionId)) !== undefined;
    if (!isKept) await endSessionsOfCalls(store, { outer: log, callIds: await callsWithOpenSessions(store, log, log.wasLeftOpen), at });
    return await store.remove(sessionId);
  } finally {
    await log.close().catch(() => {}); // the claim is lost with its session
  }
}

/**
 * Claims a session, so that no other runtime has it, or begins another session with its id. Undefined if it does not exist or cannot be claimed.
 *
 * @throws ToolError `resource_busy` if another process, or another runtime of this one, has it; as a rejection
 */
async function claimForRemoval(store: Store, sessionId: string): Promise<EventLog | undefined> {
  const log = await claimIfFree(store, sessionId, { unverified: true });
  if (log !== "busy") return log;
  const [stored] = await store.list({ sessionId });
  const openedBy = stored?.sessionId === sessionId ? stored.openedBy : undefined;
  const again = openedBy === undefined ? await claimIfFree(store, sessionId, { unverified: true }) : "busy"; // it may have been released since
  if (again !== "busy") return again;
  throw openElsewhereError(openedBy ?? "another process", sessionId);
}

function openElsewhereError(owner: string, sessionId: string): ToolError {
  return new ToolError("resource_busy", `Session ${JSON.stringify(sessionId)} is open in ${owner}.`, {
    hint: "Close it there, and try again.",
  });
}

/** Removes a session too damaged to be claimed; false if it does not exist, or a later one has its id. @throws ToolError as `claimForRemoval` */
async function removeUnclaimed(store: Store, sessionId: string, createdAt?: number): Promise<boolean> {
  const [stored] = await store.list({ sessionId });
  if (stored?.sessionId !== sessionId || (createdAt !== undefined && stored.createdAt !== createdAt)) return false;
  if (stored.openedBy !== undefined) throw openElsewhereError(stored.openedBy, sessionId);
  return await store.remove(sessionId);
}

/**
 * Removes a session that this runtime has closed, unless another process removed it meanwhile and began another session with its id. While it is
 * claimed, none can. Its keys are revoked.
 *
 * @param options.createdAt distinguishes it from a later session with its id
 * @throws ToolError `resource_busy` if another process, or another runtime of this one, has it; and as `Store.remove`; as a rejection
 */
export async function removeClosed(
  store: Store,
  sessionId: string,
  { createdAt, at }: { readonly createdAt: number; readonly at: number },
): Promise<void> {
  if (await removeClosedFromStore(store, sessionId, createdAt)) await revokeSessionKeys(store.access, sessionId, at);
}

async function removeClosedFromStore(store: Store, sessionId: string, createdAt: number): Promise<boolean> {
  const log = await claimForRemoval(store, sessionId);
  if (log === undefined) return await removeUnclaimed(store, sessionId, createdAt);
  if (log.wasLeftOpen) log.leaveOpen?.();
  try {
    return log.options.at === createdAt && (await store.remove(sessionId));
  } finally {
    await log.close().catch(() => {}); // the claim is lost with its session
  }
}

/** Ends the open calls in sessions that calls of a removed session began. @throws ToolError the first failure, as a rejection */
async function endSessionsOfCalls(
  store: Store,
  { outer, callIds, at }: { readonly outer: EventLog; readonly callIds: readonly string[]; readonly at: number },
): Promise<void> {
  const { sessionId } = outer;
  const ending = { reason: "the session was removed", at, takeOver: true, outer };
  const failed: unknown[] = []; // one failure does not keep the others from being ended
  for (const callId of callIds)
    await endSessionOfCall(store, { sessionId, callId }, ending).catch((thrown: unknown) => failed.push(thrown));
  if (failed.length > 0) throw failed[0];
}

/** The id of a stored session that branches off this one, which keeps it from being removed; undefined if there is none. */
export async function findBranch(store: Store, sessionId: string): Promise<string | undefined> {
  const [branch] = await store.list({ parentId: sessionId, limit: 1 });
  return branch?.parent?.sessionId === sessionId ? branch.sessionId : undefined;
}

/** The calls of a session whose own sessions may have open calls: calls without a result and, after a crash, those whose sessions were left open. */
async function callsWithOpenSessions(store: Store, log: EventLog, mayBeLeftOpen: boolean): Promise<readonly string[]> {
  const { sessionId, options } = log;
  try {
    const { open, ended } = await readFoldedLog(log, options.parent?.length); // the calls before a branch are not its own
    const left = mayBeLeftOpen ? await findCallsLeftOpen(store, sessionId, ended) : [];
    return [...left, ...open.map(({ callId }) => callId)];
  } catch (thrown: unknown) {
    rethrowStoreFailure(thrown);
    return []; // damaged, and removed all the same
  }
}

/** Ends what is open in the session that a call began. False if another process has that session open, which may crash before it has ended it. */
async function endSessionOfCall(
  store: Store,
  place: CallPlace,
  { takeOver = false, outer, ...ending }: EndingOptions & { readonly takeOver?: boolean; readonly outer: EventLog },
): Promise<boolean> {
  const log = await claimIfFree(store, nestedSessionId(place.sessionId, place.callId), { takeOver, outer });
  if (log === undefined || log === "busy") return log === undefined;
  try {
    const { first, open } = await readFoldedLog(log);
    if (!isStartedBy(place, first)) {
      if (log.wasLeftOpen) log.leaveOpen?.(); // stays marked as it was found
      return true;
    }
    await endSessionsLeftOpen(store, log, ending.at);
    await endStoredCalls(store, log, { calls: open.toReversed(), ...ending });
    await store.approvals.withdrawAbandoned({ sessionId: log.sessionId, at: ending.at });
  } catch (thrown: unknown) {
    log.leaveOpen?.();
    rethrowStoreFailure(thrown);
  } finally {
    await log.close().catch(rethrowStoreFailure);
  }
  return true;
}

/** Undefined if the session does not exist or cannot be written. @throws ToolError `store_failed`, as a rejection */
async function claimIfFree(store: Store, id: string, options?: Parameters<Store["claim"]>[1]): Promise<EventLog | "busy" | undefined> {
  try {
    return await store.claim(id, options);
  } catch (thrown: unknown) {
    rethrowStoreFailure(thrown);
    return ToolError.fromUnknown(thrown, "store_failed").code === "resource_busy" ? "busy" : undefined;
  }
}

/**
 * Rethrows only failures of the store: a session that is damaged, or that another process has, does not keep the call that began it from being ended.
 */
function rethrowStoreFailure(thrown: unknown): void {
  if (ToolError.fromUnknown(thrown, "store_failed").code === "store_failed") throw thrown;
}

interface FoldedLog {
  readonly first: SessionEvent | undefined;
  readonly open: readonly OpenCall[];
  /** The ids of its own calls that have a result. */
  readonly ended: readonly string[];
}

/** @param from the position of the first event that is read */
export async function readFoldedLog(log: ReadableLog, from: number = 0): Promise<FoldedLog> {
  const fold = new SessionFold({ keep: 1, sessionId: log.sessionId });
  let first: SessionEvent | undefined;
  const ended: string[] = [];
  for await (const events of readEventPages(log, from))
    for (const event of events) {
      first ??= event;
      if (event.type !== "state-change") fold.apply(event); // the state is not needed, and may begin before `from`
      if (event.type === "call-end" && event.sessionId === log.sessionId) ended.push(event.callId);
    }
  return { first, open: fold.open, ended };
}
