/** Lets hooks look at a call before anything else does: change it, stop it, or leave it. */
import { ToolError, describeThrown } from "../core/error.ts";
import type { Hook, HookContext, HookDecision } from "../core/hook.ts";
import { waitFor } from "../policy/deadline.ts";
import type { CallRun, StepEnd } from "./call-run.ts";
import { readCall } from "./read-call.ts";

/** Longest time one hook may take; then it is skipped like one that throws. */
export const HOOK_TIMEOUT_MS = 10_000;

export function rewriteCall(run: CallRun): StepEnd | Promise<StepEnd> {
  return run.parts.beforeHooks.length === 0 ? undefined : runHooks(run);
}

async function runHooks(run: CallRun): Promise<StepEnd> {
  const asked = run.call.name;
  for (const hook of run.parts.beforeHooks) {
    const decision = await callHook<HookDecision>(run, hook, () => hook.beforeCall?.(run.call, hookContext(run)));
    if (run.cancelled !== undefined) return run.cancelled;
    if (decision === undefined || decision === run.call) continue;
    if ("veto" in decision) return new ToolError("vetoed", String(decision.veto), { hint: `The hook "${hook.name}" stopped this call.` });
    const read = readCall({ ...decision, ...(run.call.id === undefined ? {} : { id: run.call.id }) }, run.parts.inputLimits);
    if (read.error !== undefined) return new ToolError("vetoed", `The hook "${hook.name}" made an unusable call: ${read.error.message}`);
    run.call = read.call;
  }
  if (run.call.name !== asked && run.parts.registry.resolve(run.call.name) instanceof ToolError) {
    return new ToolError("vetoed", `A hook sent this call to ${JSON.stringify(run.call.name)}, which is no usable tool.`);
  }
  return undefined;
}

/** Runs one hook in its time; one that throws or takes too long is logged and counts as having said nothing. */
export async function callHook<T>(run: CallRun, hook: Hook, ask: () => T | Promise<T>): Promise<T | undefined> {
  const work = new Promise<T>((resolve) => resolve(ask()));
  const waited = await waitFor(run, work, {
    endsAt: run.clock.now() + HOOK_TIMEOUT_MS,
    late: () => new ToolError("timeout", `no answer within ${HOOK_TIMEOUT_MS} ms`),
  });
  if ("value" in waited) return waited.value;
  if ("thrown" in waited) run.parts.ports.log.warn(`The hook "${hook.name}" threw and was skipped: ${describeThrown(waited.thrown)}`);
  else if (run.cancelled === undefined) run.parts.ports.log.warn(`The hook "${hook.name}" was skipped: ${waited.ended.message}`);
  return undefined;
}

export function hookContext(run: CallRun): HookContext {
  return { callId: run.callId, sessionId: run.turn.session.id, turnId: run.turn.id };
}
