/** Ends calls of sessions that no process has open, and all that is open in the sessions that these calls have begun. */
import { ToolError } from "../core/error.ts";
import type { CallPlace, SessionEvent } from "../core/event.ts";
import type { EventLog, Store } from "../core/store.ts";
import { readEventPages } from "../session/read-events.ts";
import { SessionFold } from "./fold-events.ts";
import { innerIdOf, isBegunBy, leftOpenWithin } from "./inner-session.ts";
import { endOpenCall, type OpenCall } from "./open-call.ts";
import { cancelledJob } from "./resume-jobs.ts";

/** Why calls end, and when. */
export interface Ending {
  readonly reason: string;
  readonly at: number;
}

/** Ends calls of a session, and before them all that is open in the sessions that they have begun: nothing takes these up any more. */
export async function endStoredCalls(
  store: Store,
  log: EventLog,
  { calls, reason, at }: Ending & { readonly calls: readonly OpenCall[] },
): Promise<void> {
  const { sessionId } = log;
  // The session of a call belongs to the owner of the call's log, and is taken over from a process that is still closing it.
  for (const { callId } of calls) await endBegunBy(store, { sessionId, callId }, { reason, at, takeOver: true });
  const events: SessionEvent[] = calls.flatMap((call) => endOpenCall(call, cancelledJob(call, reason), { sessionId, at }));
  if (events.length === 0) return;
  log.append(events);
  await log.whenDurable();
}

/**
 * After a crash, ends what is open in the sessions that calls of this one had begun, and left when they ended. To be called by what claims a log for
 * a short time: the next claim does not find that its process had crashed.
 */
export async function endLeftOpen(store: Store, log: EventLog, at: number): Promise<void> {
  if (!log.wasLeftOpen) return;
  const { sessionId } = log;
  const ended: string[] = [];
  for await (const events of readEventPages(log))
    for (const event of events) if (event.type === "call-end" && event.sessionId === sessionId) ended.push(event.callId);
  for (const callId of await leftOpenWithin(store, sessionId, ended))
    await endBegunBy(store, { sessionId, callId }, { reason: "the call that had begun its session has ended", at });
}

/**
 * Removes a session that is not open here, for good. What its calls have left open in sessions of their own is ended before: these stay, and nothing
 * takes them up any more. Resolves to whether there was one.
 *
 * @throws ToolError as `Store.remove`. By rejecting
 */
export async function removeStored(store: Store, sessionId: string, at: number): Promise<boolean> {
  const log = await claimIfFree(store, sessionId);
  try {
    if (log !== undefined) await endWithin(store, log, { reason: "the session was removed", at }).catch(passStoreFailure);
    return await store.remove(sessionId);
  } finally {
    await log?.close().catch(() => {}); // it is lost with its session
  }
}

async function endWithin(store: Store, log: EventLog, ending: Ending): Promise<void> {
  const { sessionId } = log;
  const { open } = await foldedLog(log);
  await endLeftOpen(store, log, ending.at);
  for (const { callId } of open) await endBegunBy(store, { sessionId, callId }, { ...ending, takeOver: true });
}

async function endBegunBy(
  store: Store,
  place: CallPlace,
  { takeOver = false, ...ending }: Ending & { readonly takeOver?: boolean },
): Promise<void> {
  const log = await claimIfFree(store, innerIdOf(place.sessionId, place.callId), takeOver);
  if (log === undefined) return;
  try {
    const { first, open } = await foldedLog(log);
    if (!isBegunBy(place, first)) return;
    await endLeftOpen(store, log, ending.at);
    await endStoredCalls(store, log, { calls: open.toReversed(), ...ending });
    await withdrawQuestions(store, log, ending);
  } catch (thrown: unknown) {
    passStoreFailure(thrown);
  } finally {
    await log.close().catch(passStoreFailure);
  }
}

/** Undefined where there is none, or none that can be written. @throws ToolError `store_failed`. By rejecting */
async function claimIfFree(store: Store, id: string, takeOver: boolean = false): Promise<EventLog | undefined> {
  try {
    return await store.claim(id, { takeOver });
  } catch (thrown: unknown) {
    passStoreFailure(thrown);
    return undefined;
  }
}

/** A session that is damaged, or that another process has, does not keep the call that has begun it from being ended. */
function passStoreFailure(thrown: unknown): void {
  if (ToolError.fromUnknown(thrown, "store_failed").code === "store_failed") throw thrown;
}

export async function withdrawQuestions(store: Store, { sessionId }: EventLog, { at }: Ending): Promise<void> {
  await store.approvals.withdrawAbandoned({ sessionId, at });
}

export async function foldedLog(log: EventLog): Promise<{ readonly first: SessionEvent | undefined; readonly open: readonly OpenCall[] }> {
  const fold = new SessionFold(1, log.sessionId);
  let first: SessionEvent | undefined;
  for await (const events of readEventPages(log))
    for (const event of events) {
      first ??= event;
      fold.apply(event);
    }
  return { first, open: fold.open };
}
