/** The attempts of one call: circuit, locks and slots, the handler with its timeout, release, backoff. */
import { circuitOpenError, deadlinePassedError } from "./not-started-errors.ts";
import type { EngineRequest } from "../../core/engine.ts";
import { ToolError } from "../../core/error.ts";
import type { RuntimeEvent } from "../../core/event.ts";
import { FIDELITIES } from "../../core/answers/fidelity.ts";
import { isNotStartedError } from "../../core/not-started-error.ts";
import { RemoteJob } from "../../core/jobs/remote-job.ts";
import { NoAnswer } from "../../core/answers/no-answer.ts";
import { StandInError } from "../../core/answers/stand-in-error.ts";
import { roundMs } from "../../core/system/system-ports.ts";
import { withoutSafetyChecks } from "../../core/safety-checks.ts";
import { toCircuitOutcome, type Circuit } from "../../policy/attempts/circuit.ts";
import { classifyError, isServerFailure } from "../../policy/attempts/classify-error.ts";
import { isPromiseLike, settleWithin, waitFor, type LateListener, type WaitOutcome, type Waited } from "../../policy/attempts/deadline.ts";
import { mayRetry, retryDelay } from "../../policy/attempts/retry.ts";
import { announceWriteEnd } from "../cache/announce-write.ts";
import { attachToRemoteJob, attachesToRemoteJob, recordRemoteJob } from "./attach-remote-job.ts";
import { openEngineSession } from "./open-engine-session.ts";
import { endCachedRead, releaseFollowers, markFlightSettling, type LookupOutcome } from "../cache/cached-read.ts";
import { CallRun, type AdmittedCall } from "../call-run.ts";
import { noteAbandoned, noteAttempt, noteWait } from "../finish/call-timing.ts";
import { runInLayer } from "../context/caller-layer.ts";
import { driveGenerator, isStatefulGenerator } from "./drive-generator.ts";
import { withEarlierOutcome, outOfRetries, stoppedByCircuit, withLeastCertainOutcome } from "./attempt-outcomes.ts";
import { followRemoteJob } from "./follow-remote-job.ts";
import { releaseResources } from "./held-resources.ts";
import {
  callWithFault,
  clearInjectedFault,
  hasPlannedTimeout,
  isInjectedFailure,
  withPlannedTimeout,
  answerFaultError,
} from "./inject-fault.ts";
import { abandonHandler } from "./orphan.ts";
import { mightRepeatNestedEffect } from "./nested-effects.ts";
import { needsAsyncContext, runInCallIfNeeded } from "../context/call-tree.ts";
import { prepareAttempt, recallOrRefuse } from "./prepare-attempt.ts";
import { definitionChangedError } from "../admit/definition-changed.ts";
import { AttemptContext } from "../context/tool-context.ts";
import { noteUndoableAttempt, markAnswered } from "../finish/undo-calls.ts";
import { BLOCK_MS, reportBlock } from "./report-block.ts";

/** The end of an attempt: its error, or undefined when `run.answer.raw` holds it. */
type AttemptEnd = ToolError | undefined;

/** Continues the call after an attempt. Never throws or rejects. */
type AfterAttempt<Result> = (run: AdmittedCall, end: AttemptEnd) => Result | Promise<Result>;

/** Whether the call may need another route than its first. */
export function hasFallbacks({ route }: AdmittedCall): boolean {
  return route.rules.onlyCached || route.next !== undefined;
}

/** Tries one route after the other until one has an answer. */
export async function tryRoutes(run: AdmittedCall): Promise<AdmittedCall | ToolError> {
  for (let { route } = run; ;) {
    const end = await (route.rules.onlyCached
      ? recallOrRefuse(run, notCachedError(run.toolName))
      : attempt<AdmittedCall | ToolError>(run, retry));
    if (!(end instanceof NoAnswer) || route.next === undefined) return end ?? run;
    cleanUpRoute(run, end);
    route = route.next;
    run.route = route;
    run.attempts = 0;
    const opened = route.opensSessions ? await openEngineSession(run) : run;
    if (opened instanceof ToolError) return opened;
  }
}

