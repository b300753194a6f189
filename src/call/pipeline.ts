/** One call from its arrival to its one result: the steps, in order. */
import { ToolError, describeThrown, isToolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { Turn } from "../session/turn.ts";
import { passGates, resolveLater, resolveTool, routeCall } from "./admit-call.ts";
import { askApproval } from "./ask-approval.ts";
import { runAttempts } from "./attempt.ts";
import { beginEngineSession } from "./begin-engine-session.ts";
import { CallRun, type AdmittedCall, type CallOptions, type CallParts, type ResolvedCall } from "./call-run.ts";
import { startOf } from "./call-start.ts";
import { finishCall } from "./finish-call.ts";
import { fitCall } from "./fit-call.ts";
import { release, takePlace } from "./hold.ts";
import { noteNested } from "./nested-calls.ts";
import { readCall } from "./read-call.ts";
import { reconcileCall } from "./reconcile-call.ts";
import { rewriteCall } from "./rewrite-call.ts";
import { takeOutput } from "./take-output.ts";

/** What a phase comes to: the call, which goes on, or the error that ends it. Throwing ends it too. */
type Phase<Run> = Run | ToolError | Promise<Run | ToolError>;
export type Answer = ToolResult | Promise<ToolResult>;

/** Runs one call that nothing but itself can end: no signal, no batch to fail. Never throws or rejects. */
export function runCall(parts: CallParts, turn: Turn, raw: unknown, options: CallOptions): Answer {
  turn.isSingleCall = true;
  const run = beginCall(parts, turn, raw, options);
  if (turn.joins === undefined) turn.sole = run;
  return follow(run, run.unreadable ?? admitCall(run), executeOrFinish);
}

export interface BeginOptions extends CallOptions {
  readonly inRound?: true;
  /** It is recorded with the others of its batch, all of them or none. */
  readonly isSubmitted?: boolean;
}

/** Takes a call in: from here on it has an id, is recorded, and will have a result. */
export function beginCall(parts: CallParts, turn: Turn, raw: unknown, options: BeginOptions): CallRun {
  const read = readCall(raw, parts.inputLimits);
  const run = new CallRun(parts, turn, options, read.call);
  if (parts.faults.isPlanned || parts.registry.hasFaults) run.faults = parts.faults.begin(turn.session, read.call);
  run.unreadable = read.error;
  if (read.repairs.length > 0) run.repairs = read.repairs;
  if (read.warnings.length > 0) run.warnings = read.warnings;
  parts.running.add(run);
  const { madeIn } = turn;
  if (madeIn !== undefined || turn.joins !== undefined) noteNested(run);
  if (options.isSubmitted !== true && run.noticed) run.record(startOf(run, options.inRound));
  if (madeIn?.takenBack !== undefined) run.takeBack(madeIn.takenBack);
  return run;
}

function executeOrFinish(run: CallRun, came: AdmittedCall | ToolError): Answer {
  return came instanceof ToolError ? finishCall(run, came) : executeCall(came);
}

/** Decides whether the call may run. The calls of a batch pass here one after another, in call order. */
export function admitCall(run: CallRun): Phase<AdmittedCall> {
  const arrived = pass(run, run, rewrite);
  const resolved = pass(run, arrived, resolve);
  const open = pass(run, resolved, checkGates);
  const fitted = pass(run, open, fitCall);
  return follow(run, pass(run, fitted, routeCall), unlessCancelled);
}

/** Runs an admitted call to its result; the calls of a batch pass here side by side. Never throws or rejects. */
export function executeCall(run: AdmittedCall): Answer {
  const known = pass(run, run, reconcile);
  const allowed = pass(run, known, approve);
  const inLine = pass(run, allowed, enterLine);
  const begun = pass(run, inLine, beginSession);
  return follow(run, pass(run, begun, runAttempts), takeAnswer);
}

function takeAnswer(run: CallRun, answered: AdmittedCall | ToolError): Answer {
  return follow(run, pass(run, answered, takeOutput), finish);
}

function finish(run: CallRun, end: AdmittedCall | ToolError): Answer {
  return finishCall(run, end instanceof ToolError ? end : run.cancelled);
}

function rewrite(run: CallRun): Phase<CallRun> {
  return run.options.rewriteInput === undefined && run.parts.beforeHooks.length === 0 ? run : rewriteCall(run);
}

function resolve(run: CallRun): Phase<ResolvedCall> {
  const { registry } = run.parts;
  const opening = registry.late.any ? registry.late.of(run.call.name, registry) : undefined;
  return opening === undefined ? resolveTool(run) : resolveLater(run, opening);
}

function checkGates(run: ResolvedCall): Phase<ResolvedCall> {
  return run.plan.isGated ? passGates(run) : run;
}

function reconcile(run: AdmittedCall): Phase<AdmittedCall> {
  return run.isInterrupted ? reconcileCall(run) : run;
}

/** Somebody may have to allow what cannot be taken back. */
function approve(run: AdmittedCall): Phase<AdmittedCall> {
  const { plan, parts, options } = run;
  if (options.approved === true || run.isAnswered || !run.route.rules.isConsequential) return run;
  if (!parts.approvals.mayAsk && !run.effects.destructive) return run;
  const reason = parts.approvals.needed(plan.qualifiedName, run.effects.destructive, run.turn.session);
  return reason === undefined ? run : askApproval(run, reason);
}

function enterLine(run: AdmittedCall): Phase<AdmittedCall> {
  return run.plan.holdsNothing ? run : takePlace(run);
}

function beginSession(run: AdmittedCall): Phase<AdmittedCall> {
  return run.route.opensSessions ? beginEngineSession(run) : run;
}

/** What ended the call first counts. */
function unlessCancelled<Run>(run: CallRun, end: Run | ToolError): Run | ToolError {
  return end instanceof ToolError ? end : (run.cancelled ?? end);
}

/** Hands the call from one phase to the next, now or when the first is over. A call that was cancelled meanwhile ends there. */
function pass<From extends CallRun, To extends CallRun>(run: CallRun, came: Phase<From>, next: (run: From) => Phase<To>): Phase<To> {
  return came instanceof Promise ? passLater(run, came, next) : enter(run, came, next);
}

// What makes closures stands by itself: V8 makes room for them in every call of a function that may make some.
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

/** Goes on with what the last phase came to, be it an error, now or when it is over. */
function follow<Run extends CallRun, End>(run: CallRun, came: Phase<Run>, step: Step<Run, End>): End | Promise<End> {
  return came instanceof Promise ? followLater(run, came, step) : step(run, came);
}

type Step<Run, End> = (run: CallRun, came: Run | ToolError) => End | Promise<End>;

function followLater<Run extends CallRun, End>(run: CallRun, coming: Promise<Run | ToolError>, step: Step<Run, End>): Promise<End> {
  run.keepProcess(); // while it is waited for, the process stays alive
  return coming.then(
    (came) => step(run, came),
    (thrown: unknown) => step(run, stepFailed(run, thrown)),
  );
}

function enter<From extends CallRun, To extends CallRun>(run: CallRun, came: From | ToolError, next: (run: From) => Phase<To>): Phase<To> {
  if (came instanceof ToolError) return came;
  if (run.cancelled !== undefined) return run.cancelled;
  try {
    return next(came);
  } catch (thrown: unknown) {
    return stepFailed(run, thrown);
  }
}

/** A step threw: the program's own code inside it (a schema library, a gate) or a fault of ours. Either way the call ends and holds nothing. */
function stepFailed(run: CallRun, thrown: unknown): ToolError {
  release(run);
  if (isToolError(thrown)) return thrown;
  return new ToolError("execution_failed", `${run.toolName} could not be run: ${describeThrown(thrown)}`, {
    cause: thrown,
    outcome: run.attempts === 0 ? "not_started" : "unknown",
  });
}
