/** The toolset `jobs`: a model manages the background jobs that it began. @packageDocumentation */
import type { ToolContext } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import type { EndedJob, JobStatus } from "../core/jobs/job-status.ts";
import { resultText } from "../core/result.ts";
import type { Toolset } from "../core/toolset.ts";
import { firstChars } from "../core/base/truncate-text.ts";
import { plural, singleLine } from "../core/base/wording.ts";
import type { Jobs } from "../call/jobs/jobs.ts";
import { callerVisibility, jobsOf } from "../call/context/tool-context.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import { markNoCircuit } from "../core/answers/no-circuit.ts";
import { defineTool } from "../registry/define-tool.ts";
import type { Triggers } from "../triggers/triggers.ts";
import { asInputError } from "./as-input-error.ts";
import { removeTrigger } from "./remove-trigger.ts";
import { runtimeSessionOf } from "./runtime-session-of.ts";

const DEFAULT_WAIT_S = 60;
const MAX_WAIT_S = 3_600;
const DEFAULT_LINES = 200;
const MAX_LINES = 2_000;
const READS = { reads: [], writes: [], idempotent: true } as const;
const ID = { type: "string", description: "The id of the job." } as const;

/** Options of `jobsToolset`. */
export interface JobsToolsetOptions {
  /** Lets `stop_job` remove triggers as well, by id. @default jobs only */
  readonly triggers?: Triggers;
}

/** Returns tools for a model's background jobs: `jobs`, `wait`, `read_job`, `send_to_job`, `stop_job`. Only jobs of the calling session. */
export function jobsToolset(options: JobsToolsetOptions = {}): Toolset {
  checkKnownKeys(options, { triggers: true }, "jobsToolset()");
  return {
    name: "jobs",
    description: "Calls that run in the background.",
    tools: [listTool(), waitTool(), readTool(), sendTool(), stopTool(options.triggers)],
  };
}

function listTool() {
  return defineTool({
    name: "jobs",
    description: "Lists your background jobs: what runs, what waits for an answer, and what has ended lately.",
    inputSchema: { type: "object", properties: {}, additionalProperties: false },
    effects: READS,
    execute: (_input: object, context: ToolContext) => {
      const jobs = jobsOf(context).list({ sessionId: context.sessionId });
      return jobs.length === 0 ? "There are no background jobs." : jobs.map(statusLine).join("\n");
    },
  });
}

function waitTool() {
  return defineTool({
    name: "wait",
    description: "Waits until a background job has ended or asks something. When the time is up, the job continues.",
    inputSchema: {
      type: "object",
      properties: {
        id: ID,
        timeout: { type: "number", minimum: 0, maximum: MAX_WAIT_S, description: `Longest wait in seconds. ${DEFAULT_WAIT_S} by default.` },
      },
      required: ["id"],
      additionalProperties: false,
    },
    effects: READS,
    timeoutMs: (MAX_WAIT_S + 60) * 1_000,
    promoteAfterMs: 0, // never promoted to a job: waiting for a job in a job is useless
    execute: async ({ id, timeout = DEFAULT_WAIT_S }: { readonly id: string; readonly timeout?: number }, context: ToolContext) => {
      const jobs = ownJobs(context, id);
      return formatWait(await jobs.wait(id, { timeoutMs: timeout * 1_000, signal: context.signal, untilAsked: true }), timeout);
    },
  });
}

function readTool() {
  return defineTool({
    name: "read_job",
    description: "Reads what a background job has written, by lines: the last ones, or so many from a line on.",
    inputSchema: {
      type: "object",
      properties: {
        id: ID,
        lines: { type: "integer", minimum: 1, maximum: MAX_LINES, description: `How many lines. ${DEFAULT_LINES} by default.` },
        offset: { type: "integer", minimum: 0, description: "The first line, counted from 0. Left out: the last lines." },
      },
      required: ["id"],
      additionalProperties: false,
    },
    effects: READS,
    execute: (
      { id, lines = DEFAULT_LINES, offset }: { readonly id: string; readonly lines?: number; readonly offset?: number },
      context: ToolContext,
    ) => {
      const jobs = ownJobs(context, id);
      const { text, from, total } = jobs.read(id, { maxChars: Number.MAX_SAFE_INTEGER });
      if (total === 0) return `The job ${id} has written nothing yet.`;
      const all = text.split("\n");
      if (all.at(-1) === "") all.pop();
      const first = Math.min(offset ?? Math.max(0, all.length - lines), all.length);
      const shown = all.slice(first, first + lines);
      const lost = from === 0 ? "" : `, after ${plural(from, "character")} that are no longer kept`;
      const heading = shown.length === 0 ? `no lines from ${first} on` : `lines ${first} to ${first + shown.length - 1}`;
      return `[${heading} of ${all.length}${lost}]\n${shown.join("\n")}`;
    },
  });
}

