/** The calls of one message: admitted in call order, run concurrently, answered in call order. */
import { cancelReason } from "../core/cancel-reason.ts";
import { ERROR_CODES } from "../core/error-codes.ts";
import { ToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import type { ToolResult } from "../core/result.ts";
import { onAbort, waitFor } from "../policy/attempts/deadline.ts";
import type { Turn } from "../session/turn.ts";
import { dropWritten } from "./cache/announce-write.ts";
import { startOf } from "./call-start.ts";
import { CallRun, type AdmittedCall, type Answer, type CallParts } from "./call-run.ts";
import type { CallOptions } from "./call-options.ts";
import { finishCall } from "./finish/finish-call.ts";
import { LoopBreaks } from "./loop-breaks.ts";
import { nestedIn, settle } from "./context/call-tree.ts";
import { admitCall, beginCall, executeCall } from "./pipeline.ts";
import { isSequential } from "./route.ts";
import { ToolExecutionError } from "./tool-execution-error.ts";
import { turnEnded } from "./admit/turn-rules.ts";
import { undoCalls } from "./finish/undo-calls.ts";

export interface BatchOptions extends CallOptions {
  readonly signal: AbortSignal | undefined;
  /** Called with the failure before a batch with `onError: "throw"` throws. */
  readonly onFailure: ((error: ToolExecutionError) => void) | undefined;
  readonly throwOnError: boolean;
  /** Set for a batch that may be submitted again. */
  readonly submission?: Submission | undefined;
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
  parts: CallParts,
  turn: Turn,
  rawCalls: readonly unknown[],
  options: BatchOptions,
): Promise<readonly ToolResult[]> {
  const items = readItems(rawCalls);
  const runs: CallRun[] = [];
  const breaks = new LoopBreaks(parts.ports.clock);
  const begun = options.submission === undefined ? options : { ...options, isSubmitted: true };
  const { signal } = options;
  const forget = signal === undefined ? undefined : onAbort(signal, () => cancelAll(runs, cancelReason(signal)));
  try {
    for (const raw of items) {
      const run = beginCall(parts, turn, raw, begun);
      runs.push(run);
      if (signal?.aborted === true) run.cancel(cancelReason(signal));
      if (breaks.isDue(run.startedAt) && options.submission === undefined) await breaks.take();
    }
    if (options.submission !== undefined) recordSubmission(runs, options.submission);
    const results = await new Batch(runs, breaks, { failFast: options.throwOnError, strict: options.strict === true }).run();
    const failed = options.throwOnError ? results.find(failsTheBatch) : undefined;
    if (failed === undefined) return results;
    await rollBack(parts, turn, runs);
    const error = new ToolExecutionError(failed, finalResults(runs, results), runs[results.indexOf(failed)]?.failure?.cause);
    options.onFailure?.(error);
    throw error;
  } finally {
    forget?.();
    settle(turn, runs, [turn, ...runs]);
    parts.cache.forget(turn);
  }
}

/** The results, with those of background jobs that have ended in place of their placeholders. */
export function finalResults(runs: readonly CallRun[], results: readonly ToolResult[]): readonly ToolResult[] {
  return results.map((result, index) => runs[index]?.result ?? result);
}

/** Copies the array of calls, so that later changes to it do not affect the batch. */
export function readItems(calls: readonly unknown[]): readonly unknown[] {
  const items: unknown[] = [];
  for (let index = 0; index < calls.length; index++) items.push(readItem(calls, index));
  return items;
}

function readItem(calls: readonly unknown[], index: number): unknown {
  try {
    return calls[index];
  } catch {
    return undefined; // answered like a missing call
  }
}

/** Takes back what these calls and their nested calls did, once the last of them has ended. Background jobs are cancelled first. */
async function rollBack(parts: CallParts, turn: Turn, runs: readonly CallRun[]): Promise<void> {
  const nested = takeBackAll(turn, runs, "the batch of its handler failed");
  const all = [...runs, ...nested];
  if (all.some((run) => run.result === undefined)) await parts.running.whenEnded((run) => all.includes(run));
  turn.session.together(() => {
    turn.rollBack();
    recordRollback(all);
  });
  all.forEach(dropWritten);
  await undoCalls(all);
  all.forEach(dropWritten);
}

/** Marks the calls as taken back for the session. Cancels and returns their nested calls, which end before the handlers that made them. */
function takeBackAll(turn: Turn, runs: readonly CallRun[], reason: string): readonly CallRun[] {
  const nested = nestedIn(turn, [turn, ...runs]);
  for (const run of runs) run.takeBack(reason);
  for (const run of nested) run.takeBack(reason);
  return nested;
}

/** Records the start of a batch that may be submitted again, with all its calls, in one write: after a crash, all of it is stored or none. */
function recordSubmission(runs: readonly CallRun[], submission: Submission): void {
  const [first] = runs;
  if (first === undefined) return;
  const { sessionId, turnId, at } = first.eventBase;
  const ids = runs.map((run) => run.callId);
  const callIds = submission.callIds?.flatMap((callId) => callId ?? ids.splice(0, 1)) ?? ids;
  const start = { type: "batch-start", sessionId, turnId, at, ...submission, callIds } as const;
  const events: readonly SessionEvent[] = [start, ...runs.map((run) => startOf(run))];
  for (const event of events) Object.freeze(event);
  first.turn.session.recordAll(events);
  for (const event of events) first.emit(event);
}

/** The state of a call after its admission: its answer, or the admitted call until it is started. */
export type Standing = Answer | AdmittedCall;

/** Runs calls that have all begun, up to their results. */
export class Batch {
  readonly #runs: readonly CallRun[];
  readonly #breaks: LoopBreaks;
  readonly #failFast: boolean;
  readonly #strict: boolean;
  /** In call order, for the calls that were admitted or refused so far. */
  readonly #standings: Standing[];
  /** Answers that a sequential call must still wait for; after a sequential call, the one promise of all answers before it. */
  #unsettled: Promise<unknown>[] = [];

  /** @param standings the states of calls that were admitted before, in call order */
  constructor(
    runs: readonly CallRun[],
    breaks: LoopBreaks,
    options: { readonly failFast?: boolean; readonly strict?: boolean; readonly standings?: Standing[] } = {},
  ) {
    this.#runs = runs;
    this.#breaks = breaks;
    this.#failFast = options.failFast ?? false;
    this.#strict = options.strict ?? false;
    this.#standings = options.standings ?? [];
  }

  async run(): Promise<readonly ToolResult[]> {
    await this.#admitAll();
    if (this.#strict) await this.#skipUnlessSound();
    return this.start();
  }

  /** Ends every admitted call as skipped if another one was refused. */
  async #skipUnlessSound(): Promise<void> {
    let refused: ToolResult | undefined;
    for (const standing of this.#standings) {
      const answer = standing instanceof CallRun ? undefined : await standing;
      if (answer?.status === "error") refused ??= answer;
    }
    if (refused === undefined) return;
    this.#standings.forEach((standing, index) => {
      if (standing instanceof CallRun) this.#standings[index] = skip(standing, refused);
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
      this.#standings.push((admission instanceof Promise ? await this.#settled(admission) : admission).standing);
      if (this.#breaks.due) await this.#breaks.take();
    }
  }

  async #settled(admission: Promise<Admission>): Promise<Admission> {
    const settled = await admission;
    this.#breaks.restart();
    return settled;
  }

  async #startAll(): Promise<readonly Answer[]> {
    const answers: Answer[] = [];
    for (const standing of this.#standings) {
      const answer = standing instanceof CallRun ? this.#start(standing) : standing;
      answers.push(answer);
      if (answer instanceof Promise) this.#unsettled.push(answer);
      if (this.#failFast) watch(answer, this.#runs);
      if (this.#breaks.due) await this.#breaks.take();
    }
    return answers;
  }

  /** Starts a call at once, or after every earlier call has settled if its engine answers sequentially. */
  #start(run: AdmittedCall): Answer {
    if (!isSequential(run.route) || this.#unsettled.length === 0) return executeCall(run);
    const earlier = Promise.all(this.#unsettled);
    this.#unsettled = [earlier];
    return startAfter(run, earlier);
  }
}

function skip(run: AdmittedCall, refused: ToolResult): Answer {
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
  readonly standing: Standing;
}

/** Admits the next call of a message. `ids` are those of the calls before it; the id of this call is added. */
export function admitNext(run: CallRun, ids: Set<string>): Admission | Promise<Admission> {
  const early = run.refusal ?? duplicateId(run, ids);
  const skipped = early === undefined ? turnEnded(run.turn, run.call.name) : undefined;
  if (skipped !== undefined) return { standing: finishCall(run, skipped, "skipped") };
  const came = early ?? admitCall(run);
  return came instanceof Promise ? came.then((end) => admission(run, end)) : admission(run, came);
}

function admission(run: CallRun, came: AdmittedCall | ToolError): Admission {
  return { standing: came instanceof ToolError ? finishCall(run, came) : came };
}

function duplicateId(run: CallRun, ids: Set<string>): ToolError | undefined {
  const { id } = run.call;
  if (id === undefined || (!ids.has(id) && ids.add(id))) return undefined;
  return new ToolError("invalid_call", `The id ${JSON.stringify(id)} was given to two calls of one message; only the first was run.`);
}

async function startAfter(run: AdmittedCall, earlier: Promise<unknown>): Promise<ToolResult> {
  const waited = await waitFor(run, earlier, {
    endsAt: run.deadlineAt,
    late: () =>
      new ToolError("resource_busy", `${run.toolName} waited for the earlier calls of its message until its deadline.`, {
        hint: "Try again when they have ended.",
      }),
  });
  return "ended" in waited ? finishCall(run, waited.ended) : executeCall(run);
}

function watch(answer: Answer, runs: readonly CallRun[]): void {
  const check = (result: ToolResult): void => {
    if (failsTheBatch(result)) cancelAll(runs, `${result.name} failed`);
  };
  if (answer instanceof Promise) void answer.then(check);
  else check(answer);
}

/** Whether a result fails the batch: any error while running does, but no timeout, and no input, name or permission that was refused beforehand. */
function failsTheBatch({ status, error, attempts }: ToolResult): boolean {
  if (status !== "error" || error === undefined) return false;
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
  const { callsEnded } = first.turn.session;
  for (const run of runs) {
    run.parts.running.add(run);
    if (callsEnded !== undefined) run.cancel(callsEnded);
  }
  return new Batch(runs, new LoopBreaks(first.clock)).run();
}
