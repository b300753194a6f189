/** The attempts of one call: circuit, locks and slots, the handler with its timeout, release, backoff. */
import type { EngineRequest } from "../../core/engine.ts";
import { ToolError } from "../../core/error.ts";
import type { RuntimeEvent } from "../../core/event.ts";
import { FIDELITIES } from "../../core/fidelity.ts";
import { wasKeptByStore } from "../../core/kept-from-starting.ts";
import { RemoteJob } from "../../core/remote-job.ts";
import { NoAnswer } from "../../core/no-answer.ts";
import { StandInError } from "../../core/stand-in-error.ts";
import { roundMs } from "../../core/system-ports.ts";
import { withoutChecks } from "../../core/safety-checks.ts";
import { circuitOutcome, type Circuit } from "../../policy/attempts/circuit.ts";
import { classifyError, isServerFailure } from "../../policy/attempts/classify-error.ts";
import { isPromiseLike, settleWithin, waitFor, type LateEnd, type WaitOutcome, type Waited } from "../../policy/attempts/deadline.ts";
import { mayRetry, retryDelay } from "../../policy/attempts/retry.ts";
import { writeEnded } from "../cache/announce-write.ts";
import { attachTo, continuesElsewhere, noteRemote } from "./attach-to-work.ts";
import { beginEngineSession } from "./begin-engine-session.ts";
import { endRead, leaveFlight, readAnswered, type Found } from "../cache/cached-read.ts";
import { CallRun, type AdmittedCall } from "../call-run.ts";
import { noteAbandoned, noteAttempt, noteWait } from "../finish/call-timing.ts";
import { withinLayer } from "../context/caller-layer.ts";
import { driveGenerator, isStatefulRun } from "./drive-generator.ts";
import { endedBetween, sinceEarlier } from "./effect-so-far.ts";
import { followRemoteJob } from "./follow-remote-job.ts";
import { release } from "./hold.ts";
import { askWithFault, faultIsOver, hasPlannedTimeout, isPutIn, plannedTimeout, spoiledAnswer } from "./inject-fault.ts";
import { abandon } from "./orphan.ts";
import { isTracked, withinRun } from "../context/call-tree.ts";
import { prepareAttempt, recallOr } from "./prepare-attempt.ts";
import { definitionChanged } from "../admit/same-definition.ts";
import { AttemptContext } from "../context/tool-context.ts";
import { beginUndoable, noteAnswered } from "../finish/undo-calls.ts";
import { BLOCK_MS, reportBlock } from "./report-block.ts";

/** The end of an attempt: its error, or undefined when `run.answer.raw` holds it. */
type End = ToolError | undefined;

/** Continues the call after an attempt. Never throws or rejects. */
type After<Result> = (run: AdmittedCall, end: End) => Result | Promise<Result>;

/** Whether the call may need another route than its first. */
export function hasFallbacks({ route }: AdmittedCall): boolean {
  return route.rules.onlyKept || route.next !== undefined;
}

/** Tries one route after the other until one has an answer. */
export async function tryEach(run: AdmittedCall): Promise<AdmittedCall | ToolError> {
  for (let { route } = run; ;) {
    const end = await (route.rules.onlyKept ? recallOr(run, notKept(run.toolName)) : tryEngine(run));
    if (!(end instanceof NoAnswer) || route.next === undefined) return end ?? run;
    leaveNothing(run, end);
    route = route.next;
    run.route = route;
    run.attempts = 0;
    const begun = route.opensSessions ? await beginEngineSession(run) : run;
    if (begun instanceof ToolError) return begun;
  }
}

/** Cleans up after a route without an answer: releases locks and slots, ends the cache look-up, and drops a fault that was met. */
function leaveNothing(run: AdmittedCall, end: NoAnswer): void {
  endRead(run, end);
  if (!run.plan.holdsNothing) release(run);
  faultIsOver(run);
}

function notKept(toolName: string): NoAnswer {
  return new NoAnswer("not_found", `No stored result of ${toolName} answers this call.`, {
    operatorHint: "Call it live first; its definition must allow its results to be cached.",
  });
}

