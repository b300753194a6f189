/** Asks a person or a rule for approval of a call. No lock is held meanwhile. */
import { pushAll } from "../../core/collections/push-all.ts";
import type { ApprovalPreview } from "../../core/approvals/approval-preview.ts";
import type { CoveredCall, EnclosingCall } from "../../core/store/approval-store.ts";
import type { ApprovalNote } from "../../core/approvals/approvals.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { describeValueKind } from "../../core/base/wording.ts";
import { ToolError, isToolError } from "../../core/error.ts";
import { principalIdOf } from "../../core/principal-id.ts";
import { approvalId } from "../../policy/approval/approval-digest.ts";
import { approvalDeniedError, noDecisionError } from "../../policy/approval/approval-refusals.ts";
import { waitFor } from "../../policy/attempts/deadline.ts";
import { getDefinitionFingerprint } from "../../registry/definition-fingerprint.ts";
import { notStartedError, startTimeoutError } from "../attempt/not-started-errors.ts";
import { untilDurable } from "../attempt/until-durable.ts";
import { CallRun, type AdmittedCall } from "../call-run.ts";
import { warningOf } from "./approval-reason.ts";
import { callStack } from "../context/call-stack.ts";
import { noteWait } from "../finish/call-timing.ts";

/** The parts of a question that covers a call and its nested calls. */
export interface WholeQuestion {
  readonly preview: ApprovalPreview;
  readonly covers: readonly CoveredCall[];
  /** Called if a person was asked and allowed the call; not for a rule or an earlier answer. */
  onAllowed(): void;
}

export async function askApproval(run: AdmittedCall, why: string, whole?: WholeQuestion): Promise<AdmittedCall | ToolError> {
  const { qualifiedName, tool } = run.plan;
  const asked = withWarning(run, why);
  const { reason } = asked;
  if (run.services.hasNoApprover === true) return noDecisionError({ toolName: qualifiedName, reason }, "a preview asks nobody");
  const controller = new AbortController();
  const since = run.clock.now();
  let asking: readonly CallRun[] = []; // the calls that wait for the answer, with their jobs, sessions and agents
  const question = run.services.approvals.ask({
    callId: run.callId,
    sessionId: run.turn.session.id,
    turnId: run.turn.id,
    toolName: qualifiedName,
    description: tool.description,
    definition: getDefinitionFingerprint(run.services.registry, qualifiedName),
    input: run.input,
    ...asked,
    simulated: run.simulated,
    ...describeEnclosing(run),
    ...omitUndefined({ askedBy: askerOf(run), safetyChecks: run.safetyChecks }),
    ...(whole === undefined ? {} : { covers: whole.covers }),
    preview: async () => (whole ?? (await run.services.simulate(run))).preview,
    whenRecorded: () => run.durableLog?.whenDurable(),
    onChange: (note) => {
      if (note.type === "ask" && asking.length === 0 && !controller.signal.aborted) asking = countPendingApprovals(callStack(run), 1);
      if (asking.length > 0 && note.type === "answer" && note.status === "allowed") whole?.onAllowed();
      return recordNote(run, asked, note);
    },
    signal: controller.signal,
    isHandedOver: () => run.turn.session.isHandedOver,
  });
  const waited = await waitFor(run, question, { endsAt: run.deadlineAt, timeoutError: () => notApprovedError(qualifiedName) });
  countPendingApprovals(asking, -1);
  noteWait(run, "approval", since);
  if ("value" in waited) return findRefusal(qualifiedName, waited.value) ?? (await untilApprovalDurable(run)) ?? run;
  if ("thrown" in waited) throw waited.thrown;
  controller.abort(waited.ended);
  return waited.ended;
}

/** Why the call is refused. Approvals of a program may resolve to anything: only undefined allows the call. */
function findRefusal(toolName: string, answer: unknown): ToolError | undefined {
  if (answer === undefined || isToolError(answer)) return answer;
  return approvalDeniedError(
    { toolName, reason: "" },
    `ask() of the approvals resolved to ${describeValueKind(answer)}, not to undefined or a ToolError`,
  );
}

