/** Makes what a branch did part of the session that it came from. */
import { ToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { JobTable } from "../call/jobs/job-table.ts";
import { formatCancelReason } from "../core/cancel-reason.ts";
import type { CommitOptions } from "../session/commit-options.ts";
import { servicesOf, type RuntimeSession } from "./runtime-session.ts";

interface CommitBranchOptions extends CommitOptions {
  /** The events of the branch, from a position on. */
  readonly eventsFrom: (position: number) => AsyncIterable<SessionEvent>;
  /** Moves the whole answers of truncated results, and the sessions that the branch's calls left open, to the parent. */
  readonly onCommit: () => void;
}

/**
 * Appends the branch's events to its parent, between two turns, and sets the parent's state to the branch's.
 *
 * If this is not possible, neither the parent nor the branch is changed.
 *
 * @throws ToolError `conflict`, `invalid_argument`, `resource_busy` while a job of the branch runs, `cancelled` by the signal; as a rejection
 */
export async function commitBranch(
  branch: RuntimeSession,
  parent: RuntimeSession,
  { eventsFrom, onCommit, signal }: CommitBranchOptions,
): Promise<void> {
  if (branch.committed) throw alreadyCommittedError(branch);
  if (branch.dropped) throw droppedBranchError(branch);
  const services = servicesOf(parent);
  checkNoJobs(services.jobs, branch);
  if (branch.turns.isInside || parent.turns.isInside) throw stillRunningError(branch);
  const refused = findCommitError(branch, parent); // its reasons stay, so that waiting for running calls would be in vain
  if (refused !== undefined) throw refused;
  if (branch.ready !== undefined) await branch.ready; // calls that wait for `ready` come first
  const wait = omitUndefined({ signal });
  while (branch.turns.busy) {
    throwIfCancelled(branch, signal);
    await branch.turns.run(() => {}, wait);
  }
  const { length, state } = branch.head;
  const events: SessionEvent[] = [];
  for await (const event of eventsFrom(branch.baseLength)) if (event.type !== "session-start") events.push(event);
  await parent.ready;
  await parent.turns.run(() => {
    throwIfCancelled(branch, signal); // its turn may be that of other calls
    const refusal = branch.length === length ? findCommitError(branch, parent) : stillRunningError(branch);
    if (refusal !== undefined) throw refusal;
    checkNoJobs(services.jobs, branch); // jobs may have begun during the wait
    const at = services.ports.clock.wallTime();
    const commit = { type: "branch-commit", sessionId: parent.id, at, branchId: branch.id, events: events.length } as const;
    const all = [Object.freeze(commit), ...events];
    branch.committed = true;
    branch.markClosed(); // calls that wait there or arrive now would be lost
    onCommit();
    if (branch.eventLog === undefined && parent.eventLog !== undefined) storeOutputs(parent, events);
    parent.adopt(all, state);
    services.cache.forget(parent); // cached answers read from its state are outdated
    if (branch.simulation !== undefined) parent.simulation?.addPretendedWrites(branch.simulation);
    // The events of a live branch were emitted when they happened.
    if (services.listening) for (const event of branch.simulation === undefined ? [commit] : all) services.emit(event);
  }, wait);
}

function throwIfCancelled(branch: RuntimeSession, signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new ToolError("cancelled", `The branch ${JSON.stringify(branch.id)} was not committed: ${formatCancelReason(signal)}`, {
    outcome: "not_started",
  });
}

/** Stores the whole answers of truncated results, which a branch without a store had only in memory. */
function storeOutputs(parent: RuntimeSession, events: readonly SessionEvent[]): void {
  const services = servicesOf(parent);
  for (const event of events) {
    const handle = event.type === "call-end" ? event.result.truncation?.handle : undefined;
    const whole = handle === undefined ? undefined : services.largeResults.find(parent.id, handle);
    if (whole === undefined || event.type !== "call-end") continue;
    const { callId, sessionId, turnId, at } = event;
    const { output, content } = whole;
    const kept = { type: "output-keep", callId, sessionId, turnId, at, ...omitUndefined({ output, content }) } as const;
    parent.recordOutput(Object.freeze(kept));
    if (services.listening) services.emit(kept);
  }
}

function checkNoJobs(jobs: JobTable, branch: RuntimeSession): void {
  const [job] = jobs.runningIn(branch.id);
  if (job === undefined) return;
  const { id, toolName } = job.status;
  throw new ToolError(
    "resource_busy",
    `The branch ${JSON.stringify(branch.id)} cannot be committed while its job ${id} (${toolName}) runs.`,
    { retryable: true, hint: "Wait for its jobs to end, or cancel them." },
  );
}

function alreadyCommittedError(branch: RuntimeSession): ToolError {
  return new ToolError("invalid_argument", `The branch ${JSON.stringify(branch.id)} has already been committed.`);
}

function droppedBranchError(branch: RuntimeSession): ToolError {
  return new ToolError("invalid_argument", `The branch ${JSON.stringify(branch.id)} was discarded.`);
}

function stillRunningError(branch: RuntimeSession): ToolError {
  return new ToolError("conflict", `The branch ${JSON.stringify(branch.id)} cannot be committed while its calls run.`, {
    hint: "Commit it when they have ended.",
  });
}

function findCommitError(branch: RuntimeSession, parent: RuntimeSession): ToolError | undefined {
  if (branch.committed) return alreadyCommittedError(branch);
  if (branch.dropped) return droppedBranchError(branch); // dropped during the wait
  const cannot = `The branch ${JSON.stringify(branch.id)} cannot be committed: `;
  if (parent.closed) return new ToolError("conflict", `${cannot}its session ${JSON.stringify(parent.id)} is closed.`);
  if (parent.broken !== undefined) return parent.broken;
  if (parent.length !== branch.baseLength) {
    return new ToolError("conflict", `${cannot}its session ${JSON.stringify(parent.id)} has moved on since the branch was taken.`, {
      hint: "Take a new branch and make the calls there.",
    });
  }
  const remote = branch.enginesIfUsed?.remote;
  if (remote === undefined) return undefined;
  return new ToolError("conflict", `${cannot}its engine "${remote}" keeps the changes of the branch apart from its session.`, {
    hint: "Make the calls in the session itself.",
  });
}
