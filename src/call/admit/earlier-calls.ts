/** Calls that began before a crash and are taken up again. */
import type { EnclosingCall } from "../../core/approval-store.ts";
import type { EarlierJob } from "../jobs/job.ts";

/** Calls that were made in a background job before a crash: each comes to its result before the job is run again. `run` or `end` is called once. */
export interface EarlierCalls {
  /** Never rejects. */
  run(): Promise<void>;
  /** Cancels those that have not ended, and those that `run` has still to begin. */
  cancel(reason: string): void;
  /** Ends them as cancelled: their job is not run. Never rejects. */
  end(reason: string): Promise<void>;
}

/** The facts about a call that began before a crash which steer how it is taken up again. */
export interface ResumedCall {
  /** Its intent was recorded: it has the tool and the input that hooks left it, and none is asked again. */
  readonly isDecided: boolean;
  /** It may have been run, and its outcome is unknown. */
  isInterrupted: boolean;
  /** It had its effect, and `answer.raw` has what it answered: it is not run. */
  isAnswered: boolean;
  /** Set where it was a background job. */
  job: EarlierJob | undefined;
  /** The calls that it was made in, the innermost first: those of composite tools are run again after it. */
  readonly within: readonly EnclosingCall[];
  /** The calls that were made in it, until they have ended. */
  calls: EarlierCalls | undefined;
  /** The name under which its engine continues its work elsewhere: it is asked for instead of called again. */
  remoteId: string | undefined;
  /** Why a session's own rule put it to an approver, who had not allowed it: it is put to one again. */
  askedFor: string | undefined;
  /** The digest of the call that an answer allowed: one that comes to the same is not asked about again. */
  allowed: string | undefined;
  /** It may have been run before the crash, and is run again because its effects allow that. */
  mayHaveRun: boolean;
  /** Makes the changes of state again that it made: it turned out to have happened. */
  repeatChanges(): void;
  /** Called when it has its result. */
  ended(): void;
}

/** The state of a call that began before a crash and is taken up again. */
export interface EarlierRun {
  readonly callId: string;
  readonly idempotencyKey: string | undefined;
}
