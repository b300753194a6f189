/** Folds the changes of a write to one for each job, so that one statement can make them: a row is written once in it. */
import type { JobChange } from "./job-changes.ts";
import { storedText } from "./stored-text.ts";

type Change<Type extends JobChange["type"]> = JobChange & { readonly type: Type };

/** A job as the changes of a write leave it. */
export interface FoldedJob {
  /** As their table has them. */
  readonly session: string;
  readonly id: string;
  /** Set where it begins in this write. */
  readonly start: Change<"start"> | undefined;
  /** Undefined where it was answered and nothing else: it runs then if it was waiting. */
  readonly state: string | undefined;
  /** Undefined where that stays as it is. */
  readonly starts: number | undefined;
  readonly end: Change<"end"> | undefined;
}

/** @param session as its table has it */
export function foldJobChanges(session: string, changes: readonly JobChange[]): readonly FoldedJob[] {
  const jobs = new Map<string, FoldedJob>();
  for (const change of changes) {
    const before = jobs.get(change.id);
    if (before === undefined) jobs.set(change.id, { session, id: storedText(change.id), ...NOTHING, ...changed(undefined, change) });
    else if (before.end === undefined) jobs.set(change.id, { ...before, ...changed(before, change) });
  }
  return [...jobs.values()];
}

const NOTHING = { start: undefined, state: undefined, starts: undefined, end: undefined };

function changed(before: FoldedJob | undefined, change: JobChange): Partial<FoldedJob> {
  switch (change.type) {
    case "start": {
      if (before !== undefined) return {};
      return { start: change, state: change.isQueued ? "queued" : "running", starts: change.isQueued ? 0 : 1 };
    }
    case "run":
      return { state: change.isQueued ? "queued" : "running", starts: change.starts };
    case "ask":
      return { state: "waiting" };
    case "answer":
      return before?.state === "waiting" ? { state: "running" } : {};
    case "end":
      return { state: change.state, end: change };
  }
}