function tryEngine(run: AdmittedCall): AdmittedCall | ToolError | Promise<AdmittedCall | ToolError> {
  return attempt<AdmittedCall | ToolError>(run, retry);
}

/** Makes further attempts if the end of the first one allows a retry. */
export function retry(run: AdmittedCall, end: End): AdmittedCall | ToolError | Promise<AdmittedCall | ToolError> {
  if (end === undefined) return run;
  return allowsRetry(run, end, 1) ? retryLoop(run, end) : end;
}

async function retryLoop(run: AdmittedCall, first: ToolError): Promise<AdmittedCall | ToolError> {
  let error = first;
  for (let tries = 1; allowsRetry(run, error, tries); tries++) {
    const delayMs = retryDelay(error, tries, run.parts.retry, run.parts.ports.random);
    if (run.clock.now() + delayMs >= run.deadlineAt || !mayRetryNow(run)) return error;
    if (run.parts.listening)
      run.emit({
        ...run.eventBase,
        type: "call-retry",
        toolName: run.toolName,
        attempt: tries,
        delayMs: roundMs(delayMs),
        error: error.toJSON(),
      });
    leaveFlight(run);
    noteAttempt(run, error.code);
    const since = run.clock.now();
    await backOff(run, delayMs);
    noteWait(run, "backoff", since);
    if (run.cancelled !== undefined) return endedBetween(error, run.cancelled);
    const { attempts } = run;
    const next = await attempt(run, sameEnd);
    if (next === undefined) return run;
    if (run.attempts !== attempts) error = sinceEarlier(run, error, next);
    else if (next.code === "circuit_open") return error; // the circuit opened meanwhile; the failure that opened it says more
    else error = endedBetween(error, next);
  }
  return error;
}

function allowsRetry(run: AdmittedCall, error: ToolError, tries: number): boolean {
  return (
    run.cancelled === undefined &&
    run.attempts > 0 &&
    !(error instanceof NoAnswer) &&
    (run.plan.tool.composite !== true || mayMakeCallsAgain(run)) &&
    mayRetry({ error, attempt: tries, maxAttempts: run.plan.settings.maxAttempts, repeatable: run.effects.repeatable })
  );
}

/** Whether a composite call may be retried: all its nested calls have succeeded, so another attempt need not fail the same way. */
function mayMakeCallsAgain({ isLogged, unanswered = 0 }: AdmittedCall): boolean {
  return isLogged && unanswered === 0; // without a log, the results of the calls are not kept
}

/** Whether the retry budget allows a retry. The failure of a stand-in does not use up the tool's budget. */
function mayRetryNow(run: AdmittedCall): boolean {
  return !run.isReal || run.plan.budget.tryRetry();
}

function backOff(run: AdmittedCall, delayMs: number): Promise<Waited<never>> {
  return waitFor(run, new Promise<never>(() => {}), { endsAt: run.clock.now() + delayMs, late: () => BACKOFF_OVER });
}

const BACKOFF_OVER = new ToolError("timeout", "The wait between two attempts is over.");

function sameEnd(_run: AdmittedCall, end: End): End {
  return end;
}

/** Makes one attempt and calls `after` with its end. A callback, because a promise for each step would take most of the time of a quick call. */
export function attempt<Result>(run: AdmittedCall, after: After<Result>): Result | Promise<Result> {
  const waitMs = circuitOf(run)?.admit() ?? 0;
  if (waitMs > 0) return afterRecall(run, recallOr(run, circuitOpen(run, waitMs)), after);
  const { plan } = run;
  const ready = plan.holdsNothing && !plan.caches ? undefined : prepareAttempt(run);
  return ready instanceof Promise ? proceedLater(run, ready, after) : proceed(run, ready, after);
}

function proceedLater<Result>(run: AdmittedCall, ready: Promise<Found>, after: After<Result>): Promise<Result> {
  return ready.then((found) => proceed(run, found, after));
}

function afterRecall<Result>(run: AdmittedCall, end: End | Promise<End>, after: After<Result>): Result | Promise<Result> {
  return end instanceof Promise ? end.then((error) => after(run, error)) : after(run, end);
}

