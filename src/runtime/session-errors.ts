/** Errors of sessions. */
import { ToolError } from "../core/error.ts";
import type { Store } from "../core/store/store.ts";
import type { Session } from "../session/session.ts";

export function closedSessionError(session: Session): ToolError {
  return new ToolError("invalid_argument", `The session ${JSON.stringify(session.id)} is closed.`, {
    hint: "Begin another with runtime.session(), or continue it with runtime.resume() if a store has it.",
  });
}

export function noJobsError(): ToolError {
  return new ToolError("not_simulatable", "A simulation has no background jobs: they would outlive it.", { hint: "Use execute()." });
}

export function noBranchError(session: Session): ToolError {
  return new ToolError("invalid_argument", `The session ${JSON.stringify(session.id)} is not an open branch of another session.`, {
    hint: "Take one with fork() or simulate(). A branch that was resumed from a store is a session of its own.",
  });
}

export function hasBranchError({ id }: Session, branchId: string): ToolError {
  return new ToolError(
    "conflict",
    `Session ${JSON.stringify(id)} cannot be removed: session ${branchId} branches off it and shares its events.`,
    { hint: "Remove the branch first." },
  );
}

/** The error of an id that is not free yet. */
export function beingRemovedError(id: string): ToolError {
  return new ToolError("resource_busy", `The session ${JSON.stringify(id)} is being removed.`, {
    retryable: true,
    outcome: "not_started",
    hint: "Try again when it has been removed, or take another id.",
  });
}

/** The error of a closed session that cannot be removed. */
export function idTakenError(id: string): ToolError {
  return new ToolError("resource_busy", `The session ${JSON.stringify(id)} cannot be removed: another session has its id now.`, {
    operatorHint: "Use the object of that session.",
  });
}

/** The error of a closed branch that cannot be committed. */
export function removedAfterCloseError(id: string): ToolError {
  return new ToolError(
    "conflict",
    `The session ${JSON.stringify(id)} was removed after it was closed, and another session may have its id now.`,
  );
}

/** The error of a resume whose session was removed meanwhile. */
export function removedWhileResumedError(id: string): ToolError {
  return new ToolError("conflict", `The session ${JSON.stringify(id)} was removed while it was resumed.`, { retryable: false });
}

/** Returns the store if there is one. @throws ToolError `invalid_argument` */
export function requireStore(id: string, store: Store | undefined): Store {
  if (store !== undefined) return store;
  throw new ToolError("invalid_argument", `The session ${JSON.stringify(id)} cannot be resumed: the runtime has no store.`, {
    hint: "Give one: createRuntime({ store: sqliteStore({ path }) }).",
  });
}

/** Notes and returns the error of a session that another process has continued: the store has events that were not recorded here. */
export function markTakenOver(session: Session): ToolError {
  const message = `The session ${JSON.stringify(session.id)} was taken over by another process, which has continued it.`;
  const error = new ToolError("conflict", message, { operatorHint: "Resume the session again to continue it." });
  session.markLost(error);
  return error;
}

/** The error for a session whose calls and jobs another process continues. */
export function handedOverError(id: string): ToolError {
  return new ToolError("conflict", `The session ${JSON.stringify(id)} was given to another process, which continues its calls and jobs.`, {
    retryable: true,
    operatorHint: "Ask the store: jobs.listStored().",
  });
}

/** The error of a resume whose runtime was closed meanwhile. */
export function resumeCancelledError(id: string): ToolError {
  return new ToolError("cancelled", `The session ${JSON.stringify(id)} was not resumed: the runtime was closed.`, {
    operatorHint: "Resume it again: the calls that had not ended continue then.",
  });
}

export function nothingToCommitToError(): ToolError {
  return new ToolError("invalid_argument", "A simulation of the runtime has no session to be committed to.", {
    hint: "Simulate in a session: runtime.session().simulate(calls).",
  });
}
