/** The steps of one call, in order, from its arrival to its one result. */
import { ToolError, describeThrown, isToolError } from "../core/error.ts";
import type { Turn } from "../session/turn.ts";
import { places } from "../session/turn-queue.ts";
import { passGates, resolveLater, resolveTool, routeCall } from "./admit/admit-call.ts";
import { approveForProvider } from "./approve/approve-for-provider.ts";
import { approveWhole, restoreCoverage, isCovered, wasApprovedBefore } from "./approve/approve-whole.ts";
import { askApproval } from "./approve/ask-approval.ts";
import { attempt, hasFallbacks, retry, tryRoutes } from "./attempt/attempt.ts";
import { APPROVAL_NEEDED, markCallersUnshared, noteNestedStart } from "./cache/unshared-answer.ts";
import { markPossibleEarlierRun } from "./attempt/attempt-outcomes.ts";
import { openEngineSession } from "./attempt/open-engine-session.ts";
import { CallRun, type AdmittedCall, type ResultOrPromise, type CallServices, type ResolvedCall } from "./call-run.ts";
import type { CallOptions } from "./call-options.ts";
import { createCallStart } from "./call-start.ts";
import { approvalReason } from "./approve/approval-reason.ts";
import { finishCall } from "./finish/finish-call.ts";
import { fitCall } from "./admit/fit-call.ts";
import { releaseResources, enterLockQueue } from "./attempt/held-resources.ts";
import { callerOf, noteNestedCall } from "./context/call-tree.ts";
import { storeAnswerFiles } from "./finish/store-artifacts.ts";
import { readCall } from "./admit/read-call.ts";
import { attachesToRemoteJob } from "./attempt/attach-remote-job.ts";
import { reconcileCall } from "./admit/reconcile-call.ts";
import { rewriteCall } from "./admit/rewrite-call.ts";
import { recordRestart, runInBackground, untilStartDurable, waitPromotable } from "./jobs/run-in-background.ts";
import { normalizeOutput } from "./finish/normalize-output.ts";

/** The outcome of a phase: the call, which continues, or the error that ends it. A phase that throws ends the call too. */
type PhaseOutcome<Run> = Run | ToolError | Promise<Run | ToolError>;

/** Runs a single call: it has no signal, and no batch whose failure would cancel it. Never throws or rejects. */
export function runCall(services: CallServices, turn: Turn, raw: unknown, options: CallOptions): ResultOrPromise {
  turn.isSingleCall = true;
  const run = startCall(services, turn, raw, options);
  if (turn.joinedTurn === undefined) turn.soleCall = run;
  run.isComplete = true;
  return continueWith(run, run.refusal ?? admitCall(run), executeOrFinish);
}

export interface StartCallOptions extends CallOptions {
  readonly inRound?: true;
  /** The model that made it was offered `run_in_background`. */
  readonly takesFlag?: true | undefined;
  /** The caller records the `call-start`, in one write with those of the other calls of the batch. */
  readonly isSubmitted?: boolean;
}

/** Begins a call: reads it, gives it an id and records it. From here on the call will have a result. */
export function startCall(services: CallServices, turn: Turn, raw: unknown, options: StartCallOptions): CallRun {
  const read = readCall(raw, services.inputLimits);
  const run = new CallRun(services, turn, options, read.call);
  if (options.takesFlag === true) run.takesFlag = true;
  if (services.faults.isPlanned || services.registry.hasFaults) run.faults = services.faults.createCallFaults(turn.session, read.call);
  if (read.error !== undefined) run.refusal = read.error;
  if (read.repairs.length > 0) run.repairs = read.repairs;
  if (read.isProviderQuestion) run.isProviderQuestion = true;
  if (services.logsDecisions) logDecision(run);
  if (read.warnings.length > 0) noteWarnings(run, read.warnings);
  services.running.add(run);
  if (places.inUse) run.callerRun = callerOf(turn);
  if (run.callerRun !== undefined) noteNestedStart(run);
  const { parentCall } = turn;
  if (parentCall !== undefined || turn.joinedTurn !== undefined) noteNestedCall(run);
  if (options.isSubmitted !== true && run.hasObservers) run.record(createCallStart(run, options.inRound));
  if (parentCall?.revokedReason !== undefined) run.revoke(parentCall.revokedReason);
  const { callsCancelReason } = turn.session;
  if (callsCancelReason !== undefined) run.cancel(callsCancelReason);
  return run;
}

