/** Why a call needs approval: the settings, the rules of its session and of those above it, or the model's provider. */
import type { Approvals } from "../../core/approvals/approvals.ts";
import { splitName } from "../../core/call.ts";
import { describeThrown } from "../../core/error.ts";
import { formatSafetyReason } from "../../core/safety-checks.ts";
import { isSettingsReason } from "../../policy/approval/approval-rules.ts";
import type { Session } from "../../session/session.ts";
import type { AdmittedCall, CallRun } from "../call-run.ts";
import { outerRuleSession } from "../context/composite.ts";

/** Why a call must be approved: because of the settings, the rule of its session or of one above it, or because the model's provider asks. */
export function approvalReason({ services, plan, turn, resumed, safetyChecks }: AdmittedCall, destructive: boolean): string | undefined {
  const { qualifiedName } = plan;
  const need = approvalReasonIn(turn.session, services.approvals, { qualifiedName, destructive });
  if (safetyChecks === undefined) return need ?? resumed?.askedReason;
  if (need !== undefined) return `${need} ${formatSafetyReason(safetyChecks)}`;
  // not for a tool that never needs approval
  const isAsked = approvalReasonIn(turn.session, services.approvals, { qualifiedName, destructive: true }) !== undefined;
  return isAsked ? formatSafetyReason(safetyChecks) : resumed?.askedReason;
}

/** Why the own rule of the session, or of one above it, asks before a call that begins; undefined if no rule asks, or if the name is not a tool. */
export function sessionApprovalReason({ services, call, turn }: CallRun): string | undefined {
  if (!services.approvals.mayAsk) return undefined;
  const qualifiedName = services.registry.get(call.name)?.qualifiedName ?? openingToolName(services.registry, call.name);
  if (qualifiedName === undefined) return undefined;
  return sessionWarning(turn.session, services.approvals, qualifiedName);
}

/** Why an earlier approval of the tool does not allow this call: the own rule of its session, or of one above it, asks, or asked before a crash. */
export function warningOf({ services, plan, turn, resumed }: AdmittedCall): string | undefined {
  return sessionWarning(turn.session, services.approvals, plan.qualifiedName) ?? resumed?.askedReason;
}

/** Why the own rule of the session, or of one above it, asks before calls of this tool, whatever the settings say; undefined if none does. */
export function sessionWarning(session: Session, approvals: Pick<Approvals, "reasonFor">, qualifiedName: string): string | undefined {
  for (let one: Session | undefined = session; one !== undefined; one = outerRuleSession(one)) {
    const reason = reasonFor(approvals, one, { qualifiedName, destructive: false });
    if (reason !== undefined && !isSettingsReason(reason, qualifiedName)) return reason;
  }
  return undefined;
}

/** Why a call of this tool in the session must be approved; undefined if it need not be. */
export function approvalReasonIn(session: Session, approvals: Pick<Approvals, "reasonFor">, tool: ToolToApprove): string | undefined {
  let reason: string | undefined;
  for (let one: Session | undefined = session; reason === undefined && one !== undefined; one = outerRuleSession(one))
    reason = reasonFor(approvals, one, tool);
  return reason;
}

interface ToolToApprove {
  readonly qualifiedName: string;
  readonly destructive: boolean;
}

/** Why a call needs approval. If a program's own approvals throw, it needs approval, and still has one result. */
function reasonFor(
  approvals: Pick<Approvals, "reasonFor">,
  session: Session,
  { qualifiedName, destructive }: ToolToApprove,
): string | undefined {
  try {
    return approvals.reasonFor(qualifiedName, destructive, session);
  } catch (thrown: unknown) {
    return `Whether ${qualifiedName} needs approval could not be decided (${describeThrown(thrown)}).`;
  }
}

/** The qualified name of a tool in a toolset that is still opening, if the call names the toolset; its tools are not known yet. */
function openingToolName({ lateOpenings }: CallRun["services"]["registry"], name: string): string | undefined {
  return lateOpenings.isOpening && splitName(name).namespace !== undefined ? name : undefined;
}
