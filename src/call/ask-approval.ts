/** Puts a call to a person or a rule when its effects or the settings ask for it. No lock is held meanwhile. */
import { ToolError } from "../core/error.ts";
import { waitFor } from "../policy/deadline.ts";
import type { CallRun, StepEnd } from "./call-run.ts";
import { toolOf } from "./resolve-tool.ts";

export function askApproval(run: CallRun): StepEnd | Promise<StepEnd> {
  if (run.options.approved === true || run.isAnswered || run.route?.via !== "live" || run.touchesNothing) return undefined; // nothing will happen that anybody had to allow
  const reason = run.parts.approvals.needed(toolOf(run).qualifiedName, run.effects?.destructive ?? false, run.turn.session);
  return reason === undefined ? undefined : ask(run, reason);
}

async function ask(run: CallRun, reason: string): Promise<StepEnd> {
  const { qualifiedName, tool } = toolOf(run);
  const controller = new AbortController();
  const question = run.parts.approvals.ask({
    callId: run.callId,
    sessionId: run.turn.session.id,
    toolName: qualifiedName,
    description: tool.description,
    input: run.input ?? {},
    reason,
    simulated: run.simulated,
    signal: controller.signal,
  });
  const waited = await waitFor(run, question, {
    endsAt: run.deadlineAt,
    late: () => new ToolError("approval_denied", `Nobody approved ${qualifiedName} before the call's deadline.`),
  });
  if ("value" in waited) return waited.value;
  if ("thrown" in waited) throw waited.thrown;
  controller.abort(waited.ended);
  return waited.ended;
}
