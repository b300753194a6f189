/** Puts a call to a person or a rule. No lock is held meanwhile. */
import { ToolError } from "../core/error.ts";
import { waitFor } from "../policy/deadline.ts";
import type { EnclosingCall } from "../core/ask.ts";
import { CallRun, type AdmittedCall } from "./call-run.ts";
import { noteWait } from "./call-timing.ts";

export async function askApproval(run: AdmittedCall, reason: string): Promise<AdmittedCall | ToolError> {
  const { qualifiedName, tool } = run.plan;
  const controller = new AbortController();
  const since = run.clock.now();
  const question = run.parts.approvals.ask({
    callId: run.callId,
    sessionId: run.turn.session.id,
    toolName: qualifiedName,
    description: tool.description,
    input: run.input,
    reason,
    simulated: run.simulated,
    ...enclosing(run),
    signal: controller.signal,
  });
  const waited = await waitFor(run, question, {
    endsAt: run.deadlineAt,
    late: () => new ToolError("approval_denied", `${qualifiedName} was not approved before the call's deadline.`),
  });
  noteWait(run, "approval", since);
  if ("value" in waited) return waited.value ?? run;
  if ("thrown" in waited) throw waited.thrown;
  controller.abort(waited.ended);
  return waited.ended;
}

function enclosing({ turn }: AdmittedCall): { readonly within?: readonly EnclosingCall[] } {
  if (turn.madeIn === undefined) return {};
  const within: EnclosingCall[] = [];
  let outer: unknown = turn.madeIn;
  while (outer instanceof CallRun) {
    const { callId, toolName, input, turn: around } = outer as AdmittedCall; // its handler runs
    within.push(Object.freeze({ callId, toolName, input }));
    outer = around.madeIn;
  }
  return { within: Object.freeze(within) };
}
