/** Lists the jobs of a store. Jobs whose calls wait for approval are `waiting`, which their rows do not say. */
import { checkJobList } from "../store/records/store-options.ts";
import type { ApprovalRecord } from "../core/store/approval-store.ts";
import type { ListStoredJobsOptions, StoredJob } from "../core/store/job-store.ts";
import { ACTIVE_JOB_STATES } from "../core/jobs/job-status.ts";
import type { Store } from "../core/store/store.ts";

/** Maximum number of open questions that are looked at, the newest. */
const MAX_QUESTIONS = 1_000;
const READ_AT_ONCE = 500;
const DEFAULT_LIMIT = 100;

/** Like `list` of `Store.jobs`. A job is waiting if its call or a nested one is. @param now wall-clock milliseconds. @throws as `Store.jobs.list` */
export async function listStoredJobs(store: Store, options: ListStoredJobsOptions, now: number): Promise<readonly StoredJob[]> {
  checkJobList(options);
  const { states, limit = DEFAULT_LIMIT, offset = 0 } = options;
  const listed = await store.jobs.list(options);
  const questions = await store.approvals.list({ now, statuses: ["open"], first: "newest", limit: MAX_QUESTIONS });
  if (questions.length === 0) return listed;
  const waiting = new Set(questions.flatMap(enclosingCallKeys));
  const shown = (job: StoredJob): StoredJob =>
    job.endedAt === undefined && waiting.has(keyOf(job.sessionId, job.id)) ? { ...job, state: "waiting" } : job;
  const asked = ACTIVE_JOB_STATES.filter((state) => states?.includes(state) === true);
  if (states === undefined || asked.length === 0 || asked.length === ACTIVE_JOB_STATES.length) return listed.map(shown);
  const found = new Map<string, StoredJob>(); // keyed, because a job that begins meanwhile shifts the others by one
  for (let at = 0, read = READ_AT_ONCE; read === READ_AT_ONCE && found.size < offset + limit; at += read) {
    const page = await store.jobs.list({
      ...options,
      states: [...new Set([...states, ...ACTIVE_JOB_STATES])],
      limit: READ_AT_ONCE,
      offset: at,
    });
    for (const job of page.map(shown)) if (states.includes(job.state)) found.set(keyOf(job.sessionId, job.id), job);
    read = page.length;
  }
  return [...found.values()].slice(offset, offset + limit);
}

/** The call that the question is about, and the calls around it. The session of a delegate has the id `<session>/<call>`. */
function enclosingCallKeys({ sessionId, callId, within = [] }: ApprovalRecord): readonly string[] {
  const keys = [callId, ...within.map((call) => call.callId)].map((id) => keyOf(sessionId, id));
  for (let slash = sessionId.lastIndexOf("/"); slash > 0; slash = sessionId.lastIndexOf("/", slash - 1)) {
    const [id = ""] = sessionId.slice(slash + 1).split("/");
    keys.push(keyOf(sessionId.slice(0, slash), id));
  }
  return keys;
}

function keyOf(sessionId: string, callId: string): string {
  return JSON.stringify([sessionId, callId]);
}
