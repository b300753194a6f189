/** The calls of one message: admitted in call order, run concurrently, answered in call order. */
import { formatCancelReason } from "../core/cancel-reason.ts";
import { ERROR_CODES } from "../core/error-codes.ts";
import { ToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import type { ResultWithError, ToolResult } from "../core/result.ts";
import { onAbort } from "../core/base/on-abort.ts";
import { waitFor } from "../policy/attempts/deadline.ts";
import type { Turn } from "../session/turn.ts";
import { dropWrittenResults } from "./cache/announce-write.ts";
import { createCallStart } from "./call-start.ts";
import { CallRun, type AdmittedCall, type ResultOrPromise, type CallServices } from "./call-run.ts";
import type { CallOptions } from "./call-options.ts";
import { finishCall } from "./finish/finish-call.ts";
import { EventLoopBreaks } from "./event-loop-breaks.ts";
import { listNestedCalls, settleCalls } from "./context/call-tree.ts";
import { admitCall, startCall, executeCall } from "./pipeline.ts";
import { isSequential } from "./route.ts";
import { ToolExecutionError } from "./tool-execution-error.ts";
import { turnEndedError } from "./admit/turn-rules.ts";
import { undoCalls } from "./finish/undo-calls.ts";

export interface BatchOptions extends CallOptions {
  readonly signal: AbortSignal | undefined;
  /** Called with the failure before a batch with `onError: "throw"` throws. */
  readonly onFailure: ((error: ToolExecutionError) => void) | undefined;
  readonly throwOnError: boolean;
  /** Set for a batch that may be submitted again. */
  readonly submission: Submission | undefined;
}

/** Identifies a batch that is submitted again. */
export interface Submission {
  readonly idempotencyKey: string;
  readonly digest: string;
  /** The ids of calls that ran before, in call order; undefined for each call that is run now. @default all are run now */
  readonly callIds?: readonly (string | undefined)[];
}

/**
 * Runs the calls and resolves to one result each, in call order.
 *
 * @throws ToolExecutionError with `throwOnError`, once every call of the batch has ended
 */
export async function runBatch(
  services: CallServices,
  turn: Turn,
  rawCalls: readonly unknown[],
  options: BatchOptions,
): Promise<readonly ToolResult[]> {
  const items = copyItems(rawCalls);
  const runs: CallRun[] = [];
  const breaks = new EventLoopBreaks(services.ports.clock);
  const startOptions = options.submission === undefined ? options : { ...options, isSubmitted: true };
  const { signal } = options;
  turn.mayRollBack = options.throwOnError;
  turn.tracksCallers ||= options.throwOnError; // what their handlers do is taken back with them
  const forget = signal === undefined ? undefined : onAbort(signal, () => cancelAll(runs, formatCancelReason(signal)));
  try {
    for (const raw of items) {
      const run = startCall(services, turn, raw, startOptions);
      runs.push(run);
      if (signal?.aborted === true) run.cancel(formatCancelReason(signal));
      if (breaks.isDue(run.startedAt) && options.submission === undefined) await breaks.takeBreak();
    }
    if (options.submission !== undefined) recordSubmission(runs, options.submission);
    const results = await new Batch(runs, breaks, { failFast: options.throwOnError, strict: options.strict === true }).run();
    const failed = options.throwOnError ? results.find(failsBatch) : undefined;
    if (failed === undefined) return results;
    await rollBack(services, turn, runs);
    const error = new ToolExecutionError(failed, finalResults(runs, results), runs[results.indexOf(failed)]?.failure?.cause);
    options.onFailure?.(error);
    throw error;
  } finally {
    forget?.();
    turn.mayRollBack = false;
    settleCalls(turn, runs, [turn, ...runs]);
    services.cache.forget(turn);
  }
}

/** The results, with those of background jobs that have ended in place of their placeholders. */
export function finalResults(runs: readonly CallRun[], results: readonly ToolResult[]): readonly ToolResult[] {
  return results.map((result, index) => runs[index]?.result ?? result);
}

/** Copies the array of calls, so that later changes to it do not affect the batch. */
export function copyItems(calls: readonly unknown[]): readonly unknown[] {
  const items: unknown[] = [];
  for (let index = 0; index < calls.length; index++) items.push(copyItem(calls, index));
  return items;
}

function copyItem(calls: readonly unknown[], index: number): unknown {
  try {
    return calls[index];
  } catch {
    return undefined; // answered like a missing call
  }
}

/** Takes back what these calls and their nested calls did, once the last of them has ended. Background jobs are cancelled first. */
async function rollBack(services: CallServices, turn: Turn, runs: readonly CallRun[]): Promise<void> {
  const all = [...runs, ...listNestedCalls(turn, [turn, ...runs])];
  for (const run of all) run.revoke("the batch of its handler failed"); // cancels nested calls, which end before the handlers that made them
  if (all.some((run) => run.result === undefined)) await services.running.whenEnded((run) => all.includes(run));
  turn.session.recordTogether(() => {
    turn.session.undoStateChanges(new Set<object>([turn, ...all]));
    recordRollback(all);
  });
  all.forEach(dropWrittenResults);
  await undoCalls(all);
  all.forEach(dropWrittenResults);
}

/** Records the start of a batch that may be submitted again, with all its calls, in one write: after a crash, all of it is stored or none. */
function recordSubmission(runs: readonly CallRun[], submission: Submission): void {
  const [first] = runs;
  if (first === undefined) return;
  const { sessionId, turnId, at } = first.eventBase;
  const ids = runs.map((run) => run.callId);
  const callIds = submission.callIds?.flatMap((callId) => callId ?? ids.splice(0, 1)) ?? ids;
  const start = { type: "batch-start", sessionId, turnId, at, ...submission, callIds } as const;
  const events: readonly SessionEvent[] = [start, ...runs.map((run) => createCallStart(run))];
  for (const event of events) Object.freeze(event);
  first.turn.session.recordAll(events);
  for (const event of events) first.emit(event);
}

/** The state of a call after its admission: its answer, or the admitted call until it is started. */
export type AdmissionState = ResultOrPromise | AdmittedCall;

/** Runs calls that have all begun, up to their results. */
export class Batch {
  readonly #runs: readonly CallRun[];
  readonly #breaks: EventLoopBreaks;
  readonly #failFast: boolean;
  readonly #strict: boolean;
  /** In call order, for the calls that were admitted or refused so far. */
  readonly #states: AdmissionState[];
  /** Answers that a sequential call must still wait for; after a sequential call, the one promise of all answers before it. */
  #unsettled: Promise<unknown>[] = [];

  /** @param options.states the states of calls that were admitted before, in call order */
  constructor(
    runs: readonly CallRun[],
    breaks: EventLoopBreaks,
    options: { readonly failFast?: boolean; readonly strict?: boolean; readonly states?: AdmissionState[] } = {},
  ) {
    this.#runs = runs;
    this.#breaks = breaks;
    this.#failFast = options.failFast ?? false;
    this.#strict = options.strict ?? false;
    this.#states = options.states ?? [];
  }

  async run(): Promise<readonly ToolResult[]> {
    await this.#admitAll();
    if (this.#strict) await this.#skipIfAnyRefused();
    return this.start();
  }

  /** Ends every admitted call as skipped if another one was refused. */
  async #skipIfAnyRefused(): Promise<void> {
    let refused: ToolResult | undefined;
    for (const state of this.#states) {
      const result = state instanceof CallRun ? undefined : await state;
      if (result?.status === "error") refused ??= result;
    }
    if (refused === undefined) return;
    this.#states.forEach((state, index) => {
      if (state instanceof CallRun) this.#states[index] = skipCall(state, refused);
    });
  }

  /** Starts every admitted call, and resolves to all results. */
  async start(): Promise<readonly ToolResult[]> {
    const answers = await this.#startAll();
    const results: ToolResult[] = [];
    for (const answer of answers) results.push(answer instanceof Promise ? await answer : answer);
    return results;
  }

  async #admitAll(): Promise<void> {
    const ids = new Set<string>();
    for (const run of this.#runs) {
      const admission = admitNext(run, ids);
      this.#states.push((admission instanceof Promise ? await this.#awaitAdmission(admission) : admission).state);
      if (this.#breaks.isDueNow) await this.#breaks.takeBreak();
    }
  }

  async #awaitAdmission(admission: Promise<Admission>): Promise<Admission> {
    const settled = await admission;
    this.#breaks.restart();
    return settled;
  }

  async #startAll(): Promise<readonly ResultOrPromise[]> {
    const answers: ResultOrPromise[] = [];
    for (const state of this.#states) {
      const answer = state instanceof CallRun ? this.#start(state) : state;
      answers.push(answer);
      if (answer instanceof Promise) this.#unsettled.push(answer);
      if (this.#failFast) cancelOnFailure(answer, this.#runs);
      if (this.#breaks.isDueNow) await this.#breaks.takeBreak();
    }
    return answers;
  }

  /** Starts a call at once, or after every earlier call has settled if its engine answers sequentially. */
  #start(run: AdmittedCall): ResultOrPromise {
    if (!isSequential(run.route) || this.#unsettled.length === 0) return executeCall(run);
    const earlier = Promise.all(this.#unsettled);
    this.#unsettled = [earlier];
    return startAfter(run, earlier);
  }
}

function skipCall(run: AdmittedCall, refused: ToolResult): ResultOrPromise {
  const { turn, callId } = run;
  turn.session.simulation?.forget(callId);
  const error = new ToolError("cancelled", `${run.toolName} was skipped: its batch is strict, and ${refused.name} cannot be run.`, {
    outcome: "not_started",
    hint: "Correct that call, and make all of them again.",
  });
  return finishCall(run, error, "skipped");
}

/** The outcome of admitting a call. Wrapped in an object, because a promise of a promise would resolve to the call's result. */
export interface Admission {
  readonly state: AdmissionState;
}

/** Admits the next call of a message. `ids` are those of the calls before it; the id of this call is added. */
export function admitNext(run: CallRun, ids: Set<string>): Admission | Promise<Admission> {
  const early = run.refusal ?? duplicateIdError(run, ids);
  const skipped = early === undefined ? turnEndedError(run.turn, run.call.name) : undefined;
  if (skipped !== undefined) return { state: finishCall(run, skipped, "skipped") };
  const outcome = early ?? admitCall(run);
  return outcome instanceof Promise ? outcome.then((end) => toAdmission(run, end)) : toAdmission(run, outcome);
}

function toAdmission(run: CallRun, outcome: AdmittedCall | ToolError): Admission {
  return { state: outcome instanceof ToolError ? finishCall(run, outcome) : outcome };
}

function duplicateIdError(run: CallRun, ids: Set<string>): ToolError | undefined {
  const { id } = run.call;
  if (id === undefined || (!ids.has(id) && ids.add(id))) return undefined;
  return new ToolError("invalid_call", `The id ${JSON.stringify(id)} was given to two calls of one message; only the first was run.`);
}

async function startAfter(run: AdmittedCall, earlier: Promise<unknown>): Promise<ToolResult> {
  const waited = await waitFor(run, earlier, {
    endsAt: run.deadlineAt,
    timeoutError: () =>
      new ToolError("resource_busy", `${run.toolName} waited for the earlier calls of its message until its deadline.`, {
        hint: "Try again when they have ended.",
      }),
  });
  return "ended" in waited ? finishCall(run, waited.ended) : executeCall(run);
}

function cancelOnFailure(answer: ResultOrPromise, runs: readonly CallRun[]): void {
  const check = (result: ToolResult): void => {
    if (failsBatch(result)) cancelAll(runs, `${result.name} failed`);
  };
  if (answer instanceof Promise) void answer.then(check);
  else check(answer);
}

/** Whether a result fails the batch: any error while running does, but no timeout, and no input, name or permission that was refused beforehand. */
export function failsBatch(result: ToolResult): result is ResultWithError {
  if (result.status !== "error") return false;
  const { error, attempts } = result;
  const { category } = ERROR_CODES[error.code];
  if (category === "execution" || category === "network") return true;
  return category !== "timeout" && (attempts > 0 || error.outcome !== "not_started");
}

function cancelAll(runs: readonly CallRun[], reason: string): void {
  for (const run of runs) run.cancel(reason);
}

function recordRollback(runs: readonly CallRun[]): void {
  const [first] = runs;
  if (first === undefined || !first.hasObservers) return;
  const { session } = first.turn;
  const event = {
    type: "batch-rollback",
    sessionId: session.id,
    turnId: first.turn.id,
    at: first.clock.wallTime(),
    callIds: runs.map((run) => run.callId),
  } as const;
  first.record(event);
}

/** Resumes calls that began before a crash, under their own ids. A call that may not be run ends with what is known of it. */
export async function resumeCalls(runs: readonly CallRun[]): Promise<readonly ToolResult[]> {
  const [first] = runs;
  if (first === undefined) return [];
  const { callsCancelReason } = first.turn.session;
  for (const run of runs) {
    run.services.running.add(run);
    if (callsCancelReason !== undefined) run.cancel(callsCancelReason);
  }
  return new Batch(runs, new EventLoopBreaks(first.clock)).run();
}
