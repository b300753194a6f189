/** The steps of one call, in order, from its arrival to its one result. */
import { ToolError, describeThrown, isToolError } from "../core/error.ts";
import type { Turn } from "../session/turn.ts";
import { places } from "../session/turn-queue.ts";
import { passGates, resolveLater, resolveTool, routeCall } from "./admit/admit-call.ts";
import { approveForProvider } from "./approve/approve-for-provider.ts";
import { approveWhole, coverAgain, isCovered, wasAllowed } from "./approve/approve-whole.ts";
import { askApproval } from "./approve/ask-approval.ts";
import { attempt, hasFallbacks, retry, tryEach } from "./attempt/attempt.ts";
import { noteEarlierRun } from "./attempt/effect-so-far.ts";
import { beginEngineSession } from "./attempt/begin-engine-session.ts";
import { CallRun, type AdmittedCall, type Answer, type CallParts, type ResolvedCall } from "./call-run.ts";
import type { CallOptions } from "./call-options.ts";
import { startOf } from "./call-start.ts";
import { approvalNeed } from "./context/composite.ts";
import { finishCall } from "./finish/finish-call.ts";
import { fitCall } from "./admit/fit-call.ts";
import { release, takePlace } from "./attempt/hold.ts";
import { callerOf, noteNested } from "./context/call-tree.ts";
import { keepAnswerFiles } from "./finish/keep-artifacts.ts";
import { readCall } from "./admit/read-call.ts";
import { continuesElsewhere } from "./attempt/attach-to-work.ts";
import { reconcileCall } from "./admit/reconcile-call.ts";
import { rewriteCall } from "./admit/rewrite-call.ts";
import { countStart, runInBackground, startIsKept, whileDirect } from "./jobs/run-in-background.ts";
import { takeOutput } from "./finish/take-output.ts";

/** The outcome of a phase: the call, which continues, or the error that ends it. A phase that throws ends the call too. */
type Phase<Run> = Run | ToolError | Promise<Run | ToolError>;

/** Runs a single call: it has no signal, and no batch whose failure would cancel it. Never throws or rejects. */
export function runCall(parts: CallParts, turn: Turn, raw: unknown, options: CallOptions): Answer {
  turn.isSingleCall = true;
  const run = beginCall(parts, turn, raw, options);
  if (turn.joins === undefined) turn.sole = run;
  run.isSettled = turn.madeIn?.isSettled ?? turn.joins === undefined;
  return follow(run, run.refusal ?? admitCall(run), executeOrFinish);
}

export interface BeginOptions extends CallOptions {
  readonly inRound?: true;
  /** The caller records the `call-start`, in one write with those of the other calls of the batch. */
  readonly isSubmitted?: boolean;
}

/** Begins a call: reads it, gives it an id and records it. From here on the call will have a result. */
export function beginCall(parts: CallParts, turn: Turn, raw: unknown, options: BeginOptions): CallRun {
  const read = readCall(raw, parts.inputLimits);
  const run = new CallRun(parts, turn, options, read.call);
  if (parts.faults.isPlanned || parts.registry.hasFaults) run.faults = parts.faults.begin(turn.session, read.call);
  if (read.error !== undefined) run.refusal = read.error;
  if (read.repairs.length > 0) run.repairs = read.repairs;
  if (read.isProviderQuestion) run.isProviderQuestion = true;
  if (parts.logsDecisions) logDecision(run);
  if (read.warnings.length > 0) noteWarnings(run, read.warnings);
  parts.running.add(run);
  if (places.haveBegun) run.madeBy = callerOf(turn);
  const { madeIn } = turn;
  if (madeIn !== undefined || turn.joins !== undefined) noteNested(run);
  if (options.isSubmitted !== true && run.hasObservers) run.record(startOf(run, options.inRound));
  if (madeIn?.takenBack !== undefined) run.takeBack(madeIn.takenBack);
  const { callsEnded } = turn.session;
  if (callsEnded !== undefined) run.cancel(callsEnded);
  return run;
}

/** Logs what the model decided, before any of it is done. */
function logDecision({ call, callId, parts }: CallRun): void {
  const { name, id, reasoning } = call;
  const why = reasoning === undefined || reasoning === "" ? "" : ` - ${reasoning.slice(0, MAX_REASONING)}`;
  parts.ports.log.debug(`Decision: ${name}${why}`, { tool: name, callId, id, reasoning });
}

const MAX_REASONING = 500;

function noteWarnings(run: CallRun, warnings: readonly string[]): void {
  run.warnings = warnings;
  for (const warning of warnings) run.parts.ports.log.warn(`The call of ${run.call.name} was corrected. ${warning}`);
}