/** Logs what the model decided, before any of it is done. */
function logDecision({ call, callId, services }: CallRun): void {
  const { name, id, reasoning } = call;
  const why = reasoning === undefined || reasoning === "" ? "" : ` - ${reasoning.slice(0, MAX_REASONING)}`;
  services.ports.log.debug(`Decision: ${name}${why}`, { tool: name, callId, id, reasoning });
}

const MAX_REASONING = 500;

function noteWarnings(run: CallRun, warnings: readonly string[]): void {
  run.warnings = warnings;
  for (const warning of warnings) run.services.ports.log.warn(`The call of ${run.call.name} was corrected. ${warning}`);
}

// `instanceof Error` is faster than `instanceof ToolError`, which has its own `Symbol.hasInstance`; the only Error possible here is a ToolError.
function executeOrFinish(run: CallRun, outcome: AdmittedCall | ToolError): ResultOrPromise {
  return outcome instanceof Error ? finishCall(run, outcome) : executeCall(outcome);
}

/** Decides whether the call may run. The calls of a batch are admitted one after another, in call order. */
export function admitCall(run: CallRun): PhaseOutcome<AdmittedCall> {
  const arrived = runNextPhase(run, run, rewrite);
  const resolved = runNextPhase(run, arrived, resolve);
  const open = runNextPhase(run, resolved, checkGates);
  const fitted = runNextPhase(run, open, fitCall);
  return continueWith(run, runNextPhase(run, fitted, routeCall), unlessCancelled);
}

/**
 * Runs an admitted call to its result; the calls of a batch run concurrently. Never throws or rejects.
 *
 * Approval comes before the start of a background job, so that the caller gets the question, or `approval_required`, while it still waits.
 */
export function executeCall(run: AdmittedCall): ResultOrPromise {
  return run.resumed?.job === undefined ? continueWith(run, reconcileAndApprove(run), startOrFinish) : runInBackground(run, resumeJob);
}

/** Resumes a background job after a crash; it may have to be approved again. */
function resumeJob(run: AdmittedCall): ResultOrPromise {
  return continueWith(run, runNextPhase(run, runNextPhase(run, reconcileAndApprove(run), markEarlierRun), recordRestart), runOrFinish);
}

/** Runs a call from before a crash again that is not known to be a job. Its start is stored first, because the call may have crashed the process. */
function rerunAfterCrash(run: AdmittedCall): ResultOrPromise {
  return continueWith(run, untilStartDurable(run), runOrFinish);
}

function reconcileAndApprove(run: AdmittedCall): PhaseOutcome<AdmittedCall> {
  return runNextPhase(run, runNextPhase(run, run, reconcile), approve);
}

function runOrFinish(run: CallRun, outcome: AdmittedCall | ToolError): ResultOrPromise {
  return outcome instanceof ToolError ? finishCall(run, outcome) : runToEnd(outcome);
}

function startOrFinish(run: CallRun, outcome: AdmittedCall | ToolError): ResultOrPromise {
  const allowed = unlessCancelled(run, outcome);
  if (allowed instanceof Error) return finishCall(run, allowed);
  if (allowed.resumed !== undefined) markPossibleEarlierRun(allowed, allowed.resumed);
  if (startsInBackground(allowed)) return runInBackground(allowed, allowed.resumed !== undefined ? rerunAfterCrash : runToEnd);
  const answer = runToEnd(allowed);
  return answer instanceof Promise && allowed.options.background !== false && mayOutliveTurn(allowed)
    ? waitPromotable(allowed, answer)
    : answer;
}