/** Cleans up after a route without an answer: releases locks and slots, ends the cache look-up, and drops a fault that was met. */
function cleanUpRoute(run: AdmittedCall, end: NoAnswer): void {
  endCachedRead(run, end);
  if (!run.plan.needsNoResources) releaseResources(run);
  clearInjectedFault(run);
}

function notCachedError(toolName: string): NoAnswer {
  return new NoAnswer("not_found", `No stored result of ${toolName} answers this call.`, {
    operatorHint: "Call it live first; its definition must allow its results to be cached.",
  });
}

/** Makes further attempts if the end of the first one allows a retry. */
export function retry(run: AdmittedCall, end: AttemptEnd): AdmittedCall | ToolError | Promise<AdmittedCall | ToolError> {
  if (end === undefined) return run;
  return allowsRetry(run, end, 1) ? retryLoop(run, end) : end;
}

async function retryLoop(run: AdmittedCall, first: ToolError): Promise<AdmittedCall | ToolError> {
  let error = first;
  for (let tries = 1; allowsRetry(run, error, tries); tries++) {
    const delayMs = retryDelay(error, tries, run.services.retry, run.services.ports.random);
    if (run.clock.now() + delayMs >= run.deadlineAt) return error;
    if (!takeRetryFromBudget(run)) return outOfRetries(run, error);
    if (run.services.listening)
      run.emit({
        ...run.eventBase,
        type: "call-retry",
        toolName: run.toolName,
        attempt: tries,
        delayMs: roundMs(delayMs),
        error: error.toJSON(),
      });
    releaseFollowers(run);
    noteAttempt(run, error.code);
    const since = run.clock.now();
    await backOff(run, delayMs);
    noteWait(run, "backoff", since);
    if (run.cancelled !== undefined) return withEarlierOutcome(error, run.cancelled);
    const { attempts } = run;
    const next = await attempt(run, returnEnd);
    if (next === undefined) return run;
    if (run.attempts !== attempts) error = withLeastCertainOutcome(run, error, next);
    else if (next.code === "circuit_open") return stoppedByCircuit(run, error, next.retryAfterMs);
    else error = withEarlierOutcome(error, next);
  }
  return error;
}

function allowsRetry(run: AdmittedCall, error: ToolError, tries: number): boolean {
  return (
    run.cancelled === undefined &&
    run.attempts > 0 &&
    !(error instanceof NoAnswer) &&
    (run.plan.tool.composite !== true || mayRetryComposite(run)) &&
    mayRetry({ error, attempt: tries, maxAttempts: run.plan.settings.maxAttempts, repeatable: run.effects.repeatable }) &&
    !mightRepeatNestedEffect(run)
  );
}

/** Whether a composite call may be retried: all its nested calls have succeeded, so another attempt need not fail the same way. */
function mayRetryComposite({ isLogged, unsuccessfulExecutes = 0 }: AdmittedCall): boolean {
  return isLogged && unsuccessfulExecutes === 0; // without a log, the results of the calls are not kept
}

/** Whether the retry budget allows a retry. The failure of a stand-in does not use up the tool's budget. */
function takeRetryFromBudget(run: AdmittedCall): boolean {
  return !run.isReal || run.plan.budget.tryRetry();
}

function backOff(run: AdmittedCall, delayMs: number): Promise<Waited<never>> {
  return waitFor(run, new Promise<never>(() => {}), { endsAt: run.clock.now() + delayMs, timeoutError: () => BACKOFF_OVER });
}

const BACKOFF_OVER = new ToolError("timeout", "The wait between two attempts is over.");

function returnEnd(_run: AdmittedCall, end: AttemptEnd): AttemptEnd {
  return end;
}

/** Makes one attempt and calls `after` with its end. A callback, because a promise for each step would take most of the time of a quick call. */
export function attempt<Result>(run: AdmittedCall, after: AfterAttempt<Result>): Result | Promise<Result> {
  const waitMs = circuitOf(run)?.admit() ?? 0;
  if (waitMs > 0) return continueAfterRecall(run, recallOrRefuse(run, circuitOpenError(run, waitMs, circuitOf(run)?.causes)), after);
  const { plan } = run;
  const ready = plan.needsNoResources && !plan.caches ? undefined : prepareAttempt(run);
  return ready instanceof Promise ? invokeWhenReady(run, ready, after) : invokeUnlessFound(run, ready, after);
}