// `instanceof Error` is faster than `instanceof ToolError`, which has its own `Symbol.hasInstance`; the only Error possible here is a ToolError.
function executeOrFinish(run: CallRun, came: AdmittedCall | ToolError): Answer {
  return came instanceof Error ? finishCall(run, came) : executeCall(came);
}

/** Decides whether the call may run. The calls of a batch are admitted one after another, in call order. */
export function admitCall(run: CallRun): Phase<AdmittedCall> {
  const arrived = pass(run, run, rewrite);
  const resolved = pass(run, arrived, resolve);
  const open = pass(run, resolved, checkGates);
  const fitted = pass(run, open, fitCall);
  return follow(run, pass(run, fitted, routeCall), unlessCancelled);
}

/**
 * Runs an admitted call to its result; the calls of a batch run concurrently. Never throws or rejects.
 *
 * Approval comes before the start of a background job, so that the caller gets the question, or `approval_required`, while it still waits.
 */
export function executeCall(run: AdmittedCall): Answer {
  return run.resumed?.job === undefined ? follow(run, allow(run), begin) : runInBackground(run, resumeJob);
}

/** Resumes a background job after a crash; it may have to be approved again. */
function resumeJob(run: AdmittedCall): Answer {
  return follow(run, pass(run, pass(run, allow(run), noteEarlier), countStart), runOrFinish);
}

/** Runs a call from before a crash again that is not known to be a job. Its start is stored first, because the call may have crashed the process. */
function startAgain(run: AdmittedCall): Answer {
  return follow(run, startIsKept(run), runOrFinish);
}

function allow(run: AdmittedCall): Phase<AdmittedCall> {
  return pass(run, pass(run, run, reconcile), approve);
}

function runOrFinish(run: CallRun, came: AdmittedCall | ToolError): Answer {
  return came instanceof ToolError ? finishCall(run, came) : runToEnd(came);
}

function begin(run: CallRun, came: AdmittedCall | ToolError): Answer {
  const allowed = unlessCancelled(run, came);
  if (allowed instanceof Error) return finishCall(run, allowed);
  if (allowed.resumed !== undefined) noteEarlierRun(allowed, allowed.resumed);
  if (beginsInBackground(allowed)) return runInBackground(allowed, allowed.resumed !== undefined ? startAgain : runToEnd);
  const answer = runToEnd(allowed);
  return answer instanceof Promise && allowed.options.background !== false && mayOutliveTurn(allowed)
    ? whileDirect(allowed, answer)
    : answer;
}

