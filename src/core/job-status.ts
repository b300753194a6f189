/** A call that runs in the background, as programs see it. */
import { ToolError, type ErrorInfo } from "./error.ts";
import type { ResultStatus, ToolResult } from "./result.ts";

/** How a tool is run: `direct` is waited for; `background` outlives its turn; `stateful` does, and is talked to while it runs. */
export type ToolMode = "direct" | "background" | "stateful";

/** How a background job runs. */
export type JobMode = Exclude<ToolMode, "direct">;

/**
 * `queued`: waits for its place, or, once it was handed over, for another process; `waiting`: asks for input and has a `question`, or waits for approval of its call or of one that was made in it; the others
 * but `running` are final. `parked`: an error, because its process ended again and again while it ran.
 */
export type JobState = "queued" | "running" | "waiting" | "done" | "error" | "cancelled" | "parked";

/** Every state, the final ones last. */
export const JOB_STATES: readonly JobState[] = Object.freeze(["queued", "running", "waiting", "done", "error", "cancelled", "parked"]);

/** The states of a job that has not ended. */
export const UNENDED_STATES = Object.freeze(["queued", "running", "waiting"] as const);

/** The state of a job that has ended, by the result of its call. */
export function endState(status: Exclude<ResultStatus, "pending">, errorCode: string | undefined): EndedJob["state"] {
  if (status === "ok" || status === "partial") return "done";
  if (status !== "error") return "cancelled";
  return errorCode === "job_parked" ? "parked" : "error";
}

/** @param where for the message: `jobs.list()`. @throws ToolError `invalid_argument` */
export function checkJobStates(states: unknown, where: string): void {
  if (states === undefined || (Array.isArray(states) && states.every((state) => JOB_STATES.includes(state as JobState)))) return; // asked of any value
  throw new ToolError("invalid_argument", `The states of ${where} are an array of ${JOB_STATES.join(", ")}.`);
}

/** A call that runs in the background, or did. */
export interface JobStatus {
  /** The id of its call. */
  readonly id: string;
  readonly sessionId: string;
  /** Qualified. */
  readonly toolName: string;
  readonly mode: JobMode;
  readonly state: JobState;
  /** Wall-clock milliseconds since the epoch. */
  readonly startedAt: number;
  /** Wall-clock milliseconds since the epoch; undefined while it runs. */
  readonly endedAt?: number;
  /** How much it has written, what is no longer kept included. */
  readonly output: { readonly chars: number; readonly lines: number };
  /** The end of what it has written, at most 200 characters. */
  readonly preview: string;
  /** Its question, while it asks for input. */
  readonly question?: string;
  readonly error?: ErrorInfo;
  /** Whether its end is to wake an agent. */
  readonly notify: boolean;
}

/** Which part of a job's output is read. */
export interface ReadJobOptions {
  /** Position of the first character. A position that is no longer kept begins at the first that is. @default 0 */
  readonly from?: number;
  /** The last so many characters instead. Integer ≥ 1. */
  readonly tail?: number;
  /** Most characters. Integer ≥ 1. @default 65_536 */
  readonly maxChars?: number;
}

/** A part of what a job has written. */
export interface JobOutput {
  readonly text: string;
  /** Position of its first character. */
  readonly from: number;
  /** Where to read on. */
  readonly next: number;
  /** How much was written in all. */
  readonly total: number;
}

/** A job that has ended, with its result. */
export interface EndedJob extends JobStatus {
  readonly state: Exclude<JobState, (typeof UNENDED_STATES)[number]>;
  readonly endedAt: number;
  /** Its one result; undefined once it is no longer kept. */
  readonly result?: ToolResult;
}