/** Whether the call starts as a background job. Outside a session, the caller waits for the call instead. */
function startsInBackground(run: AdmittedCall): boolean {
  const { background, options, plan } = run;
  const { mode = "direct" } = plan.tool;
  if (options.background === false && mode !== "stateful") return false;
  return ((background ?? options.background) === true || mode !== "direct") && mayOutliveTurn(run);
}

/**
 * Whether the call may continue after its turn: only a recorded session keeps the end of such a call, and a simulation does not outlive its calls.
 */
function mayOutliveTurn({ turn: { session } }: AdmittedCall): boolean {
  return session.recorded && !session.isEphemeral && session.simulation === undefined;
}

function runToEnd(run: AdmittedCall): ResultOrPromise {
  const queued = runNextPhase(run, run, enterLockQueueIfNeeded);
  const ready = runNextPhase(run, queued, openSessionIfNeeded);
  return continueWith(run, ready, runAttempts);
}

function runAttempts(run: CallRun, outcome: AdmittedCall | ToolError): ResultOrPromise {
  const ready = unlessCancelled(run, outcome);
  if (ready instanceof Error || ready.isAnswered) return processAnswer(run, ready);
  try {
    if (hasFallbacks(ready)) return continueWith(ready, tryRoutes(ready), processAnswer);
    const answer = attempt(ready, handleAttemptEnd);
    if (answer instanceof Promise) run.holdProcess(); // keeps the process alive while the caller waits
    return answer;
  } catch (thrown: unknown) {
    return processAnswer(run, handleStepFailure(run, thrown));
  }
}

function handleAttemptEnd(run: AdmittedCall, end: ToolError | undefined): ResultOrPromise {
  return end === undefined ? processAnswer(run, run) : continueWith(run, retry(run, end), processAnswer);
}

function processAnswer(run: CallRun, answered: AdmittedCall | ToolError): ResultOrPromise {
  const normalized = runNextPhase(run, answered, normalizeOutput);
  return continueWith(run, run.services.artifacts === undefined ? normalized : runNextPhase(run, normalized, storeAnswerFiles), finish);
}

function finish(run: CallRun, end: AdmittedCall | ToolError): ResultOrPromise {
  return finishCall(run, end instanceof Error ? end : run.cancelled);
}

function rewrite(run: CallRun): PhaseOutcome<CallRun> {
  const isUnchanged = run.resumed?.hasIntent === true || (run.options.rewriteInput === undefined && run.services.beforeHooks.length === 0);
  return isUnchanged ? run : rewriteCall(run);
}

function resolve(run: CallRun): PhaseOutcome<ResolvedCall> {
  const { registry } = run.services;
  const opening = registry.lateOpenings.isOpening ? registry.lateOpenings.whenOpen(run.call.name, registry) : undefined;
  return opening === undefined ? resolveTool(run) : resolveLater(run, opening);
}

function checkGates(run: ResolvedCall): PhaseOutcome<ResolvedCall> {
  return run.plan.isGated ? passGates(run) : run;
}

function markEarlierRun(run: AdmittedCall): AdmittedCall {
  if (run.resumed !== undefined) markPossibleEarlierRun(run, run.resumed);
  return run;
}

function reconcile(run: AdmittedCall): PhaseOutcome<AdmittedCall> {
  const { resumed } = run;
  return resumed?.isInterrupted === true && !attachesToRemoteJob(run) ? reconcileCall(run, resumed) : run;
}

