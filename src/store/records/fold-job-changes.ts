/** Folds the changes of a write into one for each job, because one statement can write a row only once. */
import type { JobChange } from "./job-changes.ts";
import { toStoredText } from "./stored-text.ts";

type Change<Type extends JobChange["type"]> = JobChange & { readonly type: Type };

/** A job after the changes of a write. */
export interface FoldedJob {
  /** As in the table, like `id`. */
  readonly session: string;
  readonly id: string;
  /** Set if the job begins in this write. */
  readonly start: Change<"start"> | undefined;
  /** Undefined if the job was only answered: it then runs if it was waiting. */
  readonly state: string | undefined;
  /** Undefined if it does not change. */
  readonly starts: number | undefined;
  readonly end: Change<"end"> | undefined;
}

/** @param session as in the table */
export function foldJobChanges(session: string, changes: readonly JobChange[]): readonly FoldedJob[] {
  const jobs = new Map<string, FoldedJob>();
  for (const change of changes) {
    const before = jobs.get(change.id);
    if (before === undefined)
      jobs.set(change.id, { session, id: toStoredText(change.id), ...NO_CHANGES, ...foldChange(undefined, change) });
    else if (before.end === undefined) jobs.set(change.id, { ...before, ...foldChange(before, change) });
  }
  return [...jobs.values()];
}

const NO_CHANGES = { start: undefined, state: undefined, starts: undefined, end: undefined };

function foldChange(before: FoldedJob | undefined, change: JobChange): Partial<FoldedJob> {
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