// The functions with `then` are separate because of their closures, as in pipeline.ts.
function invokeWhenReady<Result>(run: AdmittedCall, ready: Promise<LookupOutcome>, after: AfterAttempt<Result>): Promise<Result> {
  return ready.then((found) => invokeUnlessFound(run, found, after));
}

function continueAfterRecall<Result>(
  run: AdmittedCall,
  end: AttemptEnd | Promise<AttemptEnd>,
  after: AfterAttempt<Result>,
): Result | Promise<Result> {
  return end instanceof Promise ? end.then((error) => after(run, error)) : after(run, end);
}

/** Runs the handler, unless the cache has the answer or there is an error. */
function invokeUnlessFound<Result>(run: AdmittedCall, found: LookupOutcome, after: AfterAttempt<Result>): Result | Promise<Result> {
  if (found === undefined) return invoke(run, after);
  releaseUnstarted(run);
  return after(run, found === "answered" ? undefined : found);
}

/** The circuit of the call's tool; undefined for a stand-in, which neither uses nor changes it. */
function circuitOf(run: AdmittedCall): Circuit | undefined {
  return run.isReal ? run.plan.circuit : undefined;
}

function invoke<Result>(run: AdmittedCall, after: AfterAttempt<Result>): Result | Promise<Result> {
  const { tool, settings } = run.plan;
  const startedAt = run.clock.now();
  const refusal =
    run.cancelled ??
    (startedAt < run.deadlineAt ? undefined : deadlinePassedError(run)) ??
    (run.plan.checkedVersion === run.services.registry.version ? undefined : definitionChangedError(run));
  if (refusal !== undefined) return invokeUnlessFound(run, refusal, after);
  const timeoutMs = run.job !== undefined && !run.plan.hasOwnTimeout ? 0 : settings.timeoutMs;
  const endsAt = Math.min(timeoutMs === 0 ? Infinity : startedAt + timeoutMs, run.deadlineAt);
  if (run.attempts++ === 0 && run.isReal) countRequest(run);
  const number = ++run.services.counters.attempts;
  if (tool.effects?.undo !== undefined) noteUndoableAttempt(run, number);
  run.attemptAt = startedAt;
  const ranAt = run.clock.processorTime?.(startedAt);
  const context = new AttemptContext(run, run.attempts, endsAt);
  if (run.services.listening) run.emit(createAttemptEvent(run));
  let answer: unknown;
  let work: PromiseLike<unknown> | undefined;
  try {
    const input = run.safetyChecks === undefined ? run.input : withoutSafetyChecks(run.input, run.safetyChecks);
    const request = { tool, input, parsed: run.parsed, findTool: run.services.findTool };
    answer = run.faults === undefined ? callEngine(run, request, context) : callFaultyEngine(run, request, context);
    work = findPendingWork(run, answer, context);
  } catch (thrown: unknown) {
    return after(run, endWithError(run, context, thrown));
  }
  const now = run.clock.now();
  if (now - startedAt >= BLOCK_MS) reportBlock(run, { startedAt, now, ranAt });
  if (work === undefined) return after(run, endWithAnswer(run, context, answer));
  const ending = Promise.withResolvers<Result>();
  run.pendingAttempt = ending;
  return settleWithin(run, work, new AttemptOutcome(run, context, after), { endsAt, now, ending });
}

/** The event for the start of an attempt. Written out, like the other events of every call, because spreading is slower. */
function createAttemptEvent({ callId, turn, clock, toolName, attempts: attempt }: AdmittedCall): RuntimeEvent {
  return { callId, sessionId: turn.session.id, turnId: turn.id, at: clock.wallTime(), type: "call-attempt", toolName, attempt };
}

/** Counts a call as a request or, if a call around it is being retried, as a retry: so nested retries do not multiply. */
function countRequest({ plan, turn, callerRun }: AdmittedCall): void {
  const caller = callerRun ?? turn.parentCall;
  if (caller !== undefined && isInRetry(caller)) plan.budget.countRetry();
  else plan.budget.requests++;
}

