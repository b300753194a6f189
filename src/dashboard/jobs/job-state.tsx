/** The state of a job as a coloured word. */
import type { ReactNode } from "react";
import type { AnswerOf } from "../../client/client.ts";
import { Badge, type Tone } from "../show/basic-components.tsx";

export type Job = AnswerOf<"getJob">;

const TONES: Readonly<Record<Job["state"], Tone>> = {
  queued: "plain",
  running: "busy",
  waiting: "warn",
  done: "good",
  error: "bad",
  cancelled: "plain",
  parked: "bad",
};

/** Whether the job's call, or a call made inside it, waits for approval. */
export function isWaitingForApproval({ state, question }: Job): boolean {
  return state === "waiting" && question === undefined;
}

export function JobState({ job: { state, errorCode } }: { readonly job: Job }): ReactNode {
  return (
    <span className="badges">
      <Badge tone={TONES[state]}>{state}</Badge>
      {errorCode !== undefined && <span className="muted">{errorCode.replaceAll("_", " ")}</span>}
    </span>
  );
}
