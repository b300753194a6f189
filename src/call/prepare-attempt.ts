/** The conditions that an attempt needs before its handler runs, in order: locks, no answer in the cache, slots, a store that knows of it. */
import type { ToolError } from "../core/error.ts";
import { announceWrite } from "./announce-write.ts";
import { lookUp, recall, type Found } from "./cached-read.ts";
import type { AdmittedCall } from "./call-run.ts";
import { acquireLocks, acquireSlots, release } from "./hold.ts";
import { recordIntent } from "./record-intent.ts";

/** Resolves to undefined when the handler may run. In any other case, the locks and slots taken so far are still held. */
export function prepareAttempt(run: AdmittedCall): Found | Promise<Found> {
  const locking = acquireLocks(run);
  return locking === undefined ? lookFirst(run) : locking.then((error) => error ?? lookFirst(run));
}

/** For a call that was refused before it held anything: undefined when the cache has its answer, else the refusal. */
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

/** While a call waits for a slot, an equal one may have been answered. */
async function lookAgain(run: AdmittedCall): Promise<Found> {
  return (run.plan.caches ? await lookUp(run) : undefined) ?? tellStore(run);
}

/** Only a call that writes has something to tell. */
function tellStore(run: AdmittedCall): ToolError | undefined | Promise<ToolError | undefined> {
  if (run.effects.writes.length === 0) return undefined;
  const intending = recordIntent(run);
  if (!(intending instanceof Promise)) return intending ?? announceWrite(run);
  return intending.then((error) => error ?? announceWrite(run));
}
