/** Options of a request that uses a session, and resumes that several requests share. */
import type { Ask } from "../../../core/approvals/ask.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";

export interface UseOptions {
  readonly create?: boolean;
  readonly anyTools?: boolean;
  readonly waitsForCalls?: boolean;
  /** Answers the questions of calls that are run again, if the session is resumed for this. */
  readonly ask?: Ask;
}

/** A resume in progress, with the options of the request that began it. */
export interface PendingResume extends UseOptions {
  readonly session: Promise<RuntimeSession>;
}

/** Whether another request may share the result of this resume, its error included: its options allow everything that the request's do. */
export function canShareResume({ create, anyTools, ask }: PendingResume, wanted: UseOptions): boolean {
  return (
    (create === true || wanted.create !== true) &&
    (anyTools === true || wanted.anyTools !== true) &&
    (wanted.ask === undefined || wanted.ask === ask)
  );
}
