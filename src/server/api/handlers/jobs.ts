/** Handlers of the routes for background jobs. */
import { ToolError } from "../../../core/error.ts";
import { JOB_STATES, ACTIVE_JOB_STATES, type EndedJob, type JobStatus } from "../../../core/jobs/job-status.ts";
import type { StoredJob } from "../../../core/store/job-store.ts";
import { sleep } from "../../../processes/sleep.ts";
import type { Runtime } from "../../../runtime/runtime.ts";
import type { Principal } from "../../auth/principal.ts";
import { jobWithoutStorePlace } from "../../store-failures.ts";
import { pageOf, toApiResult } from "./responses.ts";
import type { ApiJob } from "../openapi/component-types.ts";
import type { ApiServices, Handlers } from "../services.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";

const UNENDED: ReadonlySet<string> = new Set(ACTIVE_JOB_STATES);

/** How often the store is polled for a job of another process while a client waits for it, in milliseconds. */
const POLL_MS = 500;

export const jobHandlers = {
  async listJobs({ runtime, principal, query: { limit, cursor = "0", states, ...query } }, { store }) {
    const sessionId = principal.sessionId ?? query.sessionId;
    if (query.sessionId !== undefined && query.sessionId !== sessionId) return { jobs: [] };
    const offset = Number(cursor);
    const wanted = states?.split(",");
    const filter = omitUndefined({ sessionId, states: wanted && JOB_STATES.filter((state) => wanted.includes(state)) });
    if (store === undefined) {
      const { page, ...next } = pageOf([...runtime.jobs.list(filter)].reverse(), offset, limit);
      return { jobs: page.map(toApiJob), ...next };
    }
    const stored = await runtime.jobs.listStored({ ...filter, limit: limit + 1, offset });
    const next = stored.length > limit ? { next: String(offset + limit) } : {};
    return { jobs: stored.slice(0, limit).map((job) => toStoredApiJob(job, runtime)), ...next };
  },

  getJob: ({ runtime, principal, params: { jobId } }, services) => findJob(jobId, { runtime, principal, services }),

  async waitForJob({ runtime, principal, params: { jobId }, query: { timeoutMs, untilAsked = false }, signal }, services) {
    const { clock, stopping } = services;
    const end = clock.now() + timeoutMs;
    for (;;) {
      const job = await findJob(jobId, { runtime, principal, services });
      const leftMs = Math.max(0, end - clock.now());
      // checked each time, since the job may meanwhile continue in this process
      if (runtime.jobs.get(jobId) !== undefined) {
        const waited = await runtime.jobs.wait(jobId, { timeoutMs: leftMs, untilAsked, signal }).catch(ignoreConflict);
        if (waited !== undefined) return toApiJob(waited);
      }
      const isOver = !UNENDED.has(job.state) || (untilAsked && job.state === "waiting");
      if (isOver || leftMs === 0 || signal.aborted || stopping()) return job;
      await sleep(clock, Math.min(POLL_MS, leftMs), signal);
    }
  },

  async cancelJob({ runtime, principal, params: { jobId }, body: { reason, sessionId } }, services) {
    await findJob(jobId, { runtime, principal, services });
    if (runtime.jobs.get(jobId) !== undefined) return { outcome: runtime.jobs.cancel(jobId, reason) ? "asked" : "over" };
    const of = principal.sessionId ?? sessionId;
    return { outcome: await runtime.jobs.cancelStored({ id: jobId, ...(of === undefined ? {} : { sessionId: of }) }, reason) };
  },

  async getJobOutput({ runtime, principal, params: { jobId }, query: { from, tail, maxChars } }, services) {
    const job = await findJob(jobId, { runtime, principal, services });
    if (runtime.jobs.get(jobId) === undefined) throw outputElsewhereError(job);
    return runtime.jobs.read(jobId, { from, maxChars, ...(tail === undefined ? {} : { tail }) });
  },

  async sendToJob({ runtime, principal, params: { jobId }, body: { input } }, services) {
    const job = await findJob(jobId, { runtime, principal, services });
    const { toolName } = job;
    if (services.access.visibilityOf(principal)?.permits(toolName) === false)
      throw new ToolError("permission_denied", `The job is a call of ${toolName}, which you may not call.`, { outcome: "not_started" });
    if (runtime.jobs.get(jobId) === undefined) throw inputElsewhereError(job);
    runtime.jobs.send(jobId, input, { principal: principal.id });
    return { sent: true };
  },
} satisfies Partial<Handlers>;

interface JobContext {
  readonly runtime: Runtime;
  readonly principal: Principal;
  readonly services: ApiServices;
}

/** @throws ToolError `not_found`, also if the principal may not see the job */
async function findJob(jobId: string, { runtime, principal, services: { store } }: JobContext): Promise<ApiJob> {
  const here = runtime.jobs.get(jobId);
  const [stored] = here === undefined && store !== undefined ? await runtime.jobs.listStored({ id: jobId, limit: 1 }) : [];
  const job = here === undefined ? stored && toStoredApiJob(stored, runtime) : toApiJob(here);
  if (job !== undefined && (principal.sessionId ?? job.sessionId) === job.sessionId) return job;
  throw new ToolError("not_found", `There is no job ${JSON.stringify(jobId.slice(0, 200))}, or it ended too long ago.`, {
    hint: "GET /v1/jobs lists them.",
  });
}

/** The error of a read of the output that another process has: of a job that runs there, or ended there or in an earlier process. */
function outputElsewhereError({ id, state, openedBy = "another process" }: ApiJob): ToolError {
  const name = JSON.stringify(id.slice(0, 200));
  if (UNENDED.has(state))
    return new ToolError("not_found", `Job ${name} is open in ${openedBy}, which alone has its output until it ends.`, {
      hint: "Ask the server of that process.",
    });
  return new ToolError(
    "not_found",
    `This process has no output of job ${name}: it ended in another or an earlier process, or too long ago.`,
    {
      hint: "The events of its session have the beginning of its output.",
    },
  );
}

/** The error of an answer for a job that waits in another process, or has ended there. */
function inputElsewhereError({ id, state, openedBy = "another process" }: ApiJob): ToolError {
  const name = JSON.stringify(id.slice(0, 200));
  const message = UNENDED.has(state) ? `Job ${name} is open in ${openedBy}, which alone can receive this.` : `Job ${name} has ended.`;
  return new ToolError("not_found", message, { hint: "Nothing was sent.", outcome: "not_started" });
}

/** Returns undefined if another process continues the job. @throws any other error of the wait */
function ignoreConflict(thrown: unknown): undefined {
  if (ToolError.fromUnknown(thrown).code !== "conflict") throw thrown;
}

function toApiJob(job: JobStatus | EndedJob): ApiJob {
  const shown = jobWithoutStorePlace(job);
  return "result" in shown ? { ...shown, result: toApiResult(shown.result) } : shown;
}

/** The stored job, or the job of this process with its output. */
function toStoredApiJob(stored: StoredJob, runtime: Runtime): ApiJob {
  const here = runtime.jobs.get(stored.id);
  if (here !== undefined && here.sessionId === stored.sessionId) return toApiJob(here);
  const { cancelReason: _reason, starts: _starts, ...job } = stored;
  return job;
}
