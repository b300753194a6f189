/** Runs calls as background jobs: the turn does not wait for them, and their caller gets `pending`. */
import { ToolError } from "../../core/error.ts";
import { createPendingResult } from "../../core/jobs/job-message.ts";
import type { JobStatus } from "../../core/jobs/job-status.ts";
import type { ToolResult } from "../../core/result.ts";
import { readTraceparent } from "../../core/formats/traceparent.ts";
import { waitFor } from "../../policy/attempts/deadline.ts";
import { runAsHandler } from "../../session/turn-queue.ts";
import { isAdmitted, type AdmittedCall, type ResultOrPromise, type CallRun } from "../call-run.ts";
import type { EarlierCalls, ResumedCall } from "../admit/earlier-calls.ts";
import { findJobSlotLender } from "../attempt/borrow-resources.ts";
import { isSameOrNestedCall } from "../context/call-tree.ts";
import { finishCall } from "../finish/finish-call.ts";
import type { CallJob } from "./job.ts";
import { tryTakeSlot, waitForSlot, type AwaitedSlot, type HeldSlot } from "../attempt/lent-resources.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { untilDurable } from "../attempt/until-durable.ts";

/** Runs the call to its one result. Never throws or rejects. */
type Work = (run: AdmittedCall) => ResultOrPromise;

/** Starts the call as a background job. Returns its placeholder, or its result if there are too many jobs. */
export function runInBackground(run: AdmittedCall, work: Work): ResultOrPromise {
  const earlier = run.job; // a call resumed after a crash has its job already
  const job = earlier ?? createJob(run);
  if (job instanceof ToolError) return finishCall(run, job);
  run.jobSlot = isSuspect(run) ? undefined : tryTakeSlot(findJobSlotLender(run), run.services.jobs.slots);
  if (earlier === undefined) recordJobStart(run, job, run.jobSlot === undefined);
  else if (run.jobSlot === undefined && run.resumed?.job?.isQueued !== true)
    recordJobRun(run, run.resumed?.job?.starts ?? 0, { queued: true });
  const { turns } = run.turn.session;
  const detachedTurn = turns.createDetachedTurn(run.turn);
  run.detachedTurn = detachedTurn;
  runAsHandler(detachedTurn, run, () => void runJob(run, job, work).finally(() => turns.endDetachedTurn(detachedTurn)));
  return createPlaceholder(run, job);
}

/** The new job of a call; an error if there are too many. */
function createJob(run: AdmittedCall): CallJob | ToolError {
  const { mode = "direct", notify = true } = run.plan.tool;
  try {
    run.job = run.services.jobs.add(run, { mode: mode === "stateful" ? mode : "background", notify });
  } catch (thrown: unknown) {
    return ToolError.fromUnknown(thrown);
  }
  return run.job;
}

/** Runs the call once it has a job slot: lent by the job whose handler made it, or its own. */
async function runJob(run: AdmittedCall, job: CallJob, work: Work): Promise<void> {
  const isQueued = run.jobSlot === undefined;
  if (isQueued) {
    run.holdProcess();
    const refused = await waitForJobSlot(run);
    if (refused !== undefined) {
      await run.resumed?.nestedCalls?.end(refused.message);
      await finishCall(run, refused);
      return;
    }
  }
  try {
    job.markRunning();
    if (isQueued && run.resumed?.job === undefined) recordJobRun(run, 1);
    if (run.resumed?.nestedCalls !== undefined) await runEarlierCalls(run, run.resumed, run.resumed.nestedCalls);
    await work(run);
  } finally {
    releaseJobSlot(run);
  }
}

async function waitForJobSlot(run: AdmittedCall): Promise<ToolError | undefined> {
  const { slots, suspects } = run.services.jobs;
  const lane = run.turn.session.id;
  const alone = isSuspect(run) ? await waitUntilTaken(run, waitForSlot(undefined, suspects, lane)) : undefined;
  if (alone instanceof ToolError) return alone;
  const slot = await waitUntilTaken(run, waitForSlot(findJobSlotLender(run), slots, lane));
  if (slot instanceof ToolError) {
    alone?.release();
    return slot;
  }
  run.jobSlot = alone === undefined ? slot : createSuspectSlot(run, slot, alone);
  return undefined;
}

