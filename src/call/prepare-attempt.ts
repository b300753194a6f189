/** What an attempt needs before its handler runs, in order: locks, no answer in the cache, slots, a store that knows of it. */
import type { ToolError } from "../core/error.ts";
import { announceWrite } from "./announce-write.ts";
import { lookUp, recall } from "./cached-read.ts";
import type { Found } from "./cached-read.ts";
import type { CallRun, StepEnd } from "./call-run.ts";
import { acquireLocks, acquireSlots, release } from "./hold.ts";
import { recordIntent } from "./record-intent.ts";

/** Comes to undefined when the handler may run. Whatever else it comes to, what was taken so far is still held. */
export function prepareAttempt(run: CallRun): Found | Promise<Found> {
  const locking = acquireLocks(run);
  return locking === undefined ? lookFirst(run) : locking.then((error) => error ?? lookFirst(run));
}

/** For a call that was refused before it held anything: undefined when the cache has its answer, else the refusal. */
export function recallOr(run: CallRun, refusal: ToolError): StepEnd | Promise<StepEnd> {
  return run.registered?.tool.cache === undefined ? refusal : recallLocked(run, refusal);
}

async function recallLocked(run: CallRun, refusal: ToolError): Promise<StepEnd> {
  const found = (await acquireLocks(run)) ?? (await recall(run));
  release(run);
  return found === "answered" ? undefined : (found ?? refusal);
}

function lookFirst(run: CallRun): Found | Promise<Found> {
  const found = lookUp(run);
  if (found === undefined) return takeSlots(run);
  return found instanceof Promise ? found.then((end) => end ?? takeSlots(run)) : found;
}

function takeSlots(run: CallRun): Found | Promise<Found> {
  const waiting = acquireSlots(run);
  return waiting === undefined ? tellStore(run) : waiting.then((error) => error ?? lookAgain(run));
}

/** While a call waits for a slot, an equal one may have been answered. */
async function lookAgain(run: CallRun): Promise<Found> {
  return (await lookUp(run)) ?? tellStore(run);
}

function tellStore(run: CallRun): StepEnd | Promise<StepEnd> {
  const intending = recordIntent(run);
  if (!(intending instanceof Promise)) return intending ?? announceWrite(run);
  return intending.then((error) => error ?? announceWrite(run));
}