/** Asks for approval where the call needs it: its effect may not be undoable. */
function approve(run: AdmittedCall): PhaseOutcome<AdmittedCall> {
  const { plan, services, options } = run;
  if (run.isAnswered || !run.route.rules.isConsequential) return run;
  if (options.approved) return run.resumed !== undefined && plan.tool.approveWhole === true ? restoreCoverage(run) : run;
  if (plan.tool.providerExecuted === true) return approveForProvider(run);
  const isAsked = run.safetyChecks !== undefined || run.resumed?.askedReason !== undefined;
  if (plan.tool.approveWhole === true && run.turn.session.simulation === undefined) return approveWhole(run);
  if (!services.approvals.mayAsk && !run.effects.destructive && !isAsked) return run;
  if (plan.tool.composite === true && run.turn.session.simulation?.mayBeReal === false) return run; // all its calls are pretended
  const reason = approvalReason(run, run.effects.destructive);
  if (reason === undefined) return run;
  markCallersUnshared(run, APPROVAL_NEEDED);
  return wasApprovedBefore(run) || isCovered(run) ? run : askApproval(run, reason);
}

function enterLockQueueIfNeeded(run: AdmittedCall): PhaseOutcome<AdmittedCall> {
  return run.plan.needsNoResources ? run : enterLockQueue(run);
}

function openSessionIfNeeded(run: AdmittedCall): PhaseOutcome<AdmittedCall> {
  return run.route.opensSessions ? openEngineSession(run) : run;
}

/** Returns the cancellation if the call was cancelled, else `end`: the first end of a call counts. */
function unlessCancelled<Run extends CallRun>(run: CallRun, end: Run | ToolError): Run | ToolError {
  return end instanceof CallRun ? (run.cancelled ?? end) : end;
}

/** Passes the call to the next phase, now or when the pending phase has settled. A cancelled call ends there. */
function runNextPhase<From extends CallRun, To extends CallRun>(
  run: CallRun,
  outcome: PhaseOutcome<From>,
  next: (run: From) => PhaseOutcome<To>,
): PhaseOutcome<To> {
  return outcome instanceof Promise ? runNextPhaseLater(run, outcome, next) : enterPhase(run, outcome, next);
}

// A separate function because of its closures: V8 allocates a context in every call of a function that may create closures.
function runNextPhaseLater<From extends CallRun, To extends CallRun>(
  run: CallRun,
  pending: Promise<From | ToolError>,
  next: (run: From) => PhaseOutcome<To>,
): Promise<To | ToolError> {
  return pending.then(
    (outcome) => enterPhase(run, outcome, next),
    (thrown: unknown) => handleStepFailure(run, thrown),
  );
}

/** Continues with the outcome of the last phase, even an error, now or when the phase has settled. */
function continueWith<Run extends CallRun, End>(run: CallRun, outcome: PhaseOutcome<Run>, step: Step<Run, End>): End | Promise<End> {
  return outcome instanceof Promise ? continueLater(run, outcome, step) : step(run, outcome);
}

type Step<Run, End> = (run: CallRun, outcome: Run | ToolError) => End | Promise<End>;

function continueLater<Run extends CallRun, End>(run: CallRun, pending: Promise<Run | ToolError>, step: Step<Run, End>): Promise<End> {
  run.holdProcess(); // keeps the process alive while the caller waits
  return pending.then(
    (outcome) => step(run, outcome),
    (thrown: unknown) => step(run, handleStepFailure(run, thrown)),
  );
}

function enterPhase<From extends CallRun, To extends CallRun>(
  run: CallRun,
  outcome: From | ToolError,
  next: (run: From) => PhaseOutcome<To>,
): PhaseOutcome<To> {
  if (!(outcome instanceof CallRun)) return outcome; // a faster check than `instanceof ToolError`, and every call passes here ten times
  if (run.cancelled !== undefined) return run.cancelled;
  try {
    return next(outcome);
  } catch (thrown: unknown) {
    return handleStepFailure(run, thrown);
  }
}

/** Returns the error of a step that threw: in the program's own code (a schema library, a gate), or a bug in Haft. Releases locks and slots. */
function handleStepFailure(run: CallRun, thrown: unknown): ToolError {
  releaseResources(run);
  if (isToolError(thrown)) return thrown;
  return new ToolError("execution_failed", `${run.toolName} could not be run: ${describeThrown(thrown)}`, {
    cause: thrown,
    outcome: run.attempts === 0 ? "not_started" : "unknown",
  });
}
