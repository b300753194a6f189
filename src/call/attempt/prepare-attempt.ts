/** The steps before the handler of an attempt runs, in order: locks, cache look-up, slots, recording the intent. */
import type { ToolError } from "../../core/error.ts";
import { announceWrite } from "../cache/announce-write.ts";
import { lookUpCached, recallCached, type LookupOutcome } from "../cache/cached-read.ts";
import type { AdmittedCall } from "../call-run.ts";
import { acquireLocks, acquireSlots, releaseResources } from "./held-resources.ts";
import { notStartedError, startTimeoutError } from "./not-started-errors.ts";
import { untilDurable } from "./until-durable.ts";

/** Resolves to undefined if the handler may run. In any other case, the locks and slots taken so far are still held. */
export function prepareAttempt(run: AdmittedCall): LookupOutcome | Promise<LookupOutcome> {
  const locking = acquireLocks(run);
  return locking === undefined ? checkCacheFirst(run) : locking.then((error) => error ?? checkCacheFirst(run));
}

/** Looks in the cache for a call that was refused before it held anything: undefined if the cache has its answer, else the refusal. */
export function recallOrRefuse(run: AdmittedCall, refusal: ToolError): ToolError | Promise<ToolError | undefined> {
  return !run.plan.caches ? refusal : recallLocked(run, refusal);
}

async function recallLocked(run: AdmittedCall, refusal: ToolError): Promise<ToolError | undefined> {
  const found = (await acquireLocks(run)) ?? (await recallCached(run));
  releaseResources(run);
  return found === "answered" ? undefined : (found ?? refusal);
}

function checkCacheFirst(run: AdmittedCall): LookupOutcome | Promise<LookupOutcome> {
  const found = run.plan.caches ? lookUpCached(run) : undefined;
  if (found === undefined) return acquireSlotsNext(run);
  return found instanceof Promise ? found.then((end) => end ?? acquireSlotsNext(run)) : found;
}

function acquireSlotsNext(run: AdmittedCall): LookupOutcome | Promise<LookupOutcome> {
  const waiting = acquireSlots(run);
  return waiting === undefined ? recordIntentAndAnnounce(run) : waiting.then((error) => error ?? recheckCache(run));
}

/** Looks in the cache again: while the call waited for a slot, an equal call may have been answered. */
async function recheckCache(run: AdmittedCall): Promise<LookupOutcome> {
  return (run.plan.caches ? await lookUpCached(run) : undefined) ?? recordIntentAndAnnounce(run);
}

/** Records the intent of a call that writes and announces the write; no effect for other calls. */
function recordIntentAndAnnounce(run: AdmittedCall): ToolError | undefined | Promise<ToolError | undefined> {
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
  if (session.broken !== undefined) return notStartedError(run, session.broken);
  if (eventLog.options.durability === "async") return undefined;
  return untilDurable(run, {
    late: () => startTimeoutError(run, "the store had not written its intent before the call's deadline."),
    failed: (error) => notStartedError(run, error),
  });
}
