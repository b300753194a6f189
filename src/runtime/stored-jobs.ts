/** The background jobs of a store, whether their sessions are open here, elsewhere, or nowhere. */
import { formatList } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";
import type { CancelOutcome, StoredJobName, StoredJobs } from "../call/jobs/jobs.ts";
import type { StoredJob } from "../core/store/job-store.ts";
import type { Clock } from "../core/ports.ts";
import type { EventLog, Store } from "../core/store/store.ts";
import { findNearNames } from "../core/base/near-names.ts";
import { endSessionsLeftOpen, endStoredCalls, readFoldedLog, type EndingOptions } from "./resume/end-stored-calls.ts";
import type { SessionFold } from "./resume/fold-events.ts";
import { listStoredJobs } from "./list-stored-jobs.ts";
import type { OpenCall } from "./resume/open-call.ts";

/** The jobs of a store, as `Runtime.jobs` lists and cancels them. */
export function createStoredJobs(store: Store | undefined, clock: Clock): StoredJobs | undefined {
  if (store === undefined) return undefined;
  return {
    list: (options) => listStoredJobs(store, options, clock.wallTime()),
    cancel: (name, reason) => cancelStoredJob(store, name, { reason, at: clock.wallTime() }),
  };
}

/** Maximum number of ids that are compared to suggest a similar one. */
const MAX_COMPARED = 1_000;
/** Maximum number of sessions that are named if several have a job with the same id. */
const MAX_NAMED = 10;

/** @param now wall-clock milliseconds. @throws ToolError `not_found`, naming similar ids; `ambiguous` if several sessions have a job with this id */
export async function findStoredJob(store: Store, { id, sessionId }: StoredJobName, now: number): Promise<StoredJob> {
  const jobs = await listStoredJobs(store, { id, limit: MAX_NAMED + 1, ...(sessionId === undefined ? {} : { sessionId }) }, now);
  const [job, other] = jobs;
  if (job === undefined) throw await unknownJobError(store, { id, sessionId });
  if (other === undefined) return job;
  const sessions = jobs.map((one) => JSON.stringify(one.sessionId));
  throw new ToolError("ambiguous", `Several sessions have a job ${JSON.stringify(id)}: ${formatList(sessions, MAX_NAMED)}.`, {
    hint: "Name its session as well.",
  });
}

/**
 * Cancels a job in any process. If no process has its session open, its end is recorded in the session's log at once. Otherwise a request is stored;
 * the process that has the session open, or resumes it later, cancels the job within seconds.
 *
 * @throws ToolError as `findStoredJob`; `store_failed`; `corrupt_record` for a damaged session
 */
export async function cancelStoredJob(
  store: Store,
  name: StoredJobName,
  { reason, at }: { readonly reason: string; readonly at: number },
): Promise<CancelOutcome> {
  const { sessionId, id, openedBy } = await findStoredJob(store, name, at);
  if (!(await store.jobs.requestCancel({ sessionId, id, reason }))) return "over";
  if (openedBy !== undefined) return "asked";
  let log: EventLog;
  try {
    log = await store.claim(sessionId);
  } catch (thrown: unknown) {
    if (ToolError.fromUnknown(thrown, "store_failed").code === "resource_busy") return "asked"; // resumed meanwhile
    throw thrown;
  }
  try {
    await endSessionsLeftOpen(store, log, at);
    return (await endStoredJob(store, log, { id, reason, at })) ? "ended" : "over";
  } finally {
    await log.close();
  }
}

/** Why the jobs of a session that was just claimed are to be cancelled, by the id of their calls. */
export async function readCancelRequests(
  store: Store,
  sessionId: string,
  { open }: Pick<SessionFold, "open">,
): Promise<ReadonlyMap<string, string>> {
  if (!open.some(({ job }) => job !== undefined)) return new Map();
  const requests = await store.jobs.cancelRequests({ sessionId });
  return new Map(requests.filter((request) => request.sessionId === sessionId).map(({ id, reason }) => [id, reason]));
}

/** False if the job has ended or never began, according to the log. */
async function endStoredJob(store: Store, log: EventLog, { id, ...ending }: EndingOptions & { readonly id: string }): Promise<boolean> {
  const { open } = await readFoldedLog(log);
  const job = open.find((call) => call.callId === id && call.job !== undefined);
  if (job === undefined) return false;
  const calls = collectJobCalls(job, open);
  // Before the job ends: an ended job is not cancelled again, so a failure in between could not be repeated. Questions of other calls are asked again
  // when those continue, and answers until then count.
  await store.approvals.withdrawAbandoned({ sessionId: log.sessionId, at: ending.at, callIds: calls.map(({ callId }) => callId) });
  await endStoredCalls(store, log, { calls, ...ending });
  return true;
}

/** The nested calls of a job, the last first, and the job itself, so that a call ends before its caller. */
function collectJobCalls(job: OpenCall, open: readonly OpenCall[]): readonly OpenCall[] {
  const ids = new Set([job.callId]);
  const found = open.filter(({ callId, parentCallId }) => parentCallId !== undefined && ids.has(parentCallId) && ids.add(callId));
  return [...found.toReversed(), job];
}

async function unknownJobError(store: Store, { id, sessionId }: StoredJobName): Promise<ToolError> {
  const where = sessionId === undefined ? "The store" : `The session ${JSON.stringify(sessionId)}`;
  const jobs = await store.jobs.list({ limit: MAX_COMPARED, ...(sessionId === undefined ? {} : { sessionId }) });
  const ids = jobs.map((job) => job.id);
  const likely = [...new Set([...findNearNames(id, ids), ...ids])].slice(0, 5);
  return new ToolError("not_found", `${where} has no job ${JSON.stringify(id)}, or it ended so long ago that it was removed.`, {
    hint: likely.length === 0 ? "It has no jobs at all." : `The newest are: ${likely.join(", ")}.`,
  });
}
