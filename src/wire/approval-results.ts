/** Moves the later result of a call that waited for approval to where the call was made: a provider has one place for the answer to its request. */
import { canonicalJson } from "../core/base/canonical-json.ts";
import { readSafetyChecks } from "../core/safety-checks.ts";
import type { AssistantStep, ConversationStep, WireCall } from "./conversation-steps.ts";

/**
 * Returns the steps in which each call that the provider wanted confirmed has the result that was decided later. Such a call is in one message and
 * its decision in a later one without text, with no message of the user in between.
 */
export function withApprovalResults(
  steps: readonly ConversationStep[],
  isRequest: (step: AssistantStep, call: WireCall) => boolean = () => false,
): readonly ConversationStep[] {
  const isWaiting = (step: AssistantStep, call: WireCall): boolean =>
    call.result?.error?.code === "approval_required" && (readSafetyChecks(call.input) !== undefined || isRequest(step, call));
  if (!steps.some((step) => step.kind === "assistant" && step.calls.some((call) => isWaiting(step, call)))) return steps;
  const settled = [...steps];
  for (const [index, step] of steps.entries()) {
    if (step.kind !== "assistant") continue;
    const calls = step.calls.map((call) =>
      isWaiting(step, call) ? { ...call, result: takeApprovalResult(settled, index, call) ?? call.result } : call,
    );
    if (calls.some((call, at) => call.result !== step.calls[at]?.result)) settled[index] = { ...step, calls };
  }
  return settled.filter(
    (step, index) => step === steps[index] || step.kind !== "assistant" || step.native !== undefined || step.calls.length > 0,
  );
}

/** Finds the result of the same call in a later message that only repeats waiting calls, and removes it there. */
function takeApprovalResult(steps: ConversationStep[], from: number, { name, input }: WireCall): WireCall["result"] {
  const wanted = canonicalJson(input);
  for (let index = from + 1; index < steps.length; index++) {
    const step = steps[index];
    if (step === undefined || step.kind === "user") return undefined;
    if (step.kind !== "assistant" || step.native !== undefined || step.content.length > 0) continue; // a message that the model itself wrote
    const made = step.calls.find((call) => call.name === name && canonicalJson(call.input) === wanted);
    if (made === undefined) continue;
    steps[index] = { ...step, calls: step.calls.filter((call) => call !== made) };
    if (made.result?.error?.code !== "approval_required") return made.result;
  }
  return undefined;
}