/** Whether the call, or a call around it, is past its first attempt. */
function isInRetry(call: object): boolean {
  let outer: object | undefined = call;
  while (outer instanceof CallRun) {
    if (outer.attempts > 1) return true;
    outer = outer.callerRun ?? outer.turn.parentCall;
  }
  return false;
}

/** The work to wait for; undefined if the answer is here. Only a third-party engine returns remote jobs. */
function findPendingWork(run: AdmittedCall, answer: unknown, context: AttemptContext): PromiseLike<unknown> | undefined {
  const isPlain = typeof answer === "object" && answer !== null && Object.getPrototypeOf(answer) === Object.prototype;
  if (!isPlain && answer instanceof RemoteJob) return followRemoteJob(answer, context, (id) => recordRemoteJob(run, id));
  if (!isPromiseLike(answer)) return undefined;
  return run.route.engine.kind === "local" ? answer : followRemoteJob(answer, context, (id) => recordRemoteJob(run, id));
}

function callFaultyEngine(run: AdmittedCall, request: EngineRequest, context: AttemptContext): unknown {
  return callWithFault(run, context, () => callEngine(run, request, context));
}

/** Calls the engine. Only if some code needs to know the calling call does it run in an async context, which takes closures. */
function callEngine(run: AdmittedCall, request: EngineRequest, context: AttemptContext): unknown {
  const { turn, detachedTurn, ticket, slots, options, services } = run;
  const mayBeTracked = ticket !== undefined || slots !== undefined || turn.tracksCallers || detachedTurn !== undefined;
  const isUntraced = services.tracing === undefined && options.visibility === undefined && options.principal === undefined;
  const isPlain = isUntraced && !(mayBeTracked && needsAsyncContext(run));
  return isPlain ? dispatchToEngine(run, request, context) : callEngineInContext(run, request, context);
}

function callEngineInContext(run: AdmittedCall, request: EngineRequest, context: AttemptContext): unknown {
  const { services, turn, options } = run;
  const { visibility, principal } = options;
  const dispatch = (): unknown => dispatchToEngine(run, request, context);
  const isBare = visibility === undefined && principal === undefined;
  const inLayer = isBare ? dispatch : (): unknown => runInLayer({ session: turn.session, visibility, principal }, dispatch);
  return services.tracing === undefined
    ? runInCallIfNeeded(run, inLayer)
    : services.tracing.runInCall(run.callId, () => runInCallIfNeeded(run, inLayer));
}

function dispatchToEngine(run: AdmittedCall, request: EngineRequest, context: AttemptContext): unknown {
  const { route, resumed } = run;
  const remoteId = resumed?.remoteId;
  if (remoteId !== undefined && attachesToRemoteJob(run)) return attachToRemoteJob(run, remoteId, request, context);
  const answer = route.rules.usesSimulate ? route.engine.simulate?.(request, context) : route.engine.call(request, context);
  // The generator's body runs where it is driven. Drive it here, so that its calls and traces belong to this call.
  return run.plan.tool.mode === "stateful" && isStatefulGenerator(answer) ? driveGenerator(run, answer, context.signal) : answer;
}

/** Releases what was taken for an attempt that does not begin. */
function releaseUnstarted(run: AdmittedCall): void {
  if (!run.plan.needsNoResources) releaseResources(run);
  circuitOf(run)?.record("ignored");
}

function continueInMicrotask<Result>(run: AdmittedCall, end: AttemptEnd, after: AfterAttempt<Result>): Promise<Result> {
  return Promise.resolve(end).then((error) => after(run, error));
}

class AttemptOutcome<Result> implements WaitOutcome<unknown, Result> {
  readonly #run: AdmittedCall;
  readonly #context: AttemptContext;
  readonly #after: AfterAttempt<Result>;
  #orphan: LateListener | undefined = undefined;

  constructor(run: AdmittedCall, context: AttemptContext, after: AfterAttempt<Result>) {
    this.#run = run;
    this.#context = context;
    this.#after = after;
  }

  value(answer: unknown): Result | Promise<Result> {
    return this.#after(this.#run, endWithAnswer(this.#run, this.#context, answer));
  }