/** Waits for the slot. Returns an error if the call ends or its deadline passes before. */
async function waitUntilTaken(run: AdmittedCall, awaited: AwaitedSlot): Promise<HeldSlot | ToolError> {
  const waited = await waitFor(run, awaited.whenTaken(), { endsAt: run.deadlineAt, timeoutError: () => queueTimeoutError(run) });
  if (!("ended" in waited)) return awaited.slot;
  awaited.cancel();
  return waited.ended;
}

/** Number of starts from which a job may be what crashed its process: such jobs are started one at a time. */
const SUSPECT_STARTS = 2;
/** After this time, in milliseconds, such a job no longer holds up the others. */
const SUSPECT_MS = 10_000;

function isSuspect({ resumed, isAnswered }: AdmittedCall): boolean {
  const job = resumed?.job;
  return job !== undefined && job.starts - job.safeStarts >= SUSPECT_STARTS && !isAnswered;
}

/** The slots of a job that is started alone; the next one may start when it has ended, or has run for `SUSPECT_MS`. */
function createSuspectSlot({ clock }: AdmittedCall, slot: HeldSlot, alone: HeldSlot): HeldSlot {
  let isAlone = true;
  const releaseAlone = (): void => {
    stop();
    if (isAlone) alone.release();
    isAlone = false;
  };
  const stop = clock.timer(releaseAlone, SUSPECT_MS, { background: true });
  return {
    release() {
      releaseAlone();
      slot.release();
    },
  };
}

/**
 * Ends the nested calls from before a crash, before their job is run again. The start of the job is recorded first, as these calls are part of it.
 */
async function runEarlierCalls(run: AdmittedCall, resumed: ResumedCall, calls: EarlierCalls): Promise<void> {
  const counted = await recordRestart(run);
  if (counted instanceof ToolError) return calls.end(counted.message);
  if (resumed.job !== undefined) resumed.job = { ...resumed.job, isCounted: true };
  const ending = calls.run();
  const waited = await waitFor(run, ending, { endsAt: run.deadlineAt, timeoutError: () => queueTimeoutError(run) });
  if ("ended" in waited) calls.cancel(waited.ended.message);
  await ending;
}

function releaseJobSlot(run: AdmittedCall): void {
  run.jobSlot?.release();
  run.jobSlot = undefined;
}

/**
 * Records that a job from before a crash is about to be run once more, and waits until that is durable, so that a job that crashes its process at
 * once is recognized. No effect for a call that need not be run.
 */
export function recordRestart(run: AdmittedCall): AdmittedCall | ToolError | Promise<AdmittedCall | ToolError> {
  const job = run.resumed?.job;
  if (job === undefined || job.isCounted === true || run.isAnswered) return run;
  recordJobRun(run, job.starts + 1);
  return untilStartDurable(run);
}

/** Waits until the recorded start of a job is durable. */
export function untilStartDurable(run: AdmittedCall): AdmittedCall | ToolError | Promise<AdmittedCall | ToolError> {
  const { turn } = run;
  const { eventLog, broken } = turn.session;
  if (broken !== undefined) return broken;
  if (eventLog === undefined || eventLog.options.durability === "async") return run;
  const durable = untilDurable(run, { late: () => queueTimeoutError(run), failed: (error) => error });
  return durable === undefined ? run : durable.then((error) => error ?? run.cancelled ?? run);
}

/** Records that a running job is handed over with its session, so that this start does not count as a crash. */
export function recordHandOver(run: CallRun): void {
  if (isAdmitted(run) && run.jobSlot !== undefined)
    recordJobRun(run, (run.resumed?.job?.starts ?? 0) + 1, { queued: true, handedOver: true });
}

function recordJobRun(run: AdmittedCall, starts: number, position: { readonly queued?: true; readonly handedOver?: true } = {}): void {
  const { traceparent, awaited } = run.resumed?.job ?? {};
  run.record({
    ...run.eventBase,
    type: "job-run",
    toolName: run.toolName,
    starts,
    ...position,
    ...omitUndefined({ awaited: position.handedOver === true ? undefined : awaited, traceparent }),
  });
}

