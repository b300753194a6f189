/** Finds the jobs whose process ended while only calls of their delegates were open, and all of these waited for approval. */
import { ToolError } from "../../core/error.ts";
import type { CallPlace } from "../../core/event.ts";
import type { Store } from "../../core/store/store.ts";
import type { Registry } from "../../registry/registry.ts";
import { storedEvents } from "../../session/read-events.ts";
import type { SessionLog } from "../../session/session-log.ts";
import { SessionFold } from "./fold-events.ts";
import { findCallsWithSession, nestedSessionId, isStartedBy } from "../nested-session.ts";
import type { OpenCall } from "./open-call.ts";

interface Within {
  readonly store: Store;
  readonly sessionId: string;
  readonly registry: Registry;
}

/** Composite tools are nested less deep, but a stored session may have been begun with any history. */
const MAX_DEPTH = 8;

/** Notes in the fold of a session which calls of its jobs had only calls that wait for approval open in the sessions that they began. */
export async function noteAwaitsWithin(fold: SessionFold, within: Within): Promise<void> {
  for (const job of fold.open) {
    if (job.job === undefined || job.job.isQueued || job.job.awaited === true) continue;
    const since = job.job.startedAt ?? -Infinity;
    const unasked = fold.innermost(job).filter(({ askedAt }) => askedAt === undefined);
    for (const call of unasked) {
      if (!(await awaitsIn(call, { ...within, since, depth: 1 }))) break; // this one alone makes the start count
      fold.noteAwaitsWithin(call.callId);
    }
  }
}

interface Search extends Within {
  /** The start of the job. What was asked before it was asked by an earlier process, and the job may not have come so far again. */
  readonly since: number;
  readonly depth: number;
}

/** Whether the session that a call began has open calls, and all of them wait for approval. */
async function awaitsIn({ call, callId }: OpenCall, { depth, ...search }: Search): Promise<boolean> {
  const { store, sessionId, registry, since } = search;
  if (depth > MAX_DEPTH || !registry.overloads(call.name).some(({ tool }) => tool.composite === true)) return false;
  const fold = await foldOf(store, { sessionId, callId });
  if (fold === undefined || fold.open.length === 0) return false;
  const inner = { ...search, sessionId: nestedSessionId(sessionId, callId), depth: depth + 1 };
  for (const one of fold.innermost()) {
    if (one.hasIncompleteMessage) return false; // the message that it belongs to was still being written
    if (one.askedAt === undefined ? !(await awaitsIn(one, inner)) : one.askedAt < since) return false;
  }
  return true;
}

/** The logs of the stored sessions that these calls of a session began. */
export async function* foldSessionsOf(
  store: Store | undefined,
  sessionId: string,
  callIds: readonly string[],
): AsyncGenerator<{ readonly sessionId: string; readonly log: SessionLog }> {
  if (store === undefined || callIds.length === 0) return;
  for (const callId of await findCallsWithSession(store, { sessionId, callIds })) {
    const fold = await foldOf(store, { sessionId, callId });
    if (fold !== undefined) yield { sessionId: nestedSessionId(sessionId, callId), log: fold.head.log };
  }
}

/** The stored session that a call began; undefined if there is none, or it cannot be read. */
async function foldOf(store: Store, place: CallPlace): Promise<SessionFold | undefined> {
  const id = nestedSessionId(place.sessionId, place.callId);
  const fold = new SessionFold({ sessionId: id });
  try {
    for await (const event of storedEvents(store, id)) {
      if (fold.head.length === 0 && !isStartedBy(place, event)) return undefined;
      fold.apply(event);
    }
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown, "store_failed");
    if (error.code === "not_found" || error.code === "corrupt_record") return undefined;
    throw error;
  }
  return fold;
}