interface AskedReason {
  readonly reason: string;
  /** Set if the reason includes that of the session's own rule. */
  readonly warned?: true;
}

/** Adds the reason of the session's own rule, if it asks, so that the answer is given in view of it. */
function withWarning(run: AdmittedCall, reason: string): AskedReason {
  const warning = warningOf(run);
  if (warning === undefined) return { reason };
  if (reason.includes(warning)) return { reason, warned: true };
  return { reason: warning.includes(reason) ? warning : `${reason} ${warning}`, warned: true };
}

/**
 * Waits until the approval of a call in a job is durable: if the call crashes the process at once, the log must not say that it was still waiting for
 * approval, which never parks the job.
 */
function untilApprovalDurable(run: AdmittedCall): Promise<ToolError | undefined> | undefined {
  if (run.durableLog === undefined || callStack(run).every(({ job }) => job === undefined)) return undefined;
  return untilDurable(run, {
    late: () => startTimeoutError(run, "the store had not written its approval before the call's deadline."),
    failed: (error) => notStartedError(run, error),
  });
}

function notApprovedError(qualifiedName: string): ToolError {
  return new ToolError("approval_denied", `${qualifiedName} was not approved before the call's deadline.`);
}

/** Changes the number of open questions of these calls. Call it with the same calls when the question begins and ends. */
function countPendingApprovals(calls: readonly CallRun[], change: 1 | -1): readonly CallRun[] {
  for (const call of calls) call.pendingApprovals = (call.pendingApprovals ?? 0) + change;
  return calls;
}

/** Records that the approval of a call around this one covers it, so that approval is not asked again after a crash. */
export function recordCoveredApproval(run: AdmittedCall, digest: string): void {
  const id = approvalId({ sessionId: run.turn.session.id, callId: run.callId });
  void recordNote(run, { reason: "" }, { type: "answer", id, digest, status: "allowed" });
}

/** Records the events of a question. `approval-ask` is recorded once the question can be answered, and is durable before the approver is called. */
function recordNote(run: AdmittedCall, asked: AskedReason, note: ApprovalNote): Promise<void> | undefined {
  // A call with a result records nothing more, though its question may still be pending; a handed-over session continues in another process.
  if (run.result !== undefined || run.turn.session.isHandedOver) return undefined;
  const { eventBase, toolName, input } = run;
  const { id, digest } = note;
  if (note.type === "ask") {
    const { expiresAt } = note;
    const begun = run.resumed?.mayHaveBegun === true ? ({ begun: true } as const) : {};
    const more = { ...asked, ...begun, ...omitUndefined({ expiresAt }) };
    run.record({ ...eventBase, type: "approval-ask", toolName, approvalId: id, digest, input, ...more });
    return run.durableLog?.whenDurable();
  }
  const { status, scope, ruleId, by } = note;
  run.record({ ...eventBase, type: "approval-answer", toolName, approvalId: id, digest, status, ...omitUndefined({ scope, ruleId, by }) });
  return undefined;
}

/** The principal that made the call, else the name of the agent. */
function askerOf({ options, services }: AdmittedCall): string | undefined {
  return principalIdOf(options.data) ?? services.agentName;
}

function describeEnclosing(run: AdmittedCall): { readonly within?: readonly EnclosingCall[] } {
  const within: EnclosingCall[] = [];
  let inner: CallRun = run;
  // The calls around a call from before a crash may not run yet.
  while (inner.resumed === undefined && inner.turn.parentCall instanceof CallRun) {
    inner = inner.turn.parentCall;
    const { callId, toolName, input = sentInput(inner) } = inner;
    within.push(Object.freeze({ callId, toolName, input }));
  }
  pushAll(within, inner.resumed?.within ?? []);
  return within.length === 0 ? {} : { within: Object.freeze(within) };
}

/** The input as it was sent, for a call that is still in its hooks or whose input does not fit its tool. */
function sentInput({ call: { input } }: CallRun): JsonObject {
  return isJsonObject(input) ? input : {};
}