/** Runs the handler, unless the cache has the answer or there is an error. */
function proceed<Result>(run: AdmittedCall, found: Found, after: After<Result>): Result | Promise<Result> {
  if (found === undefined) return invoke(run, after);
  giveBack(run);
  return after(run, found === "answered" ? undefined : found);
}

function circuitOpen(run: AdmittedCall, waitMs: number): ToolError {
  const causes = circuitOf(run)?.causes ?? [];
  return new ToolError("circuit_open", `${run.toolName} has failed repeatedly: calls are refused for another ${Math.ceil(waitMs)} ms.`, {
    retryAfterMs: Math.ceil(waitMs),
    retryable: false,
    hint: "Use another tool, or try again later.",
    ...(causes.length === 0 ? {} : { details: [`The latest failures: ${causes.join(", ")}.`] }),
  });
}

/** The circuit of the call's tool; undefined for a stand-in, which neither uses nor changes it. */
function circuitOf(run: AdmittedCall): Circuit | undefined {
  return run.isReal ? run.plan.circuit : undefined;
}

function invoke<Result>(run: AdmittedCall, after: After<Result>): Result | Promise<Result> {
  const { tool, settings } = run.plan;
  const startedAt = run.clock.now();
  const refusal =
    run.cancelled ??
    (startedAt < run.deadlineAt ? undefined : tooLateToStart(run)) ??
    (run.plan.foundAt === run.parts.registry.version ? undefined : definitionChanged(run));
  if (refusal !== undefined) return proceed(run, refusal, after);
  const timeoutMs = run.job !== undefined && !run.plan.hasOwnTimeout ? 0 : settings.timeoutMs;
  const endsAt = Math.min(timeoutMs === 0 ? Infinity : startedAt + timeoutMs, run.deadlineAt);
  if (run.attempts++ === 0 && run.isReal) countRequest(run);
  const number = ++run.parts.counters.attempts;
  if (tool.effects?.undo !== undefined) beginUndoable(run, number);
  run.attemptAt = startedAt;
  const ranAt = run.clock.processorTime?.(startedAt);
  const context = new AttemptContext(run, run.attempts, endsAt);
  if (run.parts.listening) run.emit(attemptOf(run));
  let answer: unknown;
  let work: PromiseLike<unknown> | undefined;
  try {
    const input = run.safetyChecks === undefined ? run.input : withoutChecks(run.input, run.safetyChecks);
    const request = { tool, input, parsed: run.parsed, toolNamed: run.parts.toolNamed };
    answer = run.faults === undefined ? ask(run, request, context) : askFaulty(run, request, context);
    work = workOf(run, answer, context);
  } catch (thrown: unknown) {
    return after(run, attemptFailed(run, context, thrown));
  }
  const now = run.clock.now();
  if (now - startedAt >= BLOCK_MS) reportBlock(run, { startedAt, now, ranAt });
  if (work === undefined) return after(run, attemptAnswered(run, context, answer));
  const ending = Promise.withResolvers<Result>();
  run.awaited = ending;
  return settleWithin(run, work, new AttemptOutcome(run, context, after), { endsAt, now, ending });
}

/** The event for the start of an attempt. Written out, like the other events of every call, because spreading is slower. */
function attemptOf({ callId, turn, clock, toolName, attempts: attempt }: AdmittedCall): RuntimeEvent {
  return { callId, sessionId: turn.session.id, turnId: turn.id, at: clock.wallTime(), type: "call-attempt", toolName, attempt };
}

/** Counts a call as a request or, if a call around it is being retried, as a retry: so nested retries do not multiply. */
function countRequest({ plan, turn, madeBy }: AdmittedCall): void {
  const caller = madeBy ?? turn.madeIn;
  if (caller !== undefined && isTriedAgain(caller)) plan.budget.noteRetry();
  else plan.budget.requests++;
}

