/** Calls one hook, with a timeout. Neither an error nor a timeout of a hook ends the call, unless the hook says so. */
import type { ToolCall } from "../core/call.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { Hook, HookContext } from "../core/hook.ts";
import type { JsonSchema } from "../core/tool.ts";
import { isPromiseLike, waitFor, type Interruptible } from "../policy/attempts/deadline.ts";
import { chooseOverload, toOverloadInput } from "../registry/overload.ts";
import { fingerprintOf } from "../registry/prepare-toolset.ts";
import { schemaFingerprint } from "../schema/fingerprint.ts";
import type { CallRun } from "./call-run.ts";
import { runInCallIfNeeded } from "./context/call-tree.ts";

/** Longest time that one hook may take, in milliseconds, unless it sets `timeoutMs`. */
const HOOK_TIMEOUT_MS = 10_000;

export interface HookAnswer<T> {
  /** Undefined if the hook returned nothing, or failed. */
  readonly returned: T | undefined;
  /** Set if the call ends here: it was cancelled, its deadline passed, or the hook failed and has `onFailure: "stop"`. */
  readonly endError: ToolError | undefined;
}

const NOTHING_RETURNED: HookAnswer<never> = Object.freeze({ returned: undefined, endError: undefined });

/**
 * Calls one hook, with a timeout. If it throws or takes too long, this is logged, and the hook is skipped or the call ends.
 *
 * @param waiter can cancel the wait; not the call itself if it was cancelled already
 */
export async function callHook<T>(
  run: CallRun,
  hook: Hook,
  invoke: () => T | Promise<T>,
  waiter: Interruptible = run,
): Promise<HookAnswer<T>> {
  try {
    const answer = runInCallIfNeeded(run, invoke);
    return isPromiseLike(answer) ? await waitForHook<T>(run, hook, answer, waiter) : { returned: answer, endError: undefined };
  } catch (thrown: unknown) {
    return handleHookFailure(run, hook, `threw: ${describeThrown(thrown)}`);
  }
}

async function waitForHook<T>(run: CallRun, hook: Hook, answer: PromiseLike<T>, waiter: Interruptible): Promise<HookAnswer<T>> {
  const { timeoutMs = HOOK_TIMEOUT_MS } = hook;
  const hookEndsAt = run.clock.now() + timeoutMs;
  const wasLate = run.clock.now() >= run.deadlineAt;
  const waited = await waitFor(waiter, answer, {
    endsAt: Math.min(hookEndsAt, run.deadlineAt),
    timeoutError: () => hookTimeoutError(run, hook, wasLate),
  });
  if ("value" in waited) return { returned: waited.value, endError: undefined };
  if ("thrown" in waited) throw waited.thrown;
  if (waiter.cancelled !== undefined || run.deadlineAt <= hookEndsAt)
    return { returned: undefined, endError: run.cancelled ?? waited.ended };
  return handleHookFailure(run, hook, `did not answer within ${timeoutMs} ms`);
}

/** The answer of a hook that failed: it is skipped, or the call ends. */
export function handleHookFailure(run: CallRun, hook: Hook, what: string): HookAnswer<never> {
  const stops = hook.onFailure === "stop";
  run.services.ports.log.warn(`The hook "${hook.name}" ${what}; ${stops ? "its call was stopped" : "it was skipped"}`);
  if (!stops) return NOTHING_RETURNED;
  const outcome = run.failure?.outcome ?? (run.attempts > 0 ? "unknown" : "not_started");
  return {
    returned: undefined,
    endError: new ToolError("vetoed", `The hook "${hook.name}", which must agree to ${run.toolName}, ${what}`, {
      retryable: false,
      outcome,
      ...(outcome === "unknown" ? { hint: "The call has run: check before calling it again." } : {}),
    }),
  };
}

function hookTimeoutError(run: CallRun, hook: Hook, wasLate: boolean): ToolError {
  const message = wasLate
    ? `${run.toolName} had not ended when its deadline passed.`
    : `The deadline of ${run.toolName} passed while the hook "${hook.name}" processed its result.`;
  return new ToolError("timeout", message, {
    retryable: false,
    ...(run.failure === undefined ? {} : { outcome: run.failure.outcome }),
  });
}

export function hookContext(run: CallRun): HookContext {
  const context = { callId: run.callId, sessionId: run.turn.session.id, turnId: run.turn.id, simulated: run.simulated };
  RUNS.set(context, run);
  return context;
}

const RUNS = new WeakMap<HookContext, CallRun>();

/**
 * Whether the call given to a hook is of the overload with this input schema. True for a tool without overloads, and if no overload has this schema:
 * a hook that guards a tool must not miss it because it was registered in another form.
 */
export function isOfOverload(call: ToolCall, context: HookContext, inputSchema: JsonSchema): boolean {
  const run = RUNS.get(context);
  const candidates = run?.services.registry.resolve(call.name) ?? [];
  if (run === undefined || candidates instanceof Error || candidates.length < 2) return true;
  const own = schemaFingerprint(inputSchema);
  if (!candidates.some((candidate) => fingerprintOf(candidate) === own)) return true;
  return fingerprintOf(run.plan?.registered ?? chooseOverload(candidates, toOverloadInput(call.input))) === own;
}
