/** Ends a branch for good. */
import type { CallParts } from "../call/call-run.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { ErrorCode } from "../core/error-codes.ts";
import type { Store } from "../core/store.ts";
import type { RuntimeSession } from "./runtime-session.ts";

const DROPPED = new WeakSet<RuntimeSession>();

/** Whether the branch is discarded, or being discarded. */
export function isDropped(branch: RuntimeSession): boolean {
  return DROPPED.has(branch);
}

/** Closes a branch and removes it from the store, which keeps it when it refuses with one of these codes. */
export async function forgetBranch(branch: RuntimeSession, store: Store | undefined, keptFor: readonly ErrorCode[]): Promise<void> {
  await branch.close();
  if (branch.eventLog === undefined) return;
  try {
    await store?.remove(branch.id);
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown, "store_failed");
    if (!keptFor.includes(error.code)) throw error;
  }
}

/**
 * Ends a branch that is not wanted any more: calls that run in it, or wait for a person there, are cancelled. Where one of them asks for this,
 * none is, and the branch is removed when they have ended.
 */
export async function discardBranch(
  branch: RuntimeSession,
  store: Store | undefined,
  running: Pick<CallParts["running"], "cancelAll">,
): Promise<void> {
  DROPPED.add(branch); // a commit that waits for its calls is refused
  branch.markClosed(); // before, so that no call begins behind those that are cancelled
  const forgotten = branch.turns.isInside ? branch.turns.whenIdle().then(forget) : undefined;
  if (forgotten === undefined) {
    running.cancelAll("the branch was dropped", ({ turn }) => turn.session === branch);
    return await forget();
  }
  forgotten.catch((thrown: unknown) =>
    branch.ports.log.warn(`The branch ${JSON.stringify(branch.id)} could not be removed: ${describeThrown(thrown)}`),
  );

  function forget(): Promise<void> {
    return forgetBranch(branch, store, ["conflict"]);
  }
}