/** Waits for a call that may still become a background job: by `promote`, or after `promoteAfterMs`. */
export function waitPromotable(run: AdmittedCall, answer: Promise<ToolResult>): Promise<ToolResult> {
  const { promoteAfterMs } = run.plan.settings;
  if (promoteAfterMs > 0) run.onEnd = run.clock.timer(() => void promote(run), promoteAfterMs);
  if (run.pendingAttempt?.promise !== answer) return waitSeparately(run, answer);
  run.pendingAnswer = run.pendingAttempt as PromiseWithResolvers<ToolResult>; // the same promise, as just compared
  return answer;
}

function waitSeparately(run: AdmittedCall, answer: Promise<ToolResult>): Promise<ToolResult> {
  const pending = Promise.withResolvers<ToolResult>();
  run.pendingAnswer = pending;
  void answer.then(pending.resolve, pending.reject);
  return pending.promise;
}

/** Releases the job slot and the turn of a promoted call. */
function releaseSlotAndTurn(run: AdmittedCall): void {
  const { turn, detachedTurn } = run;
  releaseJobSlot(run);
  if (detachedTurn !== undefined) turn.session.turns.endDetachedTurn(detachedTurn);
}

/** Moves a running call to the background. False for a call that has ended, is a job already, or cannot become one. */
export function promote(run: CallRun): boolean {
  const { pendingAnswer, services } = run;
  if (pendingAnswer === undefined || run.result !== undefined || run.cancelled !== undefined || !isAdmitted(run)) return false;
  const slot = tryTakeSlot(findJobSlotLender(run), services.jobs.slots);
  if (slot === undefined) return false; // too many jobs run: the call stays in its turn
  run.jobSlot = slot;
  const job = services.jobs.adopt(run, { mode: "background", notify: run.plan.tool.notify ?? true });
  run.job = job;
  run.pendingAnswer = undefined;
  run.onEnd?.(); // cancels the timer of `promoteAfterMs`
  run.onEnd = () => queueMicrotask(() => releaseSlotAndTurn(run));
  run.detachedTurn = run.turn.session.turns.createDetachedTurn(run.turn, run.turn.running, (call) => isSameOrNestedCall(call, run));
  job.markRunning();
  recordJobStart(run, job, false);
  job.recordEarlierOutput();
  if (!run.plan.hasOwnTimeout) run.wait?.moveDeadline(run.deadlineAt);
  pendingAnswer.resolve(createPlaceholder(run, job));
  return true;
}

function recordJobStart(run: AdmittedCall, { mode, notify }: CallJob, queued: boolean): void {
  const traceparent = readTraceparent(run.services.tracing?.headersOf(run.callId));
  run.record({
    ...run.eventBase,
    type: "job-start",
    toolName: run.toolName,
    mode,
    notify,
    ...omitUndefined({ queued: queued || undefined, traceparent }),
  });
}

function createPlaceholder(run: AdmittedCall, job: CallJob): ToolResult {
  const placeholder = createPendingResult({ callId: run.callId, id: run.call.id, name: run.toolName, mode: job.mode });
  JOBS.set(placeholder, job);
  return placeholder;
}

const JOBS = new WeakMap<ToolResult, CallJob>();

/** The job behind a `pending` result, even if it has ended and is no longer kept. @throws ToolError with the code and message of any other result */
export function jobOf(placeholder: ToolResult): JobStatus {
  const job = JOBS.get(placeholder);
  if (job !== undefined) return job.status;
  const { error, status } = placeholder;
  throw new ToolError(error?.code ?? "not_executable", error?.message ?? `The call ended with ${status}.`, error ?? {});
}

function queueTimeoutError({ toolName, plan }: AdmittedCall): ToolError {
  return new ToolError("timeout", `${toolName} waited in line for ${plan.settings.deadlineMs} ms and was not started.`, {
    retryable: false,
    outcome: "not_started",
  });
}