function sendTool() {
  return defineTool({
    name: "send_to_job",
    description: "Answers a background job that asks something.",
    inputSchema: {
      type: "object",
      properties: { id: ID, input: { description: "The answer: a text, or JSON where the job asks for it." } },
      required: ["id", "input"],
      additionalProperties: false,
    },
    effects: { reads: [], writes: "job:{id}" },
    execute: async ({ id, input }: { readonly id: string; readonly input: unknown }, context: ToolContext) => {
      const jobs = ownJobs(context, id);
      checkMayCall(context, jobs.get(id));
      await asInputError(() => jobs.send(id, input));
      return `Sent to the job ${id}.`;
    },
  });
}

function stopTool(triggers: Triggers | undefined) {
  return defineTool({
    name: "stop_job",
    description: triggers === undefined ? "Ends a background job." : "Ends a background job, or removes a trigger.",
    inputSchema: { type: "object", properties: { id: ID }, required: ["id"], additionalProperties: false },
    effects: { reads: [], writes: "job:{id}", idempotent: true },
    execute: markNoCircuit(async ({ id }: { readonly id: string }, context: ToolContext) => {
      const removed = triggers === undefined ? undefined : await removeTrigger(triggers, runtimeSessionOf(context), id);
      if (removed !== undefined) return removed;
      return ownJobs(context, id).cancel(id, "the model stopped it") ? `The job ${id} is being ended.` : `The job ${id} had ended already.`;
    }),
  });
}

/** Returns the jobs, if the id is of a job of this session. Refuses ids of other sessions' jobs. */
function ownJobs(context: ToolContext, id: string): Jobs {
  const jobs = jobsOf(context);
  if (jobs.get(id)?.sessionId === context.sessionId) return jobs;
  const ids = jobs.list({ sessionId: context.sessionId }).map((job) => job.id);
  throw new ToolError("not_found", `There is no job ${JSON.stringify(id)}.`, {
    hint: ids.length === 0 ? "No background job is running or has ended lately." : `Your jobs are ${ids.slice(0, 10).join(", ")}.`,
  });
}

/** Input of a job is part of its call, for which the rules of the caller apply too. @throws ToolError `permission_denied` */
function checkMayCall(context: ToolContext, job: JobStatus | undefined): void {
  if (job === undefined || callerVisibility(context)?.permits(job.toolName) !== false) return;
  throw new ToolError("permission_denied", `The job ${job.id} is a call of ${job.toolName}, which is not offered here.`, {
    outcome: "not_started",
  });
}

/** Formats a job: `call_12 build::run running, 34 lines written`. */
function statusLine({ id, toolName, state, output, question, error }: JobStatus): string {
  const wrote = output.lines === 0 ? "" : `, ${plural(output.lines, "line")} written`;
  const asks = question === undefined ? "" : `, asks: ${oneLine(question)}`;
  return `${id} ${toolName} ${state}${wrote}${asks}${error === undefined ? "" : `: ${oneLine(error.message)}`}`;
}

/** Maximum number of characters of a question or an error in the list of jobs. */
const MAX_LISTED_CHARS = 200;

/** The beginning of a text without line breaks, so that each job has one line, which no text of a tool can imitate. */
function oneLine(text: string): string {
  return singleLine(firstChars(text, MAX_LISTED_CHARS));
}

function formatWait(job: EndedJob | JobStatus, timeout: number): string {
  if ("result" in job) return `${job.state.toUpperCase()}\n${resultText(job.result)}`.trimEnd();
  if (job.question !== undefined) return `WAITING\nThe job asks: ${job.question}`;
  if (job.state === "waiting") return "WAITING\nThe job is waiting for approval.";
  return job.endedAt === undefined ? `TIMEOUT\nThe job is still running after ${timeout} s.` : job.state.toUpperCase();
}
