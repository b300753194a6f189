/** Routes of background jobs. */
import { JOB_STATES } from "../../../core/jobs/job-status.ts";
import { answer, anyJson, array, flag, id, integer, MAX_WAIT_MS, object, ref, text } from "../openapi/json-schema.ts";
import type { Routes } from "../requests/route.ts";
import { page } from "./paging.ts";

const params = { jobId: id("The id of a job, which is that of its call.") } as const;
const example = { params: { jobId: "call_1" } } as const;
const states = JOB_STATES.join("|");

export const jobRoutes = {
  listJobs: {
    method: "GET",
    path: "/v1/jobs",
    scope: "read",
    summary: "List background jobs, the newest first.",
    query: {
      sessionId: id("Only jobs of this session."),
      states: text("Only jobs in these states, separated by commas: running,waiting.", { pattern: `^(${states})(,(${states}))*$` }),
      ...page,
    },
    answer: answer({ jobs: array(ref("Job")), next: text("The cursor of the next page.") }, ["jobs"]),
    example: { query: { states: "running,waiting" } },
  },
  getJob: { method: "GET", path: "/v1/jobs/{jobId}", scope: "read", summary: "Get one job.", params, answer: ref("Job"), example },
  waitForJob: {
    method: "GET",
    path: "/v1/jobs/{jobId}/wait",
    scope: "read",
    summary: "Wait until a job has ended, with its result.",
    description: "When the time is up, answers with the job as it is; the job continues.",
    params,
    query: {
      timeoutMs: integer("Longest wait, in milliseconds.", 0, MAX_WAIT_MS, { default: 30_000 }),
      untilAsked: flag("Also answer when the job asks something."),
    },
    answer: ref("Job"),
    example: { ...example, query: { timeoutMs: "1000" } },
  },
  cancelJob: {
    method: "POST",
    path: "/v1/jobs/{jobId}/cancel",
    scope: "execute",
    summary: "End a job, whichever process runs it.",
    params,
    body: object(
      { reason: text("The reason, which its result shows.", { minLength: 1, maxLength: 1_000 }), sessionId: id("Its session.") },
      [],
    ),
    bodyOptional: true,
    answer: answer({
      outcome: { type: "string", enum: ["ended", "asked", "over"], description: "asked: the process that runs it ends it soon." },
    }),
    example: { ...example, body: { reason: "not needed any more" } },
  },
  getJobOutput: {
    method: "GET",
    path: "/v1/jobs/{jobId}/output",
    scope: "read",
    summary: "Read what a job has written, by range.",
    params,
    query: {
      from: integer("Position of the first character.", 0, Number.MAX_SAFE_INTEGER, { default: 0 }),
      tail: integer("Read this many characters from the end instead.", 1, 1_048_576),
      maxChars: integer("Maximum number of characters.", 1, 1_048_576, { default: 65_536 }),
    },
    answer: answer({
      text: text("The part that was asked for."),
      from: integer("Position of its first character.", 0, Number.MAX_SAFE_INTEGER),
      next: integer("Where to continue reading.", 0, Number.MAX_SAFE_INTEGER),
      total: integer("Number of characters written in all.", 0, Number.MAX_SAFE_INTEGER),
    }),
    example: { ...example, query: { tail: "1000" } },
  },
  sendToJob: {
    method: "POST",
    path: "/v1/jobs/{jobId}/input",
    scope: "execute",
    summary: "Send JSON to a stateful job.",
    params,
    body: object({ input: anyJson }),
    answer: answer({ sent: flag("Whether the job has it.") }),
    keyed: true,
    example: { ...example, body: { input: "yes" } },
  },
} as const satisfies Routes;
