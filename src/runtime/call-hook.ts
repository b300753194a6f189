/** Asks one hook, in its time: neither its faults nor its silence end a call. */
import { ToolError, describeThrown } from "../core/error.ts";
import type { Hook, HookContext } from "../core/hook.ts";
import { isPromiseLike, waitFor } from "../policy/deadline.ts";
import type { CallRun } from "./call-run.ts";

/** Longest time one hook may take; then it is skipped like one that throws. */
const HOOK_TIMEOUT_MS = 10_000;

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
  return new ToolError("timeout", `The deadline of ${run.toolName} passed while the hook "${hook.name}" had its result.`, {
    retryable: false,
  });
}

export function hookContext(run: CallRun): HookContext {
  return { callId: run.callId, sessionId: run.turn.session.id, turnId: run.turn.id, simulated: run.simulated };
}
