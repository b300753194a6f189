/** The steps before the handler of an attempt runs, in order: locks, cache look-up, slots, recording the intent. */
import type { ToolError } from "../../core/error.ts";
import { announceWrite } from "../cache/announce-write.ts";
import { lookUp, recall, type Found } from "../cache/cached-read.ts";
import type { AdmittedCall } from "../call-run.ts";
import { acquireLocks, acquireSlots, release } from "./hold.ts";
import { notStarted, startedTooLate } from "./not-started.ts";
import { untilKept } from "./until-kept.ts";

/** Resolves to undefined if the handler may run. In any other case, the locks and slots taken so far are still held. */
export function prepareAttempt(run: AdmittedCall): Found | Promise<Found> {
  const locking = acquireLocks(run);
  return locking === undefined ? lookFirst(run) : locking.then((error) => error ?? lookFirst(run));
}

/** Looks in the cache for a call that was refused before it held anything: undefined if the cache has its answer, else the refusal. */
export function recallOr(run: AdmittedCall, refusal: ToolError): ToolError | Promise<ToolError | undefined> {
  return !run.plan.caches ? refusal : recallLocked(run, refusal);
}

async function recallLocked(run: AdmittedCall, refusal: ToolError): Promise<ToolError | undefined> {
  const found = (await acquireLocks(run)) ?? (await recall(run));
  release(run);
  return found === "answered" ? undefined : (found ?? refusal);
}

function lookFirst(run: AdmittedCall): Found | Promise<Found> {
  const found = run.plan.caches ? lookUp(run) : undefined;
  if (found === undefined) return thenSlots(run);
  return found instanceof Promise ? found.then((end) => end ?? thenSlots(run)) : found;
}

function thenSlots(run: AdmittedCall): Found | Promise<Found> {
  const waiting = acquireSlots(run);
  return waiting === undefined ? tellStore(run) : waiting.then((error) => error ?? lookAgain(run));
}

/** Looks in the cache again: while the call waited for a slot, an equal call may have been answered. */
async function lookAgain(run: AdmittedCall): Promise<Found> {
  return (run.plan.caches ? await lookUp(run) : undefined) ?? tellStore(run);
}

/** Records the intent of a call that writes and announces the write; no effect for other calls. */
function tellStore(run: AdmittedCall): ToolError | undefined | Promise<ToolError | undefined> {
  if (run.effects.writes.length === 0) return undefined;
  const intending = recordIntent(run);
  if (!(intending instanceof Promise)) return intending ?? announceWrite(run);
  return intending.then((error) => error ?? announceWrite(run));
}

/**
 * Records the intent of a call that writes and may not be repeated, once it has everything else it needs to run, and waits until a crash cannot lose
 * it. After a crash, such a call without an intent was never started.
 *
 * If the store cannot write, the call ends with `store_failed`, not started; a job waits for the store instead.
 */
function recordIntent(run: AdmittedCall): ToolError | undefined | Promise<ToolError | undefined> {
  const { session } = run.turn;
  const { eventLog } = session;
  if (eventLog === undefined || run.attempts > 0 || !run.isLogged || run.effects.repeatable || !run.route.rules.isConsequential)
    return undefined;
  run.record({
    ...run.eventBase,
    type: "call-intent",
    toolName: run.toolName,
    input: run.input,
    idempotencyKey: run.idempotencyKey,
  });
  if (session.broken !== undefined) return notStarted(run, session.broken);
  if (eventLog.options.durability === "async") return undefined;
  return untilKept(run, {
    late: () => startedTooLate(run, "the store had not written its intent before the call's deadline."),
    failed: (error) => notStarted(run, error),
  });
}
