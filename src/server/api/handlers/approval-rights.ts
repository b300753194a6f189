/** Which calls a principal may approve: those of the tools that it may use itself. Anyone with the scope may deny, which only narrows. */
import type { ApprovalVerdict, NewApprovalRule } from "../../../core/approvals/approvals.ts";
import { ToolError } from "../../../core/error.ts";
import type { Principal } from "../../auth/principal.ts";
import type { ApiServices } from "../services.ts";
import { refuseSessionKey } from "../sessions/session-ids.ts";

type Verdict = Pick<ApprovalVerdict, "answer" | "scope" | "rule">;

/** Whether an answer may be for a question about a tool; undefined if it may be for all questions. */
export function approvalLimit(
  principal: Principal,
  { answer }: Verdict,
  { access }: ApiServices,
): ((toolName: string) => boolean) | undefined {
  const visibility = answer === "deny" ? undefined : access.visibilityOf(principal);
  return visibility && ((toolName) => visibility.permits(toolName));
}

/** @throws ToolError `permission_denied` for the approval of a call of a tool that the principal may not use */
export function checkMayApprove(toolName: string, verdict: Verdict, principal: Principal, services: ApiServices): void {
  if (approvalLimit(principal, verdict, services)?.(toolName) === false)
    throw new ToolError("permission_denied", `You may not approve calls of ${toolName}, which you may not call. You may deny them.`);
}

/** Refuses rules to session keys, since rules apply beyond the session. @throws ToolError `permission_denied` */
export function checkMayGiveRule({ scope, rule }: Verdict, principal: Principal, services: ApiServices): void {
  if (scope !== "rule" && rule === undefined) return;
  refuseSessionKey(principal);
  if (rule !== undefined) checkRulePattern(rule, principal, services);
}

/** @throws ToolError `permission_denied` for a pattern that may match a tool that the principal may not use */
export function checkRulePattern({ pattern }: NewApprovalRule, principal: Principal, services: ApiServices): void {
  if (pattern === undefined || (services.access.visibilityOf(principal)?.permitsPattern(pattern) ?? true)) return;
  throw new ToolError("permission_denied", `The pattern ${JSON.stringify(pattern)} may match tools that you may not call.`, {
    hint: "Name one tool that you may call, or a pattern that matches only such tools.",
  });
}
