/** One call from its arrival to its one result: the steps, in order. */
import { ToolError, describeThrown, isToolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import { askApproval } from "./ask-approval.ts";
import { runAttempts } from "./attempt.ts";
import type { CallRun, StepEnd } from "./call-run.ts";
import { finishCall } from "./finish-call.ts";
import { checkTurnRules } from "./check-turn-rules.ts";
import { beginEngineSession } from "./begin-engine-session.ts";
import { fitCall } from "./fit-call.ts";
import { release, takePlace } from "./hold.ts";
import { notePretended, passStaticGates, resolveTool, routeCall, workOutEffects } from "./resolve-tool.ts";
import { reconcileCall } from "./reconcile-call.ts";
import { rewriteCall } from "./rewrite-call.ts";
import { takeOutput } from "./take-output.ts";

type Step = (run: CallRun) => StepEnd | Promise<StepEnd>;

/** Decides whether the call may run. The calls of a batch pass these one after another, in call order. */
const ADMISSION: readonly Step[] = [
  rewriteCall,
  resolveTool,
  passStaticGates,
  fitCall,
  workOutEffects,
  routeCall,
  checkTurnRules,
  notePretended,
];

/** Runs it. The calls of a batch pass these side by side. */
const EXECUTION: readonly Step[] = [reconcileCall, askApproval, takePlace, beginEngineSession, runAttempts, takeOutput];

/** Runs the admission steps; the result is the error that ends the call, or undefined when it may run. */
export function admitCall(run: CallRun): StepEnd | Promise<StepEnd> {
  const end = drive(run, ADMISSION, 0);
  if (end instanceof Promise) run.keepProcess();
  return end;
}

/** Runs an admitted call to its result. Never throws or rejects. While it is waited for, the process stays alive. */
export function executeCall(run: CallRun): ToolResult | Promise<ToolResult> {
  const end = drive(run, EXECUTION, 0);
  if (!(end instanceof Promise)) return finishCall(run, end);
  run.keepProcess();
  return end.then((error) => finishCall(run, error));
}

function drive(run: CallRun, steps: readonly Step[], from: number): StepEnd | Promise<StepEnd> {
  for (let index = from; index < steps.length; index++) {
    if (run.cancelled !== undefined) return run.cancelled;
    const end = runStep(run, steps[index]);
    if (end === undefined) continue;
    if (!(end instanceof Promise)) return end;
    return end.then(
      (error) => error ?? drive(run, steps, index + 1),
      (thrown: unknown) => stepFailed(run, thrown),
    );
  }
  return run.cancelled;
}

function runStep(run: CallRun, step: Step | undefined): StepEnd | Promise<StepEnd> {
  try {
    return step?.(run);
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