/** Whether the call, or a call around it, is past its first attempt. */
function isTriedAgain(call: object): boolean {
  let around: object | undefined = call;
  while (around instanceof CallRun) {
    if (around.attempts > 1) return true;
    around = around.madeBy ?? around.turn.madeIn;
  }
  return false;
}

/** The work to wait for; undefined if the answer is here. Only a third-party engine returns remote jobs. */
function workOf(run: AdmittedCall, answer: unknown, context: AttemptContext): PromiseLike<unknown> | undefined {
  const isPlain = typeof answer === "object" && answer !== null && Object.getPrototypeOf(answer) === Object.prototype;
  if (!isPlain && answer instanceof RemoteJob) return followRemoteJob(answer, context, (id) => noteRemote(run, id));
  if (!isPromiseLike(answer)) return undefined;
  return run.route.engine.kind === "local" ? answer : followRemoteJob(answer, context, (id) => noteRemote(run, id));
}

function askFaulty(run: AdmittedCall, request: EngineRequest, context: AttemptContext): unknown {
  return askWithFault(run, context, () => ask(run, request, context));
}

/** Calls the engine. Only if some code needs to know the calling call does it run in an async context, which takes closures. */
function ask(run: AdmittedCall, request: EngineRequest, context: AttemptContext): unknown {
  const { turn, beside, ticket, slots, options, parts } = run;
  const mayBeTracked = ticket !== undefined || slots !== undefined || turn.tracksCallers || beside !== undefined;
  const isUntraced = parts.tracing === undefined && options.visibility === undefined && options.principal === undefined;
  const isPlain = isUntraced && !(mayBeTracked && isTracked(run));
  return isPlain ? put(run, request, context) : askWithin(run, request, context);
}

function askWithin(run: AdmittedCall, request: EngineRequest, context: AttemptContext): unknown {
  const { parts, turn, options } = run;
  const { visibility, principal } = options;
  const asked = (): unknown => put(run, request, context);
  const isBare = visibility === undefined && principal === undefined;
  const inLayer = isBare ? asked : (): unknown => withinLayer({ session: turn.session, visibility, principal }, asked);
  return parts.tracing === undefined ? withinRun(run, inLayer) : parts.tracing.withinCall(run.callId, () => withinRun(run, inLayer));
}

function put(run: AdmittedCall, request: EngineRequest, context: AttemptContext): unknown {
  const { route, resumed } = run;
  const remoteId = resumed?.remoteId;
  if (remoteId !== undefined && continuesElsewhere(run)) return attachTo(run, remoteId, request, context);
  const answer = route.rules.asksSimulate ? route.engine.simulate?.(request, context) : route.engine.call(request, context);
  // The generator's body runs where it is driven. Drive it here, so that its calls and traces belong to this call.
  return run.plan.tool.mode === "stateful" && isStatefulRun(answer) ? driveGenerator(run, answer, context.signal) : answer;
}

/** Releases what was taken for an attempt that does not begin. */
function giveBack(run: AdmittedCall): void {
  if (!run.plan.holdsNothing) release(run);
  circuitOf(run)?.record("ignored");
}

function tooLateToStart(run: AdmittedCall): ToolError {
  const started = run.attempts === 0 ? "was not started" : "was not tried again";
  return new ToolError("timeout", `${run.toolName} ${started}: the call's deadline of ${run.plan.settings.deadlineMs} ms had passed.`, {
    retryable: false,
    outcome: run.attempts === 0 ? "not_started" : "unknown",
  });
}

function inNextMicrotask<Result>(run: AdmittedCall, end: End, after: After<Result>): Promise<Result> {
  return Promise.resolve(end).then((error) => after(run, error));
}

class AttemptOutcome<Result> implements WaitOutcome<unknown, Result> {
  readonly #run: AdmittedCall;
  readonly #context: AttemptContext;
  readonly #after: After<Result>;
  #orphan: LateEnd | undefined = undefined;

  constructor(run: AdmittedCall, context: AttemptContext, after: After<Result>) {
    this.#run = run;
    this.#context = context;
    this.#after = after;
  }

  value(answer: unknown): Result | Promise<Result> {
    return this.#after(this.#run, attemptAnswered(this.#run, this.#context, answer));
  }