/** Whether the call starts as a background job. Outside a session, the caller waits for the call instead. */
function beginsInBackground(run: AdmittedCall): boolean {
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

function runToEnd(run: AdmittedCall): Answer {
  const inLine = pass(run, run, enterLine);
  const begun = pass(run, inLine, beginSession);
  return follow(run, begun, runAttempts);
}

function runAttempts(run: CallRun, came: AdmittedCall | ToolError): Answer {
  const begun = unlessCancelled(run, came);
  if (begun instanceof Error || begun.isAnswered) return takeAnswer(run, begun);
  try {
    if (hasFallbacks(begun)) return follow(begun, tryEach(begun), takeAnswer);
    const answer = attempt(begun, attemptEnded);
    if (answer instanceof Promise) run.holdProcess(); // keeps the process alive while the caller waits
    return answer;
  } catch (thrown: unknown) {
    return takeAnswer(run, stepFailed(run, thrown));
  }
}

function attemptEnded(run: AdmittedCall, end: ToolError | undefined): Answer {
  return end === undefined ? takeAnswer(run, run) : follow(run, retry(run, end), takeAnswer);
}

function takeAnswer(run: CallRun, answered: AdmittedCall | ToolError): Answer {
  const taken = pass(run, answered, takeOutput);
  return follow(run, run.parts.artifacts === undefined ? taken : pass(run, taken, keepAnswerFiles), finish);
}

function finish(run: CallRun, end: AdmittedCall | ToolError): Answer {
  return finishCall(run, end instanceof Error ? end : run.cancelled);
}

function rewrite(run: CallRun): Phase<CallRun> {
  const isLeft = run.resumed?.isDecided === true || (run.options.rewriteInput === undefined && run.parts.beforeHooks.length === 0);
  return isLeft ? run : rewriteCall(run);
}

function resolve(run: CallRun): Phase<ResolvedCall> {
  const { registry } = run.parts;
  const opening = registry.late.any ? registry.late.of(run.call.name, registry) : undefined;
  return opening === undefined ? resolveTool(run) : resolveLater(run, opening);
}

function checkGates(run: ResolvedCall): Phase<ResolvedCall> {
  return run.plan.isGated ? passGates(run) : run;
}

function noteEarlier(run: AdmittedCall): AdmittedCall {
  if (run.resumed !== undefined) noteEarlierRun(run, run.resumed);
  return run;
}

function reconcile(run: AdmittedCall): Phase<AdmittedCall> {
  const { resumed } = run;
  return resumed?.isInterrupted === true && !continuesElsewhere(run) ? reconcileCall(run, resumed) : run;
}

/** Asks for approval where the call needs it: its effect may not be undoable. */
function approve(run: AdmittedCall): Phase<AdmittedCall> {
  const { plan, parts, options } = run;
  if (run.isAnswered || !run.route.rules.isConsequential) return run;
  if (options.approved === true) return run.resumed !== undefined && plan.tool.approveWhole === true ? coverAgain(run) : run;
  if (plan.tool.providerExecuted === true) return approveForProvider(run);
  const isAsked = run.safetyChecks !== undefined || run.resumed?.askedFor !== undefined;
  if (plan.tool.approveWhole === true && run.turn.session.simulation === undefined) return approveWhole(run);
  if (!parts.approvals.mayAsk && !run.effects.destructive && !isAsked) return run;
  if (plan.tool.composite === true && run.turn.session.simulation?.mayBeReal === false) return run; // all its calls are pretended
  const reason = approvalNeed(run, run.effects.destructive);
  return reason === undefined || wasAllowed(run) || isCovered(run) ? run : askApproval(run, reason);
}

function enterLine(run: AdmittedCall): Phase<AdmittedCall> {
  return run.plan.holdsNothing ? run : takePlace(run);
}

function beginSession(run: AdmittedCall): Phase<AdmittedCall> {
  return run.route.opensSessions ? beginEngineSession(run) : run;
}

/** Returns the cancellation if the call was cancelled, else `end`: the first end of a call counts. */
function unlessCancelled<Run extends CallRun>(run: CallRun, end: Run | ToolError): Run | ToolError {
  return end instanceof CallRun ? (run.cancelled ?? end) : end;
}

/** Passes the call to the next phase, now or when the pending phase has settled. A cancelled call ends there. */
function pass<From extends CallRun, To extends CallRun>(run: CallRun, came: Phase<From>, next: (run: From) => Phase<To>): Phase<To> {
  return came instanceof Promise ? passLater(run, came, next) : enter(run, came, next);
}

// A separate function because of its closures: V8 allocates a context in every call of a function that may create closures.
function passLater<From extends CallRun, To extends CallRun>(
  run: CallRun,
  coming: Promise<From | ToolError>,
  next: (run: From) => Phase<To>,
): Promise<To | ToolError> {
  return coming.then(
    (came) => enter(run, came, next),
    (thrown: unknown) => stepFailed(run, thrown),
  );
}

/** Continues with the outcome of the last phase, even an error, now or when the phase has settled. */
function follow<Run extends CallRun, End>(run: CallRun, came: Phase<Run>, step: Step<Run, End>): End | Promise<End> {
  return came instanceof Promise ? followLater(run, came, step) : step(run, came);
}

type Step<Run, End> = (run: CallRun, came: Run | ToolError) => End | Promise<End>;

function followLater<Run extends CallRun, End>(run: CallRun, coming: Promise<Run | ToolError>, step: Step<Run, End>): Promise<End> {
  run.holdProcess(); // keeps the process alive while the caller waits
  return coming.then(
    (came) => step(run, came),
    (thrown: unknown) => step(run, stepFailed(run, thrown)),
  );
}

function enter<From extends CallRun, To extends CallRun>(run: CallRun, came: From | ToolError, next: (run: From) => Phase<To>): Phase<To> {
  if (!(came instanceof CallRun)) return came; // a faster check than `instanceof ToolError`, and every call passes here ten times
  if (run.cancelled !== undefined) return run.cancelled;
  try {
    return next(came);
  } catch (thrown: unknown) {
    return stepFailed(run, thrown);
  }
}

/** Returns the error of a step that threw: in the program's own code (a schema library, a gate), or a bug in Haft. Releases locks and slots. */
function stepFailed(run: CallRun, thrown: unknown): ToolError {
  release(run);
  if (isToolError(thrown)) return thrown;
  return new ToolError("execution_failed", `${run.toolName} could not be run: ${describeThrown(thrown)}`, {
    cause: thrown,
    outcome: run.attempts === 0 ? "not_started" : "unknown",
  });
}
