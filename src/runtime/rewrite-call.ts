/** Lets hooks look at a call before anything else does: change it, stop it, or leave it. */
import { ToolError, describeThrown } from "../core/error.ts";
import type { Hook, HookContext, HookDecision } from "../core/hook.ts";
import { isPromiseLike, waitFor } from "../policy/deadline.ts";
import type { CallRun, StepEnd } from "./call-run.ts";
import { readCall } from "./read-call.ts";

/** Longest time one hook may take; then it is skipped like one that throws. */
const HOOK_TIMEOUT_MS = 10_000;

export function rewriteCall(run: CallRun): StepEnd | Promise<StepEnd> {
  return run.parts.beforeHooks.length === 0 ? undefined : runHooks(run);
}

async function runHooks(run: CallRun): Promise<StepEnd> {
  const asked = run.call.name;
  for (const hook of run.parts.beforeHooks) {
    const { said, ended } = await callHook<HookDecision>(run, hook, () => hook.beforeCall?.(run.call, hookContext(run)));
    const end = run.cancelled ?? ended ?? obey(run, hook, said);
    if (end !== undefined) return end;
  }
  if (run.call.name !== asked && run.parts.registry.resolve(run.call.name) instanceof ToolError) {
    return new ToolError("vetoed", `A hook sent this call to ${JSON.stringify(run.call.name)}, which is no usable tool.`);
  }
  return undefined;
}

/** Does what a hook decided; a decision that means nothing stops the call, for it may have been meant to. */
function obey(run: CallRun, hook: Hook, decision: HookDecision | null): StepEnd {
  if (decision === undefined || decision === null || decision === run.call) return undefined;
  if (typeof decision === "object" && "veto" in decision) return veto(hook, decision.veto);
  const read = readCall(typeof decision === "object" ? { ...decision, ...(run.call.id === undefined ? {} : { id: run.call.id }) } : decision, run.parts.inputLimits);
  if (read.error !== undefined) return new ToolError("vetoed", `The hook "${hook.name}" made an unusable call: ${read.error.message}`);
  run.call = read.call;
  return undefined;
}

function veto(hook: Hook, reason: unknown): ToolError {
  return new ToolError("vetoed", typeof reason === "string" ? reason : describeThrown(reason), { hint: `The hook "${hook.name}" stopped this call.` });
}

export interface HookAnswer<T> {
  /** Undefined when the hook had nothing to say, threw, or took too long. */
  readonly said: T | undefined;
  /** Set when the call itself ended while the hook ran: it was cancelled, or its deadline passed. */
  readonly ended: ToolError | undefined;
}

const NOTHING_SAID: HookAnswer<never> = Object.freeze({ said: undefined, ended: undefined });

/** Runs one hook in its time; one that throws or takes too long is logged and counts as having said nothing. */
export async function callHook<T>(run: CallRun, hook: Hook, ask: () => T | Promise<T>): Promise<HookAnswer<T>> {
  try {
    const answer = ask();
    return isPromiseLike(answer) ? await waitForHook<T>(run, hook, answer) : { said: answer, ended: undefined };
  } catch (thrown: unknown) {
    run.parts.ports.log.warn(`The hook "${hook.name}" threw and was skipped: ${describeThrown(thrown)}`);
    return NOTHING_SAID;
  }
}

async function waitForHook<T>(run: CallRun, hook: Hook, answer: PromiseLike<T>): Promise<HookAnswer<T>> {
  const hookEndsAt = run.clock.now() + HOOK_TIMEOUT_MS;
  const waited = await waitFor(run, answer, { endsAt: Math.min(hookEndsAt, run.deadlineAt), late: () => hookTooLate(run, hook) });
  if ("value" in waited) return { said: waited.value, ended: undefined };
  if ("thrown" in waited) throw waited.thrown;
  if (run.cancelled !== undefined || run.deadlineAt <= hookEndsAt) return { said: undefined, ended: waited.ended };
  run.parts.ports.log.warn(`The hook "${hook.name}" was skipped: no answer within ${HOOK_TIMEOUT_MS} ms`);
  return NOTHING_SAID;
}

function hookTooLate(run: CallRun, hook: Hook): ToolError {
  return new ToolError("timeout", `The deadline of ${run.toolName} passed while the hook "${hook.name}" had its result.`, { retryable: false });
}

export function hookContext(run: CallRun): HookContext {
  return { callId: run.callId, sessionId: run.turn.session.id, turnId: run.turn.id };
}