  thrown(thrown: unknown): Result | Promise<Result> {
    return this.#after(this.#run, attemptFailed(this.#run, this.#context, thrown));
  }

  ended(error: ToolError): Result | Promise<Result> {
    this.#context.end(error);
    writeEnded(this.#run);
    recordFailure(this.#run, error);
    this.#orphan = abandon(this.#run, this.#context, noteAbandoned(this.#run, error.code));
    return inNextMicrotask(this.#run, error, this.#after); // not synchronously within the code that cancels the call
  }

  /** Moves the end of the attempt. A planned timeout is not moved, as nothing else ends the attempt. */
  moveTo(endsAt: number): boolean {
    if (hasPlannedTimeout(this.#run)) return false;
    this.#context.deadline = endsAt;
    return true;
  }

  late(): ToolError {
    const error = timedOut(this.#run, this.#context);
    return this.#run.faults === undefined ? error : plannedTimeout(this.#run, error);
  }

  whenLate(): LateEnd | undefined {
    return this.#orphan;
  }
}

function timedOut(run: AdmittedCall, context: AttemptContext): ToolError {
  const { settings } = run.plan;
  const whole = context.deadline === run.deadlineAt;
  const limit = whole ? `the call's deadline of ${settings.deadlineMs} ms` : `${settings.timeoutMs} ms`;
  const isHarmless = run.route.rules.locks !== "everybody";
  const unknown = run.effects.repeatable || isHarmless ? "" : " Its effect is not known: check before calling it again.";
  return new ToolError("timeout", `${run.toolName} did not answer within ${limit}.${unknown}`, {
    ...(whole ? { retryable: false } : {}),
    ...(isHarmless ? { outcome: "failed" } : {}),
  });
}

function attemptAnswered(run: AdmittedCall, context: AttemptContext, answer: unknown): End {
  const spoiled = run.faults === undefined ? undefined : spoiledAnswer(run);
  if (spoiled !== undefined) return attemptFailed(run, context, spoiled);
  context.end("settled");
  if (run.effects.writes.length > 0) writeEnded(run);
  if (run.plan.tool.effects?.undo !== undefined) noteAnswered(run);
  if (run.timing !== undefined) noteAttempt(run);
  if (run.read !== undefined) readAnswered(run.read);
  if (!run.plan.holdsNothing) release(run);
  circuitOf(run)?.record("success", run.attemptAt);
  run.answer.raw = answer;
  return undefined;
}

function attemptFailed(run: AdmittedCall, context: AttemptContext, thrown: unknown): ToolError {
  context.end("settled");
  writeEnded(run);
  if (!run.plan.holdsNothing) release(run);
  const error = classifyError(thrown);
  run.parts.tracing?.failAttempt?.(run.callId, error);
  if (run.plan.tool.composite === true && wasKeptByStore(error, run.plan.tool.execute)) run.attempts = 0;
  if (run.timing !== undefined) noteAttempt(run, error.code);
  noteAnswer(run, error, error === thrown);
  recordFailure(run, error);
  return error;
}

/** Notes an error that the engine gave as its answer, with its fidelity, as for an output. */
function noteAnswer(run: AdmittedCall, error: ToolError, isMeant: boolean): void {
  const { faults } = run;
  if (faults !== undefined) faults.spoils = undefined;
  if (!isMeant || error instanceof NoAnswer || faults?.met !== undefined) return;
  run.answer.engineError = error;
  run.answer.fidelity = error instanceof StandInError && FIDELITIES.includes(error.fidelity) ? error.fidelity : undefined;
}

/** Reports a failure to the circuit. Injected faults are ignored. */
function recordFailure(run: AdmittedCall, error: ToolError): void {
  const circuit = circuitOf(run);
  if (circuit === undefined) return;
  const outcome = isPutIn(run) ? "ignored" : circuitOutcome(error, isServerFailure(error));
  if (outcome === "failure") circuit.noteCause(`${run.callId}: ${error.code}`);
  circuit.record(outcome);
}
