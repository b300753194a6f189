/** Calls that began before a crash and are resumed. */
import type { EnclosingCall } from "../../core/store/approval-store.ts";
import type { EarlierJob } from "../jobs/job.ts";

/** The nested calls of a background job from before a crash. Each gets its result before the job is run again. Call `run` or `end` once. */
export interface EarlierCalls {
  /** Never rejects. */
  run(): Promise<void>;
  /** Cancels the calls that have not ended, including those that `run` has not started yet. */
  cancel(reason: string): void;
  /** Ends the calls as cancelled, because their job is not run. Never rejects. */
  end(reason: string): Promise<void>;
}

/** The facts about a call from before a crash that decide how it is resumed. */
export interface ResumedCall {
  /** Its intent was recorded, so it has the final tool and input: no hook is called again. */
  readonly hasIntent: boolean;
  /** It may have been run, and its outcome is unknown. */
  isInterrupted: boolean;
  /** A call that its handler made may have had an effect that must not be repeated. */
  hasNestedIntent: boolean;
  /** It had its effect, and `answer.raw` has its answer: it is not run again. */
  isAnswered: boolean;
  /** Set if it was a background job. */
  job: EarlierJob | undefined;
  /** The calls around it, the innermost first. Those of composite tools are run again after it. */
  readonly within: readonly EnclosingCall[];
  /** Its nested calls, until they have ended. */
  nestedCalls: EarlierCalls | undefined;
  /** The engine's id of the work that continues elsewhere: the engine attaches to it instead of being called again. */
  remoteId: string | undefined;
  /** Why a session's own rule asked for approval that was not given yet: approval is asked again. */
  askedReason: string | undefined;
  /** The digest of the call that was approved. If the call still has this digest, approval is not asked again. */
  approvedDigest: string | undefined;
  /** The log does not rule out that it was run: it was no queued job, did not wait for approval, and no stand-in was to answer it. */
  readonly mayHaveBegun: boolean;
  /** It may have been run before the crash, and is run again because its effects allow that. */
  mayHaveRun: boolean;
  /** Repeats the state changes of the call, which turned out to have happened. */
  redoChanges(): void;
  /** Called when it has its result. */
  onEnd(): void;
}

/** The identity of a call from before a crash that is resumed. */
export interface ResumedCallIdentity {
  readonly callId: string;
  readonly idempotencyKey: string | undefined;
}
