/** Background jobs, as programs see them. */
import { ToolError, type ErrorInfo } from "../error.ts";
import type { ResultStatus, ToolResult } from "../result.ts";

/** How a tool runs: a `direct` call is awaited; a `background` call outlives its turn; a `stateful` one too, and it takes input while it runs. */
export type ToolMode = "direct" | "background" | "stateful";

/** How a background job runs. */
export type JobMode = Exclude<ToolMode, "direct">;

/**
 * `queued`: waits for a slot; `waiting`: asks for input and has a `question`, or waits for approval of its call or of a call made inside it. All
 * others but `running` are final. `parked`: an error, because its process ended repeatedly while the job ran.
 */
export type JobState = "queued" | "running" | "waiting" | "done" | "error" | "cancelled" | "parked";

/** Every state, final ones last. */
export const JOB_STATES: readonly JobState[] = Object.freeze(["queued", "running", "waiting", "done", "error", "cancelled", "parked"]);

/** The states of a job that has not ended. */
export const ACTIVE_JOB_STATES = Object.freeze(["queued", "running", "waiting"] as const);

/** Returns the state of an ended job, from its call's result. */
export function toEndState(status: Exclude<ResultStatus, "pending">, errorCode: string | undefined): EndedJob["state"] {
  if (status === "ok" || status === "partial") return "done";
  if (status !== "error") return "cancelled";
  return errorCode === "job_parked" ? "parked" : "error";
}

/** Refuses anything but an array of job states. @param where for the message: `jobs.list()`. @throws ToolError `invalid_argument` */
export function checkJobStates(states: unknown, where: string): void {
  // `includes` works for any value
  if (states === undefined || (Array.isArray(states) && states.every((state) => JOB_STATES.includes(state as JobState)))) return;
  throw new ToolError("invalid_argument", `The states of ${where} must be an array of ${JOB_STATES.join(", ")}.`);
}

/** A call that runs or ran in the background. */
export interface JobStatus {
  /** The id of the job's call. */
  readonly id: string;
  readonly sessionId: string;
  /** The qualified name. */
  readonly toolName: string;
  readonly mode: JobMode;
  readonly state: JobState;
  /** Wall-clock milliseconds since the epoch. */
  readonly startedAt: number;
  /** Wall-clock milliseconds since the epoch; undefined until the job has ended. */
  readonly endedAt?: number;
  /** How much the job has written, including output that is no longer kept. */
  readonly output: { readonly chars: number; readonly lines: number };
  /** The end of the job's output, at most 200 characters. */
  readonly preview: string;
  /** The job's question, while it waits for input. */
  readonly question?: string;
  readonly error?: ErrorInfo;
  /** Whether the end of the job wakes an agent. */
  readonly notify: boolean;
}

/** Which part of a job's output to read. */
export interface ReadJobOptions {
  /** Position of the first character. If it is no longer kept, reading starts at the first that is. @default 0 */
  readonly from?: number;
  /** Reads this many characters from the end instead. Integer ≥ 1. */
  readonly tail?: number;
  /** Maximum number of characters. Integer ≥ 1. @default 65_536 */
  readonly maxChars?: number;
}

/** A part of a job's output. */
export interface JobOutput {
  readonly text: string;
  /** Position of the first character of `text`. */
  readonly from: number;
  /** The position to continue reading from. */
  readonly next: number;
  /** Total number of characters written. */
  readonly total: number;
}

/** A job that has ended, with its result. */
export interface EndedJob extends JobStatus {
  readonly state: Exclude<JobState, (typeof ACTIVE_JOB_STATES)[number]>;
  readonly endedAt: number;
  /** The result of the job's call; undefined once it is no longer kept. */
  readonly result?: ToolResult;
}