  thrown(thrown: unknown): Result | Promise<Result> {
    return this.#after(this.#run, endWithError(this.#run, this.#context, thrown));
  }

  ended(error: ToolError): Result | Promise<Result> {
    this.#context.end(error);
    announceWriteEnd(this.#run);
    reportToCircuit(this.#run, error);
    this.#orphan = abandonHandler(this.#run, this.#context, noteAbandoned(this.#run, error.code));
    return continueInMicrotask(this.#run, error, this.#after); // not synchronously within the code that cancels the call
  }

  /** Moves the end of the attempt. A planned timeout is not moved, as nothing else ends the attempt. */
  acceptDeadline(endsAt: number): boolean {
    if (hasPlannedTimeout(this.#run)) return false;
    this.#context.deadline = endsAt;
    return true;
  }

  timeoutError(): ToolError {
    const error = timeoutError(this.#run, this.#context);
    return this.#run.faults === undefined ? error : withPlannedTimeout(this.#run, error);
  }

  createLateListener(): LateListener | undefined {
    return this.#orphan;
  }
}

function timeoutError(run: AdmittedCall, context: AttemptContext): ToolError {
  const { settings } = run.plan;
  const isCallDeadline = context.deadline === run.deadlineAt;
  const limit = isCallDeadline ? `the call's deadline of ${settings.deadlineMs} ms` : `${settings.timeoutMs} ms`;
  const isHarmless = run.route.rules.locks !== "all";
  const warning = run.effects.repeatable || isHarmless ? "" : " Its effect is not known: check before calling it again.";
  return new ToolError("timeout", `${run.toolName} did not answer within ${limit}.${warning}`, {
    ...(isCallDeadline ? { retryable: false } : {}),
    ...(isHarmless ? { outcome: "failed" } : {}),
  });
}

function endWithAnswer(run: AdmittedCall, context: AttemptContext, answer: unknown): AttemptEnd {
  const faultError = run.faults === undefined ? undefined : answerFaultError(run);
  if (faultError !== undefined) return endWithError(run, context, faultError);
  context.end("settled");
  if (run.effects.writes.length > 0) announceWriteEnd(run);
  if (run.plan.tool.effects?.undo !== undefined) markAnswered(run);
  if (run.timing !== undefined) noteAttempt(run);
  if (run.cachedRead !== undefined) markFlightSettling(run.cachedRead);
  if (!run.plan.needsNoResources) releaseResources(run);
  circuitOf(run)?.record("success", run.attemptAt);
  run.answer.raw = answer;
  return undefined;
}

function endWithError(run: AdmittedCall, context: AttemptContext, thrown: unknown): ToolError {
  context.end("settled");
  announceWriteEnd(run);
  if (!run.plan.needsNoResources) releaseResources(run);
  const error = classifyError(thrown);
  if (run.services.listening) run.services.tracing?.failAttempt?.(run.callId, error); // without events, no end of the call would follow
  if (run.plan.tool.composite === true && isNotStartedError(error, run.plan.tool.execute)) run.attempts = 0;
  if (run.timing !== undefined) noteAttempt(run, error.code);
  noteEngineError(run, error, error === thrown);
  reportToCircuit(run, error);
  return error;
}

/** Notes an error that the engine gave as its answer, with its fidelity, as for an output. */
function noteEngineError(run: AdmittedCall, error: ToolError, isMeant: boolean): void {
  const { faults } = run;
  if (faults !== undefined) faults.answerFault = undefined;
  if (!isMeant || error instanceof NoAnswer || faults?.injectedType !== undefined) return;
  run.answer.engineError = error;
  run.answer.fidelity = error instanceof StandInError && FIDELITIES.includes(error.fidelity) ? error.fidelity : undefined;
}

/** Reports a failure to the circuit. Injected faults are ignored. */
function reportToCircuit(run: AdmittedCall, error: ToolError): void {
  const circuit = circuitOf(run);
  if (circuit === undefined) return;
  const outcome = isInjectedFailure(run) ? "ignored" : toCircuitOutcome(error, isServerFailure(error));
  if (outcome === "failure") circuit.addCause(`${run.callId}: ${error.code}`);
  circuit.record(outcome);
}
